package result

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestProfileIsFoundByKind(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b]*")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	write := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("append-tuned.cpu.pprof")
	write("append-tuned.wall.pprof")
	r := &Run{Dir: dir}
	if got, err := r.Profile("cpu"); err != nil || got != filepath.Join(dir, "append-tuned.cpu.pprof") {
		t.Errorf("cpu profile is %q, %v", got, err)
	}
	if _, err := r.Profile("heap"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "heap") {
		t.Errorf("error %v, want one that says that there is no heap profile", err)
	}
	write("append-other.cpu.pprof")
	if _, err := r.Profile("cpu"); err == nil || !strings.Contains(err.Error(), "append-other.cpu.pprof") {
		t.Errorf("error %v, want one that names both profiles", err)
	}
}
