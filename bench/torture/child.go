package torture

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"commitlab/engine"
	"commitlab/engine/mmap"
	"commitlab/engine/mmap/mmaptest"
	"commitlab/engine/segment"
)

// A spec is all that a child is told: one line of JSON on its standard input, which
// then stays open for as long as the child may live.
type spec struct {
	Image image  `json:"image"` // with the store itself
	Clone string `json:"clone"` // where a power cut leaves the store
	// Record: the page cache may be lost in a later life, so that the image must
	// tell what was synced.
	Record bool   `json:"record,omitempty"`
	Seed   uint64 `json:"seed"`
	Round  int    `json:"round"`
	Life   int    `json:"life"` // from 0
	Set    string `json:"set"`
	Plan   Life   `json:"plan"`
	// MaxLogBytes is that of the run.
	MaxLogBytes int64 `json:"maxLogBytes,omitempty"`
	Fault       Fault `json:"fault,omitempty"`
}

// Child is the program of the process that lives and dies: it reads what to do from
// in and tells what happens on out. When in ends, so does the process. It returns
// when it came to an end of its own, with an error only if it could not begin.
func Child(in io.Reader, out io.Writer) error {
	d := json.NewDecoder(in)
	var sp spec
	if err := d.Decode(&sp); err != nil {
		return fmt.Errorf("torture child: read what to do: %w", err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, in) // whatever ended it, it has ended
		os.Exit(1)
	}()
	options, err := optionsOf(sp.Set, sp.Seed, sp.MaxLogBytes)
	if err != nil {
		return err
	}
	c := &child{spec: sp, options: options, tell: &teller{w: out}, due: make(chan struct{})}
	if err := c.attach(); err != nil {
		return fmt.Errorf("torture child: %w", err)
	}
	c.live()
	return nil
}

// A child is one life of the store, as the process that lives it sees it.
type child struct {
	spec
	options engine.Options
	tell    *teller

	seam *seam           // between the store and its disk
	heap *mmaptest.Heap  // nil where the page cache survives
	off  <-chan struct{} // closed when the power went off

	acks         atomic.Int64
	due          chan struct{} // closed when the death is due
	refusedFiles atomic.Int64
}

// attach puts between store and disk what the death needs.
func (c *child) attach() error {
	disk, mapper := segment.Disk(segment.OSDisk{}), mmap.Mapper(mmap.OS)
	if c.Record {
		if err := os.MkdirAll(c.Image.Changes, 0o755); err != nil {
			return err
		}
		r := &recorder{image: c.Image}
		disk, mapper = r, r
	}
	if !c.Plan.keepsCache() {
		c.heap = mmaptest.NewHeap()
		c.heap.LoseNames = true
		if err := c.Image.load(c.heap); err != nil {
			return err
		}
		disk, mapper = c.heap, c.heap
	}
	c.seam = &seam{disk: disk, mapper: mapper, lies: c.Fault == FaultLie && c.heap != nil}
	c.options.Mapper, c.options.Disk = c.seam, c.seam
	return nil
}

// live opens the store, writes until the death is due, and dies.
func (c *child) live() {
	if c.Plan.InOpen {
		c.arm()
	}
	c.tell.tell(eventOpening)
	opened := make(chan *engine.Store, 1)
	go func() {
		s, err := engine.Open(c.Image.Store, c.options)
		if err != nil {
			c.tell.wrong("open: %v", err)
		}
		opened <- s
	}()
	var s *engine.Store
	select {
	case s = <-opened:
	case <-c.off:
		c.cut(nil)
		return
	}
	if s == nil {
		return
	}
	c.tell.tell(eventOpened, s.Snapshot().Recovery.EndOffset)
	go c.watch(s)
	w := newWriters(c, s)
	w.start()
	select {
	case <-c.due:
	case <-c.off: // armed since it opened
	case <-w.ended:
	}
	c.die(s, w)
}

// arm lets the disaster begin.
func (c *child) arm() {
	switch c.Plan.Death {
	case Power:
		var rule rule
		rule, c.off = powerOff(c.Plan.Calls)
		c.seam.setRule(rule)
	case DiskFull:
		sparse := c.options.Allocate == segment.Sparse && c.options.SyncPath == segment.SyncPwrite
		c.seam.setRule(diskFull(c.Plan.Refused, sparse, c.refused))
	case SyncFail:
		c.seam.setRule(syncFails(c.Plan.Calls, c.refused))
	}
}

func (c *child) refused() { c.tell.tell(eventRefused, int64(refusedFile), c.refusedFiles.Add(1)) }

// patience bounds the wait for a disaster that needs calls which do not come.
const patience = 2 * time.Second

// die ends the life as planned. It returns where the process is to exit by itself.
func (c *child) die(s *engine.Store, w *writers) {
	if c.Plan.Death == Close || c.Plan.InClose {
		w.stop()
	}
	if !c.Plan.InOpen {
		c.arm()
	}
	switch c.Plan.Death {
	case Close:
		c.close(s)
	case Kill, DiskFull: // by the parent
		if c.Plan.InClose {
			c.close(s)
		}
		select {}
	case SyncFail:
		select {
		case <-w.ended:
		case <-time.After(patience):
		}
		if c.Plan.KeepCache {
			c.tell.tell(eventDying)
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		w.halt()
		c.seam.setRule(nothingReturns)
		c.cut(s)
	case Power:
		if c.Plan.InClose {
			go c.close(s)
		}
		select {
		case <-c.off:
		case <-time.After(patience):
			c.seam.setRule(nothingReturns)
		}
		w.halt()
		c.cut(s)
	}
}

// close closes the store in order.
func (c *child) close(s *engine.Store) {
	c.tell.tell(eventClosing)
	if err := s.Close(); err != nil {
		c.tell.wrong("close: %v", err)
		return
	}
	c.tell.tell(eventClosed)
}

// settleTime lets goroutines that were under way when the power went off come to
// rest: what they store to memory meanwhile may reach the disk in part.
const settleTime = 5 * time.Millisecond

// cut writes what a power cut leaves. The power is off: no call to the disk gets
// through any more. s is nil if it went off before the store was open.
func (c *child) cut(s *engine.Store) {
	time.Sleep(settleTime)
	if s != nil { // which may wait for somebody who waits for the disk
		told := make(chan struct{})
		go func() {
			c.watermark(s, nil)
			close(told)
		}()
		select {
		case <-told:
		case <-time.After(settleTime):
		}
	}
	var rng *rand.Rand
	if !c.Plan.Tidy {
		rng = rand.New(rand.NewPCG(c.Plan.Seed, 1))
	}
	if err := c.heap.CrashClone(c.Image.Store, c.Clone, rng); err != nil {
		c.tell.wrong("power cut: %v", err)
		return
	}
	c.tell.tell(eventCloned)
}

// watchInterval is how often the watermarks are told.
const watchInterval = time.Millisecond

// watch tells the watermarks as they move.
func (c *child) watch(s *engine.Store) {
	var last [2]int64
	for range time.Tick(watchInterval) {
		c.watermark(s, &last)
	}
}

// watermark tells the watermarks unless they are those told last.
func (c *child) watermark(s *engine.Store, last *[2]int64) {
	log := s.Snapshot().CommitLog
	if err := log.CheckWatermarks(); err != nil {
		c.tell.wrong("%v", err)
	}
	now := [2]int64{log.CommittedOffset, log.FlushedOffset}
	if last != nil {
		if now == *last {
			return
		}
		*last = now
	}
	c.tell.tell(eventWatermark, now[0], now[1])
}

// acked counts acknowledged puts; the death is due after as many as planned.
func (c *child) acked(n int) {
	before := c.acks.Add(int64(n)) - int64(n)
	if planned := int64(c.Plan.Acks); before < planned && before+int64(n) >= planned {
		close(c.due)
	}
}
