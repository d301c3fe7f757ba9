package commitlog

import (
	"fmt"
	"maps"
	"sync/atomic"
	"testing"

	"commitlab/engine/message"
)

// B-44: each record whose queue was another than that of the record before cost the
// scan an allocation and two operations on a map. What a scan allocates depends on
// the number of queues and files only.
func TestB44_ScanAllocatesNothingPerRecord(t *testing.T) {
	l, _ := newLog(t, nil)
	const queues, records = 8, 4000
	want := make(map[QueueKey]int64)
	for i := range records {
		m := newMessage(10)
		m.Topic, m.QueueID = fmt.Sprint("topic", i%queues), int32(i%queues)
		plan, err := message.Prepare(m, message.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := l.Append(m, &plan)
		if err != nil {
			t.Fatal(err)
		}
		want[QueueKey{m.Topic, m.QueueID}] = p.QueueOffset + 1
	}
	l.queue.Last().Seal() // as a file is when it was just opened
	var visited atomic.Int64
	scan := func() []FileScan {
		scans, err := l.Scan(ScanOptions{Workers: 2, History: History{Durable: -1}, Visit: func(*message.Record) { visited.Add(1) }})
		if err != nil {
			t.Fatal(err)
		}
		return scans
	}
	found, next := int64(0), make(map[QueueKey]int64)
	scans := scan()
	for _, s := range scans {
		for _, run := range s.Runs {
			found += run.Records
			for key, n := range run.Next {
				next[key] = max(next[key], n)
			}
		}
	}
	if found != records || visited.Load() != records || !maps.Equal(next, want) {
		t.Errorf("found %d records, visited %d; next offsets %v, want %v", found, visited.Load(), next, want)
	}
	allocations := testing.AllocsPerRun(5, func() { scan() })
	if most := float64(len(scans) * 8 * queues); allocations > most || most > records*2/3 {
		t.Errorf("%v allocations in %d files for %d records, want at most %v", allocations, len(scans), records, most)
	}
}
