package engine

import (
	"fmt"
	"testing"

	"commitlab/engine/consumequeue"
	"commitlab/engine/storedir"
)

// BenchmarkOpen is the real time of a start with 50 log files of 64 KiB, on the disk
// of the temporary directory: with few queues and with many, closed in order and
// killed. It is warm.
func BenchmarkOpen(b *testing.B) {
	o := small(Options{Dispatch: On, CommitLogFileBytes: 64 << 10, ConsumeQueueFileBytes: 100 * consumequeue.UnitBytes})
	for _, queues := range []int{10, 5000} {
		closed, killed := manyQueues(b, b.TempDir(), queues, o)
		for i, dir := range []string{closed, killed} {
			b.Run(fmt.Sprintf("queues=%d/way=%s", queues, []string{"closed", "killed"}[i]), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					if i == 1 {
						if err := storedir.Layout(dir).AbortMarker().Set(); err != nil {
							b.Fatal(err)
						}
					}
					b.StartTimer()
					s, err := Open(dir, o)
					b.StopTimer()
					if err != nil {
						b.Fatal(err)
					}
					if err := s.Close(); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
			})
		}
	}
}
