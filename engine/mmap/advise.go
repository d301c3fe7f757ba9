package mmap

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Advice is a hint about the use of a range. No advice changes what the bytes of a
// file mapping are.
type Advice int

const (
	// Normal: the system's own read-ahead.
	Normal Advice = iota
	// Sequential: read ahead far, and drop pages soon after use.
	Sequential
	// Random: no read-ahead.
	Random
	// WillNeed: start reading the range into the page cache.
	WillNeed
	// DontNeed: let this mapping's view of the pages go; the next use faults them in
	// again. Acts on the pages that lie wholly within the range.
	DontNeed
	// HugePage: back the range by large pages where the file system can.
	HugePage
	// SmallPage: take HugePage back; what is backed by large pages stays so.
	SmallPage
	// Cold: among the first to reclaim when memory is short.
	Cold
	// PageOut: reclaim now; dirty pages are written first.
	PageOut
)

func (a Advice) String() string {
	names := [...]string{"normal", "sequential", "random", "willneed", "dontneed", "hugepage", "smallpage", "cold", "pageout"}
	if a < 0 || int(a) >= len(names) {
		return fmt.Sprintf("advice %d", int(a))
	}
	return names[a]
}

// PopulateMode says which kind of access Populate prepares.
type PopulateMode int

const (
	// PopulateRead maps the pages readable, reading them from storage if need be.
	PopulateRead PopulateMode = iota
	// PopulateWrite maps them writable and dirty: the store that follows takes no
	// fault until the next write-back cleans the page.
	PopulateWrite
)

func (m PopulateMode) String() string {
	if m == PopulateWrite {
		return "populate write"
	}
	return "populate read"
}

// CacheStat counts pages (of os.Getpagesize bytes) of a file range.
type CacheStat struct {
	CachedPages          int64 `json:"cachedPages"`
	DirtyPages           int64 `json:"dirtyPages"`
	WritebackPages       int64 `json:"writebackPages"`       // being written now
	EvictedPages         int64 `json:"evictedPages"`         // were cached once
	RecentlyEvictedPages int64 `json:"recentlyEvictedPages"` // so recently that memory was too small for the working set
}

func (r *region) Advise(off, n int64, a Advice) error {
	op := "advise " + a.String()
	return r.withRange(op, off, n, func(mem []byte) error {
		number, err := adviceNumber(a)
		if err != nil {
			return err
		}
		if a == DontNeed {
			if mem = r.wholePages(off, n); len(mem) == 0 {
				return nil
			}
		}
		return retry(func() error { return unix.Madvise(mem, number) })
	})
}

func (r *region) Populate(off, n int64, m PopulateMode) error {
	return r.withRange(m.String(), off, n, func(mem []byte) error {
		return populateError(retry(func() error { return populate(mem, m) }))
	})
}

// populateError explains EINVAL: the range is right, so it is the advice that the
// kernel does not know.
func populateError(err error) error {
	if errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("%w: %w (needs Linux 5.14)", err, errors.ErrUnsupported)
	}
	return err
}

func (r *region) CacheStat(off, n int64) (stat CacheStat, err error) {
	if r.file == nil {
		return stat, r.failed("cachestat", off, n, errors.ErrUnsupported)
	}
	err = r.withRange("cachestat", off, n, func([]byte) error {
		return r.withDescriptor(func(fd int) (err error) {
			stat, err = cachestat(fd, off, n)
			return err
		})
	})
	return stat, err
}

// wholePages is the part of a valid range made of pages that hold no byte outside
// of it. The last page of the mapping counts as whole even if the file ends in it.
func (r *region) wholePages(off, n int64) []byte {
	start := (off + pageSize - 1) &^ (pageSize - 1)
	end := off + n
	if end != int64(len(r.mem)) {
		end &^= pageSize - 1
	}
	if start >= end {
		return nil
	}
	return r.mem[start:end]
}
