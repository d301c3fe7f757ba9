package fsutil

import (
	"fmt"
	"slices"
	"strings"
)

// An Entry is what a directory holds under a name.
type Entry struct {
	Name string
	Dir  bool
	Size int64 // in bytes; of a symbolic link its own, 0 of a directory
}

// List returns what the directory holds, by name. What is removed meanwhile may be
// left out. It is [os.ReadDir] with the sizes, for those who have thousands of
// directories to list: it costs about half of that and of one Lstat for each entry.
func List(dir string) ([]Entry, error) {
	entries, err := list(dir)
	if err != nil {
		return nil, fmt.Errorf("fsutil: list %s: %w", dir, err)
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, nil
}
