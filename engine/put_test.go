package engine

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"commitlab/engine/message"
	"commitlab/engine/mmap/mmaptest"
)

// H9: a record larger than a file wasted two files, was reported as stored, and
// lost.
func TestH09_RecordLargerThanAFileIsRefused(t *testing.T) {
	s := openStore(t, scratch(t), small(Options{}))
	put(t, s, newMessage("t", 0, "first"))
	before := s.Snapshot().CommitLog
	largest := int(s.opt.CommitLogFileBytes) - message.BlankBytes - overhead(t, "t")
	for _, m := range []*message.Message{newMessage("t", 0, text("one too many", largest+1)), newMessage("t", 0, text("far too many", 3*largest))} {
		if _, err := s.Put(m); !errors.Is(err, ErrRecordTooLarge) {
			t.Errorf("body of %d bytes: got %v, want ErrRecordTooLarge", len(m.Body), err)
		}
	}
	half := newMessage("t", 0, text("half", largest/2+100))
	if _, err := s.PutBatch([]message.Message{*half, *half}); !errors.Is(err, ErrRecordTooLarge) {
		t.Errorf("batch larger than a file: got %v, want ErrRecordTooLarge", err)
	}
	after := s.Snapshot().CommitLog
	if before.AppendedOffset != after.AppendedOffset || before.Files != after.Files {
		t.Errorf("refused records moved the log from %d to %d", before.AppendedOffset, after.AppendedOffset)
	}
	m := newMessage("t", 0, text("the largest", largest))
	p := put(t, s, m)
	if p.QueueOffset != 1 || p.PhysicalOffset != s.opt.CommitLogFileBytes {
		t.Errorf("largest record: got %+v, want the second of its queue, in the second file", p)
	}
	if got := read(t, s, p.PhysicalOffset); got != asStored(m, p) {
		t.Error("largest record reads otherwise")
	}
}

// A batch that fits a file but no transient buffer is refused as such: it could
// never be appended.
func TestBatchLargerThanATransientBufferIsRefused(t *testing.T) {
	s := openStore(t, scratch(t), small(Options{SyncPath: "pwrite", CommitLogFileBytes: 1 << 20, MaxBodyBytes: 1000, TransientBufferBytes: 70_000}))
	batch := make([]message.Message, 100)
	for i := range batch {
		batch[i] = *newMessage("t", 0, text(body(i), 1000))
	}
	if _, err := s.PutBatch(batch); !errors.Is(err, ErrRecordTooLarge) {
		t.Errorf("got %v, want ErrRecordTooLarge", err)
	}
	if _, err := s.PutBatch(batch[:50]); err != nil {
		t.Error(err)
	}
}

// H22: a topic that is counted in characters but stored with a byte length was
// acknowledged and ended the next recovery. Every topic that is accepted is
// there after a restart, and what follows it too.
func TestH22_EveryAcceptedTopicSurvivesARestart(t *testing.T) {
	s := openStore(t, scratch(t), small(Options{}))
	accepted := 0
	for _, topic := range []string{
		"a", strings.Repeat("a", 127), strings.Repeat("a", 128), strings.Repeat("商", 42), strings.Repeat("商", 43), strings.Repeat("商", 60),
		"%RETRY%" + strings.Repeat("g", 120), "%RETRY%" + strings.Repeat("g", 121), "%RETRY%" + strings.Repeat("g", 248), "%RETRY%" + strings.Repeat("g", 249),
	} {
		m := newMessage(topic, 0, "x")
		p, err := s.Put(m)
		if errors.Is(err, ErrIllegalMessage) {
			continue
		}
		if err != nil {
			t.Fatalf("topic of %d bytes: %v", len(topic), err)
		}
		accepted++
		if got := read(t, s, p.PhysicalOffset); got != asStored(m, p) {
			t.Errorf("topic of %d bytes reads otherwise", len(topic))
		}
	}
	if accepted != 6 {
		t.Errorf("accepted %d topics, want 6", accepted)
	}
	again := openStore(t, kill(t, s), small(Options{}))
	if n := len(scan(t, again)); n != accepted {
		t.Errorf("after a kill: %d records, want %d", n, accepted)
	}
}

func TestRefusedMessagesLeaveNoTrace(t *testing.T) {
	s := openStore(t, scratch(t), small(Options{MaxBodyBytes: 1000}))
	ok := newMessage("t", 0, "x")
	other := newMessage("u", 0, "x")
	prepared := newMessage("t", 0, "x")
	prepared.SysFlag = int32(message.TransactionPrepared)
	for name, c := range map[string]struct {
		batch []message.Message
		want  error
	}{
		"no body":             {[]message.Message{{Topic: "t"}}, ErrIllegalMessage},
		"no topic":            {[]message.Message{*newMessage("", 0, "x")}, ErrIllegalMessage},
		"negative queue":      {[]message.Message{*newMessage("t", -1, "x")}, ErrIllegalMessage},
		"body too long":       {[]message.Message{*newMessage("t", 0, text("x", 1001))}, ErrIllegalMessage},
		"properties too long": {[]message.Message{{Topic: "t", Body: []byte("x"), Properties: make(message.Properties, 32768)}}, ErrPropertiesTooLong},
		"two topics":          {[]message.Message{*ok, *other}, ErrIllegalMessage},
		"transaction":         {[]message.Message{*ok, *prepared}, ErrIllegalMessage},
		"delayed":             {[]message.Message{*ok, {Topic: "t", Body: []byte("x"), Properties: message.Properties("DELAY\x013\x02")}}, ErrIllegalMessage},
		"empty batch":         {nil, ErrIllegalMessage},
		"last one bad":        {[]message.Message{*ok, *ok, {Topic: "t"}}, ErrIllegalMessage},
	} {
		if _, err := s.PutBatch(c.batch); !errors.Is(err, c.want) {
			t.Errorf("batch, %s: got %v, want %v", name, err, c.want)
		}
		if len(c.batch) == 1 {
			if p, err := s.Put(&c.batch[0]); !errors.Is(err, c.want) || p != (PutResult{}) {
				t.Errorf("%s: got %+v, %v, want %v", name, p, err, c.want)
			}
		}
	}
	if got := s.log.Appended(); got != 0 {
		t.Errorf("refused messages moved the log to %d", got)
	}
	if p := put(t, s, ok); p.QueueOffset != 0 || p.PhysicalOffset != 0 {
		t.Errorf("first message: got %+v", p)
	}
}

// Prepared and rolled back messages are in the log but in no queue.
func TestTransactionsUseQueueOffsetsAsTheFormatSays(t *testing.T) {
	s := openUnchecked(t, scratch(t), small(Options{}))
	for _, c := range []struct {
		flag message.Transaction
		want int64
	}{
		{message.TransactionNone, 0}, {message.TransactionPrepared, 0}, {message.TransactionCommit, 1},
		{message.TransactionRollback, 0}, {message.TransactionNone, 2},
	} {
		m := newMessage("t", 0, "x")
		m.SysFlag = int32(c.flag)
		if p := put(t, s, m); p.QueueOffset != c.want {
			t.Errorf("transaction %#x: queue offset %d, want %d", c.flag, p.QueueOffset, c.want)
		}
	}
	dir := kill(t, s)
	again := openUnchecked(t, dir, small(Options{}))
	if p := put(t, again, newMessage("t", 0, "x")); p.QueueOffset != 3 {
		t.Errorf("after a kill: queue offset %d, want 3", p.QueueOffset)
	}
}

func TestHostsOfBothFamiliesRoundTrip(t *testing.T) {
	s := openStore(t, scratch(t), small(Options{}))
	for _, born := range []string{"1.2.3.4:5", "[2001:db8::1]:65535"} {
		for _, store := range []string{"10.0.0.1:10911", "[::1]:1"} {
			m := newMessage("t", 0, "x")
			m.BornHost, m.StoreHost = netip.MustParseAddrPort(born), netip.MustParseAddrPort(store)
			p := put(t, s, m)
			v, err := s.At(p.PhysicalOffset)
			if err != nil {
				t.Fatal(err)
			}
			if v.BornHost != m.BornHost || v.StoreHost != m.StoreHost || v.StoreTimestamp != p.StoreTimestampMs {
				t.Errorf("got %v, %v, stored at %d, want %v, %v, %d", v.BornHost, v.StoreHost, v.StoreTimestamp, m.BornHost, m.StoreHost, p.StoreTimestampMs)
			}
			v.Release()
			v.Release() // does nothing
		}
	}
}

// A put that must wait longer for its sync than it may says so, and its result
// is valid: the message is there.
func TestFlushTimeoutLeavesTheMessageStored(t *testing.T) {
	m := newSeam()
	s := openUnchecked(t, scratch(t), m.options(Options{Flush: FlushSync, SyncPath: "msync", SyncFlushTimeoutMs: 20}))
	release := make(chan struct{})
	m.on(func(op mmaptest.Op, _ string) error {
		if isSync(op) {
			<-release
		}
		return nil
	})
	msg := newMessage("t", 0, "late")
	p, err := s.Put(msg)
	if !errors.Is(err, ErrFlushTimeout) || p.Size == 0 {
		t.Errorf("got %+v, %v, want a result and ErrFlushTimeout", p, err)
	}
	close(release)
	if got := read(t, s, p.PhysicalOffset); got != asStored(msg, p) {
		t.Errorf("got %+v", got)
	}
	if err := s.Flush(); err != nil {
		t.Error(err)
	}
	put(t, s, newMessage("t", 0, "next"))
}

func TestClosedStoreRefusesEverythingInOrder(t *testing.T) {
	for _, path := range syncPaths {
		s := openStore(t, scratch(t), small(Options{SyncPath: path}))
		p := put(t, s, newMessage("t", 0, "x"))
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		held, err := s.At(p.PhysicalOffset)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Put(newMessage("t", 0, "x")); !errors.Is(err, ErrClosing) {
			t.Errorf("put: got %v, want ErrClosing", err)
		}
		if _, err := s.PutBatch([]message.Message{*newMessage("t", 0, "x")}); !errors.Is(err, ErrClosing) {
			t.Errorf("put batch: got %v, want ErrClosing", err)
		}
		if _, err := s.At(p.PhysicalOffset); !errors.Is(err, ErrClosing) {
			t.Errorf("at: got %v, want ErrClosing", err)
		}
		if err := s.Flush(); err != nil && !errors.Is(err, ErrClosing) {
			t.Errorf("flush: got %v", err)
		}
		if snap := s.Snapshot(); snap.CommitLog.AppendedOffset != p.End() {
			t.Errorf("snapshot: %+v", snap.CommitLog)
		}
		// B-73: bytes handed out were read after the mapping was gone.
		if string(held.Body) != "x" || held.Revoked() {
			t.Errorf("view held across Close reads %q", held.Body)
		}
		held.Release()
	}
}
