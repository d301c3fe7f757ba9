package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"commitlab/engine/message"
	"commitlab/engine/storedir"
)

// The golden stores were written by RocketMQ itself, which also said what it
// answers about them. Goal: opened here they give the same answers, except where
// those are wrong. Method: what the answers should be is derived from the records
// that RocketMQ listed, without any code of this store, and both are compared with
// that. Each way in which RocketMQ differs is named and counted.

// options are those that the store was written with.
func (g *golden) options() Options {
	return small(Options{
		Dispatch: On, CommitLogFileBytes: g.meta.CommitLogFileSize, ConsumeQueueFileBytes: g.meta.ConsumeQueueFileSize,
		IndexSlots: g.meta.HashSlots, IndexItems: g.meta.IndexItems, Damage: DamageTruncate,
	})
}

// open opens the store. Its delayed messages count as delivered: they were due
// long ago, or will be two hours after they were made.
func (g *golden) open(t testing.TB) *Store {
	t.Helper()
	g.deliver(t, g.dir)
	return openUnchecked(t, g.dir, g.options())
}

// deliver makes the delayed messages of g count as delivered in a directory.
func (g *golden) deliver(t testing.TB, dir string) {
	t.Helper()
	delivered := storedir.DelayOffsets{}
	for _, q := range g.queues {
		if q.Topic == message.ScheduleTopic {
			delivered[int(q.QueueID)+1] = q.Max
		}
	}
	if err := storedir.Layout(dir).SaveDelayOffsets(delivered, 1, 1); err != nil {
		t.Fatal(err)
	}
}

// in returns the records of a queue, in order.
func (g *golden) in(topic string, id int32) (records []goldenRecord) {
	for _, r := range g.records {
		if r.Type == "message" && r.Topic == topic && r.QueueID == id {
			records = append(records, r)
		}
	}
	return records
}

// goldenNames are the archives. Some have a damaged tail, or damage in the middle,
// where RocketMQ cuts the log; so do we, if we are told to.
var goldenNames = []string{
	"clean", "clean-damaged-tail", "expired", "killed", "killed-damaged-middle",
	"v4.9.4-clean", "v4.9.4-clean-damaged-tail", "v4.9.4-expired", "v4.9.4-killed", "v4.9.4-killed-damaged-middle",
}

func TestGoldenStores(t *testing.T) {
	for _, name := range goldenNames {
		t.Run(name, func(t *testing.T) {
			g := unpackGolden(t, name)
			s := g.open(t)
			t.Run("log", func(t *testing.T) { g.checkLog(t, s) })
			t.Run("queues", func(t *testing.T) { g.checkQueues(t, s, false) })
			t.Run("get", func(t *testing.T) { g.checkGets(t, s) })
			t.Run("byTime", func(t *testing.T) { g.checkByTime(t, s) })
			t.Run("query", func(t *testing.T) { g.checkQueries(t, s) })
			checkDerived(t, s)
			if t.Failed() {
				return
			}
			// Once more without the derived files: they follow from the log.
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			auditClosed(t, s)
			for _, dir := range []string{s.dir.ConsumeQueue(), s.dir.Index()} {
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
			}
			s = g.open(t)
			t.Run("rebuilt/queues", func(t *testing.T) { g.checkQueues(t, s, true) })
			t.Run("rebuilt/query", func(t *testing.T) { g.checkQueries(t, s) })
			checkDerived(t, s)
		})
	}
}

// checkLog compares every record, by its bytes.
func (g *golden) checkLog(t *testing.T, s *Store) {
	if first, end := s.log.Min(), s.log.Appended(); first != g.meta.MinPhyOffset || end != g.meta.MaxPhyOffset {
		t.Errorf("log is [%d, %d), want [%d, %d)", first, end, g.meta.MinPhyOffset, g.meta.MaxPhyOffset)
	}
	for _, r := range g.records {
		v, err := s.At(r.PhysOffset)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(v.Bytes())
		id := message.OffsetID(v.StoreHost, v.PhysicalOffset)
		if hex.EncodeToString(sum[:]) != r.RecordSHA256 || v.Size != r.Size || string(v.Topic) != r.Topic || v.QueueID != r.QueueID ||
			v.QueueOffset != r.QueueOffset || v.StoreTimestamp != r.StoreTimestamp || len(v.Body) != r.BodyLen || id != r.MsgID {
			t.Errorf("record at %d: %+v, want %+v", r.PhysOffset, v.Record, r)
		}
		v.Release()
	}
	n := 0
	eachRecord(t, s, func(*View) { n++ })
	if n != len(g.records) {
		t.Errorf("log has %d records, want %d", n, len(g.records))
	}
}

// checkQueues compares the bounds of every queue and each of its units.
//
// Exception B-13: RocketMQ 4 leaves the minimum of a queue where it was when all of
// its records are gone, which shows as a unit without a record. Rebuilt from the
// log such a queue cannot be known at all.
func (g *golden) checkQueues(t *testing.T, s *Store, rebuilt bool) {
	for _, want := range g.queues {
		name := fmt.Sprintf("%s/%d", want.Topic, want.QueueID)
		records := g.in(want.Topic, want.QueueID)
		expired := len(records) == 0 && want.Max > 0
		if expired && rebuilt {
			continue
		}
		wantMin := want.Min
		if expired {
			wantMin = want.Max
		}
		if first, next := s.QueueBounds(want.Topic, want.QueueID); first != wantMin || next != want.Max {
			t.Errorf("queue %s is [%d, %d), want [%d, %d)", name, first, next, wantMin, want.Max)
		}
		ms, ok := s.EarliestTime(want.Topic, want.QueueID)
		if ok != (len(records) > 0) || ok && ms != want.EarliestTime {
			t.Errorf("queue %s: earliest time %d, %v; want %d", name, ms, ok, want.EarliestTime)
		}
		if int64(len(records)) != want.Max-wantMin {
			t.Fatalf("queue %s: %d records listed for [%d, %d)", name, len(records), wantMin, want.Max)
		}
		q := s.queues.Get(want.Topic, want.QueueID)
		for _, r := range records {
			u, ok := q.Read(r.At)
			if !ok || u.PhysicalOffset != r.PhysOffset || int(u.Size) != r.Size || u.TagsCode != r.TagsCode {
				t.Errorf("queue %s at %d: %+v, %v; want %+v", name, r.At, u, ok, r)
			}
		}
	}
}

// checkGets compares the answers of getMessage.
//
// Exceptions:
//   - RocketMQ 4 sends a reader that is far ahead to 0 if that is the minimum, which
//     reads everything again; RocketMQ 5 to the maximum.
//   - B-13, as for the bounds: a queue without any record left is read as removed
//     messages, one by one, where here the offset is too small.
func (g *golden) checkGets(t *testing.T, s *Store) {
	exceptions := make(map[string]int)
	for _, want := range g.gets {
		name := fmt.Sprintf("%s/%d at %d, at most %d", want.Topic, want.QueueID, want.Offset, want.MaxNum)
		expired := want.Max > 0 && len(g.in(want.Topic, want.QueueID)) == 0
		switch {
		case expired && want.Offset < want.Max:
			exceptions["all expired"]++
			want.Status, want.Min, want.Next, want.PhysOffsets = OffsetTooSmall.String(), want.Max, want.Max, nil
		case want.Status == OffsetOverflowBadly.String() && want.Min == 0 && want.Next == 0:
			exceptions["overflow from 0"]++
			want.Next = want.Max
		}
		if expired {
			want.Min = want.Max
		}
		r, err := s.Get(want.Topic, want.QueueID, want.Offset, want.MaxNum, nil)
		if err != nil {
			t.Fatalf("get %s: %v", name, err)
		}
		var offsets []int64
		for i := range r.Messages {
			offsets = append(offsets, r.Messages[i].PhysicalOffset)
		}
		if r.Status.String() != want.Status || r.NextBegin != want.Next || r.Min != want.Min || r.Max != want.Max || !slices.Equal(offsets, want.PhysOffsets) {
			t.Errorf("get %s: %v, next %d of [%d, %d), messages %v; want %v, next %d of [%d, %d), %v", name,
				r.Status, r.NextBegin, r.Min, r.Max, offsets, want.Status, want.Next, want.Min, want.Max, want.PhysOffsets)
		}
		r.Release()
	}
	t.Logf("%d answers, where RocketMQ differs: %v", len(g.gets), exceptions)
}

// checkByTime compares with the rule of OffsetByTime, over the records.
//
// Exceptions: for a time between two units RocketMQ 4 gives the nearer one, and it
// picks the file by the time of its last change, so that it may miss a unit of
// just the time that was asked for. Where it hits one, both must agree.
func (g *golden) checkByTime(t *testing.T, s *Store) {
	hits, wrongFile := 0, 0
	for _, q := range g.byTimes {
		first, next := s.QueueBounds(q.Topic, q.QueueID)
		lower, upper := next, first
		exists, hit := false, false
		for _, r := range g.in(q.Topic, q.QueueID) {
			if r.StoreTimestamp >= q.Timestamp {
				lower = min(lower, r.At)
			}
			if r.StoreTimestamp <= q.Timestamp {
				upper = r.At
			}
			exists = exists || r.StoreTimestamp == q.Timestamp
			hit = hit || r.StoreTimestamp == q.Timestamp && r.At == q.Offset
		}
		if got, err := s.OffsetByTime(q.Topic, q.QueueID, q.Timestamp, Lower); got != lower || err != nil {
			t.Errorf("%s/%d, lower bound of %d: got %d, %v, want %d", q.Topic, q.QueueID, q.Timestamp, got, err, lower)
		}
		if got, err := s.OffsetByTime(q.Topic, q.QueueID, q.Timestamp, Upper); got != upper || err != nil {
			t.Errorf("%s/%d, upper bound of %d: got %d, %v, want %d", q.Topic, q.QueueID, q.Timestamp, got, err, upper)
		}
		switch {
		case hit:
			hits++
			if q.Offset < lower || q.Offset > upper {
				t.Errorf("%s/%d at %d: RocketMQ says %d, we say %d to %d", q.Topic, q.QueueID, q.Timestamp, q.Offset, lower, upper)
			}
		case exists:
			wrongFile++
		}
	}
	if hits == 0 {
		t.Error("RocketMQ never hit the time that was asked for")
	}
	t.Logf("%d answers, %d of an exact time, where RocketMQ differs: wrong file %d", len(g.byTimes), hits, wrongFile)
}

// checkQueries compares the answers of queryMessage. Every answer here is exact.
// RocketMQ's may have, and each difference must be one of these:
//   - "hash" (B-01): a record with another topic or key of the same hash;
//   - "repeat" (B-03): a record several times, once for each repetition of the key;
//   - "late" (B-05): a record outside of the range, because the index has whole
//     seconds, and wrong ones for the first item of a file (H18);
//   - "early" (B-05): a record inside of the range is missing for the same reason;
//   - "limit": records are missing because wrong ones and repetitions were counted.
func (g *golden) checkQueries(t *testing.T, s *Store) {
	record := make(map[int64]*goldenRecord)
	for i := range g.records {
		record[g.records[i].PhysOffset] = &g.records[i]
	}
	exceptions, same := make(map[string]int), 0
	for _, q := range g.queries {
		name := fmt.Sprintf("%s/%s, at most %d in [%d, %d]", q.Topic, q.Key, q.Max, q.Begin, q.End)
		var want []int64
		for _, r := range slices.Backward(g.records) {
			indexed := message.TransactionOf(r.SysFlag) != message.TransactionRollback
			if indexed && r.Topic == q.Topic && r.has(q.Key) && r.StoreTimestamp >= q.Begin && r.StoreTimestamp <= q.End && len(want) < q.Max {
				want = append(want, r.PhysOffset)
			}
		}
		views, err := s.Query(q.Topic, q.Key, q.Max, q.Begin, q.End)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for i := range views {
			got = append(got, views[i].PhysicalOffset)
			views[i].Release()
		}
		if !slices.Equal(got, want) {
			t.Errorf("query %s: got %v, want %v", name, got, want)
		}

		reasons := make(map[string]bool)
		seen := make(map[int64]bool)
		for _, offset := range q.MessageOffsets {
			r := record[offset]
			switch {
			case r == nil:
				t.Errorf("query %s: RocketMQ has %d, where no record was listed", name, offset)
			case r.Topic != q.Topic || !r.has(q.Key):
				reasons["hash"] = true
			case seen[offset]:
				reasons["repeat"] = true
			case r.StoreTimestamp < q.Begin || r.StoreTimestamp > q.End:
				reasons["late"] = true
			}
			seen[offset] = true
		}
		for _, offset := range want {
			switch {
			case seen[offset]:
			case len(q.IndexOffsets) >= min(q.Max, 64):
				reasons["limit"] = true
			case q.Begin > 0 || q.End < math.MaxInt64:
				reasons["early"] = true
			default:
				t.Errorf("query %s: RocketMQ lacks %d without any reason", name, offset)
			}
		}
		slices.Sort(got)
		if slices.Equal(got, q.MessageOffsets) {
			same++
		} else if len(reasons) == 0 {
			t.Errorf("query %s: RocketMQ says %v, we say %v", name, q.MessageOffsets, got)
		}
		if len(reasons) > 0 {
			exceptions[strings.Join(slices.Sorted(maps.Keys(reasons)), "+")]++
		}
	}
	t.Logf("%d answers, %d the same; where RocketMQ differs: %v", len(g.queries), same, exceptions)
}
