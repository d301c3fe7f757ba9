package consumequeue

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"commitlab/engine/mmap/mmaptest"
)

// openTable opens a table whose queues check themselves when the test ends.
func openTable(t testing.TB, root string, o Options) *Table {
	t.Helper()
	table, err := OpenTable(root, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if table.closed {
			return
		}
		for _, e := range table.All() {
			if !e.closed {
				check(t, e.Queue)
			}
		}
		table.Close()
	})
	return table
}

func create(t testing.TB, table *Table, topic string, id int32) *Queue {
	t.Helper()
	q, err := table.GetOrCreate(topic, id)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestTableKeepsQueuesByTopicAndId(t *testing.T) {
	o, _ := onHeap(5)
	root := filepath.Join(t.TempDir(), "consumequeue")
	table := openTable(t, root, o)
	sizes := map[string]int64{"A/0": 3, "A/12": 0, "主题-é😀/7": 11, "%RETRY%g/0": 6}
	for name, n := range sizes {
		topic, id := filepath.Dir(name), int32(0)
		fmt.Sscan(filepath.Base(name), &id)
		q := create(t, table, topic, id)
		put(t, q, 0, n)
		if again := create(t, table, topic, id); again != q || table.Get(topic, id) != q {
			t.Errorf("%s: a second queue", name)
		}
	}
	for range 2 {
		all := table.All()
		if len(all) != len(sizes) {
			t.Errorf("%d queues", len(all))
		}
		for i, e := range all {
			name := fmt.Sprintf("%s/%d", e.Topic, e.ID)
			wantRange(t, e.Queue, 0, sizes[name])
			if e.Queue != table.Get(e.Topic, e.ID) || i > 0 && all[i-1].Topic+"/" > e.Topic+"/" {
				t.Errorf("%s is out of place", name)
			}
		}
		if got := table.MaxPhysical(); got != 1100 {
			t.Errorf("MaxPhysical %d", got)
		}
		table.Close()
		table = openTable(t, root, o)
	}
}

// The Java store (H27) makes a queue for everybody who asks for one.
func TestLookingAtUnknownQueuesCreatesNothing(t *testing.T) {
	o, _ := onHeap(5)
	root := t.TempDir()
	table := openTable(t, root, o)
	create(t, table, "A", 0)
	for id := range int32(1000) {
		if table.Get("A", id+1) != nil || table.Get(fmt.Sprint("no", id), 0) != nil {
			t.Fatal("got a queue that is not there")
		}
	}
	if len(table.All()) != 1 || len(names(t, root)) != 1 || len(names(t, filepath.Join(root, "A"))) != 1 {
		t.Errorf("queues %v, topics %v", table.All(), names(t, root))
	}
}

// A topic comes from a record and must not lead out of the directory.
func TestTopicsThatAreNoNamesAreRefused(t *testing.T) {
	o, _ := onHeap(5)
	root := filepath.Join(t.TempDir(), "root")
	table := openTable(t, root, o)
	for _, topic := range []string{"", ".", "..", "a/b", "../x", "/", "/etc", "a/", "nul\x00"} {
		if _, err := table.GetOrCreate(topic, 0); err == nil {
			t.Errorf("topic %q was accepted", topic)
		}
	}
	if _, err := table.GetOrCreate("A", -1); !errors.Is(err, ErrUnit) {
		t.Errorf("queue id -1: %v", err)
	}
	if got := names(t, root); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
	if got := names(t, filepath.Dir(root)); len(got) != 1 {
		t.Errorf("beside the root: %v", got)
	}
}

// Foreign entries block the start of the Java store (H34), with a cryptic message.
func TestB28_ForeignEntriesAreLeftAlone(t *testing.T) {
	var log logBook
	o, _ := onHeap(5)
	root := t.TempDir()
	table := openTable(t, root, o)
	put(t, create(t, table, "A", 3), 0, 7)
	table.Close()
	foreign := []string{"notes.txt", "A/lost+found/", "A/-1/", "A/03/", "A/4294967296/", "A/5", "A/3/.DS_Store", "A/3/00000000000000000000.bak"}
	for _, name := range foreign {
		path := filepath.Join(root, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if strings.HasSuffix(name, "/") {
			err = os.Mkdir(path, 0o755)
		} else if err == nil {
			err = os.WriteFile(path, nil, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	o.logTo(&log)
	table = openTable(t, root, o)
	if len(table.All()) != 1 {
		t.Errorf("queues %v", table.All())
	}
	wantRange(t, table.Get("A", 3), 0, 7)
	for _, name := range foreign {
		if log.count(filepath.Join(root, name)+"\n")+log.count(filepath.Join(root, name)+"\"\n") != 1 {
			t.Errorf("no single warning about %s in %s", name, log.text.String())
		}
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
}

// With many queues the start of the Java store takes minutes, and says nothing.
func TestB44_ManyQueuesOpenTogetherAndSayHowFarTheyAre(t *testing.T) {
	const topics, ids = 30, 10
	bothWays(t, func(t *testing.T, clean bool) {
		o, _ := onHeap(5)
		o.Files.Disk, o.Files.Mapper = onDisk(5).Files.Disk, onDisk(5).Files.Mapper
		root := t.TempDir()
		for n := range topics * ids {
			dir := filepath.Join(root, fmt.Sprint("topic", n/ids), fmt.Sprint(n%ids))
			if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(writeFiles(t, 5, 0, 1, unitsOf(0, int64(n%6))), dir); err != nil {
				t.Fatal(err)
			}
		}
		o.Clean = clean
		table := openTable(t, root, o)
		all := table.All()
		if len(all) != topics*ids {
			t.Fatalf("%d queues", len(all))
		}
		for _, e := range all {
			var topic int
			fmt.Sscanf(e.Topic, "topic%d", &topic)
			wantRange(t, e.Queue, 0, int64(topic*ids+int(e.ID))%6)
		}
	})
	var log logBook
	o := onDisk(5)
	o.logTo(&log)
	p := progress{logger: o.Logger, total: 5000, interval: 5 * time.Second, last: noon}
	for n := range 5000 { // 3 ms each
		p.done(noon.Add(time.Duration(n) * 3 * time.Millisecond))
	}
	if got := log.count("of=5000"); got != 2 {
		t.Errorf("%d lines in 15 s: %s", got, log.text.String())
	}
}

// B-44: a start with many queues took minutes. It maps nothing, and does nothing that
// waits for the disk; nor does what a store asks of all queues when it starts and ends.
func TestB44_OpeningAQueueMapsAndSyncsNothing(t *testing.T) {
	const queues = 50
	bothWays(t, func(t *testing.T, clean bool) {
		o, heap := onHeap(5)
		o.Clean = clean
		root := t.TempDir()
		table := openTable(t, root, o)
		for id := range int32(queues) {
			put(t, create(t, table, "A", id), 0, 8)
		}
		sum := table.Sum(unit(7).End())
		table.Close()
		before := len(heap.Trace())
		o.Durable = unit(7).End()
		table, err := OpenTable(root, o) // not for the checks of openTable
		if err != nil {
			t.Fatal(err)
		}
		defer table.Close()
		if err := errors.Join(table.TruncateTo(unit(7).End()), table.CorrectMin(0)); err != nil {
			t.Error(err)
		}
		if n, err := table.Sync(0); n != 0 || err != nil {
			t.Errorf("%d bytes synced (%v)", n, err)
		}
		if got := table.Sum(unit(7).End()); got != sum {
			t.Errorf("sum %d, want %d", got, sum)
		}
		if files, n := table.Files(); files != 2*queues || n != queues {
			t.Errorf("%d files of %d queues", files, n)
		}
		for _, e := range heap.Trace()[before:] {
			t.Errorf("%s of %s", e.Op, e.Path)
		}
		if u, ok := table.Get("A", 7).Read(6); !ok || u != unit(6) || len(heap.Trace()) != before+1 {
			t.Errorf("first use: %+v, %d calls", u, len(heap.Trace())-before)
		}
	})
}

func TestTableOpensAllQueuesOrNone(t *testing.T) {
	o, _ := onHeap(5)
	root := t.TempDir()
	table := openTable(t, root, o)
	for id := range int32(20) {
		put(t, create(t, table, "A", id), 0, 7)
	}
	table.Close()
	for _, id := range []string{"4", "11"} {
		if err := os.Truncate(filepath.Join(root, "A", id, "00000000000000000100"), 60); err != nil {
			t.Fatal(err)
		}
	}
	_, err := OpenTable(root, o)
	if err == nil {
		t.Fatal("opened")
	}
	for _, part := range []string{filepath.Join("A", "4", "00000000000000000100"), filepath.Join("A", "11", "00000000000000000100")} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not name %s", err, part)
		}
	}
}

// The directories of a new queue are on the disk before its first unit counts.
func TestB82_DirectoriesOfANewQueueAreDurable(t *testing.T) {
	o, heap := onHeap(5)
	root := t.TempDir()
	table := openTable(t, root, o)
	put(t, create(t, table, "A", 3), 0, 1)
	var got []string
	for _, e := range heap.Trace() {
		switch e.Op {
		case mmaptest.OpSyncDir, mmaptest.OpSyncFile, mmaptest.OpMap:
			rel, err := filepath.Rel(root, e.Path)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%s %s", e.Op, rel))
		}
	}
	want := "syncdir . syncdir A syncfile A/3/00000000000000000000 syncdir A/3 map A/3/00000000000000000000"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}
}

func TestTableDoesForAllWhatAQueueDoes(t *testing.T) {
	o, heap := onHeap(5)
	table := openTable(t, t.TempDir(), o)
	for id := range int32(10) {
		put(t, create(t, table, "A", id), 0, 7+int64(id))
	}
	broken := errors.New("input/output error")
	heap.FailSync(broken, 1)
	n, err := table.Sync(0)
	if !errors.Is(err, broken) {
		t.Errorf("sync: %v", err)
	}
	if want := int64(7+8+9+10+11+12+13+14+15+16) * UnitBytes; n >= want || n < want-16*UnitBytes {
		t.Errorf("%d bytes synced of %d, one queue failed", n, want)
	}
	if err := table.TruncateTo(9 * recordBytes); err != nil {
		t.Fatal(err)
	}
	for _, e := range table.All() {
		wantRange(t, e.Queue, 0, min(9, 7+int64(e.ID)))
	}
	table.Close()
	if _, err := table.GetOrCreate("A", 99); !errors.Is(err, ErrClosed) {
		t.Errorf("create in a closed table: %v", err)
	}
}

func TestDeletedTopicStartsAnew(t *testing.T) {
	o, _ := onHeap(5)
	root := t.TempDir()
	table := openTable(t, root, o)
	old := create(t, table, "T", 0)
	put(t, old, 0, 12)
	put(t, create(t, table, "T", 1), 0, 3)
	put(t, create(t, table, "U", 0), 0, 3)
	held, err := old.Units(5, 5)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := table.Delete("T", noon); err != nil {
			t.Fatal(err)
		}
	}
	if table.Get("T", 0) != nil || len(names(t, root)) != 1 {
		t.Errorf("left: %v", names(t, root))
	}
	if err := old.Put(12, unit(12)); !errors.Is(err, ErrClosed) {
		t.Errorf("put to the old queue: %v", err)
	}
	put(t, create(t, table, "T", 0), 7, 9)
	if n, err := table.Reap(noon.Add(time.Minute), time.Hour); n != 1 || err != nil {
		t.Errorf("%d held (%v)", n, err)
	}
	if held.At(0) != unit(5) {
		t.Errorf("held unit became %+v", held.At(0))
	}
	held.Release()
	if n, err := table.Reap(noon.Add(time.Minute), time.Hour); n != 0 || err != nil || len(table.deleted) != 0 {
		t.Errorf("%d held (%v)", n, err)
	}
	wantRange(t, table.Get("T", 0), 7, 9)
	wantRange(t, table.Get("U", 0), 0, 3)
}

// A deletion that fails leaves no half: it can be repeated, and until then the
// names are not used for something new.
func TestDeleteThatFailsCanBeRepeated(t *testing.T) {
	o, heap := onHeap(5)
	root := t.TempDir()
	table := openTable(t, root, o)
	put(t, create(t, table, "T", 0), 0, 12)
	heap.Fail(mmaptest.OpRemove, os.ErrPermission, 1)
	if err := table.Delete("T", noon); !errors.Is(err, os.ErrPermission) {
		t.Fatalf("delete: %v", err)
	}
	if q, err := table.GetOrCreate("T", 0); !errors.Is(err, ErrClosed) || table.Get("T", 0) != nil {
		t.Errorf("queue of a topic that is half deleted: %v, %v", q, err)
	}
	if err := table.Delete("T", noon); err != nil {
		t.Fatal(err)
	}
	put(t, create(t, table, "T", 0), 0, 3)
	wantRange(t, table.Get("T", 0), 0, 3)

	heap.Fail(mmaptest.OpRemove, os.ErrPermission, 2)
	for _, err := range []error{table.Delete("T", noon), table.FinishDeletions(noon)} {
		if !errors.Is(err, os.ErrPermission) {
			t.Fatalf("delete: %v", err)
		}
	}
	if err := errors.Join(table.FinishDeletions(noon), table.FinishDeletions(noon)); err != nil {
		t.Fatal(err)
	}
	put(t, create(t, table, "T", 0), 0, 2)
}

// slowDisk takes its time to remove files.
type slowDisk struct {
	*mmaptest.Heap
	removed atomic.Int64
}

func (d *slowDisk) Remove(path string) error {
	d.removed.Add(1)
	time.Sleep(1500 * time.Microsecond)
	return d.Heap.Remove(path)
}

// Deleting again what a Delete could not finish took the queues of a topic that had
// been finished and made anew meanwhile.
func TestFinishDeletionsLeavesATopicMadeAnewAlone(t *testing.T) {
	o, heap := onHeap(5)
	disk := &slowDisk{Heap: heap}
	o.Files.Disk = disk
	table := openTable(t, t.TempDir(), o)
	for range 6 { // each time in another order
		for _, topic := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "T"} {
			put(t, create(t, table, topic, 0), 0, 1)
			heap.Fail(mmaptest.OpRemove, os.ErrPermission, 1)
			if err := table.Delete(topic, noon); !errors.Is(err, os.ErrPermission) {
				t.Fatalf("delete: %v", err)
			}
		}
		var finisher sync.WaitGroup
		before := disk.removed.Load()
		finisher.Go(func() {
			if err := table.FinishDeletions(noon); err != nil {
				t.Errorf("finish: %v", err)
			}
		})
		for disk.removed.Load() == before {
			runtime.Gosched()
		}
		if err := table.Delete("T", noon); err != nil {
			t.Error(err)
		}
		q := create(t, table, "T", 0)
		finisher.Wait()
		if table.Get("T", 0) != q {
			t.Fatal("the new queue is gone")
		}
		put(t, q, 0, 1)
		if err := table.Delete("T", noon); err != nil {
			t.Fatal(err)
		}
	}
}

// The files of a queue that could not be removed stayed mapped for good.
func TestCloseGivesBackWhatADeletionLeft(t *testing.T) {
	o, heap := onHeap(5)
	table := openTable(t, t.TempDir(), o)
	put(t, create(t, table, "T", 0), 0, 12)
	put(t, create(t, table, "U", 0), 0, 3)
	heap.Fail(mmaptest.OpRemove, os.ErrPermission, 1)
	if err := table.Delete("T", noon); !errors.Is(err, os.ErrPermission) {
		t.Fatalf("delete: %v", err)
	}
	table.Close()
	mapped := 0
	for _, e := range heap.Trace() {
		switch e.Op {
		case mmaptest.OpMap:
			mapped++
		case mmaptest.OpUnmap:
			mapped--
		}
	}
	if mapped != 0 {
		t.Errorf("%d mappings are left", mapped)
	}
}
