package segment

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"commitlab/engine/mmap/mmaptest"
	"commitlab/engine/stats"
)

// destroying are options of files that a reaper takes down, and what it reports.
type destroying struct {
	*Options
	heap  *mmaptest.Heap
	woken atomic.Int32

	mu    sync.Mutex
	steps []DestroyStep
}

func newDestroying(t *testing.T, way Destruction, rate int64) *destroying {
	t.Helper()
	o, heap := newOptions()
	d := &destroying{Options: o, heap: heap}
	d.FileBytes = 3*pieceBytes + 100
	ro := ReaperOptions{
		Destroy: way, BytesPerSecond: rate, Wake: func() { d.woken.Add(1) }, Optional: o.Optional,
		Observe: func(s DestroyStep) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.steps = append(d.steps, s)
		},
	}
	if way == DestroyRecycle {
		spares := NewSpares(filepath.Join(t.TempDir(), "recycle"), heap, spareBytes/2)
		if err := spares.Prepare(); err != nil {
			t.Fatal(err)
		}
		ro.Spares = spares
	}
	d.Reaper = NewReaper(ro)
	return d
}

// names are the steps taken, those of one kind in a row as one.
func (d *destroying) names() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var names []string
	for _, s := range d.steps {
		names = append(names, s.Name)
	}
	return strings.Join(slices.Compact(names), " ")
}

// run steps the reaper until it has no work.
func (d *destroying) run(t *testing.T) (calls int) {
	t.Helper()
	for {
		n, err := d.Reaper.Step(start)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return calls
		}
		calls++
	}
}

// Goal: each way of taking a file down takes the steps it promises, in this order,
// and nobody else but the reaper takes those that may last.
func TestEveryWayOfTakingDownHasItsSteps(t *testing.T) {
	for way, want := range map[Destruction]struct{ caller, reaper string }{
		DestroyInline:     {"unlink wait munmap close total", ""},
		DestroyBackground: {"unlink wait", " munmap close total"},
		DestroyStepwise:   {"unlink wait", " munmap truncate munmap truncate munmap truncate munmap truncate munmap close total"},
		DestroyPunch:      {"unlink wait", " munmap punch munmap punch munmap punch munmap punch munmap close total"},
		DestroyRecycle:    {"recycle wait", " close total"},
	} {
		t.Run(string(way), func(t *testing.T) {
			d := newDestroying(t, way, 0)
			f := newFileAt(t, d.Options, 0)
			f.OfferReuse()
			if _, err := f.Destroy(start, Never); err != nil {
				t.Fatal(err)
			}
			if got := d.names(); got != want.caller {
				t.Errorf("the caller took %q, want %q", got, want.caller)
			}
			d.run(t)
			if got := d.names(); got != want.caller+want.reaper {
				t.Errorf("in all %q, want %q", got, want.caller+want.reaper)
			}
			if gone, err := f.Destroy(start, Never); !gone || err != nil {
				t.Errorf("gone %v, %v", gone, err)
			}
			freed := d.Reaper.FreedBytes()
			if wantFreed := f.Size(); way == DestroyRecycle && freed != 0 || way != DestroyRecycle && freed != wantFreed {
				t.Errorf("%d bytes freed of %d", freed, wantFreed)
			}
			if exists(f.Path()) {
				t.Error("the name is still there")
			}
			for _, s := range d.steps {
				if s.Path != f.Path() || s.Start.IsZero() || s.Duration < 0 || s.Bytes > f.Size() {
					t.Errorf("step %+v", s)
				}
			}
		})
	}
}

// B-81: unmapping made hiccups where it was done. The last reader of a deleted file
// only hands it over, and so does the cleaning pass.
func TestB81_NobodyWhoReleasesUnmaps(t *testing.T) {
	d := newDestroying(t, DestroyBackground, 0)
	f := newFileAt(t, d.Options, 0)
	appendBytes(t, f, 100, 1)
	v, err := f.View(0, 100)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Destroy(start, Never); err != nil {
		t.Fatal(err)
	}
	if d.Reaper.Backlog() != 0 || !f.Held() {
		t.Errorf("held %v, backlog %d: a reader has it", f.Held(), d.Reaper.Backlog())
	}
	v.Release()
	if n := count(d.heap, mmaptest.OpUnmap); n != 0 {
		t.Error("the reader unmapped the file")
	}
	if d.Reaper.Backlog() != 1 || d.woken.Load() != 1 {
		t.Errorf("backlog %d, woken %d times, want 1 and 1", d.Reaper.Backlog(), d.woken.Load())
	}
	d.run(t)
	if n := count(d.heap, mmaptest.OpUnmap); n != 1 || d.Reaper.Backlog() != 0 {
		t.Errorf("unmapped %d times, backlog %d", n, d.Reaper.Backlog())
	}
}

// B-79: files were deleted as fast as the disk would take it. The rate counts
// bytes, however many files they belong to.
func TestB79_FreeingKeepsToItsRate(t *testing.T) {
	for _, way := range []Destruction{DestroyBackground, DestroyStepwise, DestroyPunch} {
		const rate = 2 * pieceBytes // per second
		d := newDestroying(t, way, rate)
		for range 3 {
			if _, err := newFileAt(t, d.Options, 0).Destroy(start, Never); err != nil {
				t.Fatal(err)
			}
		}
		total := 3 * d.FileBytes
		now := start
		for ; d.Reaper.Backlog() > 0; now = now.Add(10 * time.Millisecond) {
			before := d.Reaper.FreedBytes()
			for n := 1; n > 0; {
				var err error
				if n, err = d.Reaper.Step(now); err != nil {
					t.Fatal(err)
				}
			}
			if most := int64(pieceBytes); way != DestroyBackground && d.Reaper.FreedBytes()-before > most {
				t.Fatalf("%s: %d bytes at one moment, want at most %d", way, d.Reaper.FreedBytes()-before, most)
			}
		}
		if freed := d.Reaper.FreedBytes(); freed != total {
			t.Errorf("%s: freed %d bytes of %d", way, freed, total)
		}
		// The last piece is free at once, and each one may be 10 ms late.
		took := now.Sub(start).Seconds()
		least, most := float64(total-d.FileBytes)/rate, float64(total)/rate*1.2
		if took < least || took > most {
			t.Errorf("%s: took %.2f s at the rate, want %.2f to %.2f", way, took, least, most)
		}
	}
}

// Where a file system cannot punch holes, or truncating fails, the close frees all
// that is left.
func TestPiecesThatCannotBeFreedAreLeftToTheClose(t *testing.T) {
	for way, op := range map[Destruction]mmaptest.Op{DestroyPunch: mmaptest.OpPunchHole, DestroyStepwise: mmaptest.OpTruncate} {
		d := newDestroying(t, way, 0)
		f := newFileAt(t, d.Options, 0)
		d.heap.Fail(op, errInjected, 1)
		if _, err := f.Destroy(start, Never); err != nil {
			t.Fatal(err)
		}
		d.run(t)
		if got := d.names(); got != "unlink wait munmap close total" || d.Reaper.FreedBytes() != f.Size() {
			t.Errorf("%s: steps %q, %d bytes freed", way, got, d.Reaper.FreedBytes())
		}
	}
}

// By force the pieces are freed under the readers, whose pages are zeros by then,
// and the address range goes with the last of them.
func TestForcedFileIsFreedInPiecesUnderItsReaders(t *testing.T) {
	for _, way := range []Destruction{DestroyInline, DestroyBackground, DestroyStepwise, DestroyPunch} {
		d := newDestroying(t, way, 0)
		f := newFileAt(t, d.Options, 0)
		appendBytes(t, f, 5000, 7)
		v, err := f.View(0, 5000)
		if err != nil {
			t.Fatal(err)
		}
		for _, now := range []time.Time{start, start.Add(time.Second)} {
			if _, err := f.Destroy(now, time.Second); err != nil {
				t.Fatal(err)
			}
		}
		d.run(t)
		if d.Reaper.FreedBytes() != f.Size() || count(d.heap, mmaptest.OpUnmap) != 0 || !v.Revoked() {
			t.Errorf("%s: %d bytes freed, unmapped %d times, revoked %v", way, d.Reaper.FreedBytes(), count(d.heap, mmaptest.OpUnmap), v.Revoked())
		}
		if err := v.Touch(); err != nil {
			t.Error(err)
		}
		v.Release()
		d.run(t)
		if n := count(d.heap, mmaptest.OpUnmap); n != 1 {
			t.Errorf("%s: unmapped %d times", way, n)
		}
		if got := d.names(); !strings.HasPrefix(got, "unlink replace ") || !strings.HasSuffix(got, " wait munmap total") {
			t.Errorf("%s: steps %q", way, got)
		}
	}
}

// A stopped reaper leaves nothing behind, and a reader that comes late does the work.
func TestStoppedReaperLeavesTheWorkToTheLastReader(t *testing.T) {
	d := newDestroying(t, DestroyStepwise, 1)
	var views []View
	for range 2 {
		f := newFileAt(t, d.Options, 0)
		appendBytes(t, f, 10, 1)
		v, err := f.View(0, 10)
		if err != nil {
			t.Fatal(err)
		}
		views = append(views, v)
		if _, err := f.Destroy(start, Never); err != nil {
			t.Fatal(err)
		}
	}
	views[0].Release()
	d.Reaper.Stop()
	if n := count(d.heap, mmaptest.OpUnmap); n != 1 {
		t.Errorf("after Stop: unmapped %d times, want 1", n)
	}
	views[1].Release()
	if n := count(d.heap, mmaptest.OpUnmap); n != 2 || d.Reaper.Backlog() != 0 {
		t.Errorf("after the late release: unmapped %d times, backlog %d", n, d.Reaper.Backlog())
	}
}

// A file that did not get a name of its own as a spare, or that this process did not
// write, is removed as ever; there are never more than two spares.
func TestSparesAreFewAndKnown(t *testing.T) {
	d := newDestroying(t, DestroyRecycle, 0)
	dir := t.TempDir()
	for i := range int64(4) {
		base := i * d.FileBytes
		f, err := Next(filepath.Join(dir, FileName(base)), base, d.Options)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 { // as after a restart
			f.Shutdown()
			if f, err = Open(f.Path(), base, d.Options); err != nil {
				t.Fatal(err)
			}
		}
		f.OfferReuse()
		if _, err := f.Destroy(start, Never); err != nil {
			t.Fatal(err)
		}
		defer d.run(t)
		if i == 0 && len(entries(t, d.Reaper.opt.Spares.dir)) != 0 {
			t.Error("a file of an earlier process became a spare")
		}
	}
	if got := entries(t, d.Reaper.opt.Spares.dir); len(got) != 2 || len(entries(t, dir)) != 0 {
		t.Errorf("spares %v, log %v", got, entries(t, dir))
	}
}

// A spare is used once nobody has it any more; it is as large as a new file, its
// first page is empty, and its positions are at its beginning.
func TestSpareBecomesTheNextFile(t *testing.T) {
	d := newDestroying(t, DestroyRecycle, 0)
	dir := t.TempDir()
	next := func(i int64) *File {
		f, err := Next(filepath.Join(dir, FileName(i*d.FileBytes)), i*d.FileBytes, d.Options)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	f := next(0)
	appendBytes(t, f, 3*pageBytes, 9)
	f.OfferReuse()
	if _, err := f.Destroy(start, Never); err != nil {
		t.Fatal(err)
	}
	if g := next(1); g.Stale() {
		t.Error("the file was used again before it was closed")
	} else {
		g.Shutdown()
	}
	d.run(t)
	g := next(2)
	defer g.Shutdown()
	if !g.Stale() || g.Wrote() != 0 || g.Flushed() != 0 || g.ReadPosition() != 0 || g.Base() != 2*d.FileBytes {
		t.Errorf("stale %v, wrote %d, flushed %d, base %d", g.Stale(), g.Wrote(), g.Flushed(), g.Base())
	}
	if zero, err := g.zero(0, pageBytes); !zero || err != nil {
		t.Errorf("first page is zero %v, %v", zero, err)
	}
	if zero, err := g.zero(pageBytes, pageBytes); zero || err != nil {
		t.Errorf("second page is zero %v, %v: so nothing was used again", zero, err)
	}
	if d.Reaper.opt.Spares.Used() != 1 || len(entries(t, d.Reaper.opt.Spares.dir)) != 0 {
		t.Errorf("used %d, left %v", d.Reaper.opt.Spares.Used(), entries(t, d.Reaper.opt.Spares.dir))
	}
}

// What fails on the way from or to the spares costs a spare, never a file of the log.
func TestSpareThatCannotBeKeptOrUsed(t *testing.T) {
	for _, c := range []struct {
		op    mmaptest.Op
		first bool // fails when the file is to be kept, else when it is to be used
		held  bool // by a reader who was left without pages, so that it is mapped again
	}{
		{op: mmaptest.OpRename, first: true}, {op: mmaptest.OpWrite, first: true}, {op: mmaptest.OpSyncData, first: true},
		{op: mmaptest.OpSyncFile, first: true, held: true},
		{op: mmaptest.OpRename}, {op: mmaptest.OpSyncDir}, {op: mmaptest.OpMap, held: true},
	} {
		d := newDestroying(t, DestroyRecycle, 0)
		d.Optional = stats.NewOptional(quiet())
		d.Reaper.opt.Optional = d.Optional
		dir := t.TempDir()
		f, err := Create(filepath.Join(dir, FileName(0)), 0, d.Options)
		if err != nil {
			t.Fatal(err)
		}
		appendBytes(t, f, 10, 1)
		view, err := f.View(0, 10)
		if err != nil {
			t.Fatal(err)
		}
		if !c.held {
			view.Release()
		}
		if c.first {
			d.heap.Fail(c.op, errInjected, 1)
		}
		f.OfferReuse()
		for range 2 {
			if _, err := f.Destroy(start, 0); err != nil {
				t.Fatal(err)
			}
		}
		d.run(t)
		if !c.first {
			d.heap.Fail(c.op, errInjected, 1)
		}
		g, err := Next(filepath.Join(dir, FileName(d.FileBytes)), d.FileBytes, d.Options)
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		if g.Stale() {
			t.Errorf("%+v: nothing failed", c)
		}
		if got := entries(t, dir); !slices.Equal(got, []string{FileName(d.FileBytes)}) || len(entries(t, d.Reaper.opt.Spares.dir)) != 0 {
			t.Errorf("%+v: log %v, spares %v", c, got, entries(t, d.Reaper.opt.Spares.dir))
		}
		g.Shutdown()
		if c.held {
			view.Release()
			d.run(t)
		}
	}
}

// A spare that waits keeps its mapping for the next life, and loses it with the spares.
func TestSpareKeepsItsMapping(t *testing.T) {
	d := newDestroying(t, DestroyRecycle, 0)
	dir := t.TempDir()
	calls := func() [2]int { return [2]int{count(d.heap, mmaptest.OpMap), count(d.heap, mmaptest.OpUnmap)} }
	for i := range int64(3) {
		path := filepath.Join(dir, FileName(i*d.FileBytes))
		f, err := Next(path, i*d.FileBytes, d.Options)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.region.Sync(-1, 1); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("the mapping calls the file otherwise than %s: %v", path, err)
		}
		f.OfferReuse()
		if _, err := f.Destroy(start, Never); err != nil {
			t.Fatal(err)
		}
		d.run(t)
		if got := calls(); got != [2]int{1, 0} {
			t.Errorf("life %d: %d times mapped, %d times unmapped", i, got[0], got[1])
		}
	}
	if err := d.Reaper.opt.Spares.Close(); err != nil {
		t.Fatal(err)
	}
	if got := calls(); got != [2]int{1, 1} {
		t.Errorf("closed: %d times mapped, %d times unmapped", got[0], got[1])
	}
}

// What a killed process left of its spares is removed; other things are not.
func TestSparesOfAKilledProcessAreRemoved(t *testing.T) {
	_, heap := newOptions()
	dir := filepath.Join(t.TempDir(), "recycle")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{FileName(0), FileName(1 << 40), "notes"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := RemoveSpares(dir, heap, false); err != nil {
		t.Fatal(err)
	}
	if got := entries(t, dir); !slices.Equal(got, []string{"notes"}) {
		t.Errorf("left: %v", got)
	}
	if err := RemoveSpares(dir, heap, true); err == nil || !exists(dir) {
		t.Errorf("a directory that is not empty was removed: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "notes")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := RemoveSpares(dir, heap, true); err != nil || exists(dir) {
			t.Errorf("remove: %v", err)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
