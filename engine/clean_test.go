package engine

import (
	"testing"

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
