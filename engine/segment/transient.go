package segment

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"commitlab/engine/mmap"
)

// ErrBuffersClosed is returned to an appender that waited for a transient
// buffer while the pool was closed.
var ErrBuffersClosed = errors.New("segment: transient buffer pool is closed")

// A Pool lends equally sized memory buffers to stages. Appends are collected
// there and reach the file in one write per commit; readers see them only
// then. Safe for concurrent use.
type Pool struct {
	bytes int64 // immutable; size of one buffer
	free  chan []byte
	done  chan struct{}
	// onEmpty is called when a borrower has to wait, so that somebody commits.
	onEmpty func()
	waits   atomic.Int64 // borrowers that had to wait, ever
	waiting atomic.Int64 // borrowers that wait now

	mu      sync.Mutex
	failure chan struct{} // guarded by mu; closed and renewed by Fail
	err     error         // guarded by mu; of the last Fail

	regions   []mmap.Region // immutable after NewPool
	closeOnce sync.Once
}

// NewPool makes count buffers of size bytes each, outside of the Go heap. They
// are locked in memory as the files are. onEmpty must not block.
func NewPool(count int, size int64, o *Options, onEmpty func()) (*Pool, error) {
	p := &Pool{
		bytes: size, free: make(chan []byte, count), done: make(chan struct{}),
		onEmpty: onEmpty, failure: make(chan struct{}),
	}
	for range count {
		region, err := anonymous(o.Mapper, size)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("map transient buffer of %d bytes: %w", size, err), p.Close())
		}
		p.regions = append(p.regions, region)
		if o.MemoryLock != LockNone {
			o.Optional.Record("mlock transient buffers", region.Lock(0, size, o.MemoryLock == LockOnFault), "buffers stay unlocked")
		}
		p.free <- region.Bytes()
	}
	return p, nil
}

// anonymous asks the mapper for memory if it has its own (the heap mapper of
// the tests), else the system.
func anonymous(m mmap.Mapper, size int64) (mmap.Region, error) {
	if own, ok := m.(interface {
		Anonymous(length int64) (mmap.Region, error)
	}); ok {
		return own.Anonymous(size)
	}
	return mmap.Anonymous(size)
}

// Waits is how often an append had to wait for a buffer.
func (p *Pool) Waits() int64 { return p.waits.Load() }

// Starved reports whether an append waits for a buffer now.
func (p *Pool) Starved() bool { return p.waiting.Load() > 0 }

// Fail ends the wait of those who wait for a buffer now with err, because the
// buffers could not be written out. What is in the buffers stays there for the
// next commit.
func (p *Pool) Fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
	close(p.failure)
	p.failure = make(chan struct{})
}

// Close unmaps the buffers. All stages that borrowed from the pool must be
// gone; a borrower still waiting gets ErrBuffersClosed.
func (p *Pool) Close() error {
	var errs []error
	p.closeOnce.Do(func() {
		close(p.done)
		for _, r := range p.regions {
			errs = append(errs, r.Unmap())
		}
	})
	return errors.Join(errs...)
}

func (p *Pool) borrow() ([]byte, error) {
	select {
	case b := <-p.free:
		return b, nil
	default:
	}
	p.mu.Lock()
	failure := p.failure
	p.mu.Unlock()
	p.waits.Add(1)
	p.waiting.Add(1)
	defer p.waiting.Add(-1)
	p.onEmpty()
	select {
	case b := <-p.free:
		return b, nil
	case <-p.done:
		return nil, ErrBuffersClosed
	case <-failure:
		p.mu.Lock()
		defer p.mu.Unlock()
		return nil, fmt.Errorf("transient buffers cannot be written out: %w", p.err)
	}
}

func (p *Pool) giveBack(b []byte) { p.free <- b }

// A stage holds the bytes of one file between append and commit, as a chain of
// borrowed buffers. The appender writes at its end, Commit empties its front.
type stage struct {
	pool   *Pool
	tail   *chunk // owned by the appender
	paged  int64  // owned by commit; end of the pages written so far
	sealed atomic.Bool

	mu     sync.Mutex
	chunks []*chunk // guarded by mu; oldest first, the last one is tail
}

// A chunk covers the file from base on with the first used bytes of buf.
type chunk struct {
	base int64
	buf  []byte
	used atomic.Int64 // grown by the appender
}

func newStage(p *Pool) *stage { return &stage{pool: p} }

// reserve returns n bytes for the file position pos.
func (s *stage) reserve(pos, n int64) ([]byte, error) {
	if n > s.pool.bytes {
		return nil, fmt.Errorf("segment: record of %d bytes: transient buffers hold %d", n, s.pool.bytes)
	}
	if c := s.tail; c != nil {
		if used := c.used.Load(); used+n <= s.pool.bytes {
			return c.buf[used : used+n : used+n], nil
		}
	}
	buf, err := s.pool.borrow()
	if err != nil {
		return nil, err
	}
	c := &chunk{base: pos, buf: buf}
	s.mu.Lock()
	s.chunks = append(s.chunks, c)
	s.mu.Unlock()
	s.tail = c
	return buf[:n:n], nil
}

func (s *stage) publish(n int64) { s.tail.used.Add(n) }

// commit writes all published bytes to f and moves its committed position.
func (s *stage) commit(f *File) error {
	for {
		sealed := s.sealed.Load() // before used: after it nothing is added
		s.mu.Lock()
		if len(s.chunks) == 0 {
			s.mu.Unlock()
			if sealed {
				f.committed.Store(f.size)
			}
			return nil
		}
		c, last := s.chunks[0], len(s.chunks) == 1
		s.mu.Unlock()

		pos := f.committed.Load()
		if used := c.used.Load(); c.base+used > pos {
			if err := f.uncut(); err != nil {
				return err
			}
			if err := s.newPage(f, c.base+used); err != nil {
				return err
			}
			if _, err := f.region.WriteAt(c.buf[pos-c.base:used], pos); err != nil {
				return fmt.Errorf("write %d bytes at %d of %s: %w", c.base+used-pos, pos, f.path, err)
			}
			f.committed.Store(c.base + used)
		}
		if last && !sealed {
			return nil
		}
		s.mu.Lock()
		s.chunks = s.chunks[1:]
		s.mu.Unlock()
		s.pool.giveBack(c.buf)
	}
}

// newPage prepares the page in which a write to a stale file will end, with zeros for
// all of it: a page that is written in part only, and is not in memory any more, the
// system would first have to read from the disk.
func (s *stage) newPage(f *File, end int64) error {
	page := end / pageBytes * pageBytes
	if f.stale && end > page && page >= s.paged {
		if _, err := f.region.WriteAt(make([]byte, min(pageBytes, f.size-page)), page); err != nil {
			return fmt.Errorf("write page at %d of %s: %w", page, f.path, err)
		}
	}
	s.paged = max(s.paged, (end+pageBytes-1)/pageBytes*pageBytes)
	return nil
}

// drop gives all buffers back without writing them, when the file goes away.
func (s *stage) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.chunks {
		s.pool.giveBack(c.buf)
	}
	s.chunks, s.tail = nil, nil
}
