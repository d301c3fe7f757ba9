package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"testing"

	"commitlab/engine/consumequeue"
	"commitlab/engine/fsutil"
	"commitlab/engine/storedir"
)

// BenchmarkOpen is the real time of a start with 50 log files of 64 KiB, on the disk
// of the temporary directory, with few queues and with many. It is warm. The store was
// closed in order, or killed before anything was put to it; or there is no catalog, so
// that each queue is read, as each is that was put to before a kill.
func BenchmarkOpen(b *testing.B) {
	o := small(Options{Dispatch: On, CommitLogFileBytes: 64 << 10, ConsumeQueueFileBytes: 100 * consumequeue.UnitBytes})
	for _, queues := range []int{10, 5000} {
		closed, killed := manyQueues(b, b.TempDir(), queues, o)
		layout, crashed := storedir.Layout(closed), storedir.Layout(killed)
		if !fsutil.StampsTell(closed) {
			b.Log("there are no catalogs on the file system of the temporary directory")
		}
		for _, c := range []struct {
			way, dir string
			prepare  func() error
		}{
			{"closed", closed, func() error { return nil }},
			{"killed", killed, crashed.AbortMarker().Set},
			{"unknown", closed, func() error { return removeIfThere(layout.QueueCatalog()) }},
			{"killed-unknown", killed, func() error {
				return errors.Join(crashed.AbortMarker().Set(), removeIfThere(crashed.QueueCatalog()))
			}},
		} {
			start := func(b *testing.B) *Store {
				s, err := Open(c.dir, o)
				if err != nil {
					b.Fatal(err)
				}
				return s
			}
			if err := start(b).Close(); err != nil { // makes the catalog
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("queues=%d/way=%s", queues, c.way), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					if err := c.prepare(); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
					s := start(b)
					b.StopTimer()
					if err := s.Close(); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
			})
		}
	}
}

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
