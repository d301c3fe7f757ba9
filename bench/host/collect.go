package host

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Collect reads the facts for a run in dir, which need not exist yet: then the
// nearest directory above it is looked at. It takes a few milliseconds.
func Collect(dir string) Facts {
	f := Facts{
		OS:         runtime.GOOS,
		Arch:       runtime.GOARCH,
		CPUs:       runtime.NumCPU(),
		PageBytes:  os.Getpagesize(),
		Root:       os.Geteuid() == 0,
		GoVersion:  runtime.Version(),
		GOMAXPROCS: runtime.GOMAXPROCS(0),
		SliceNs:    Slice().Nanoseconds(),
		GOGC:       os.Getenv("GOGC"),
		GOMEMLIMIT: os.Getenv("GOMEMLIMIT"),
		GODEBUG:    os.Getenv("GODEBUG"),
	}
	f.Dir.Path = dir
	f.ClockReadNs = clockReadNs()
	var err error
	if f.Hostname, err = os.Hostname(); err != nil {
		f.unknown("hostname", err)
	}
	f.revision()
	f.system(nearest(dir))
	slices.Sort(f.Unknown)
	return f
}

// unknown notes that something could not be read.
func (f *Facts) unknown(what string, err error) {
	f.Unknown = append(f.Unknown, fmt.Sprintf("%s: %v", what, err))
}

// nearest returns dir or the first directory above it that exists.
func nearest(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	for {
		if i, err := os.Stat(abs); err == nil && i.IsDir() {
			return abs
		}
		up := filepath.Dir(abs)
		if up == abs {
			return abs
		}
		abs = up
	}
}

// clockReadNs measures one time.Now. The least of several rounds is what it
// costs when nothing interferes.
func clockReadNs() float64 {
	const rounds, reads = 20, 1000
	least := time.Duration(1<<63 - 1)
	for range rounds {
		start := time.Now()
		for range reads {
			_ = time.Now()
		}
		least = min(least, time.Since(start))
	}
	return float64(least.Nanoseconds()) / reads
}

// revision tells which commit the program was built from. "go run" and
// "go test" do not stamp it, so the checkout that they run in is asked then.
func (f *Facts) revision() {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				f.Revision = s.Value
			case "vcs.modified":
				f.Modified = s.Value == "true"
			}
		}
	}
	if f.Revision != "" {
		return
	}
	if err := f.checkoutRevision(); err != nil {
		f.unknown("revision", err)
	}
}

func (f *Facts) checkoutRevision() error {
	git := func(args ...string) (string, error) {
		out, err := exec.Command("git", args...).Output()
		if err != nil {
			return "", fmt.Errorf("git %s: %w", args[0], err)
		}
		return strings.TrimSpace(string(out)), nil
	}
	top, err := git("rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	// The working directory may belong to some other project.
	module, err := os.ReadFile(filepath.Join(top, "go.mod"))
	if err != nil || !strings.HasPrefix(string(module), "module commitlab\n") {
		return fmt.Errorf("not in a checkout of commitlab: %s", top)
	}
	if f.Revision, err = git("rev-parse", "HEAD"); err != nil {
		return err
	}
	changes, err := git("status", "--porcelain", "--untracked-files=no")
	f.Modified = changes != ""
	return err
}
