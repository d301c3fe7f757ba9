package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"commitlab/engine/message"
	"commitlab/engine/segment"
)

// variants is every value of every option that changes how records get into a
// file and onto the disk, one option off its default at a time, and the
// combinations that meet in one code path.
func variants() map[string]Options {
	all := map[string]Options{"default": {}}
	for _, v := range []string{"fallocate", "zerofill", "sparse"} {
		all["allocate="+v] = Options{Allocate: segment.Allocation(v)}
	}
	for _, v := range []string{"window", "file", "none"} {
		all["populate="+v] = Options{Populate: segment.Populate(v)}
	}
	all["warmUp=touch"] = Options{WarmUp: "touch"}
	for _, v := range []string{"file", "onfault"} {
		all["memoryLock="+v] = Options{MemoryLock: segment.MemoryLock(v)}
	}
	for _, v := range []string{"sequential", "random", "willneed", "hugepage"} {
		all["advise="+v] = Options{Advise: segment.Advice(v)}
	}
	for _, flush := range []string{FlushAsync, FlushSync} {
		for _, path := range []string{"msync", "fdatasync", "pwrite"} {
			for _, lock := range []string{LockMutex, LockSpin} {
				all["flush="+flush+" syncPath="+path+" appendLock="+lock] = Options{Flush: flush, AppendLock: lock, SyncPath: segment.SyncPath(path)}
			}
		}
	}
	for _, how := range coldReads {
		all["coldRead="+string(how)] = Options{ColdRead: how, ColdAfterBytes: 1}
	}
	all["clock=exact"] = Options{Clock: ClockExact}
	all["preallocate=off"] = Options{Preallocate: Off}
	all["preallocate=off memoryLock=file flush=sync"] = Options{Preallocate: Off, MemoryLock: "file", Flush: FlushSync}
	all["appendCRC=on"] = Options{AppendCRC: On}
	all["rocketmq"] = Options{Allocate: "sparse", Populate: "none", Clock: ClockExact}
	all["rocketmq-warm"] = Options{Allocate: "sparse", Populate: "none", WarmUp: "touch", MemoryLock: "file", Advise: "willneed"}
	all["commitLogFileBytes=4096"] = Options{CommitLogFileBytes: 4096}
	all["commitLogFileBytes=10001"] = Options{CommitLogFileBytes: 10_001} // no whole number of pages
	all["commitLogFileBytes=10001 syncPath=pwrite"] = Options{CommitLogFileBytes: 10_001, SyncPath: "pwrite"}
	return all
}

// Goal: whatever the options, what is put comes back, in order, through rolls
// and after Close and Open. The audit at the end does most of the checking.
func TestRoundTripUnderEveryOption(t *testing.T) {
	for name, o := range variants() {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, scratch(t), small(o))
			var want []stored
			for i := range 60 {
				m := newMessage(fmt.Sprintf("topic-%d", i%3), int32(i%2), text(body(i), 10+i*37%1500))
				m.Properties = message.Properties(fmt.Sprintf("KEYS\x01k%d\x02", i))
				p := put(t, s, m)
				r := asStored(m, p)
				r.properties = "" // a record CRC may be added
				want = append(want, r)
			}
			batch := []message.Message{*newMessage("topic-0", 0, "first"), *newMessage("topic-0", 0, text("second", 900))}
			results, err := s.PutBatch(batch)
			if err != nil {
				t.Fatal(err)
			}
			for i := range batch {
				want = append(want, asStored(&batch[i], results[i]))
			}
			if results[0].End() != results[1].PhysicalOffset {
				t.Errorf("batch is not in one piece: %+v", results)
			}
			if err := s.Flush(); err != nil { // with transient buffers: makes all readable
				t.Fatal(err)
			}
			got := scan(t, s)
			for i := range got {
				got[i].properties = ""
			}
			if !slices.Equal(got, want) {
				t.Errorf("read %d records, put %d; they differ", len(got), len(want))
			}
			if snap := s.Snapshot(); snap.CommitLog.Rolls < 2 || snap.CommitLog.Appends != int64(len(want)) {
				t.Errorf("snapshot: %+v", snap.CommitLog)
			}
			for call, outcome := range s.Snapshot().SystemCalls {
				if outcome != "ok" && !strings.HasPrefix(outcome, "failed: ") {
					t.Errorf("system call %q: outcome %q", call, outcome)
				}
			}
		})
	}
}

func TestOpenedWithOtherOptionsTheLogGoesOn(t *testing.T) {
	dir := scratch(t)
	const each = 10
	for i, name := range []string{"default", "rocketmq", "flush=sync syncPath=pwrite appendLock=spin", "appendCRC=on", "allocate=zerofill", "default"} {
		s := openUnchecked(t, dir, small(variants()[name]))
		for j := range each {
			p := put(t, s, newMessage("t", 0, text(body(j), 700)))
			if want := int64(i*each + j); p.QueueOffset != want {
				t.Fatalf("%s: queue offset: got %d, want %d", name, p.QueueOffset, want)
			}
		}
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		if n := len(scan(t, s)); n != (i+1)*each {
			t.Fatalf("%s: %d records, want %d", name, n, (i+1)*each)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
