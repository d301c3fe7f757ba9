package engine

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"commitlab/engine/index"
	"commitlab/engine/message"
)

// keyedMessage is a message with a unique key, if that is not empty, and keys.
func keyedMessage(topic, unique, keys, body string) *message.Message {
	m := newMessage(topic, 0, body)
	if unique != "" {
		m.Properties = append(m.Properties, "UNIQ_KEY\x01"+unique+"\x02"...)
	}
	if keys != "" {
		m.Properties = append(m.Properties, "KEYS\x01"+keys+"\x02"...)
	}
	return m
}

// query returns the physical offsets of an answer, after a look at each message.
func query(t testing.TB, s *Store, topic, key string, limit int, beginMs, endMs int64) (offsets []int64) {
	t.Helper()
	views, err := s.Query(topic, key, limit, beginMs, endMs)
	if err != nil {
		t.Fatal(err)
	}
	for i := range views {
		v := &views[i]
		if string(v.Topic) != topic || !hasKey(&v.Record, key) {
			t.Errorf("query %s/%s: message of %s with properties %q", topic, key, v.Topic, v.Properties)
		}
		offsets = append(offsets, v.PhysicalOffset)
		v.Release()
	}
	return offsets
}

// queryAll is query without limits.
func queryAll(t testing.TB, s *Store, topic, key string) []int64 {
	t.Helper()
	return query(t, s, topic, key, math.MaxInt, 0, math.MaxInt64)
}

// B-01: a query for a key that nobody stored gave another topic's message, whose
// "topic#key" has the same hash.
func TestB01_EqualHashesAreNotEqualKeys(t *testing.T) {
	for _, text := range [][2]string{{"AaTopic", "BB"}, {"BBTopic", "BB"}} {
		if got, want := message.KeyHash(text[0], text[1]), message.KeyHash("AaTopic", "Aa"); got != want {
			t.Fatalf("hash of %v is %d, that of AaTopic#Aa %d", text, got, want)
		}
	}
	s := openUnchecked(t, scratch(t), small(Options{Dispatch: On}))
	a := put(t, s, keyedMessage("AaTopic", "", "Aa", "a"))
	b := put(t, s, keyedMessage("BBTopic", "", "BB", "b"))
	dispatched(t, s)
	for _, c := range []struct {
		topic, key string
		want       []int64
	}{
		{"AaTopic", "BB", nil}, {"BBTopic", "Aa", nil},
		{"AaTopic", "Aa", []int64{a.PhysicalOffset}}, {"BBTopic", "BB", []int64{b.PhysicalOffset}},
	} {
		if got := queryAll(t, s, c.topic, c.key); !slices.Equal(got, c.want) {
			t.Errorf("query %s/%s: got %v, want %v", c.topic, c.key, got, c.want)
		}
	}
	checkDerived(t, s)
}

// colliding returns n keys of the same hash and length.
func colliding(n int) (keys []string) {
	for i := range n {
		key := ""
		for bit := range 6 { // "Aa" and "BB" have the same hash
			key += []string{"Aa", "BB"}[i>>bit&1]
		}
		keys = append(keys, key)
	}
	return keys
}

// Goal: a limit counts answers, not candidates. Method: 40 keys of one hash, three
// messages each, over several index files.
func TestQueryAmongCollidingKeysFindsExactlyItsOwn(t *testing.T) {
	s := openUnchecked(t, scratch(t), small(Options{Dispatch: On, IndexSlots: 7, IndexItems: 50}))
	keys := colliding(40)
	want := make(map[string][]int64) // newest first
	for range 3 {
		for _, key := range keys {
			if message.KeyHash("t", key) != message.KeyHash("t", keys[0]) {
				t.Fatalf("%s and %s do not collide", key, keys[0])
			}
			p := put(t, s, keyedMessage("t", "", key, "body"))
			want[key] = slices.Insert(want[key], 0, p.PhysicalOffset)
		}
	}
	dispatched(t, s)
	for _, key := range keys {
		for _, limit := range []int{0, 1, 2, 3, 32} {
			got := query(t, s, "t", key, limit, 0, math.MaxInt64)
			if !slices.Equal(got, want[key][:min(limit, 3)]) {
				t.Errorf("query %s, at most %d: got %v, want the first of %v", key, limit, got, want[key])
			}
		}
	}
	if got := queryAll(t, s, "t", colliding(41)[40]); got != nil {
		t.Errorf("query for a key that was never put: got %v", got)
	}
}

// B-03, H28: a message whose keys repeat a word, or whose unique key is one of its
// keys, came once for each repetition.
func TestB03_EachMessageAtMostOnceInAnAnswer(t *testing.T) {
	s := openUnchecked(t, scratch(t), small(Options{Dispatch: On, IndexSlots: 3, IndexItems: 4}))
	a := put(t, s, keyedMessage("t", "", "k k k", "a"))
	b := put(t, s, keyedMessage("t", "u", "v u", "b"))
	c := put(t, s, keyedMessage("t", "", "k  other k", "c")) // an empty piece in between
	dispatched(t, s)
	for key, want := range map[string][]int64{
		"k": {c.PhysicalOffset, a.PhysicalOffset}, "u": {b.PhysicalOffset}, "v": {b.PhysicalOffset}, "other": {c.PhysicalOffset}, "": nil,
	} {
		if got := queryAll(t, s, "t", key); !slices.Equal(got, want) {
			t.Errorf("query %q: got %v, want %v", key, got, want)
		}
	}
	checkDerived(t, s)
}

// B-04: the absolute value of the smallest hash is negative, which led to a slot
// outside of the file.
func TestB04_SmallestHashAndKeysBeyondASCII(t *testing.T) {
	if h := message.StringHash("TopicA#hiuckti"); h != math.MinInt32 {
		t.Fatalf("hash is %d", h)
	}
	s := openUnchecked(t, scratch(t), small(Options{Dispatch: On}))
	for _, key := range []string{"hiuckti", "标签", "é", "😀", "\U0001F600\U0001F601", "a-é😀"} {
		p := put(t, s, keyedMessage("TopicA", "", "x "+key+" y", "body of "+key))
		dispatched(t, s)
		if got := queryAll(t, s, "TopicA", key); !slices.Equal(got, []int64{p.PhysicalOffset}) {
			t.Errorf("query %q: got %v, want %d", key, got, p.PhysicalOffset)
		}
	}
	checkDerived(t, s)
}

// restamped closes a store and opens it again with other store times, by physical
// offset, and with queues and index built anew.
func restamped(t testing.TB, s *Store, times map[int64]int64) *Store {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for offset, ms := range times {
		patch(t, string(s.dir), s.opt.CommitLogFileBytes, offset, func(b []byte) {
			const storeTimestampAt = 56 // with hosts of IPv4; no checksum covers it
			for i := range 8 {
				b[storeTimestampAt+i] = byte(ms >> (56 - 8*i))
			}
		})
	}
	forget(t, s)
	again := openUnchecked(t, string(s.dir), s.opt)
	for offset, ms := range times {
		v, err := again.At(offset)
		if err != nil || v.StoreTimestamp != ms {
			t.Fatalf("record at %d: store time %d, %v; want %d", offset, v.StoreTimestamp, err, ms)
		}
		v.Release()
	}
	return again
}

// forget removes the derived files of a closed store.
func forget(t testing.TB, s *Store) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(s.dir.ConsumeQueue()), os.RemoveAll(s.dir.Index())); err != nil {
		t.Fatal(err)
	}
}

// B-05: the index has whole seconds, rounded down, and a begin time in
// milliseconds hid a message that lies behind it.
func TestB05_RangeIsExactToTheMillisecond(t *testing.T) {
	const T = 1_700_000_000_000
	s := openUnchecked(t, scratch(t), small(Options{Dispatch: On}))
	a := put(t, s, keyedMessage("t", "", "k", "a")).PhysicalOffset
	b := put(t, s, keyedMessage("t", "", "k", "b")).PhysicalOffset
	dispatched(t, s)
	s = restamped(t, s, map[int64]int64{a: T, b: T + 1999})
	for _, c := range []struct {
		begin, end int64
		want       []int64
	}{
		{T + 1500, T + 2500, []int64{b}},
		{T + 1999, T + 1999, []int64{b}},
		{T + 1999, math.MaxInt64, []int64{b}},
		{T + 2000, T + 2500, nil},
		{T + 1, T + 1998, nil},
		{T, T, []int64{a}},
		{0, T, []int64{a}},
		{0, T - 1, nil},
		{T, T + 1999, []int64{b, a}},
		{T + 1999, T, nil},
	} {
		if got := query(t, s, "t", "k", 10, c.begin, c.end); !slices.Equal(got, c.want) {
			t.Errorf("range T+[%d, %d]: got %v, want %v (a=%d, b=%d)", c.begin-T, c.end-T, got, c.want, a, b)
		}
	}
}

// Goal: no range hides a message because the clock was set back while the index
// was written, even across files.
func TestQueryRangeWhenTheClockWasSetBack(t *testing.T) {
	const T = 1_700_000_000_000
	s := openUnchecked(t, scratch(t), small(Options{Dispatch: On, IndexSlots: 2, IndexItems: 5}))
	steps := []int64{0, 5000, 9000, 2000, 2500, 12_000, 1, 3000, 100_000, 4000, -7000}
	times := make(map[int64]int64)
	for i := range steps {
		times[put(t, s, keyedMessage("t", "", "k", body(i))).PhysicalOffset] = T + steps[i]
	}
	dispatched(t, s)
	s = restamped(t, s, times)
	for _, begin := range steps {
		for _, end := range steps {
			var want []int64
			for offset, ms := range times {
				if ms >= T+begin && ms <= T+end {
					want = append(want, offset)
				}
			}
			slices.SortFunc(want, func(a, b int64) int { return int(b - a) })
			if got := query(t, s, "t", "k", 100, T+begin, T+end); !slices.Equal(got, want) {
				t.Errorf("range T+[%d, %d]: got %v, want %v", begin, end, got, want)
			}
		}
	}
}

// B-08: damaged links between items of the index sent a lookup round for ever.
func TestB08_DamagedLinksEndTheWalk(t *testing.T) {
	var w warnings
	s := openUnchecked(t, scratch(t), small(Options{Dispatch: On, IndexSlots: 1, IndexItems: 40, Logger: w.logger()}))
	for i := range 20 {
		put(t, s, keyedMessage("t", "", fmt.Sprintf("key-%d", i), body(i)))
	}
	dispatched(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.dir.Index(), names(t, s.dir.Index())[0])
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	layout := index.Layout{Slots: 1, Items: 40}
	link := func(item, previous int) {
		const previousAt = 16
		at := int(layout.FileBytes()) - (layout.Items-item)*index.ItemBytes + previousAt
		b[at+3] = byte(previous)
	}
	link(5, 9)
	link(9, 5)
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if layout.Item(b, 5).Previous != 9 || layout.Item(b, 9).Previous != 5 {
		t.Fatal("the wrong bytes were changed")
	}
	s = openUnchecked(t, string(s.dir), s.opt)
	for range 100 {
		if got := queryAll(t, s, "t", "missing"); got != nil {
			t.Errorf("got %v for a key that was never put", got)
		}
	}
	if got := queryAll(t, s, "t", "key-19"); len(got) != 1 {
		t.Errorf("newest key: got %v, want one", got)
	}
	if n := w.count("damaged link"); n != 1 {
		t.Errorf("%d warnings about the link, want 1:\n%s", n, w.String())
	}
}

// B-65: an index file holds one entry less than its size says, so that the last
// of as many keys was lost. It goes to the next file.
func TestB65_AsManyKeysAsAFileHasItems(t *testing.T) {
	s := openUnchecked(t, scratch(t), small(Options{Dispatch: On, IndexSlots: 100, IndexItems: 400}))
	for i := range 400 {
		put(t, s, keyedMessage("t", "", fmt.Sprintf("key-%d", i), body(i)))
	}
	dispatched(t, s)
	for i := range 400 {
		if got := queryAll(t, s, "t", fmt.Sprintf("key-%d", i)); len(got) != 1 {
			t.Fatalf("key %d: found %d messages, want 1", i, len(got))
		}
	}
	if snap := s.Snapshot().Index; snap.Files != 2 || snap.Items != 400 {
		t.Errorf("%d files with %d items, want 2 with 400", snap.Files, snap.Items)
	}
	checkDerived(t, s)
}

// Goal: what a transaction state means for queue and index. A prepared message is
// found by key only, a rolled back one not at all.
func TestTransactionsInQueueAndIndex(t *testing.T) {
	s := openUnchecked(t, scratch(t), small(Options{Dispatch: On}))
	want := map[message.Transaction]struct{ queued, indexed bool }{
		message.TransactionNone: {true, true}, message.TransactionPrepared: {false, true},
		message.TransactionCommit: {true, true}, message.TransactionRollback: {false, false},
	}
	queued := int64(0)
	for state, w := range want {
		m := keyedMessage("t", "", fmt.Sprintf("key-%d", state), "body")
		m.SysFlag = int32(state)
		put(t, s, m)
		if w.queued {
			queued++
		}
	}
	dispatched(t, s)
	for state, w := range want {
		if got := queryAll(t, s, "t", fmt.Sprintf("key-%d", state)); len(got) != map[bool]int{true: 1}[w.indexed] {
			t.Errorf("transaction state %d: found by key %v, want %v", state, got, w.indexed)
		}
	}
	if _, next := s.QueueBounds("t", 0); next != queued {
		t.Errorf("%d messages in the queue, want %d", next, queued)
	}
	checkDerived(t, s)
}

// Goal: an answer never lacks a message because the store is closing or does not
// build what is needed for it: then it is an error.
func TestReadsOfAStoreThatCannotAnswer(t *testing.T) {
	reads := func(s *Store) map[string]error {
		_, get := s.Get("t", 0, 0, 1, nil)
		_, query := s.Query("t", "k", 1, 0, math.MaxInt64)
		_, byTime := s.OffsetByTime("t", 0, 0, Lower)
		return map[string]error{"get": get, "query": query, "by time": byTime, "wait": s.Wait(t.Context(), "t", 0, 5)}
	}
	s := openUnchecked(t, scratch(t), small(Options{Dispatch: On}))
	put(t, s, keyedMessage("t", "", "k", "body"))
	dispatched(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for name, err := range reads(s) {
		if !errors.Is(err, ErrClosing) {
			t.Errorf("%s after Close: got %v, want ErrClosing", name, err)
		}
	}
	s = openUnchecked(t, scratch(t), small(Options{Dispatch: Off}))
	for name, err := range reads(s) {
		if !errors.Is(err, ErrNoDispatch) {
			t.Errorf("%s with dispatch off: got %v, want ErrNoDispatch", name, err)
		}
	}
	s = openUnchecked(t, scratch(t), small(Options{Dispatch: On, Index: Off}))
	if _, err := s.Query("t", "k", 1, 0, math.MaxInt64); !errors.Is(err, ErrNoDispatch) {
		t.Errorf("query with index off: got %v, want ErrNoDispatch", err)
	}
}

// With indexTags the index has what RocketMQ 5.4 searches tags by, and searches by
// key, also for the word that makes such an entry, find what they found without.
func TestIndexTags(t *testing.T) {
	for _, setting := range []string{Off, On} {
		s := openUnchecked(t, scratch(t), small(Options{Dispatch: On, IndexTags: setting}))
		m := keyedMessage("t", "", "k", "body")
		m.Properties = append(m.Properties, "TAGS\x01A||B\x02"...)
		at := put(t, s, m).PhysicalOffset
		dispatched(t, s)
		entries := 0
		for c := s.index.Search(message.TagsIndexHash("t", "A||B"), 0, math.MaxInt64); c.Next(); {
			entries++
		}
		if want := map[string]int{Off: 0, On: 1}[setting]; entries != want {
			t.Errorf("indexTags %s: %d entries for the tags, want %d", setting, entries, want)
		}
		if got := queryAll(t, s, "t", "k"); !slices.Equal(got, []int64{at}) {
			t.Errorf("indexTags %s: the key finds %v, want %d", setting, got, at)
		}
		if got := queryAll(t, s, "t", "T#A||B"); len(got) > 0 {
			t.Errorf("indexTags %s: a key that no message has finds %v", setting, got)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		auditClosed(t, s)
	}
}

// Found by FuzzOpen: items copied over others made a message be found twice, and a
// file in the place of another one hid what that had.
func TestDamagedIndexAnswersWithEachMessageOnce(t *testing.T) {
	o := small(Options{Dispatch: On, IndexSlots: 1, IndexItems: 12})
	for name, harm := range map[string]struct {
		do   func(files []string) error
		lost bool // keys may not be found
	}{
		"items of the same file": {lost: true, do: func(files []string) error {
			b, err := os.ReadFile(files[1])
			if err != nil {
				return err
			}
			layout := index.Layout{Slots: o.IndexSlots, Items: o.IndexItems}
			item := func(n int) []byte { return b[40+4*layout.Slots+20*n:][:16] } // all but the link
			copy(item(4), item(7))
			return os.WriteFile(files[1], b, 0o644)
		}},
		"a younger file":  {do: func(files []string) error { return copyFile(files[1], files[0]) }},
		"an older file":   {do: func(files []string) error { return copyFile(files[0], files[1]) }},
		"the newest file": {do: func(files []string) error { return copyFile(files[len(files)-1], files[0]) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := openUnchecked(t, scratch(t), o)
			for i := range 40 {
				put(t, s, keyedMessage("t", "", "k", body(i)))
			}
			dispatched(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			var files []string
			for _, name := range names(t, s.dir.Index()) {
				files = append(files, filepath.Join(s.dir.Index(), name))
			}
			if err := harm.do(files); err != nil {
				t.Fatal(err)
			}
			s = openUnchecked(t, string(s.dir), o)
			found := queryAll(t, s, "t", "k")
			slices.Sort(found)
			if once := slices.Compact(slices.Clone(found)); len(once) != len(found) || !harm.lost && len(found) != 40 {
				t.Errorf("found %d messages, %d of them once", len(found), len(once))
			}
		})
	}
}
