package index

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"commitlab/engine/message"
	"commitlab/engine/mmap/mmaptest"

	"github.com/google/go-cmp/cmp"
)

func TestCandidatesComeNewestFirstOverAllFiles(t *testing.T) {
	s := newBed(t).open(Layout{Slots: 3, Items: 5})
	for i := range int64(30) {
		add(t, s, i*10, 1000+i, []string{"a", "b", "c"}[i%3])
	}
	if n := len(s.Files()); n != 8 {
		t.Errorf("%d files, want 8 of up to 4 items", n)
	}
	want := []int64{280, 250, 220, 190, 160, 130, 100, 70, 40, 10}
	if got := find(t, s, "b", 0, forever); !slices.Equal(got, want) {
		t.Errorf("candidates %v, want %v", got, want)
	}
	if got := find(t, s, "nobody", 0, forever); got != nil {
		t.Errorf("candidates of a key that nobody has: %v", got)
	}
}

func TestUniqueKeyIsEnteredFirstAndEmptyKeysAreNot(t *testing.T) {
	s := newBed(t).open(small)
	if err := s.Add(&Record{Topic: []byte("T"), UniqueKey: []byte("id"), Keys: []byte(" a  b "), Physical: 7, StoreMs: 1000}); err != nil {
		t.Fatal(err)
	}
	var got []int32
	f := s.Files()[0]
	for n := 1; n <= f.Len(); n++ {
		got = append(got, f.layout.Item(f.b, n).Hash)
	}
	want := []int32{message.KeyHash("T", "id"), message.KeyHash("T", "a"), message.KeyHash("T", "b")}
	if !slices.Equal(got, want) {
		t.Errorf("hashes %v, want %v", got, want)
	}
	if got := find(t, s, "", 0, forever); got != nil {
		t.Errorf("the empty key has candidates %v", got)
	}
}

func TestRolledBackTransactionsHaveNoKeys(t *testing.T) {
	s := newBed(t).open(small)
	for i, state := range []message.Transaction{message.TransactionNone, message.TransactionPrepared, message.TransactionCommit, message.TransactionRollback} {
		r := record(int64(i), 1000, "k")
		r.SysFlag = int32(state)
		if err := s.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := find(t, s, "k", 0, forever), []int64{2, 1, 0}; !slices.Equal(got, want) {
		t.Errorf("candidates %v, want %v", got, want)
	}
}

func TestH19_RecordsAddedAgainChangeNothing(t *testing.T) {
	s := newBed(t).open(Layout{Slots: 3, Items: 5})
	adds := func() {
		add(t, s, 10, 1000, "a", "b")
		add(t, s, 20, 1000, "a", "a", "b", "c", "a", "d", "e", "f", "g", "h") // over three files
	}
	adds()
	before := s.Snapshot()
	adds()
	if d := cmp.Diff(before, s.Snapshot()); d != "" {
		t.Errorf("added again (-before +after):\n%s", d)
	}
	if before.Items != 12 {
		t.Errorf("%d items, want 12", before.Items)
	}
}

// Reported: an index file held one entry fewer than configured, so the last key
// was lost.
func TestB65_EveryKeyIsFoundWhenAFileIsFull(t *testing.T) {
	b := newBed(t)
	s := b.open(Layout{Slots: 100, Items: 400})
	for i := range 400 {
		add(t, s, int64(i), 1000, fmt.Sprint("key", i))
	}
	if got := s.Snapshot(); got.Rolls != 2 || got.Items != 400 || s.Files()[0].Len() != 399 {
		t.Errorf("%d rolls, %d items, %d of them in the first file; want 2, 400, 399", got.Rolls, got.Items, s.Files()[0].Len())
	}
	for i := range 400 {
		if got := find(t, s, fmt.Sprint("key", i), 0, forever); !slices.Equal(got, []int64{int64(i)}) {
			t.Errorf("key%d: candidates %v", i, got)
		}
	}
	if h := DecodeHeader(s.Files()[0].b); h.Count != 400 {
		t.Errorf("a full file counts %d, the original 400", h.Count)
	}
}

// Reported: a key was answered with a message of another topic, because the
// hashes are equal. The index tells candidates, all of the hash, so that the
// caller can compare with the records; it must not hide one behind another.
func TestB01_KeysOfOneHashAreAllCandidates(t *testing.T) {
	s := newBed(t).open(small)
	for i, r := range []Record{{Topic: []byte("AaTopic"), Keys: []byte("Aa")}, {Topic: []byte("BBTopic"), Keys: []byte("BB")}} {
		r.Physical, r.StoreMs = int64(i+1)*100, 1000
		if err := s.Add(&r); err != nil {
			t.Fatal(err)
		}
	}
	for _, q := range [][2]string{{"AaTopic", "Aa"}, {"AaTopic", "BB"}, {"BBTopic", "BB"}} {
		if got, want := search(t, s, message.KeyHash(q[0], q[1]), 0, forever), []int64{200, 100}; !slices.Equal(got, want) {
			t.Errorf("%s#%s: candidates %v, want %v", q[0], q[1], got, want)
		}
	}
}

// Reported: a message was returned once for each repeat of a word in its keys.
func TestB03_ARecordIsACandidateOnce(t *testing.T) {
	s := newBed(t).open(Layout{Slots: 3, Items: 5})
	add(t, s, 100, 1000, "k", "x", "k", "y", "k", "k")
	r := record(200, 1000, "id", "k")
	r.UniqueKey = []byte("id")
	if err := s.Add(r); err != nil {
		t.Fatal(err)
	}
	if got, want := find(t, s, "k", 0, forever), []int64{200, 100}; !slices.Equal(got, want) {
		t.Errorf("candidates of k %v, want %v", got, want)
	}
	if got, want := find(t, s, "id", 0, forever), []int64{200}; !slices.Equal(got, want) {
		t.Errorf("candidates of id %v, want %v", got, want)
	}
}

// Reported: a key whose hash is the smallest integer got a negative place.
func TestB04_EveryHashHasASlot(t *testing.T) {
	s := newBed(t).open(small)
	if h := message.KeyHash("TopicA", "hiuckti"); h != 0 {
		t.Fatalf("hash %d, want 0", h)
	}
	keys := []string{"hiuckti", "早い", "grün", "😀", "a😀b"}
	for i, key := range keys {
		if err := s.Add(&Record{Topic: []byte("TopicA"), Keys: []byte(key), Physical: int64(i), StoreMs: 1000}); err != nil {
			t.Fatal(err)
		}
	}
	for i, key := range keys {
		if got := search(t, s, message.KeyHash("TopicA", key), 0, forever); !slices.Equal(got, []int64{int64(i)}) {
			t.Errorf("%s: candidates %v, want %d", key, got, i)
		}
	}
}

// Reported: a query by time missed a message, because items have whole seconds,
// rounded down.
func TestB05_H18_WholeSecondsOnlyWidenTheRange(t *testing.T) {
	const T = 1_700_000_000_000
	b := newBed(t)
	s := b.open(small)
	add(t, s, 0, T, "first")
	add(t, s, 100, T+1999, "k")
	for range 2 {
		if got := find(t, s, "k", T+1500, T+2500); !slices.Equal(got, []int64{100}) {
			t.Errorf("candidates in [T+1500, T+2500]: %v, want 100", got)
		}
		if got := find(t, s, "k", T+1999, T+1999); !slices.Equal(got, []int64{100}) {
			t.Errorf("candidates at T+1999: %v, want 100", got)
		}
		if got := find(t, s, "k", T+2000, forever); got != nil {
			t.Errorf("candidates from T+2000 on: %v", got)
		}
		if got := find(t, s, "k", 0, T+999); got != nil {
			t.Errorf("candidates up to T+999: %v", got)
		}
		closeSet(t, s)
		s = b.open(small)
	}
}

// In files of the original, the first item after a roll has a time that is too
// late by the pause before it. Its true time is in the header.
func TestH18_FirstItemOfARolledFileLiesAtItsBegin(t *testing.T) {
	const T = 1_700_000_000_000
	b := newBed(t)
	s := b.open(small)
	add(t, s, 0, T+9000, "k")
	name := s.Files()[0].Name()
	closeSet(t, s)
	b.patch(name, small.itemAt(1)+secondsAt, []byte{0, 0, 0, 9})
	s = b.open(small)
	if got := find(t, s, "k", T+8500, T+9500); !slices.Equal(got, []int64{0}) {
		t.Errorf("candidates around the true time: %v, want 0", got)
	}
}

// Items that were stored while the clock was wrong are found by the times that
// they have, in every part of a file, before and after it is opened again.
func TestH18_ClockSteppingBackHidesNothing(t *testing.T) {
	const T, day = 1_700_000_000_000, 86_400_000
	times := []int64{T, T + day, T + 1000, T - day, T + 2000, T + 2*day, T - 1, T + 3000}
	for _, items := range []int{3, 5, 60} {
		b := newBed(t)
		l := Layout{Slots: 2, Items: items}
		s := b.open(l)
		for i, at := range times {
			add(t, s, int64(i), at, "k")
		}
		for range 2 {
			for i, at := range times {
				if got := find(t, s, "k", at, at); !slices.Contains(got, int64(i)) {
					t.Errorf("%d items per file: record %d is not among the candidates at its time: %v", items, i, got)
				}
			}
			closeSet(t, s)
			s = b.open(l)
		}
	}
}

// While the clock is in order, files and the rest of chains that are too old are
// not walked: the answer shows that what lies outside is left out.
func TestRangeLeavesOutWhatIsSurelyOutside(t *testing.T) {
	const T = 1_700_000_000_000
	s := newBed(t).open(Layout{Slots: 1, Items: 11})
	for i := range int64(100) {
		add(t, s, i, T+i*1000, "k")
	}
	want := []int64{50, 49, 48, 47}
	if got := find(t, s, "k", T+47_999, T+50_000); !slices.Equal(got, want) {
		t.Errorf("candidates %v, want %v", got, want)
	}
	if got := find(t, s, "k", T+200_000, forever); got != nil {
		t.Errorf("candidates after the end: %v", got)
	}
	if got := find(t, s, "k", 0, T-1); got != nil {
		t.Errorf("candidates before the begin: %v", got)
	}
}

func TestPutRefusesWhatWouldBreakTheOrder(t *testing.T) {
	s := newBed(t).open(small)
	if err := s.Put(5, 100, 1000); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		hash     int32
		physical int64
	}{{-1, 200}, {5, 99}, {5, -1}} {
		if err := s.Put(c.hash, c.physical, 1000); err == nil {
			t.Errorf("put of hash %d at %d is accepted", c.hash, c.physical)
		}
	}
}

// Times at the ends of what an item can hold.
func TestStoreTimesFarFromBegin(t *testing.T) {
	s := newBed(t).open(small)
	const far = int64(math.MaxInt32)*1000 + 5_000_000
	add(t, s, 0, 1, "a")
	add(t, s, 1, far, "k")
	add(t, s, 2, math.MaxInt64, "k")
	if got := find(t, s, "k", far, far); !slices.Equal(got, []int64{2, 1}) {
		t.Errorf("candidates %v, want both: their times do not fit into items", got)
	}
	if it := small.Item(s.Files()[0].b, 3); it.Seconds != math.MaxInt32 {
		t.Errorf("seconds %d, want the most that fits", it.Seconds)
	}
}

// Reported: two rolls in one millisecond map the same file, and names of local
// time sort before older ones when the clock goes back.
func TestH20_RollsNeverReuseAName(t *testing.T) {
	b := newBed(t)
	s := b.open(Layout{Slots: 3, Items: 3})
	for i := range int64(10) {
		b.now = b.now.Add(-time.Duration(i) * time.Hour)
		add(t, s, i*2, 1000, "a", "b")
	}
	names := b.names()
	if len(names) != 10 || !slices.IsSorted(names) {
		t.Fatalf("files %v, want 10", names)
	}
	for i, f := range s.Files() {
		if f.Name() != names[i] {
			t.Errorf("file %d is %s, want %s", i, f.Name(), names[i])
		}
	}
}

// Reported: when mapping failed after the file was made, every retry left
// another big file, until the disk was full.
func TestB10_H20_AFailedRollLeavesNothingAndIsNotRepeatedAtOnce(t *testing.T) {
	b := newBed(t)
	s := b.open(Layout{Slots: 3, Items: 3})
	add(t, s, 0, 1000, "a", "b")
	broken := errors.New("no memory for a mapping")
	b.heap.FailMap(broken, 3)
	maps := func() (n int) {
		for _, e := range b.heap.Trace() {
			if e.Op == mmaptest.OpMap {
				n++
			}
		}
		return n
	}
	before := maps()
	start := b.now
	for b.now = start; b.now.Sub(start) < time.Minute; b.now = b.now.Add(100 * time.Millisecond) {
		err := s.Add(record(1, 1000, "c", "d", "e"))
		if err == nil {
			break
		}
		if !errors.Is(err, ErrUnavailable) || !errors.Is(err, broken) {
			t.Fatalf("error %v, want that there is no new file and why", err)
		}
		if n := len(b.names()); n != 1 {
			t.Fatalf("%d files are left, want the one that was there", n)
		}
		if s.Snapshot().Unavailable == "" {
			t.Fatal("the snapshot does not say that the index is unavailable")
		}
		if got := find(t, s, "b", 0, forever); len(got) != 1 {
			t.Fatalf("reads do not go on: %v", got)
		}
	}
	if waited := b.now.Sub(start); waited < 7*time.Second || waited > 8*time.Second {
		t.Errorf("works again after %v, want after three waits of 1, 2 and 4 s", waited)
	}
	if got := maps() - before; got != 5 {
		t.Errorf("%d files were mapped, want 3 that failed and 2", got)
	}
	for _, key := range []string{"c", "d", "e"} {
		if got := find(t, s, key, 0, forever); !slices.Equal(got, []int64{1}) {
			t.Errorf("%s: candidates %v, want 1", key, got)
		}
	}
	if s.Snapshot().Unavailable != "" {
		t.Error("the snapshot still says that the index is unavailable")
	}
}

func TestForeignEntriesAreLeftAlone(t *testing.T) {
	b := newBed(t)
	for _, name := range []string{"notes.txt", "2026112922521663", "2026112922521663x"} {
		if err := os.WriteFile(filepath.Join(b.dir, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(b.dir, "20261129225216638"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := b.open(small)
	add(t, s, 0, 1000, "k")
	if n := len(b.names()); n != 5 {
		t.Errorf("%d entries, want the 4 foreign ones and a file", n)
	}
	if n := b.log.warnings("not an index file"); n != 4 {
		t.Errorf("%d warnings, want 4", n)
	}
}

// A file of other sizes cannot be read: where a slot begins is not in the file.
func TestAFileOfOtherSizesIsRefusedUntouched(t *testing.T) {
	b := newBed(t)
	s := b.open(small)
	add(t, s, 0, 1000, "k")
	closeSet(t, s)
	_, err := Open(b.dir, b.options(Layout{Slots: 8, Items: 60}))
	if err == nil || !strings.Contains(err.Error(), "expected") {
		t.Fatalf("error %v, want both sizes", err)
	}
	s = b.open(small)
	if got := find(t, s, "k", 0, forever); !slices.Equal(got, []int64{0}) {
		t.Errorf("candidates %v, want 0", got)
	}
}

// Seen with RocketMQ 5.5.1: of a store whose last index file was made a moment before
// the process was killed it entered the whole log into that file once more.
func TestANewFileBeginsWithTheEndOfTheOneBeforeIt(t *testing.T) {
	b := newBed(t)
	s := b.open(Layout{Slots: 3, Items: 3})
	add(t, s, 5, 1000, "a")
	add(t, s, 7, 2000, "b")
	for _, build := range []bool{false, true} {
		s.building = build
		want := Header{BeginMs: 2000, EndMs: 2000, BeginPhysical: 7, EndPhysical: 7, Count: 1}
		f, err := s.create(b.now)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := readHeader(f.Path()); err != nil || got != want {
			t.Errorf("built %v: header %+v, %v, want %+v", build, got, err, want)
		}
		f.close()
	}
}

// A crash while a file is made leaves it with zero bytes or without items.
func TestFilesWithoutItemsAreRemoved(t *testing.T) {
	b := newBed(t)
	s := b.open(small)
	add(t, s, 5, 1000, "k")
	kept := s.Files()[0].Name()
	closeSet(t, s)
	preset := make([]byte, small.FileBytes())
	encodeHeader(preset, Header{BeginMs: 1000, EndMs: 1000, BeginPhysical: 5, EndPhysical: 5, Count: 1})
	for name, content := range map[string][]byte{"20991129225216638": nil, "20991129225216639": make([]byte, small.FileBytes()), "20991129225216640": preset} {
		if err := os.WriteFile(filepath.Join(b.dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s = b.open(small)
	if got := b.names(); !slices.Equal(got, []string{kept}) {
		t.Errorf("files %v, want %s", got, kept)
	}
	if got := s.EndPhysical(); got != 5 {
		t.Errorf("end is %d, want 5", got)
	}
}
