package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// nameDigits is the length of the names of log and queue files.
const nameDigits = 20

// A numbered is a file named by the offset of its first byte.
type numbered struct {
	name string // relative to the store, for reports
	path string
	base int64
	size int64
}

func (f numbered) end() int64 { return f.base + f.size }

// chain is a row of numbered files, by base.
type chain []numbered

// at returns the index of the file that has the byte at an offset; -1 if none has.
func (c chain) at(offset int64) int {
	return slices.IndexFunc(c, func(f numbered) bool { return offset >= f.base && offset < f.end() })
}

// listChain returns the numbered files of a directory below root. Other entries
// become notes, files that do not adjoin become faults. A missing directory has no
// files.
func listChain(r *Report, part Part, root, dir string) (chain, error) {
	entries, err := os.ReadDir(filepath.Join(root, dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("audit: list %s: %w", dir, err)
	}
	var files chain
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		base, err := strconv.ParseUint(e.Name(), 10, 63) // no sign
		if err != nil || len(e.Name()) != nameDigits || !e.Type().IsRegular() {
			r.note("%s is none of the store's files", name)
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, fmt.Errorf("audit: stat %s: %w", name, err)
		}
		files = append(files, numbered{name: name, path: filepath.Join(root, name), base: int64(base), size: info.Size()})
	}
	// 20 digits with leading zeros: the order of names is that of the bases.
	for i := 1; i < len(files); i++ {
		if before, f := files[i-1], files[i]; before.end() != f.base {
			r.fault(part, f.name, 0, "starts at %d, but %s ends at %d", f.base, before.name, before.end())
		}
	}
	return files, nil
}

// A window reads files piece by piece, each piece with its own open and close:
// however many windows there are, no descriptor stays open.
type window struct {
	chunk int64 // least number of bytes read at once
	path  string
	from  int64
	buf   []byte
}

// view returns the n bytes at a position, or fewer where the file ends. They are
// valid until the next call.
func (w *window) view(f numbered, at, n int64) ([]byte, error) {
	n = min(n, f.size-at)
	if w.path != f.path || at < w.from || at+n > w.from+int64(len(w.buf)) {
		if err := w.fill(f, at, min(max(n, w.chunk), f.size-at)); err != nil {
			return nil, err
		}
	}
	return w.buf[at-w.from:][:n:n], nil
}

func (w *window) fill(f numbered, at, n int64) error {
	w.path = "" // in case of an error
	file, err := os.Open(f.path)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	defer file.Close()
	w.buf = slices.Grow(w.buf[:0], int(n))[:n]
	if _, err := file.ReadAt(w.buf, at); err != nil {
		return fmt.Errorf("audit: read %d bytes at %d of %s: %w", n, at, f.name, err)
	}
	w.path, w.from = f.path, at
	return nil
}

// written returns the position of the first byte from a position on that is not
// zero; the size of the file if all are.
func (w *window) written(f numbered, at int64) (int64, error) {
	for at < f.size {
		b, err := w.view(f, at, w.chunk)
		if err != nil {
			return 0, err
		}
		if i := slices.IndexFunc(b, func(c byte) bool { return c != 0 }); i >= 0 {
			return at + int64(i), nil
		}
		at += int64(len(b))
	}
	return at, nil
}
