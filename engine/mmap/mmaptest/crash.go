package mmaptest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// SectorBytes is the unit that a power cut leaves whole: a sector is on the disk with
// its last content or with its durable one.
const SectorBytes = 512

// CrashClone writes to dstDir, which it creates, what a power cut now would leave of
// srcDir: every file that the Heap knows as its durable image, and all others as they
// are. A file whose length is not durable is empty.
//
// If rng is not nil, the power cut is less tidy: each sector that was changed after it
// was last made durable is in its newest state with probability one half, and so is,
// for itself, the length of each file, and with LoseNames its name. Then no goroutine
// may be storing to mapped bytes meanwhile; with nil the writers may go on.
//
// The clone consists of new files, so the same Heap may map them. The same seed gives
// the same clone.
func (h *Heap) CrashClone(srcDir, dstDir string, rng *rand.Rand) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := crash{heap: h, dst: dstDir, rng: rng, oldName: make(map[*file]bool)}
	for _, known := range h.files {
		c.oldName[known] = h.LoseNames && c.loses()
	}
	src, err := filepath.Abs(srcDir)
	if err == nil {
		c.src = src
		err = filepath.WalkDir(src, c.clone)
	}
	if err == nil {
		err = c.bringBack()
	}
	if err != nil {
		return fmt.Errorf("mmaptest: crash clone of %s: %w", srcDir, err)
	}
	return nil
}

// crash is one power cut; the Heap's mutex is held throughout.
type crash struct {
	heap     *Heap
	src, dst string
	rng      *rand.Rand     // nil: nothing that is not durable survives
	oldName  map[*file]bool // changes of the file's names are lost
}

// loses decides whether something that is not durable is lost.
func (c *crash) loses() bool { return c.rng == nil || c.rng.IntN(2) == 0 }

// clone copies what stands at path now, unless its name is lost.
func (c *crash) clone(path string, entry fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	target, err := c.target(path)
	if err != nil {
		return err
	}
	info, err := entry.Info()
	switch {
	case err != nil:
		return err
	case entry.IsDir():
		return os.MkdirAll(target, 0o755)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is neither file nor directory", path)
	}
	if known := c.heap.find(info); known != nil {
		if c.oldName[known] && c.heap.names[filepath.Dir(path)][entry.Name()] != known {
			return nil
		}
		return c.write(target, known)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(target, content, 0o644)
}

// bringBack writes the files whose removal or renaming is lost.
func (c *crash) bringBack() error {
	for _, dir := range slices.Sorted(maps.Keys(c.heap.names)) {
		names := c.heap.names[dir]
		for _, name := range slices.Sorted(maps.Keys(names)) {
			target, err := c.target(filepath.Join(dir, name))
			if err != nil || !c.oldName[names[name]] {
				continue // not below src, or not lost
			}
			if _, err := os.Stat(target); !errors.Is(err, fs.ErrNotExist) {
				continue // stands there still, or another file has the name
			}
			if err := c.write(target, names[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// target is the place in the clone of a path, which must be below the source.
func (c *crash) target(path string) (string, error) {
	relative, err := filepath.Rel(c.src, path)
	if err == nil && !filepath.IsLocal(relative) {
		err = fmt.Errorf("%s is not in %s", path, c.src)
	}
	return filepath.Join(c.dst, relative), err
}

// write writes a known file as the power cut leaves it.
func (c *crash) write(target string, known *file) error {
	after, err := c.content(known)
	if err != nil {
		return err
	}
	return os.WriteFile(target, after, 0o644)
}

func (c *crash) content(known *file) ([]byte, error) {
	newest, err := known.content()
	if err != nil || !known.sized && c.loses() {
		return nil, err
	}
	after := make([]byte, len(newest))
	copy(after, known.durable)
	if c.rng == nil {
		return after, nil
	}
	copy(newest, known.live)
	for start := 0; start < len(after); start += SectorBytes {
		end := min(start+SectorBytes, len(after))
		if !bytes.Equal(after[start:end], newest[start:end]) && !c.loses() {
			copy(after[start:end], newest[start:end])
		}
	}
	return after, nil
}
