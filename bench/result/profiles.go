package result

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ProfiledDir is where, inside of a run, its repetition with profilers on is. That
// is a run of its own, whose latencies are compared with no other's.
const ProfiledDir = "profiled"

// Profile returns the path of the run's profile of a kind, such as "cpu". An error
// that wraps fs.ErrNotExist says that the run has none.
func (r *Run) Profile(kind string) (path string, err error) {
	pattern := "*." + kind + ".pprof"
	found, err := fs.Glob(os.DirFS(r.Dir), pattern)
	if err != nil {
		return "", fmt.Errorf("profile %s in %s: %w", pattern, r.Dir, err)
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("profile %s in %s: %w", pattern, r.Dir, fs.ErrNotExist)
	case 1:
		return filepath.Join(r.Dir, found[0]), nil
	}
	return "", fmt.Errorf("profile %s in %s: want one, got %s", pattern, r.Dir, strings.Join(found, ", "))
}
