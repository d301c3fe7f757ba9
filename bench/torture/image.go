package torture

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"commitlab/engine/mmap"
	"commitlab/engine/mmap/mmaptest"
	"commitlab/engine/segment"
)

// An image is what of a store's files a power cut would leave, kept on disk so that
// it outlives the processes of a round. A killed process leaves its pages, but not
// on the disk: if the power goes off in the next life, they may go as well, unless
// recovery has synced them.
//
// It is the store as of some time when all of it was durable, and on top of that
// what was synced since, in a tree of the same shape. Names that were synced are
// marked by empty files in another one. Directories count as durable.
type image struct {
	Store   string `json:"store"`
	Base    string `json:"base"`    // the store when all of it was durable
	Changes string `json:"changes"` // absent: the store is as Base
}

func (i image) content(name string) string { return filepath.Join(i.Changes, "content", name) }
func (i image) named(name string) string   { return filepath.Join(i.Changes, "named", name) }

// exists reports whether there is something at path.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// load makes a heap take for durable what the image says, and no more.
func (i image) load(h *mmaptest.Heap) error {
	asStore := !exists(i.Changes)
	var unnamed []string // in the page cache only
	err := i.files(func(name string) error {
		if !asStore && !exists(filepath.Join(i.Base, name)) && !exists(i.named(name)) {
			unnamed = append(unnamed, name)
			return nil
		}
		return i.loadFile(h, name, asStore)
	})
	if err != nil {
		return err
	}
	// The heap takes the names of the files that it knows by now for durable.
	err = i.files(func(name string) error { return h.SyncDir(filepath.Dir(filepath.Join(i.Store, name))) })
	for _, name := range unnamed {
		err = errors.Join(err, i.loadFile(h, name, false))
	}
	return err
}

// loadFile introduces one file to the heap: with its durable content in the page
// cache, which is then made what it was.
func (i image) loadFile(h *mmaptest.Heap, name string, asStore bool) (err error) {
	path := filepath.Join(i.Store, name)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	durable := i.content(name)
	switch {
	case asStore:
		return h.SyncFile(f)
	case exists(durable):
	case exists(filepath.Join(i.Base, name)):
		durable = filepath.Join(i.Base, name)
	default:
		return h.Fallocate(f, 0) // known, with nothing of it durable
	}
	before, err := os.ReadFile(durable)
	if err != nil {
		return err
	}
	cached, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	write := func(content []byte) error {
		if err := f.Truncate(int64(len(content))); err != nil {
			return err
		}
		_, err := f.WriteAt(content, 0)
		return err
	}
	if err := errors.Join(write(before), h.SyncFile(f)); err != nil {
		return err
	}
	return write(cached)
}

// files visits the files of the store that go through segment.Disk, by their names
// relative to it. What lies in the root and in config is written and synced in one
// go, and is durable.
func (i image) files(visit func(name string) error) error {
	return filepath.WalkDir(i.Store, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(i.Store, path)
		if top := filepath.Dir(name); err != nil || top == "." || top == "config" {
			return err
		}
		return visit(name)
	})
}

// A recorder passes calls on to the operating system and enters into an image what
// they made durable, before they return: what was acknowledged, or is claimed by the
// checkpoint, is in the image.
type recorder struct {
	segment.OSDisk
	image image
	mu    sync.Mutex // orders changes of the image
}

// Map implements mmap.Mapper.
func (r *recorder) Map(f *os.File, length int64, p mmap.Prot) (mmap.Region, error) {
	region, err := mmap.OS.Map(f, length, p)
	if err != nil {
		return nil, err
	}
	return &recordedRegion{Region: region, recorder: r, path: f.Name()}, nil
}

// SyncFile implements segment.Disk.
func (r *recorder) SyncFile(f *os.File) error {
	if err := r.OSDisk.SyncFile(f); err != nil {
		return err
	}
	return r.whole(f)
}

// ZeroFill implements segment.Disk.
func (r *recorder) ZeroFill(f *os.File, size int64) error {
	if err := r.OSDisk.ZeroFill(f, size); err != nil {
		return err
	}
	return r.whole(f)
}

// whole records all of a file, which need not have its name yet.
func (r *recorder) whole(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	content := make([]byte, info.Size())
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, info.Size()), content); err != nil {
		return err
	}
	return r.change(f.Name(), content, 0)
}

// SyncDir implements segment.Disk. Names that are gone stay in the image: a file
// that comes back after a power cut is for the store to deal with, but it does not
// come back here, since the heap only knows files that are there.
func (r *recorder) SyncDir(dir string) error {
	if err := r.OSDisk.SyncDir(dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if name, relErr := filepath.Rel(r.image.Store, filepath.Join(dir, e.Name())); relErr == nil && !e.IsDir() {
			err = errors.Join(err, touch(r.image.named(name)))
		}
	}
	return err
}

// Rename implements segment.Disk. The bytes go with the file, durable or not; its
// new name is not durable yet.
func (r *recorder) Rename(from, to string) error {
	err := r.change(from, nil, 0) // so that there is an image to be renamed
	if err == nil {
		err = r.OSDisk.Rename(from, to)
	}
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	oldName, err := filepath.Rel(r.image.Store, from)
	newName, relErr := filepath.Rel(r.image.Store, to)
	target := r.image.content(newName)
	return errors.Join(err, relErr, os.MkdirAll(filepath.Dir(target), 0o755), os.Rename(r.image.content(oldName), target))
}

func touch(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, nil, 0o644)
}

// change records that bytes of a file are durable now.
func (r *recorder) change(path string, p []byte, off int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	name, err := filepath.Rel(r.image.Store, path)
	if err != nil {
		return err
	}
	target := r.image.content(name)
	if !exists(target) {
		if err := r.introduce(name, path, target); err != nil {
			return fmt.Errorf("image of %s: %w", path, err)
		}
	}
	f, err := os.OpenFile(target, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(p, off)
	return errors.Join(err, f.Close())
}

// introduce begins the image of a file: as it was, or with zeros.
func (r *recorder) introduce(name, path, target string) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	content, err := os.ReadFile(filepath.Join(r.image.Base, name))
	if errors.Is(err, fs.ErrNotExist) {
		var info os.FileInfo
		switch info, err = os.Stat(path); {
		case err == nil:
			content = make([]byte, info.Size())
		case errors.Is(err, fs.ErrNotExist): // it has no name yet
			err = nil
		}
	}
	if err != nil {
		return err
	}
	return os.WriteFile(target, content, 0o644)
}

// recordedRegion records what its syncs made durable: exactly their range.
type recordedRegion struct {
	mmap.Region
	recorder *recorder
	path     string
}

func (r *recordedRegion) Sync(off, n int64) error {
	if err := r.Region.Sync(off, n); err != nil {
		return err
	}
	return r.recorder.change(r.path, r.Bytes()[off:off+n], off)
}

func (r *recordedRegion) SyncData(off, n int64) error {
	if err := r.Region.SyncData(off, n); err != nil {
		return err
	}
	return r.recorder.change(r.path, r.Bytes()[off:off+n], off)
}

var (
	_ mmap.Mapper  = (*recorder)(nil)
	_ segment.Disk = (*recorder)(nil)
)
