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
				var all []stored
				for i := range 300 {
					m := newMessage("t", int32(i%3), text(body(i), 500))
					all = append(all, asStored(m, put(t, s, m)))
				}
				eventually(t, "the log has four files", func() bool { return s.log.End()-s.log.Min() <= 4*size })
				left := scan(t, s)
				if n := len(left); n == 0 || left[n-1] != all[len(all)-1] || left[0] != all[len(all)-n] {
					t.Errorf("%d records are left of %d", n, len(all))
				}
			})
		}
	}
}
