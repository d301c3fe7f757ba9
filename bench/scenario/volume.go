package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"commitlab/engine/fsutil"
	"commitlab/engine/mmap"
)

// preparation says what the files of a baseline are before the first byte is
// written. Each baseline fixes one, whatever the configuration under test.
type preparation int

const (
	sparse    preparation = iota // length only: blocks and pages on first touch
	populated                    // blocks reserved and every page made
	written                      // blocks written with zeros and synced
)

// workerExtentBytes is what a worker of a baseline claims at a time, so that
// the operation itself shares nothing with other workers.
const workerExtentBytes = 4 << 20

// volume is the disk space of a baseline: as many files of the commit log's
// size as the run's byte budget holds, each written once from start to end.
// Nothing is recycled: a page that was written before is faster to write
// again, and an append never has that advantage.
//
// Concurrency: claim may be called by any worker; open and close only while
// none runs.
type volume struct {
	dir         string
	fileBytes   int64
	files       int
	extentBytes int64 // claimed at a time
	regions     []mmap.Region
	handles     []*os.File
	next        atomic.Int64 // start of the next unclaimed extent, in bytes of the whole volume
}

// newVolume lays out budget bytes in files of fileBytes; the last one is not
// shortened.
func newVolume(dir string, fileBytes, budget, extentBytes int64) *volume {
	return &volume{
		dir:         dir,
		fileBytes:   fileBytes,
		files:       int(max(1, (budget+fileBytes-1)/fileBytes)),
		extentBytes: min(extentBytes, fileBytes),
	}
}

// open creates, maps and prepares the files. When it fails nothing is left
// open.
func (v *volume) open(ctx context.Context, how preparation) error {
	if err := os.MkdirAll(v.dir, 0o777); err != nil {
		return err
	}
	for i := range v.files {
		err := ctx.Err()
		if err == nil {
			err = v.openFile(filepath.Join(v.dir, fmt.Sprintf("%020d", int64(i)*v.fileBytes)), how)
		}
		if err != nil {
			return errors.Join(err, v.close())
		}
	}
	return nil
}

func (v *volume) openFile(path string, how preparation) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o666)
	if err != nil {
		return err
	}
	v.handles = append(v.handles, f)
	switch how {
	case sparse:
		err = f.Truncate(v.fileBytes)
	case populated:
		err = fsutil.Fallocate(f, v.fileBytes)
		if errors.Is(err, errors.ErrUnsupported) {
			err = f.Truncate(v.fileBytes)
		}
	case written:
		err = fsutil.ZeroFill(f, v.fileBytes, 8<<20)
	}
	if err != nil {
		return fmt.Errorf("prepare %s: %w", path, err)
	}
	region, err := mmap.OS.Map(f, v.fileBytes, mmap.ReadWrite)
	if err != nil {
		return err
	}
	v.regions = append(v.regions, region)
	if how == populated {
		return populate(region)
	}
	return nil
}

// populate makes every page of a region writable without a fault: with one
// call where the kernel has it, else by storing to each page.
func populate(r mmap.Region) error {
	n := int64(len(r.Bytes()))
	err := r.Populate(0, n, mmap.PopulateWrite)
	if err == nil {
		return nil
	}
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	b := r.Bytes()
	for at := 0; at < len(b); at += os.Getpagesize() {
		b[at] = 0
	}
	return nil
}

// close unmaps and closes all files. They stay on disk: the directory belongs
// to whoever made it.
func (v *volume) close() error {
	var errs []error
	for _, r := range v.regions {
		errs = append(errs, r.Unmap())
	}
	for _, f := range v.handles {
		errs = append(errs, f.Close())
	}
	v.regions, v.handles = nil, nil
	return errors.Join(errs...)
}

// extent is a worker's current piece of the volume.
type extent struct {
	file int
	at   int64 // next free byte, in the file
	end  int64
}

// place returns where the next n bytes of the worker go. When its extent is
// full it claims the next one; errVolumeFull says that there is none.
func (v *volume) place(e *extent, n int64) (file int, at int64, err error) {
	for e.at+n > e.end {
		if n > v.fileBytes {
			return 0, 0, fmt.Errorf("record of %d bytes does not fit a file of %d", n, v.fileBytes)
		}
		if err := v.claim(e, max(v.extentBytes, n)); err != nil {
			return 0, 0, err
		}
	}
	at = e.at
	e.at += n
	return e.file, at, nil
}

// claim takes the next size bytes for a worker, less where a file ends.
func (v *volume) claim(e *extent, size int64) error {
	for {
		start := v.next.Load()
		file := start / v.fileBytes
		if file >= int64(v.files) {
			return errVolumeFull
		}
		end := min(start+size, (file+1)*v.fileBytes)
		if v.next.CompareAndSwap(start, end) {
			base := file * v.fileBytes
			*e = extent{file: int(file), at: start - base, end: end - base}
			return nil
		}
	}
}
