//go:build !linux

package fsutil

import (
	"errors"
	"io/fs"
	"os"
)

func list(dir string) (entries []Entry, err error) {
	found, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, d := range found {
		e := Entry{Name: d.Name(), Dir: d.IsDir()}
		if !e.Dir {
			info, err := d.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			e.Size = info.Size()
		}
		entries = append(entries, e)
	}
	return entries, nil
}
