package engine

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"commitlab/engine/mmap/mmaptest"
	"commitlab/engine/segment"
)

// A steps counts the steps of destruction.
type steps struct {
	mu    sync.Mutex
	count map[string]int // guarded by mu
}

func (s *steps) observe(step segment.DestroyStep) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count[step.Name]++
}

func (s *steps) of(names ...string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		n += s.count[name]
	}
	return n
}

// mapped is how many mappings of this process are of files below dir.
func mapped(t testing.TB, dir string) (n int) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skipf("needs /proc: %v", err)
	}
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, dir) {
			n++
		}
	}
	return n
}

// B-23, B-24, B-73: a mapping was removed under those who read it, or under the
// dispatcher, when files were deleted by force or a topic was deleted and made again.
//
// Goal: whatever is deleted under whomever, nobody faults and nobody sees a byte that
// is not of his message, and in the end nothing is left. Method: writers at full
// speed into a log of a few small files; readers that hold messages for longer than
// deletion waits; a topic deleted and made anew every 50 ms. On the heap the race
// detector sees all of it.
func TestB23_B24_B73_DeletionUnderReadersAndDispatch(t *testing.T) {
	for _, way := range []segment.Destruction{segment.DestroyInline, segment.DestroyBackground, segment.DestroyStepwise, segment.DestroyPunch, segment.DestroyRecycle} {
		for _, memory := range []string{"heap", "os"} {
			t.Run(string(way)+" "+memory, func(t *testing.T) {
				const size = 256 << 10
				taken := &steps{count: make(map[string]int)}
				force := int64(100)
				if *long {
					force = 500
				}
				o := small(Options{
					CommitLogFileBytes: size, MaxLogBytes: 4 * size, Destroy: way, DestroyForceMs: force, OnDestroy: taken.observe,
					CleanIntervalMs: 20, DeleteFileIntervalMs: 2, FlushIntervalMs: 2, FlushLeastPages: 1, Dispatch: On, DestroyBytesPerSecond: 1 << 40,
					ConsumeQueueFileBytes: 200 * 20, IndexSlots: 50, IndexItems: 500,
				})
				if memory == "heap" {
					heap := mmaptest.NewHeap()
					o.Mapper, o.Disk = heap, heap
				}
				s := openUnchecked(t, scratch(t), o)
				w := &churn{t: t, s: s, stop: make(chan struct{})}
				w.run(endurance(), func() bool { return taken.of(segment.StepReplace) > 0 })
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if n := mapped(t, string(s.dir)); n != 0 {
					t.Errorf("%d mappings of the store are left", n)
				}
				if began, ended := taken.of(segment.StepUnlink, segment.StepRecycle), taken.of(segment.StepTotal); began != ended || ended == 0 {
					t.Errorf("%d files were deleted, %d are gone: %v", began, ended, taken.count)
				}
				if taken.of(segment.StepReplace) == 0 {
					t.Error("no file was taken by force: the test tests too little")
				}
				verified(t, s)
			})
		}
	}
}

// A churn is what goes on in the test above.
type churn struct {
	t    *testing.T
	s    *Store
	stop chan struct{}
	all  sync.WaitGroup
}

// run lets it go on for some time, and until it has been worth while.
func (c *churn) run(long time.Duration, enough func() bool) {
	for i := range 2 {
		c.all.Go(func() { c.write(i) })
		c.all.Go(func() { c.read(uint64(i)) })
	}
	c.all.Go(c.delete)
	time.Sleep(long)
	for range 2000 {
		if enough() {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	close(c.stop)
	c.all.Wait()
}

func (c *churn) stopped() bool {
	select {
	case <-c.stop:
		return true
	default:
		return false
	}
}

// payload is a body whose every byte tells which message it is of.
func payload(n uint64) []byte { return bytes.Repeat([]byte(fmt.Sprintf("%016x", n)), 20) }

func (c *churn) write(writer int) {
	for n := uint64(writer) << 32; !c.stopped(); n++ {
		m := newMessage("churn", int32(n%3), string(payload(n)))
		if n%2 == 0 {
			m.Topic = "kept"
		}
		if _, err := c.s.Put(m); err != nil {
			c.t.Errorf("put: %v", err)
			return
		}
	}
}

func (c *churn) delete() {
	for !c.stopped() {
		if err := c.s.DeleteTopic("churn"); err != nil {
			c.t.Errorf("delete topic: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// read gets messages of all ages, looks at them, and holds some.
func (c *churn) read(seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 9))
	var held []View
	defer func() {
		for i := range held {
			held[i].Release()
			held[i].Release() // a late one does nothing
		}
	}()
	for !c.stopped() {
		topic := []string{"churn", "kept"}[rng.IntN(2)]
		id := int32(rng.IntN(3))
		first, next := c.s.QueueBounds(topic, id)
		if next == first {
			continue
		}
		r, err := c.s.Get(topic, id, first+rng.Int64N(next-first), 4, nil)
		if err != nil {
			c.t.Errorf("get: %v", err)
			return
		}
		for i := range r.Messages {
			c.look(&r.Messages[i])
			if len(held) < 200 && rng.IntN(50) == 0 {
				held = append(held, r.Messages[i])
				r.Messages[i] = View{}
			}
		}
		r.Release()
		if len(held) == 200 || rng.IntN(500) == 0 {
			for i := range held {
				c.look(&held[i])
			}
		}
		if len(held) == 200 && held[0].Revoked() {
			for i := range held {
				held[i].Release()
			}
			held = held[:0]
		}
	}
}

// look checks that a body is all of one message, or zeros where its file was taken.
func (c *churn) look(v *View) {
	body := v.Body
	for i := 0; i < len(body); i += 16 {
		word := body[i : i+16]
		if same := bytes.Equal(word, body[:16]); same && word[0] != 0 {
			continue
		}
		if v.Revoked() { // the bytes before may be read just before the exchange
			continue
		}
		c.t.Errorf("body of a message at %d holds %q and %q", v.PhysicalOffset, body[:16], word)
		return
	}
}
