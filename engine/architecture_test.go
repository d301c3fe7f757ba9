package engine_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
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
	"engine/segment":       {"engine/mmap", "engine/fsutil", "engine/stats"},
	"engine/commitlog":     {"engine/segment", "engine/mmap", "engine/message", "engine/service", "engine/stats"},
	"engine/consumequeue":  {"engine/segment", "engine/mmap", "engine/fsutil", "engine/stats"},
	"engine/index":         {"engine/segment", "engine/mmap", "engine/fsutil", "engine/message", "engine/stats"},
	"engine/storedir":      {"engine/mmap", "engine/fsutil"},
	"engine": {
		"engine/commitlog", "engine/consumequeue", "engine/index", "engine/storedir", "engine/message",
		"engine/segment", "engine/mmap", "engine/fsutil", "engine/service", "engine/stats",
	},

	"bench/pace":     {},
	"bench/stat":     {},
	"bench/host":     {"engine/fsutil"},
	"bench/profile":  {},
	"bench/result":   {"bench/host", "bench/measure", "bench/pace", "bench/stat"},
	"bench/measure":  {"bench/pace"},
	"bench/workload": {"engine/message"},
	"bench/scenario": {"engine", "engine/message", "engine/segment", "engine/mmap", "engine/fsutil", "bench/measure", "bench/workload"},
	"bench/study": {
		"engine", "bench/scenario", "bench/measure", "bench/pace", "bench/profile", "bench/result", "bench/host", "bench/stat", "bench/workload",
	},
	"bench/report": {"bench/result", "bench/stat", "bench/host"},
	"bench":        {"bench/scenario", "bench/measure"},

	"cmd/loadgen": {
		"engine", "bench/study", "bench/scenario", "bench/measure", "bench/pace", "bench/profile", "bench/result", "bench/host", "bench/report", "bench/workload",
	},
	"cmd/report": {"bench/report", "bench/result", "bench/stat"},
}

// Packages that may use what is dangerous or bound to one system.
var (
	mayUnsafe = []string{"engine/mmap"}
	maySys    = []string{"engine/mmap", "engine/fsutil", "bench/host", "bench/measure"}
)

func TestImportsFollowThePicture(t *testing.T) {
	seen := make(map[string]bool)
	for _, f := range sources(t) {
		seen[f.pkg] = true
		allowed, known := picture[f.pkg]
		if !known {
			if within := parent(f.pkg); within != "" {
				allowed = append([]string{within}, picture[within]...) // a part of its parent, with the same rights
			} else {
				t.Errorf("%s: package is not in the picture", f.path)
				continue
			}
		}
		for _, imp := range f.imports {
			inner, isInner := strings.CutPrefix(imp, "commitlab/")
			switch {
			case imp == "unsafe" && !slices.Contains(mayUnsafe, f.pkg):
				t.Errorf("%s imports unsafe; only %v may", f.path, mayUnsafe)
			case strings.HasPrefix(imp, "golang.org/x/sys/") && !slices.Contains(maySys, f.pkg):
				t.Errorf("%s imports %s; only %v may", f.path, imp, maySys)
			case isInner && !slices.Contains(allowed, inner) && !strings.HasPrefix(inner, f.pkg+"/"):
				t.Errorf("%s imports %s, which the picture does not allow", f.path, inner)
			}
		}
	}
	for pkg := range picture {
		if !seen[pkg] {
			t.Errorf("the picture has %s, the tree has not", pkg)
		}
	}
}

// parent is the package in the picture that pkg lies in, or "".
func parent(pkg string) string {
	for p := filepath.Dir(pkg); p != "."; p = filepath.Dir(p) {
		if _, ok := picture[p]; ok {
			return p
		}
	}
	return ""
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
