package engine_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The import picture of the module: each package and what it may import of the
// module. A new package or arrow is a decision; it is made here and in the
// package comments of engine and bench.
var picture = map[string][]string{
	"engine/mmap":          {},
	"engine/mmap/mmaptest": {"engine/mmap"},
	"engine/fsutil":        {},
	"engine/message":       {},
	"engine/service":       {},
	"engine/stats":         {},
	"engine/schedule":      {"engine/message"},
	"engine/storedir":      {"engine/fsutil"},
	"engine/segment":       {"engine/mmap", "engine/fsutil", "engine/stats"},
	"engine/commitlog":     {"engine/segment", "engine/mmap", "engine/message", "engine/service", "engine/stats"},
	"engine/consumequeue":  {"engine/segment", "engine/mmap", "engine/fsutil"},
	"engine/index":         {"engine/segment", "engine/mmap", "engine/message"},
	"engine/audit":         {"engine/message", "engine/consumequeue", "engine/index", "engine/storedir", "engine/fsutil"},
	"engine": {
		"engine/commitlog", "engine/consumequeue", "engine/index", "engine/schedule", "engine/storedir", "engine/message",
		"engine/segment", "engine/mmap", "engine/fsutil", "engine/service", "engine/stats",
	},

	"bench/pace":         {},
	"bench/stat":         {},
	"bench/profile":      {},
	"bench/host":         {},
	"bench/report/chart": {},
	"bench/measure":      {"bench/pace"},
	"bench/result":       {"bench/host", "bench/stat"},
	"bench/workload":     {"engine/message"},
	"bench/plan":         {"engine", "engine/message"},
	"bench/bytewise":     {"engine/message", "engine/consumequeue", "engine/storedir"},
	"bench/answers":      {"engine", "engine/message", "bench/plan"},
	"bench/pressure":     {"engine/mmap", "engine/fsutil", "bench/workload"},
	"bench/scenario": {
		"engine", "engine/message", "engine/segment", "engine/mmap", "engine/fsutil", "bench/measure", "bench/workload",
	},
	"bench/peer":          {"bench/measure", "bench/pace", "bench/result", "bench/workload"},
	"bench/peer/peertest": {"bench/peer"},
	"bench/study": {
		"engine", "bench/scenario", "bench/peer", "bench/workload", "bench/measure", "bench/pressure", "bench/pace", "bench/profile", "bench/result", "bench/host", "bench/stat",
	},
	"bench/torture": {
		"engine", "engine/audit", "engine/message", "engine/segment", "engine/mmap", "engine/mmap/mmaptest", "bench/workload",
	},
	"bench/report/hotspot": {},
	"bench/report":         {"bench/result", "bench/stat", "bench/host", "bench/report/chart", "bench/report/hotspot"},
	"bench":                {},

	"cmd/loadgen": {
		"engine", "engine/audit", "engine/fsutil",
		"bench/study", "bench/scenario", "bench/workload", "bench/measure", "bench/pace", "bench/profile", "bench/result", "bench/host", "bench/report",
		"bench/answers", "bench/bytewise", "bench/peer", "bench/plan", "bench/pressure", "bench/torture",
	},
	"cmd/report": {"bench/report"},
}

// Packages that may use what is dangerous or bound to one system.
var (
	mayUnsafe = []string{"engine/mmap"}
	maySys    = []string{"engine/mmap", "engine/fsutil", "bench/host"}
)

func TestImportsFollowThePicture(t *testing.T) {
	drawn := make(map[string]map[string]bool) // package: what it imports of the module
	for _, f := range sources(t) {
		if drawn[f.pkg] == nil {
			drawn[f.pkg] = make(map[string]bool)
		}
		allowed, known := picture[f.pkg]
		if !known {
			t.Errorf("%s: package %s is not in the picture", f.path, f.pkg)
			continue
		}
		for _, imp := range f.imports {
			inner, isInner := strings.CutPrefix(imp, "commitlab/")
			switch {
			case imp == "unsafe" && !slices.Contains(mayUnsafe, f.pkg):
				t.Errorf("%s imports unsafe; only %v may", f.path, mayUnsafe)
			case strings.HasPrefix(imp, "golang.org/x/sys/") && !slices.Contains(maySys, f.pkg):
				t.Errorf("%s imports %s; only %v may", f.path, imp, maySys)
			case isInner && !slices.Contains(allowed, inner):
				t.Errorf("%s imports %s, which the picture does not allow", f.path, inner)
			case isInner:
				drawn[f.pkg][inner] = true
			}
		}
	}
	for pkg, allowed := range picture {
		if drawn[pkg] == nil {
			t.Errorf("the picture has %s, the tree has not", pkg)
		}
		for _, imp := range allowed {
			if !drawn[pkg][imp] {
				t.Errorf("the picture has an arrow from %s to %s, the tree has not", pkg, imp)
			}
		}
	}
}

// The comment of package engine says that the number of each hazard stands in a test.
func TestEveryHazardStandsInATest(t *testing.T) {
	listed, named := regexp.MustCompile(`(?m)^//\tH(\d+)\s`), regexp.MustCompile(`H0*(\d+)(?:[^0-9A-Za-z]|$)`)
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	tested := make(map[string]bool)
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range named.FindAllSubmatch(text, -1) {
			tested[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	hazards := listed.FindAllSubmatch(doc, -1)
	if len(hazards) < 30 {
		t.Errorf("%d hazards in the comment, want those of the table", len(hazards))
	}
	for _, h := range hazards {
		if !tested[string(h[1])] {
			t.Errorf("H%s stands in no test", h[1])
		}
	}
}

type source struct {
	path, pkg string
	imports   []string
}

// sources parses the imports of all files of the module that are not tests.
func sources(t *testing.T) []source {
	t.Helper()
	root := ".."
	var all []source
	for _, top := range []string{"engine", "bench", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && d.Name() == "testdata" {
				return filepath.SkipDir
			}
			if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return err
			}
			s := source{path: path, pkg: filepath.ToSlash(rel)}
			for _, imp := range file.Imports {
				s.imports = append(s.imports, strings.Trim(imp.Path.Value, `"`))
			}
			all = append(all, s)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(all) < 20 {
		t.Fatalf("found %d source files; is the test run in its own folder?", len(all))
	}
	return all
}
