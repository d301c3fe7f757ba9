package engine

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"commitlab/engine/fsutil"
	"commitlab/engine/message"
)

// A fakeDisk is as full as the test says.
type fakeDisk struct {
	mu      sync.Mutex
	percent int   // guarded by mu
	err     error // guarded by mu
}

func (d *fakeDisk) set(percent int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.percent, d.err = percent, err
}

func (d *fakeDisk) usage(string) (fsutil.DiskUsage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	free := uint64(1000 - 10*d.percent)
	return fsutil.DiskUsage{Total: 1000, Free: free, Available: free}, d.err
}

var errNoDisk = errors.New("no such disk")

// The refusal sets in above one limit and ends at the other.
func TestDiskWatchRefusesAndHeals(t *testing.T) {
	disk := &fakeDisk{}
	d := newDiskWatch(Options{DiskUsage: disk.usage, DiskWarningPercent: 90, DiskCleanForciblyPercent: 85}, "/log")
	for i, c := range []struct {
		percent int
		err     error
		refuses bool
	}{
		{84, nil, false}, {86, nil, false}, {90, nil, false}, {91, nil, true}, {90, nil, true}, {86, nil, true},
		{0, errNoDisk, true}, // as before: nothing is known
		{85, nil, false}, {90, nil, false},
		{0, errNoDisk, false},
		{100, nil, true}, {12, nil, false},
	} {
		disk.set(c.percent, c.err)
		_, err := d.Step(time.Time{})
		if !errors.Is(err, c.err) {
			t.Errorf("%d: step says %v, want %v", i, err, c.err)
		}
		refusal := d.check()
		if (refusal != nil) != c.refuses || refusal != nil && !errors.Is(refusal, ErrDiskFull) {
			t.Errorf("%d: at %d %%: %v, want refusal %v", i, c.percent, refusal, c.refuses)
		}
	}
}

// H23: of several log directories a missing one made the least ratio -1, and no disk was
// ever full. What cannot be measured hides no disk that is too full. A refusal named the
// last one that was, or one that had healed while another could not be measured. It
// names the fullest of those that are in the way.
func TestRefusalNamesTheDiskThatIsFull(t *testing.T) {
	percents := make(map[string]int) // by path; -1 cannot be measured
	d := newDiskWatch(Options{
		DiskWarningPercent: 90, DiskCleanForciblyPercent: 85,
		DiskUsage: func(path string) (fsutil.DiskUsage, error) {
			if percents[path] < 0 {
				return fsutil.DiskUsage{}, errNoDisk
			}
			free := uint64(1000 - 10*percents[path])
			return fsutil.DiskUsage{Total: 1000, Free: free, Available: free}, nil
		},
	}, "/log", "/queue")
	for i, c := range []struct {
		log, queue int
		named      string // "": puts are accepted
	}{
		{97, 91, "/log is 97 %"}, {97, 86, "/log is 97 %"}, {86, 95, "/queue is 95 %"}, {80, 95, "/queue is 95 %"},
		{96, 92, "/log is 96 %"}, {92, 96, "/queue is 96 %"}, {-1, 50, "/log is 92 %"}, {-1, -1, "/log is 92 %"}, {85, -1, ""}, {89, 91, "/queue is 91 %"},
	} {
		percents["/log"], percents["/queue"] = c.log, c.queue
		if _, err := d.Step(time.Time{}); err != nil && !errors.Is(err, errNoDisk) {
			t.Fatal(err)
		}
		if err := d.check(); (err != nil) != (c.named != "") || err != nil && !strings.Contains(err.Error(), c.named) {
			t.Errorf("%d: with %d and %d %%: %v, want %q", i, c.log, c.queue, err, c.named)
		}
	}
}

// B-52: two limits hid behind one another, and the one that was set changed nothing.
// What holds is said at the start, and a refusal names the limit it comes from.
func TestB52_EffectiveLimitsAreSaid(t *testing.T) {
	disk := &fakeDisk{percent: 92}
	log := &lines{}
	o := small(Options{DiskMaxUsedPercent: 99, DiskCleanForciblyPercent: 85, DiskWarningPercent: 90, DiskUsage: disk.usage})
	o.Logger = log.logger()
	s := openUnchecked(t, scratch(t), o)
	if log.count("retention", "diskMaxUsedPercent=99", "diskCleanForciblyPercent=85", "diskWarningPercent=90", "deleteWhen=04", "fileReservedMs=259200000") != 1 {
		t.Errorf("at the start: %s", log)
	}
	var err error
	eventually(t, "puts are refused", func() bool {
		_, err = s.Put(newMessage("t", 0, "x"))
		return err != nil
	})
	for _, want := range []string{"92 % full", "diskWarningPercent 90", s.dir.CommitLog()} {
		if !errors.Is(err, ErrDiskFull) || !strings.Contains(err.Error(), want) {
			t.Errorf("put says %q, want ErrDiskFull and %q", err, want)
		}
	}
}

// B-50: the store stayed unwritable when there was space again. B-51: a disk that
// cannot be measured was taken for a full one. Puts of all kinds are refused and
// accepted again, with nothing but the disk changing.
func TestB50_B51_RefusalHealsAndUnknownIsNoMeasurement(t *testing.T) {
	disk := &fakeDisk{err: errNoDisk}
	log := &warnings{}
	const size = 16 << 10
	o := small(Options{
		CommitLogFileBytes: size, CleanIntervalMs: 2, DeleteFileIntervalMs: 1, Dispatch: On,
		DiskMaxUsedPercent: 75, DiskCleanForciblyPercent: 85, DiskWarningPercent: 90, DiskUsage: disk.usage,
	})
	o.Logger = log.logger()
	s := openUnchecked(t, scratch(t), o)
	for i := range 200 {
		put(t, s, newMessage("t", 0, text(body(i), 500)))
	}
	dispatched(t, s)
	time.Sleep(20 * time.Millisecond) // ten looks
	if s.log.Min() != 0 {
		t.Error("files were deleted, though nothing is known of the disk")
	}
	if n := log.count("cannot tell how full", errNoDisk.Error()); n != 1 {
		t.Errorf("said %d times, want once:\n%s", n, log)
	}
	for range 3 {
		disk.set(95, nil)
		eventually(t, "puts are refused", func() bool {
			_, err := s.Put(newMessage("t", 0, "x"))
			return errors.Is(err, ErrDiskFull)
		})
		if _, err := s.PutBatch([]message.Message{*newMessage("t", 0, "a"), *newMessage("t", 0, "b")}); !errors.Is(err, ErrDiskFull) {
			t.Errorf("batch: %v", err)
		}
		if got := s.Snapshot().Retention; got.DiskPercent != 95 || !strings.Contains(got.Refusing, "95 % full") {
			t.Errorf("snapshot: %+v", got)
		}
		disk.set(50, nil)
		eventually(t, "puts are accepted", func() bool {
			_, err := s.Put(newMessage("t", 0, "x"))
			return err == nil
		})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	verified(t, s)
}
