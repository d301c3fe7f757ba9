package index

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"commitlab/engine/mmap"
)

// sectorBytes is what a disk writes whole. An item may lie in two sectors.
const sectorBytes = 512

// Recover brings the loaded files into a state that the invariants hold for: all
// that may not be durable after an unclean end, else only those whose header
// contradicts their items. Files without items are removed. It runs alone, before
// the first Add; EndPhysical is then what SoundEnd was.
func (s *Set) Recover() error {
	if err := s.removeEmpties(); err != nil {
		return err
	}
	files := s.Files()
	if f := overlapping(files); f != nil {
		// One stands in the place of another, whose records nothing else knows.
		s.logger.Warn("index files contradict each other; the index has to be built again from the log", "file", f.Path())
		if err := s.cut(0); err != nil {
			return err
		}
		files = nil
	}
	trusted := s.trusted(files)
	for i, f := range files {
		last, limit := i == len(files)-1, int64(math.MaxInt64)
		if i < trusted {
			var ok bool
			var err error
			if ok, limit, err = f.plausible(); err != nil {
				return fmt.Errorf("index: read %s: %w", f.Path(), err)
			}
			if ok {
				f.durable.Store(f.full.Load() || !last)
				continue
			}
			s.logger.Warn("the header of an index file contradicts its items; repairing", "file", f.Path())
		}
		whole, err := s.repair(f, limit)
		if err != nil {
			return err
		}
		f.durable.Store(f.full.Load())
		if !last && !(whole && f.full.Load()) {
			// Records are added in order: behind a gap nothing can stay.
			if err := s.cut(i + 1); err != nil {
				return err
			}
			break
		}
	}
	if err := s.dropEmpty(); err != nil {
		return err
	}
	s.end = s.EndPhysical()
	s.settleDurable()
	return nil
}

// SoundEnd is the physical offset of the last record whose items Recover will keep,
// -1 if there is none. It changes nothing.
func (s *Set) SoundEnd() (end int64, err error) {
	files := s.Files()
	if overlapping(files) != nil {
		return -1, nil
	}
	trusted := s.trusted(files)
	end = -1
	for i, f := range files {
		items, physical, believed, err := f.soundEnd(i < trusted)
		if err != nil {
			return -1, fmt.Errorf("index: read %s: %w", f.Path(), err)
		}
		if items > 0 {
			end = physical
		}
		if !believed && !(items == f.Len() && f.full.Load()) {
			break
		}
	}
	return end, nil
}

// soundEnd is how many items of the file can be kept, and the physical offset of
// the last of them; believed says that they were not looked at one by one.
func (f *File) soundEnd(trusted bool) (items int, physical int64, believed bool, err error) {
	limit := int64(math.MaxInt64)
	if trusted {
		var ok bool
		if ok, limit, err = f.plausible(); ok || err != nil {
			return f.Len(), f.endPhysical.Load(), true, err
		}
	}
	defer mmap.Recover(&err, mmap.GuardFaults())
	if items = f.soundItems(DecodeHeader(f.b), limit); items > 0 {
		physical = f.layout.Item(f.b, items).Physical
	}
	return items, physical, false, nil
}

// trusted is how many of the files need not be checked item by item.
func (s *Set) trusted(files []*File) int {
	if s.opt.Unclean {
		return durableFiles(files, s.opt.DurableMs)
	}
	return len(files)
}

// overlapping returns the first file that begins before the one before it ends.
func overlapping(files []*File) *File {
	for i := 1; i < len(files); i++ {
		if files[i].beginPhysical.Load() < files[i-1].endPhysical.Load() {
			return files[i]
		}
	}
	return nil
}

// durableFiles is how many of the files, from the oldest on, the checkpoint says
// are durable. It names the newest one by its end time. If that is not there, as
// after a truncation, times are compared, and the last file is not trusted.
func durableFiles(files []*File, durableMs int64) int {
	for i, f := range files {
		if f.full.Load() && f.endMs.Load() == durableMs {
			return i + 1
		}
	}
	n := 0
	for n < len(files)-1 && files[n].endMs.Load() <= durableMs {
		n++
	}
	return n
}

// plausible reports whether the header agrees with the first and last item. If not,
// limit is the physical offset below which items may be kept: none, if the times
// contradict each other, as what the items tell of theirs counts from the header's.
func (f *File) plausible() (ok bool, limit int64, err error) {
	defer mmap.Recover(&err, mmap.GuardFaults())
	h := DecodeHeader(f.b)
	if h.Count < 2 || int(h.Count) > f.layout.Items {
		return false, math.MaxInt64, nil
	}
	first, last := f.layout.Item(f.b, 1), f.layout.Item(f.b, int(h.Count)-1)
	if !h.timed(last) {
		return false, 0, nil
	}
	ok = first.Physical == h.BeginPhysical && last.Physical == h.EndPhysical && first.Hash >= 0 && last.Hash >= 0
	return ok, math.MaxInt64, nil
}

// timed reports whether the times of a header agree with each other and the last item.
// They are all that tells of a first time that is wrong, and with it all others.
func (h *Header) timed(last Item) bool {
	if h.Count == 2 { // RocketMQ counts the seconds of a first item from the file before
		return h.BeginMs == h.EndMs
	}
	return last.Seconds == secondsBetween(h.BeginMs, h.EndMs)
}

// repair keeps the items of f from the first on, as long as they are sound and
// below the physical offset limit, makes slots and links from them, erases the
// rest, and makes the file durable. It reports whether all items were kept. It
// runs alone.
func (s *Set) repair(f *File, limit int64) (whole bool, err error) {
	before := f.Len()
	h, changed, err := f.rebuild(limit)
	if err != nil {
		return false, fmt.Errorf("index: repair %s: %w", f.Path(), err)
	}
	if err := f.seg.Erase(int64(f.layout.itemAt(int(h.Count))), true, &s.opt.Files); err != nil {
		return false, fmt.Errorf("index: repair %s: %w", f.Path(), err)
	}
	if err := f.seg.SyncAll(); err != nil {
		return false, fmt.Errorf("index: repair %s: %w", f.Path(), err)
	}
	f.adopt(h)
	f.ordered.Store(h.Count == 1)
	lost := max(before-f.Len(), 0)
	s.dropped.Add(int64(lost))
	if changed || lost > 0 {
		s.logger.Info("repaired an index file", "file", f.Path(), "items", f.Len(), "dropped", lost)
	}
	return lost == 0, nil
}

// rebuild is the part of repair that works on the mapped bytes. It returns the
// header that it wrote.
func (f *File) rebuild(limit int64) (h Header, changed bool, err error) {
	defer mmap.Recover(&err, mmap.GuardFaults())
	old := DecodeHeader(f.b)
	count := f.soundItems(old, limit) + 1

	// Items first: a link from a slot must find its item.
	slots, err := newSlotTable(f.layout)
	if err != nil {
		return h, false, err
	}
	defer func() { err = errors.Join(err, slots.release()) }()
	h = Header{Count: int32(count)}
	for n := 1; n < count; n++ {
		b := f.b[f.layout.itemAt(n):]
		it := decodeItem(b)
		previous := slots.exchange(f.layout.SlotOf(it.Hash), int32(n))
		if it.Previous != previous {
			it.Previous, changed = previous, true
			encodeItem(b, it)
		}
		if previous == 0 {
			h.UsedSlots++
		}
	}
	differed, err := slots.storeTo(f)
	if err != nil {
		return h, changed, err
	}
	changed = changed || differed
	if count > 1 {
		last := f.layout.Item(f.b, count-1)
		h.BeginMs, h.BeginPhysical, h.EndPhysical = old.BeginMs, old.BeginPhysical, last.Physical
		// The exact time of an item that was not the last is not stored.
		h.EndMs = old.EndMs
		if count != int(old.Count) || old.EndPhysical != last.Physical {
			h.EndMs = old.BeginMs
			if count > 2 {
				h.EndMs += int64(last.Seconds)*1000 + 999
			}
		}
	}
	changed = changed || h != old
	encodeHeader(f.b, h)
	return h, changed, nil
}

// soundItems is the number of items, from the first on, that can be kept.
//
// The log is not asked, so a sector that did not reach the disk must show here:
// it lacks the newest of its items, which read as zeros, because items are
// written once and in order. Of an item in two sectors either part can be
// missing. If it is the first, the hash is zero. If it is the second, the item
// behind is missing too, or there is none: so the last item is not kept when it
// lies in two sectors. What is dropped without need is only added once more.
//
// Of times that contradict each other, where all items are there, nothing is kept.
func (f *File) soundItems(h Header, limit int64) int {
	if h.BeginMs <= 0 {
		return 0
	}
	count := min(int(h.Count), f.layout.Items)
	before := h.BeginPhysical
	n := 1
	for ; n < count; n++ {
		it := f.layout.Item(f.b, n)
		switch {
		case it.Hash < 0, it.Seconds < 0, it.Physical < before, it.Physical >= limit:
		case n == 1 && it.Physical != before:
		case it.Hash == 0 && f.straddles(n):
		case it == Item{}:
		default:
			before = it.Physical
			continue
		}
		break
	}
	if n > 1 && f.straddles(n-1) {
		n--
	} else if n > 1 && n == int(h.Count) && !h.timed(f.layout.Item(f.b, n-1)) {
		return 0
	}
	return n - 1
}

// straddles reports whether item n lies in two sectors.
func (f *File) straddles(n int) bool {
	at := f.layout.itemAt(n)
	return at/sectorBytes != (at+ItemBytes-1)/sectorBytes
}

// Truncate takes out what points at the physical offset limit or beyond, for
// recovery after the end of the log was found. Records below it may go too:
// afterwards all records from EndPhysical on are to be added again.
func (s *Set) Truncate(limit int64) error {
	for i, f := range s.Files() {
		if f.endPhysical.Load() < limit {
			continue
		}
		if err := s.cut(i + 1); err != nil {
			return err
		}
		if _, err := s.repair(f, limit); err != nil {
			return err
		}
		f.durable.Store(false)
		break
	}
	err := s.dropEmpty()
	s.end = s.EndPhysical()
	s.settleDurable()
	return err
}

// cut destroys the files from number i on, the newest first, so that a crash in
// between leaves no gap.
func (s *Set) cut(i int) error {
	files := s.Files()
	s.setFiles(files[:i:i])
	var errs []error
	for _, f := range slices.Backward(files[i:]) {
		s.logger.Info("removing an index file behind the end of what is sound", "file", f.Path(), "items", f.Len())
		s.dropped.Add(int64(f.Len()))
		f.own.Release()
		f.b = nil
		_, err := f.seg.Destroy(s.opt.Now(), 0)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// dropEmpty destroys the last file if recovery left it no item.
func (s *Set) dropEmpty() error {
	files := s.Files()
	if n := len(files); n > 0 && files[n-1].Len() == 0 {
		return s.cut(n - 1)
	}
	return nil
}
