package bytewise

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"commitlab/engine/consumequeue"
	"commitlab/engine/message"
	"commitlab/engine/storedir"
)

// A directory is what is compared of one store.
type directory struct {
	path    string
	records []record
	blanks  []record
	at      map[int64]int // physical offset: index in records
	queues  map[string][]consumequeue.Unit
}

// A record with its place and its bytes.
type record struct {
	message.Record // zero for a blank
	offset         int64
	bytes          []byte
}

func read(path string) (*directory, error) {
	d := &directory{path: path, at: make(map[int64]int), queues: make(map[string][]consumequeue.Unit)}
	if err := d.readLog(storedir.Layout(path).CommitLog()); err != nil {
		return nil, err
	}
	return d, d.readQueues(storedir.Layout(path).ConsumeQueue())
}

// numbered returns the files of a folder whose names are offsets, in order.
func numbered(folder string) (paths []string, bases []int64, err error) {
	entries, err := os.ReadDir(folder) // sorted by name, and all names are of one length
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		base, err := strconv.ParseInt(e.Name(), 10, 64)
		if err != nil || len(e.Name()) != 20 {
			return nil, nil, fmt.Errorf("%s: %q is no file of the store", folder, e.Name())
		}
		paths, bases = append(paths, filepath.Join(folder, e.Name())), append(bases, base)
	}
	return paths, bases, nil
}

func (d *directory) readLog(folder string) error {
	paths, bases, err := numbered(folder)
	if err != nil {
		return err
	}
	for i, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := d.cut(b, bases[i]); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// cut takes the records of a file, up to its blank or to where zeros begin.
func (d *directory) cut(b []byte, base int64) error {
	for at := 0; at < len(b); {
		size, magic, err := message.RecordSize(b[at:])
		switch {
		case magic == message.MagicBlank:
			d.blanks = append(d.blanks, record{offset: base + int64(at), bytes: b[at:]})
			return nil
		case size <= 0 && allZero(b[at:]):
			return nil
		case size < 0:
			return fmt.Errorf("at %d: a record of %d bytes", at, size)
		case err != nil:
			return fmt.Errorf("at %d: %w", at, err)
		}
		rec, err := message.Decode(b[at : at+size])
		if err != nil {
			return fmt.Errorf("at %d: %w", at, err)
		}
		d.at[base+int64(at)] = len(d.records)
		d.records = append(d.records, record{Record: rec, offset: base + int64(at), bytes: b[at : at+size]})
		at += size
	}
	return nil
}

func allZero(b []byte) bool { return !slices.ContainsFunc(b, func(c byte) bool { return c != 0 }) }

// readQueues takes the units of all queues that have any.
func (d *directory) readQueues(root string) error {
	folders, err := filepath.Glob(filepath.Join(root, "*", "*"))
	if err != nil {
		return err
	}
	for _, folder := range folders {
		paths, _, err := numbered(folder)
		if err != nil {
			return err
		}
		var units []consumequeue.Unit
		for _, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for ; len(b) >= consumequeue.UnitBytes && !allZero(b[:consumequeue.UnitBytes]); b = b[consumequeue.UnitBytes:] {
				units = append(units, consumequeue.DecodeUnit(b))
			}
			if !allZero(b) {
				return fmt.Errorf("%s: units behind the end of the queue", path)
			}
		}
		if len(units) > 0 {
			name, err := filepath.Rel(root, folder)
			if err != nil {
				return err
			}
			d.queues[filepath.ToSlash(name)] = units
		}
	}
	return nil
}
