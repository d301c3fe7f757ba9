package engine

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"commitlab/engine/message"
	"commitlab/engine/mmap"
	"commitlab/engine/segment"
	"commitlab/engine/storedir"
)

var coldReads = []segment.ColdRead{segment.ColdPopulate, segment.ColdFault, segment.ColdPread}

// Goal: a record is the same however it is read: shorter and longer than what
// is read before its size is known, at the start and the end of files, cached
// or not.
func TestColdRecordsAreWhatWasPut(t *testing.T) {
	for _, how := range coldReads {
		t.Run(string(how), func(t *testing.T) {
			s := openStore(t, t.TempDir(), small(Options{CommitLogFileBytes: 64 << 10, ColdRead: how, ColdAfterBytes: 1}))
			var all []stored
			for i := range 60 {
				m := newMessage("t", 0, text(body(i), i*i*7)) // 0 to 24 KiB
				all = append(all, asStored(m, put(t, s, m)))
			}
			for _, evicted := range []bool{false, true} {
				if evicted {
					if err := s.EvictLog(); errors.Is(err, errors.ErrUnsupported) {
						break
					} else if err != nil {
						t.Fatal(err)
					}
				}
				for _, want := range all {
					if got := read(t, s, want.offset); got != want {
						t.Fatalf("record at %d differs from what was put (evicted: %v)", want.offset, evicted)
					}
				}
			}
			for _, offset := range []int64{all[3].offset + 8, all[59].offset - 1} {
				if _, err := s.At(offset); !errors.Is(err, ErrNotFound) {
					t.Errorf("between records, at %d: got %v, want ErrNotFound", offset, err)
				}
			}
		})
	}
}

// B-76, for the cold paths: a page that the disk cannot give is an error of
// that read alone. The log file is cut from outside.
func TestB76_ColdReadOfACutFileIsAnError(t *testing.T) {
	for _, how := range coldReads {
		t.Run(string(how), func(t *testing.T) {
			const size = 64 << 10
			s := openUnchecked(t, scratch(t), small(Options{CommitLogFileBytes: size, ColdRead: how, ColdAfterBytes: 1}))
			var all []stored
			for i := range 40 {
				m := newMessage("t", 0, text(body(i), 6000)) // longer than a page
				all = append(all, asStored(m, put(t, s, m)))
			}
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(storedir.Layout(s.dir).CommitLog(), segment.FileName(size))
			if err := os.Truncate(path, size/2); err != nil {
				t.Fatal(err)
			}
			lost := 0
			for _, r := range all {
				cut := r.offset/size == 1 && r.offset%size+int64(r.size) > size/2
				v, err := s.At(r.offset)
				if (err != nil) != cut {
					t.Errorf("record [%d, +%d) of file %d: %v", r.offset%size, r.size, r.offset/size, err)
				}
				if cut {
					lost++
				}
				v.Release()
			}
			if lost == 0 || lost == len(all) {
				t.Fatalf("%d of %d records were cut off; the test shows nothing", lost, len(all))
			}
		})
	}
}

// A reading counts what a store asks of its mappings, and can be a system that
// cannot populate.
type reading struct {
	populates, preads atomic.Int64
	refuse            error // of Populate; immutable
}

type readingRegion struct {
	mmap.Region
	calls *reading
}

func (r *reading) Map(f *os.File, length int64, p mmap.Prot) (mmap.Region, error) {
	region, err := mmap.OS.Map(f, length, p)
	return &readingRegion{region, r}, err
}

func (r *readingRegion) Populate(off, n int64, m mmap.PopulateMode) error {
	if m == mmap.PopulateRead {
		r.calls.populates.Add(1)
		if r.calls.refuse != nil {
			return r.calls.refuse
		}
	}
	return r.Region.Populate(off, n, m)
}

func (r *readingRegion) ReadAt(p []byte, off int64) (int, error) {
	r.calls.preads.Add(1)
	return r.Region.ReadAt(p, off)
}

// B-77: a page fault kept its processor from other goroutines, so cold readers
// stalled everybody.
//
// Goal: coldAfterBytes decides, and a system call, during which the scheduler has the
// processor back, is made for cold records only: one, or two for a record that ends
// in another page.
func TestB77_OnlyRecordsFarBehindTheEndAreCold(t *testing.T) {
	for how, calls := range map[segment.ColdRead]func(*reading) int64{
		segment.ColdPopulate: func(r *reading) int64 { return r.populates.Load() },
		segment.ColdFault:    func(r *reading) int64 { return r.populates.Load() + r.preads.Load() },
		segment.ColdPread:    func(r *reading) int64 { return r.preads.Load() },
	} {
		t.Run(string(how), func(t *testing.T) {
			var counted reading
			s := openStore(t, scratch(t), small(Options{Mapper: &counted, ColdRead: how, ColdAfterBytes: 10_000}))
			short := put(t, s, newMessage("t", 0, "short"))
			long := put(t, s, newMessage("t", 0, text("long", 5000)))
			recent := short
			for s.log.Committed()-long.PhysicalOffset <= 10_000 {
				recent = put(t, s, newMessage("t", 0, text("more", 500)))
			}
			for _, c := range []struct {
				name  string
				at    PutResult
				calls int64
			}{{"recent", recent, 0}, {"short", short, 1}, {"long", long, 2}} {
				want := c.calls
				if how == segment.ColdFault {
					want = 0
				}
				before := calls(&counted)
				read(t, s, c.at.PhysicalOffset)
				if got := calls(&counted) - before; got != want {
					t.Errorf("%s record: %d calls, want %d", c.name, got, want)
				}
			}
		})
	}
}

// Goal: on a system without MADV_POPULATE_READ cold records are read all the
// same, with one warning, and the snapshot says so.
func TestColdReadsWorkWithoutPopulate(t *testing.T) {
	var log warnings
	o := small(Options{ColdAfterBytes: 1})
	o.Mapper, o.Logger = &reading{refuse: errors.ErrUnsupported}, log.logger()
	s := openStore(t, scratch(t), o)
	for i := range 5 {
		m := newMessage("t", 0, text(body(i), 3000*i))
		if want := asStored(m, put(t, s, m)); read(t, s, want.offset) != want {
			t.Errorf("record %d differs from what was put", i)
		}
	}
	if n := log.count("populate cold record"); n != 1 {
		t.Errorf("%d warnings, want 1:\n%s", n, log.String())
	}
	if got := s.Snapshot().SystemCalls["populate cold record"]; !strings.HasPrefix(got, "failed: ") {
		t.Errorf("snapshot says %q", got)
	}
}

// Goal: a copy is the caller's: it outlives the store, and giving it back twice
// harms nobody.
func TestCopiedRecordNeedsNoMapping(t *testing.T) {
	s := openStore(t, scratch(t), small(Options{ColdRead: segment.ColdPread, ColdAfterBytes: 1}))
	p := put(t, s, newMessage("t", 0, text("kept", 5000)))
	v, err := s.At(p.PhysicalOffset)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := string(v.Body); got != text("kept", 5000) || v.Revoked() {
		t.Errorf("after Close the body has %d bytes, revoked: %v", len(got), v.Revoked())
	}
	v.Release()
	v.Release()
	if v.Bytes() != nil {
		t.Error("a released view has bytes")
	}
}

func TestColdReadsInPlaceDoNotAllocate(t *testing.T) {
	for _, how := range []segment.ColdRead{segment.ColdPopulate, segment.ColdFault} {
		s := openStore(t, scratch(t), small(Options{ColdRead: how, ColdAfterBytes: 1}))
		p := put(t, s, newMessage("t", 0, text("long", 5000)))
		if n := testing.AllocsPerRun(100, func() {
			v, err := s.At(p.PhysicalOffset)
			if err != nil {
				t.Error(err)
			}
			v.Release()
		}); n != 0 {
			t.Errorf("%s: %v allocations per read, want 0", how, n)
		}
	}
}

// Goal: no data race and no wrong byte when records are read cold beside
// writers and syncs. Method: the heap mapper, whose memory the race detector
// watches.
func TestColdReadsBesideWriters(t *testing.T) {
	for _, how := range coldReads {
		for _, path := range syncPaths {
			t.Run(string(how)+" "+string(path), func(t *testing.T) {
				s := openStore(t, scratch(t), newSeam().options(Options{ColdRead: how, ColdAfterBytes: 1, SyncPath: path}))
				last := new(atomic.Int64) // offset of some record
				var writing, reading sync.WaitGroup
				stop := make(chan struct{})
				for w := range 2 {
					writing.Go(func() {
						for i := range 100 {
							p, err := s.Put(newMessage("t", int32(w), text(body(i), 60*i)))
							if err != nil {
								t.Errorf("put: %v", err)
								return
							}
							last.Store(p.PhysicalOffset)
						}
					})
					reading.Go(func() {
						for {
							select {
							case <-stop:
								return
							default:
							}
							v, err := s.At(last.Load())
							if err == nil {
								if _, _, err = message.Check(v.Bytes(), message.CheckOptions{Position: true, PhysicalOffset: v.PhysicalOffset}); err != nil {
									t.Errorf("read: %v", err)
								}
								v.Release()
							} else if !errors.Is(err, ErrNotFound) {
								t.Errorf("read: %v", err)
							}
							runtime.Gosched()
						}
					})
				}
				writing.Wait()
				close(stop)
				reading.Wait()
			})
		}
	}
}

// Goal: after EvictLog the next reads come from the disk. Method: cachestat
// before and after.
func TestEvictLogEmptiesThePageCache(t *testing.T) {
	s := openStore(t, t.TempDir(), small(Options{CommitLogFileBytes: 256 << 10}))
	for i := range 200 {
		put(t, s, newMessage("t", 0, text(body(i), 3000)))
	}
	before, err := s.LogCache()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skipf("no cachestat: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.EvictLog(); err != nil {
		t.Fatal(err)
	}
	after, err := s.LogCache()
	if err != nil {
		t.Fatal(err)
	}
	if after.CachedPages == before.CachedPages {
		t.Skip("the file system of the temporary directory keeps its pages, as one in memory does")
	}
	if before.CachedPages < 150 || after.CachedPages > before.CachedPages/4 {
		t.Errorf("%d pages cached before, %d after", before.CachedPages, after.CachedPages)
	}
}
