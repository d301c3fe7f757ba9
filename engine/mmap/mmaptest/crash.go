package mmaptest

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// SectorBytes is the unit that a power cut leaves whole: a sector is on the disk with
// its last content or with its durable one.
const SectorBytes = 512

// CrashClone writes to dstDir, which it creates, what a power cut now would leave of
// srcDir: every file that was ever mapped as its durable image, and all others as they
// are. If rng is not nil, each sector that was changed after it was last made durable
// is in its newest state with probability one half; then no goroutine may be storing
// to mapped bytes meanwhile. With nil it is not, and the writers may go on.
//
// With LoseNames a mapped file is missing if its name is not durable: always with nil,
// else with probability one half.
//
// The clone consists of new files, so the same Heap may map them.
func (h *Heap) CrashClone(srcDir, dstDir string, rng *rand.Rand) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := filepath.WalkDir(srcDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(srcDir, path)
		if err != nil {
			return err
		}
		target := filepath.Join(dstDir, relative)
		info, err := entry.Info()
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return os.MkdirAll(target, 0o755)
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is neither file nor directory", path)
		}
		known := h.find(info)
		if known != nil && h.loses(path, known, rng) {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if known != nil {
			content = known.afterCrash(content, rng)
		}
		return os.WriteFile(target, content, 0o644)
	})
	if err != nil {
		return fmt.Errorf("mmaptest: crash clone of %s: %w", srcDir, err)
	}
	return nil
}

// loses decides whether a power cut takes the file's name away; mu is held.
func (h *Heap) loses(path string, known *file, rng *rand.Rand) bool {
	if !h.LoseNames || h.names[filepath.Dir(path)][filepath.Base(path)] == known {
		return false
	}
	return rng == nil || rng.IntN(2) == 0
}

// afterCrash is the content of the file after a power cut. cached is its content in
// the page cache, which the live bytes, if there are any, supersede; mu is held.
func (f *file) afterCrash(cached []byte, rng *rand.Rand) []byte {
	after := make([]byte, len(cached))
	copy(after, f.durable)
	if rng == nil {
		return after
	}
	copy(cached, f.live)
	for start := 0; start < len(after); start += SectorBytes {
		end := min(start+SectorBytes, len(after))
		if !bytes.Equal(after[start:end], cached[start:end]) && rng.IntN(2) == 0 {
			copy(after[start:end], cached[start:end])
		}
	}
	return after
}
