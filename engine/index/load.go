package index

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"commitlab/engine/segment"
)

// load opens the files of the directory that have items, oldest first. The
// order is that of the log: names of local time may be out of order.
func (s *Set) load() (files []*File, err error) {
	found, err := s.list()
	if err != nil {
		return nil, err
	}
	found = s.setEmptyAside(found)
	for _, e := range found {
		seg, err := segment.Open(e.path, 0, &s.opt.Files)
		if err != nil {
			return files, fmt.Errorf("index: %w", err)
		}
		f, err := newFile(s.layout, seg, e.header)
		if err != nil {
			return files, err
		}
		files = append(files, f)
	}
	slices.SortStableFunc(files, func(a, b *File) int {
		return cmp.Compare(a.beginPhysical.Load(), b.beginPhysical.Load())
	})
	return files, nil
}

// entry is one file of the directory before it is opened.
type entry struct {
	path   string
	header Header // of a file of zero bytes: zero
}

func (f entry) empty() bool { return f.header.Count == 0 || f.header.Count == 1 }

// list returns the index files of the directory in the order of their names.
func (s *Set) list() (all []entry, err error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("index: list directory: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(s.dir, e.Name())
		if !isFileName(e.Name()) || !e.Type().IsRegular() {
			s.logger.Warn("ignoring an entry that is not an index file", "path", path)
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, fmt.Errorf("index: stat file: %w", err)
		}
		f := entry{path: path}
		switch size := info.Size(); size {
		case 0:
		case s.layout.FileBytes():
			if f.header, err = readHeader(path); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("index: file %s has %d bytes, expected %d for %d slots and %d items: it was made with other sizes; nothing was changed (the index can be rebuilt from the log when its directory is removed)",
				path, size, s.layout.FileBytes(), s.layout.Slots, s.layout.Items)
		}
		s.newest = e.Name()
		all = append(all, f)
	}
	return all, nil
}

func readHeader(path string) (Header, error) {
	f, err := os.Open(path)
	if err != nil {
		return Header{}, fmt.Errorf("index: open file: %w", err)
	}
	defer f.Close()
	head := make([]byte, HeaderBytes)
	if _, err := f.ReadAt(head, 0); err != nil {
		return Header{}, fmt.Errorf("index: read header of %s: %w", path, err)
	}
	return DecodeHeader(head), nil
}

// setEmptyAside takes the files without items, which a crash during a roll leaves,
// off the list; Recover removes them. After an unclean end such a file may have lost
// its header, so what was made after it lies behind a gap and goes too.
func (s *Set) setEmptyAside(all []entry) (keep []entry) {
	keep = slices.Clone(all)
	for i, f := range slices.Backward(all) {
		behind := s.opt.Unclean && slices.ContainsFunc(all[:i], entry.empty)
		if !f.empty() && !behind {
			continue
		}
		s.empties = append(s.empties, f.path)
		keep = slices.Delete(keep, i, i+1)
	}
	return keep
}

// removeEmpties removes the files that Load set aside, the newest first, so that a
// crash in between hides no gap.
func (s *Set) removeEmpties() error {
	for _, path := range s.empties {
		s.logger.Info("removing an index file that is empty or lies behind a lost one", "file", path)
		if err := errors.Join(s.opt.Files.Disk.Remove(path), s.opt.Files.Disk.SyncDir(s.dir)); err != nil {
			return fmt.Errorf("index: remove file: %w", err)
		}
	}
	s.empties = nil
	return nil
}
