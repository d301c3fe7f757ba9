package index

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"commitlab/engine/segment"
)

// ErrUnavailable: no new file could be made, so keys cannot be added now. Reads
// go on.
var ErrUnavailable = errors.New("index: unavailable")

// After a failed creation the next try waits; each further failure doubles it.
const (
	retryMin = time.Second
	retryMax = time.Minute
)

// Options describe a Set. They are immutable after Open.
type Options struct {
	// Slots and Items give the layout of all files; 0 is the default.
	Slots int
	Items int
	// Files says how files are made, mapped and removed. FileBytes follows from
	// the layout. A file is used sparsely, so populating or locking it would cost
	// its full size in memory; Transient must be nil.
	Files segment.Options

	// Unclean says that the last run did not close the set in order: what is not
	// known to be durable is checked and repaired.
	Unclean bool
	// DurableMs is the index timestamp of the checkpoint: the end time of the
	// newest file that is durable, in epoch milliseconds.
	DurableMs int64

	// Now is the clock for names and retries; nil is time.Now.
	Now func() time.Time
	// Wake, if not nil, is called by the writer when there is work for Step.
	Wake func()
	// Logger, if nil, is the default one.
	Logger *slog.Logger
}

// A Set is the rolling list of index files in one directory. See the package
// comment for which calls may run at the same time.
type Set struct {
	dir    string
	layout Layout
	opt    Options
	logger *slog.Logger

	files atomic.Pointer[[]*File] // oldest first; replaced as a whole under mu
	mu    sync.Mutex
	gone  []*File // guarded by mu; left the list, still held by cursors

	durableMs atomic.Int64
	rolls     atomic.Int64
	damages   atomic.Int64
	dropped   atomic.Int64 // items that recovery took out
	syncErr   atomic.Pointer[error]
	openErr   atomic.Pointer[error] // why no new file could be made, nil when well

	empties []string // of Load for Recover: files to be removed, newest first

	// Of the writer.
	newest   string // greatest file name so far
	end      int64  // physical offset of the last item, -1 for none
	building bool   // new files get a bulk
	retryAt  time.Time
	retryIn  time.Duration
}

// Open does [Load] and [Set.Recover].
func Open(dir string, o Options) (*Set, error) {
	s, err := Load(dir, o)
	if err != nil {
		return nil, err
	}
	if err := s.Recover(); err != nil {
		s.giveUp()
		return nil, err
	}
	return s, nil
}

// Load opens the files of dir, which is made if absent, and changes nothing: the
// set can only tell its SoundEnd until Recover. Entries that are no index files
// are left alone with one warning each. A file of another size than the layout's is
// an error: it was made with other Slots or Items.
func Load(dir string, o Options) (*Set, error) {
	if o.Slots == 0 {
		o.Slots = DefaultSlots
	}
	if o.Items == 0 {
		o.Items = DefaultItems
	}
	layout := Layout{Slots: o.Slots, Items: o.Items}
	if err := layout.Check(); err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.Files.FileBytes = layout.FileBytes()
	s := &Set{dir: dir, layout: layout, opt: o, logger: o.Logger}
	s.files.Store(&[]*File{})
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("index: open directory: %w", err)
	}
	files, err := s.load()
	s.files.Store(&files)
	if err != nil {
		s.giveUp()
		return nil, err
	}
	return s, nil
}

// giveUp closes the files of a set that could not be opened.
func (s *Set) giveUp() {
	for _, f := range s.Files() {
		f.close()
	}
}

// tail returns the file that takes the next item, a new one if need be.
func (s *Set) tail() (*File, error) {
	if files := s.Files(); len(files) > 0 {
		if f := files[len(files)-1]; !f.full.Load() {
			return f, nil
		}
	}
	return s.roll()
}

// roll makes the next file. segment.Create leaves nothing behind when it fails,
// and until the retry time nothing is tried at all.
func (s *Set) roll() (*File, error) {
	now := s.opt.Now()
	if now.Before(s.retryAt) {
		return nil, fmt.Errorf("%w until %v: %w", ErrUnavailable, s.retryAt, *s.openErr.Load())
	}
	f, err := s.create(now)
	if err != nil {
		s.retryIn = min(max(2*s.retryIn, retryMin), retryMax)
		s.retryAt = now.Add(s.retryIn)
		s.openErr.Store(&err)
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	s.retryIn, s.retryAt = 0, time.Time{}
	s.openErr.Store(nil)
	s.rolls.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setFiles(append(slices.Clip(s.Files()), f))
	return f, nil
}

func (s *Set) create(now time.Time) (*File, error) {
	if files := s.Files(); len(files) > 0 {
		if err := files[len(files)-1].seg.SyncName(); err != nil {
			return nil, err
		}
	}
	name, err := nextName(s.newest, now)
	if err != nil {
		return nil, err
	}
	s.newest = name
	var kept *bulk
	if s.building {
		if kept, err = newBulk(s.layout); err != nil {
			return nil, err
		}
	}
	h := s.following()
	head := make([]byte, HeaderBytes)
	encodeHeader(head, h)
	seg, err := segment.CreateWith(filepath.Join(s.dir, name), 0, head, &s.opt.Files)
	if err != nil {
		return nil, errors.Join(err, kept.release())
	}
	seg.Seal() // all of it may be read
	f, err := newFile(s.layout, seg, h)
	if err != nil {
		return nil, errors.Join(err, kept.release())
	}
	f.bulk = kept
	return f, nil
}

// following is the header of a new file: without items, but with the end of the
// newest file, as RocketMQ presets it. After a kill it goes on with whatever file is
// the last one, behind the end that the header names: from a header of zeros it
// would enter the whole log once more.
func (s *Set) following() Header {
	h := Header{Count: 1}
	if files := s.Files(); len(files) > 0 {
		end := files[len(files)-1].Header()
		h.BeginMs, h.EndMs = end.EndMs, end.EndMs
		h.BeginPhysical, h.EndPhysical = end.EndPhysical, end.EndPhysical
	}
	return h
}

// setFiles replaces the list, which must not change afterwards. The caller holds
// mu or is alone.
func (s *Set) setFiles(files []*File) { s.files.Store(&files) }

// Files is the current list, oldest first. It must not be changed.
func (s *Set) Files() []*File { return *s.files.Load() }

// Layout is the geometry of all files.
func (s *Set) Layout() Layout { return s.layout }

// EndPhysical is the physical offset of the record that was added last, -1 for
// an empty set. Records before it are in the index; after Open it is the one to
// begin with when records are added again.
func (s *Set) EndPhysical() int64 {
	for _, f := range slices.Backward(s.Files()) {
		if f.Len() > 0 {
			return f.endPhysical.Load()
		}
	}
	return -1
}

// BeginPhysical is the physical offset of the first record in the index, -1 for
// an empty set.
func (s *Set) BeginPhysical() int64 {
	for _, f := range s.Files() {
		if f.Len() > 0 {
			return f.beginPhysical.Load()
		}
	}
	return -1
}

// EndMs is the store time of the record that was added last, 0 for an empty set.
// After recovery took items out it is the latest that it can be.
func (s *Set) EndMs() int64 {
	for _, f := range slices.Backward(s.Files()) {
		if f.Len() > 0 {
			return f.endMs.Load()
		}
	}
	return 0
}

func (s *Set) warnDamage(f *File, what string, number, link int32) {
	s.damages.Add(1)
	s.logger.Warn("damaged link in an index file; older records of the chain are not found by key",
		"file", f.Path(), "at", what, "number", number, "link", link)
}

// Close makes everything durable and gives the files up. Cursors that are still
// held stay valid. The set must not be used afterwards. After an error the index
// may have lost items that were not yet on disk: the caller treats the next
// opening as unclean.
func (s *Set) Close() error {
	err := s.Sync()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.Files() {
		f.close()
	}
	s.setFiles(nil)
	return err
}
