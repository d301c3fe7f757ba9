package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"commitlab/engine/message"
	"commitlab/engine/mmap/mmaptest"
	"commitlab/engine/segment"
)

// A log that must not be larger than so many bytes loses its oldest files while it
// is written, whatever their age, and what points to them goes too.
func TestLogIsKeptToASize(t *testing.T) {
	const size = 16 << 10
	for _, way := range []segment.Destruction{segment.DestroyInline, segment.DestroyBackground, segment.DestroyStepwise, segment.DestroyPunch, segment.DestroyRecycle} {
		for _, flush := range []string{FlushAsync, FlushSync} {
			t.Run(string(way)+" "+flush, func(t *testing.T) {
				s := openStore(t, scratch(t), small(Options{
					CommitLogFileBytes: size, MaxLogBytes: 4 * size, DeleteFileIntervalMs: 1, Destroy: way, Flush: flush,
				}))
				var all []PutResult
				recycled := func() bool { return way != segment.DestroyRecycle || s.Snapshot().Retention.RecycledFiles > 0 }
				for i := 0; i < 300 || i < 30_000 && !recycled(); i++ {
					all = append(all, put(t, s, newMessage("t", int32(i%3), text(body(i), 500))))
				}
				eventually(t, "the log has four files", func() bool { return s.log.End()-s.log.Min() <= 4*size })
				left := scan(t, s)
				for i, kept := range all[len(all)-len(left):] {
					if left[i].offset != kept.PhysicalOffset {
						t.Fatalf("%d records are left of %d; number %d is at %d, want %d", len(left), len(all), i, left[i].offset, kept.PhysicalOffset)
					}
				}
				if !recycled() {
					t.Error("no file was used again")
				}
			})
		}
	}
}

// retiring returns a store with some files, whose cleaning only the test does.
func retiring(t testing.TB, o Options, files int64) (s *Store, all []PutResult) {
	t.Helper()
	o.CleanIntervalMs, o.DeleteFileIntervalMs = 1<<30, 1
	s = openUnchecked(t, scratch(t), small(o))
	for i := 0; s.log.End() < files*s.opt.CommitLogFileBytes; i++ {
		m := newMessage("t", int32(i%2), text(body(i), 500))
		m.Properties = message.Properties(fmt.Sprintf("KEYS\x01k%d\x02", i))
		all = append(all, put(t, s, m))
	}
	if o.Dispatch == On {
		dispatched(t, s)
	} else if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	return s, all
}

// pass makes one cleaning pass as of now and returns how many files went.
func pass(t testing.TB, s *Store, now time.Time) (files int64) {
	t.Helper()
	c := s.cleaner
	before := s.log.Snapshot().RetiredFiles
	c.mu.Lock()
	c.passAt, c.nextAt, c.left = now, now, 0
	c.mu.Unlock()
	for more := true; more; now = now.Add(c.pause) {
		if _, err := c.Step(now); err != nil {
			t.Fatal(err)
		}
		c.mu.Lock()
		more = c.left > 0
		c.mu.Unlock()
	}
	return s.log.Snapshot().RetiredFiles - before
}

// at returns the next time at which it is so many o'clock, days from now.
func at(days, hour int) time.Time {
	now := time.Now()
	return time.Date(now.Year(), now.Month(), now.Day()+days, hour, 30, 0, 0, time.Local)
}

// In the hour of deletion expired files go, ten in a pass, and what points to them
// follows by whole files; the last of each stays, and all that is left can be read.
func TestExpiredFilesGoInTheirHourByBatches(t *testing.T) {
	s, all := retiring(t, Options{Dispatch: On, ConsumeQueueFileBytes: 20 * 20, IndexSlots: 10, IndexItems: 40}, 16)
	queue := s.queues.Get("t", 0).Dir()
	queueFiles, indexFiles := len(names(t, queue)), len(names(t, s.dir.Index()))
	if n := pass(t, s, at(2, 4)); n != 0 {
		t.Errorf("%d files went after two days", n)
	}
	if n := pass(t, s, at(4, 5)); n != 0 {
		t.Errorf("%d files went at another hour", n)
	}
	for i, want := range []int64{10, 5, 0} {
		if n := pass(t, s, at(4, 4)); n != want {
			t.Errorf("pass %d: %d files went, want %d", i, n, want)
		}
	}
	if s.log.Min() != 15*s.opt.CommitLogFileBytes {
		t.Errorf("the log begins at %d", s.log.Min())
	}
	if after := len(names(t, queue)); after >= queueFiles || after == 0 {
		t.Errorf("queue has %d files, had %d", after, queueFiles)
	}
	if after := len(names(t, s.dir.Index())); after >= indexFiles || after == 0 {
		t.Errorf("index has %d files, had %d", after, indexFiles)
	}
	left := int64(0)
	for id := range int32(2) {
		first, bodies := queueBodies(t, s, "t", id)
		left += int64(len(bodies))
		if want := int64(len(all)+1-int(id))/2 - int64(len(bodies)); first != want {
			t.Errorf("queue %d begins at %d, want %d", id, first, want)
		}
	}
	var want int64
	for _, p := range all {
		if p.PhysicalOffset >= s.log.Min() {
			want++
		}
	}
	if left != want {
		t.Errorf("queues have %d messages, the log %d", left, want)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	verified(t, s)
}

// B-92: data outlives its retention where the file that is written is never
// deleted. So it is here: the last file stays, also by hand and by force, and goes
// after the next roll.
func TestB92_TheFileThatIsWrittenStays(t *testing.T) {
	disk := &fakeDisk{percent: 99}
	s, _ := retiring(t, Options{
		FileReservedMs: 1, DiskUsage: disk.usage, DiskMaxUsedPercent: 75, DiskCleanForciblyPercent: 85, DiskWarningPercent: 99,
	}, 1)
	if n := pass(t, s, at(4, 4)); n != 0 {
		t.Errorf("%d files went", n)
	}
	if d, err := s.DeleteExpired(); d.Files != 0 || err != nil {
		t.Errorf("by hand: %+v, %v", d, err)
	}
	if got := scan(t, s); len(got) == 0 || got[0].offset != 0 {
		t.Error("the first message is gone")
	}
	for s.log.End() < 2*s.opt.CommitLogFileBytes {
		put(t, s, newMessage("t", 0, text("roll", 500)))
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	if n := pass(t, s, at(4, 4)); n != 1 {
		t.Errorf("after the roll %d files went, want 1", n)
	}
}

// A topic whose queues could not be removed made every deletion by hand fail, and every
// pass clean all queues again.
func TestFailedDeletionOfATopicSpoilsNoCleaning(t *testing.T) {
	disk := newSeam()
	o := Options{FileReservedMs: 1, Dispatch: On}
	o.Mapper, o.Disk = disk, disk
	s, _ := retiring(t, o, 8)
	put(t, s, newMessage("gone", 0, "x"))
	dispatched(t, s)
	disk.on(func(op mmaptest.Op, path string) error {
		if op == mmaptest.OpRemove && strings.HasPrefix(path, filepath.Join(s.dir.ConsumeQueue(), "gone")) {
			return os.ErrPermission
		}
		return nil
	})
	if err := s.DeleteTopic("gone"); !errors.Is(err, os.ErrPermission) {
		t.Fatalf("delete: %v", err)
	}
	time.Sleep(5 * time.Millisecond)
	if d, err := s.DeleteExpired(); err != nil || d.Files == 0 {
		t.Errorf("deleted %+v, %v; want some files", d, err)
	}
	c := s.cleaner
	step := func() error {
		c.mu.Lock()
		c.passAt, c.nextAt, c.left = time.Time{}, time.Time{}, 0
		c.mu.Unlock()
		_, err := c.Step(time.Now())
		return err
	}
	if err := step(); !errors.Is(err, os.ErrPermission) {
		t.Errorf("a pass says %v, want what kept the topic", err)
	}
	c.mu.Lock()
	if c.minAt != s.log.Min() || c.minAt == 0 {
		t.Errorf("queues were cleaned to %d, want to %d, where the log begins", c.minAt, s.log.Min())
	}
	c.mu.Unlock()
	disk.on(nil)
	if err := step(); err != nil {
		t.Errorf("a pass says %v", err)
	}
	if got := names(t, s.dir.ConsumeQueue()); fmt.Sprint(got) != "[t]" {
		t.Errorf("there are queues of %v, want of t", got)
	}
}

// By hand expired files go at any hour, in up to twenty batches; what has not
// expired stays.
func TestDeletionByHand(t *testing.T) {
	s, _ := retiring(t, Options{FileReservedMs: 1, Dispatch: On, DeleteFileBatch: 2}, 50)
	time.Sleep(5 * time.Millisecond)
	d, err := s.DeleteExpired()
	if want := (Deleted{Files: 40, Bytes: 40 * s.opt.CommitLogFileBytes}); err != nil || d != want {
		t.Errorf("deleted %+v, %v; want %+v", d, err, want)
	}
	if d, err := s.DeleteExpired(); err != nil || d.Files != 9 {
		t.Errorf("again: %+v, %v; want the other 9", d, err)
	}
	if first, _ := s.QueueBounds("t", 0); first == 0 {
		t.Error("the queue still begins with what is gone")
	}
	young, _ := retiring(t, Options{}, 5)
	if d, err := young.DeleteExpired(); err != nil || d.Files != 0 {
		t.Errorf("young files: %+v, %v", d, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.DeleteExpired(); !errors.Is(err, ErrClosing) {
		t.Errorf("closed: %v", err)
	}
}

// A file that is off the log is deleted, even if the system does not take its mapping
// back: it counts, is said, and those behind it go too.
func TestRetirementOutlivesAFailedUnmap(t *testing.T) {
	disk, log := newSeam(), &lines{}
	o := Options{FileReservedMs: 1, Destroy: segment.DestroyInline}
	o.Mapper, o.Disk, o.Logger = disk, disk, log.logger()
	s, _ := retiring(t, o, 5)
	time.Sleep(5 * time.Millisecond)
	errUnmap := errors.New("no such mapping")
	disk.heap.Fail(mmaptest.OpUnmap, errUnmap, 1)
	d, err := s.DeleteExpired()
	if want := (Deleted{Files: 4, Bytes: 4 * s.opt.CommitLogFileBytes}); err != nil || d != want {
		t.Errorf("deleted %+v, %v; want %+v", d, err, want)
	}
	if said, warned := log.count("commit log file deleted", "expired"), log.count("level=WARN", errUnmap.Error()); said != 4 || warned != 1 {
		t.Errorf("%d files were said, %d warnings; want 4 and 1:\n%s", said, warned, log)
	}
}

// B-53: at high usage young, unread data was deleted without bounds. By force goes
// only what must: the oldest first, no more once the disk is empty enough, nothing
// if it is not wanted, and each file is said with the reason.
func TestB53_ForcedDeletionIsBoundedAndSaid(t *testing.T) {
	disk := &fakeDisk{percent: 88}
	log := &lines{}
	o := Options{DiskUsage: disk.usage, DiskMaxUsedPercent: 75, DiskCleanForciblyPercent: 85, DiskWarningPercent: 90, Destroy: segment.DestroyInline}
	o.Logger = log.logger()
	s, _ := retiring(t, o, 16)
	now := time.Now()
	s.cleaner.mu.Lock()
	s.cleaner.passAt, s.cleaner.nextAt = now, now // its own first pass may be just over
	s.cleaner.mu.Unlock()
	for i := range 3 {
		if _, err := s.cleaner.Step(now); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
		if want := int64(i+1) * s.opt.CommitLogFileBytes; s.log.Min() != want {
			t.Errorf("the log begins at %d, want %d", s.log.Min(), want)
		}
	}
	disk.set(85, nil)
	for range 10 {
		if _, err := s.cleaner.Step(now); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
	}
	if got := s.Snapshot(); got.CommitLog.RetiredFiles != 3 || got.Retention.ForcedFiles != 3 {
		t.Errorf("%d files went, %d by force; want 3", got.CommitLog.RetiredFiles, got.Retention.ForcedFiles)
	}
	if n := log.count("deleted by force", "88 % full", "diskCleanForciblyPercent is 85", "level=WARN"); n != 3 {
		t.Errorf("said %d times, want 3:\n%s", n, log)
	}
	disk.set(99, nil)
	for i, want := range []int64{10, 2, 0} { // of the other 12; by force, too, a pass deletes a batch at most
		now = now.Add(time.Hour)
		if n := pass(t, s, now); n != want {
			t.Errorf("pass %d at 99 %%: %d files went, want %d", i, n, want)
		}
	}
	o.CleanFileForcibly = Off
	disk.set(89, nil)
	s, _ = retiring(t, o, 12)
	if n := pass(t, s, time.Now()); n != 0 {
		t.Errorf("not by force: %d files went", n)
	}
}

// B-49: the disk was looked at by the task that also deletes slowly, so a full disk
// was noticed too late. While one file is being removed for as long as the test
// lasts, puts are refused all the same.
func TestB49_SlowDeletionDoesNotDelayTheDiskWatch(t *testing.T) {
	disk := &fakeDisk{percent: 80}
	seam := newSeam()
	const size = 16 << 10
	s := openUnchecked(t, scratch(t), seam.options(Options{
		DiskUsage: disk.usage, DiskMaxUsedPercent: 75, DiskCleanForciblyPercent: 85, DiskWarningPercent: 90,
		CommitLogFileBytes: size, FileReservedMs: 1, CleanIntervalMs: 2, DeleteFileIntervalMs: 1,
	}))
	removing, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	seam.on(func(op mmaptest.Op, path string) error {
		if op == mmaptest.OpRemove && filepath.Dir(path) == s.dir.CommitLog() {
			once.Do(func() { close(removing) })
			<-goOn
		}
		return nil
	})
	for i := range 200 {
		put(t, s, newMessage("t", 0, text(body(i), 500)))
	}
	<-removing
	disk.set(92, nil)
	eventually(t, "puts are refused", func() bool {
		_, err := s.Put(newMessage("t", 0, "x"))
		return errors.Is(err, ErrDiskFull)
	})
	disk.set(50, nil)
	eventually(t, "puts are accepted", func() bool {
		_, err := s.Put(newMessage("t", 0, "x"))
		return err == nil
	})
	close(goOn)
}

// B-55: senders timed out every day at the hour in which all expired files were
// deleted in a row. One goes at a time, with a pause behind each, and after a batch
// the next pass is waited for. (How long puts take meanwhile is the lab's to say.)
func TestB55_FilesGoOneAtATimeWithPauses(t *testing.T) {
	s, _ := retiring(t, Options{}, 30)
	c := s.cleaner
	c.mu.Lock()
	c.interval, c.pause = 10*time.Second, 100*time.Millisecond
	begin := at(4, 4)
	c.passAt, c.nextAt, c.left = begin, begin, 0
	c.mu.Unlock()
	var went []time.Duration
	for passed := time.Duration(0); passed < 21*time.Second; passed += 10 * time.Millisecond {
		before := s.log.Min()
		if _, err := c.Step(begin.Add(passed)); err != nil {
			t.Fatal(err)
		}
		switch n := (s.log.Min() - before) / s.opt.CommitLogFileBytes; n {
		case 0:
		case 1:
			went = append(went, passed)
		default:
			t.Fatalf("after %v %d files went at once", passed, n)
		}
	}
	for i, passed := range went {
		if want := time.Duration(i/10)*10*time.Second + time.Duration(i%10)*100*time.Millisecond; passed != want {
			t.Errorf("file %d went after %v, want %v", i, passed, want)
		}
	}
	if len(went) != 29 {
		t.Errorf("%d files went, want 29", len(went))
	}
}

// B-22: after a failed deletion the log still began with a file that nobody could
// read. It begins with the first one that is there, and what is below is not found.
// H15: deletion stopped there for two minutes; it is tried again after the
// time the option says, and the files behind it go then.
func TestB22_H15_LogBeginsWithTheFirstAvailableFile(t *testing.T) {
	const size = 16 << 10
	seam := newSeam()
	o := seam.options(Options{CommitLogFileBytes: size, CleanIntervalMs: 1 << 30, DeleteFileIntervalMs: 1, Dispatch: On, RetryHangedMs: 60_000})
	s := openUnchecked(t, scratch(t), o)
	var all []PutResult
	for i := range 150 {
		all = append(all, put(t, s, newMessage("t", 0, text(body(i), 500))))
	}
	dispatched(t, s)
	seam.on(func(op mmaptest.Op, path string) error {
		if op == mmaptest.OpRemove && filepath.Dir(path) == s.dir.CommitLog() {
			return os.ErrPermission
		}
		return nil
	})
	now := at(4, 4)
	s.cleaner.mu.Lock()
	s.cleaner.passAt = now
	s.cleaner.mu.Unlock()
	if _, err := s.cleaner.Step(now); !errors.Is(err, os.ErrPermission) {
		t.Fatalf("a name cannot be removed: %v", err)
	}
	if s.log.Min() != size {
		t.Errorf("the log begins at %d, want %d", s.log.Min(), size)
	}
	if _, err := s.At(all[0].PhysicalOffset); !errors.Is(err, ErrNotFound) {
		t.Errorf("read below the log: %v", err)
	}
	if r, err := s.Get("t", 0, 0, 10, nil); err != nil || r.Status != OffsetTooSmall || r.NextBegin <= 0 {
		t.Errorf("get below the log: %+v, %v", r, err)
	}
	seam.on(nil)
	if n := pass(t, s, now.Add(time.Second)); n != 0 {
		t.Errorf("%d files went before the time to try again", n)
	}
	if n := pass(t, s, now.Add(10*time.Minute)); n < 3 {
		t.Errorf("%d files went, though the first can be removed again", n)
	}
	checkNames(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	verified(t, s)
}

// checkNames demands that the log's directory holds the files from Min on, without
// a gap.
func checkNames(t testing.TB, s *Store) {
	t.Helper()
	base := s.log.Min()
	for _, name := range names(t, s.dir.CommitLog()) {
		if name != segment.FileName(base) {
			t.Errorf("the directory holds %s, want %s", name, segment.FileName(base))
		}
		base += s.opt.CommitLogFileBytes
	}
}

// B-19 for the log: a file that a reader held was never deleted afterwards and kept
// those behind it from going. B-66: data went before the bound that tells of it.
func TestB19_B66_HeldFileNeitherStaysNorBlocks(t *testing.T) {
	s, all := retiring(t, Options{Dispatch: On, DestroyForceMs: 1000}, 6)
	held, err := s.At(0)
	if err != nil {
		t.Fatal(err)
	}
	want := string(held.Body)
	now := at(4, 4)
	if n := pass(t, s, now); n != 5 {
		t.Fatalf("%d files went, want all but the last", n)
	}
	checkNames(t, s)
	if got := s.Snapshot().Retention.HeldFiles; got != 1 {
		t.Errorf("%d files are held, want 1", got)
	}
	if string(held.Body) != want || held.Revoked() {
		t.Errorf("the held body became %.30q", held.Body)
	}
	put(t, s, newMessage("t", 0, "one that is left"))
	dispatched(t, s)
	first, _ := s.QueueBounds("t", 0)
	if r, err := s.Get("t", 0, first, 1, nil); err != nil || r.Status != Found {
		t.Errorf("get at the bound: %v, %v", r.Status, err)
	} else {
		r.Release()
	}
	if _, err := s.At(all[1].PhysicalOffset); !errors.Is(err, ErrNotFound) {
		t.Errorf("read of what is gone: %v", err)
	}
	pass(t, s, now.Add(2*time.Second))
	if !held.Revoked() || len(held.Bytes()) == 0 || held.Bytes()[0] != 0 {
		t.Errorf("after the time: revoked %v", held.Revoked())
	}
	held.Release()
	eventually(t, "all is taken down", func() bool {
		pass(t, s, now.Add(3*time.Second))
		r := s.Snapshot().Retention
		return r.HeldFiles == 0 && r.ReaperBacklog == 0
	})
}

// B-13: when all log files behind a queue were gone its minimum stayed where it was.
func TestB13_ExpiredQueueIsEmpty(t *testing.T) {
	const size = 100 << 10
	s := openUnchecked(t, scratch(t), small(Options{CommitLogFileBytes: size, Dispatch: On, CleanIntervalMs: 1 << 30, DeleteFileIntervalMs: 1}))
	for topic := range 3 {
		for i := range 1000 {
			put(t, s, newMessage(fmt.Sprint("topic", topic), int32(i%4), text(body(i), 100)))
		}
	}
	dispatched(t, s)
	pass(t, s, at(4, 4))
	if min := s.log.Min(); min != s.log.End()-size {
		t.Fatalf("the log begins at %d of %d", min, s.log.End())
	}
	left := 0
	for topic := range 3 {
		for id := range int32(4) {
			first, bodies := queueBodies(t, s, fmt.Sprint("topic", topic), id)
			if first+int64(len(bodies)) != 250 {
				t.Errorf("topic %d queue %d: [%d, +%d), want up to 250", topic, id, first, len(bodies))
			}
			if topic == 0 && len(bodies) != 0 {
				t.Errorf("queue %d of the expired topic begins at %d, want 250", id, first)
			}
			left += len(bodies)
		}
	}
	if got := len(scan(t, s)); got != left || left == 0 {
		t.Errorf("queues have %d messages, the log %d", left, got)
	}
}

// Deletion never reaches what is not dispatched or not durable, however small the
// log may be.
func TestDeletionWaitsForDispatchAndDisk(t *testing.T) {
	const size = 16 << 10
	seam := newSeam()
	s := openUnchecked(t, scratch(t), seam.options(Options{
		CommitLogFileBytes: size, MaxLogBytes: size, DeleteFileIntervalMs: 1, CleanIntervalMs: 1, FlushIntervalMs: 1 << 30, Dispatch: On,
	}))
	for i := range 150 {
		put(t, s, newMessage("t", 0, text(body(i), 500)))
	}
	time.Sleep(20 * time.Millisecond)
	if s.log.Min() != 0 {
		t.Errorf("the log begins at %d, though it is durable only up to %d", s.log.Min(), s.log.Flushed())
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "one file is left", func() bool { return s.log.End()-s.log.Min() == size })
	if at := s.Dispatched(); at < s.log.Min() {
		t.Errorf("dispatched up to %d, the log begins at %d", at, s.log.Min())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	verified(t, s)
}
