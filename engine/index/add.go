package index

import (
	"bytes"
	"fmt"
	"slices"

	"commitlab/engine/message"
)

// A Record is what the index needs to know of a record in the commit log. The
// bytes stay the caller's.
type Record struct {
	Topic     []byte
	UniqueKey []byte // may be empty
	Keys      []byte // separated by single spaces; empty ones do not count
	Tags      []byte // one word, entered as RocketMQ 5.4 does; may be empty
	SysFlag   int32
	Physical  int64 // offset of the record in the commit log
	StoreMs   int64 // store time, epoch milliseconds

	hashes   []int32 // of the unique key, the keys and the tags; set by Prepare
	prepared bool
}

// Prepare hashes the keys of a record, which any goroutine may do ahead of the
// writer. A Record that is used again for another record of the log must be
// prepared again; Add prepares what was not. Rolled back transactions have no keys.
func (s *Set) Prepare(r *Record) {
	r.hashes, r.prepared = r.hashes[:0], true
	if !message.TransactionOf(r.SysFlag).Indexed() {
		return
	}
	if len(r.UniqueKey) > 0 {
		r.hashes = append(r.hashes, message.KeyHash(r.Topic, r.UniqueKey))
	}
	for key, rest := nextKey(r.Keys); key != nil; key, rest = nextKey(rest) {
		r.hashes = append(r.hashes, message.KeyHash(r.Topic, key))
	}
	if len(r.Tags) > 0 {
		r.hashes = append(r.hashes, message.TagsIndexHash(r.Topic, r.Tags))
	}
}

// Prefetch asks the processor for the slots that Add will need for a prepared
// record. A writer with several records at hand asks for all of them before it adds
// the first: the slots of a key are anywhere in a table that fits no cache, and so
// their misses overlap.
func (s *Set) Prefetch(r *Record) {
	if files := s.Files(); len(files) > 0 {
		for _, hash := range r.hashes {
			files[len(files)-1].prefetch(hash)
		}
	}
}

// Add enters the keys of a record: the unique key first, then the others in
// order, then the tags. Records come in the order of the log. One that lies before EndPhysical
// is in the index already; of one at EndPhysical only those keys are entered
// that are missing, so a record may be added again after an error or a crash.
// After an error the record is to be added again, or its keys cannot be found.
func (s *Set) Add(r *Record) error {
	if r.Physical < s.end {
		return nil
	}
	if !r.prepared {
		s.Prepare(r)
	}
	if r.Physical == s.end {
		return s.addAgain(r)
	}
	for _, hash := range r.hashes {
		if err := s.Put(hash, r.Physical, r.StoreMs); err != nil {
			return err
		}
	}
	return nil
}

// HasRoom reports whether a prepared record can be added without a file being made.
func (s *Set) HasRoom(r *Record) bool {
	if r.Physical < s.end || len(r.hashes) == 0 {
		return true
	}
	files := s.Files()
	return len(files) > 0 && files[len(files)-1].Len()+len(r.hashes) <= s.layout.Capacity()
}

// nextKey cuts the first key off; it is nil when there are no more.
func nextKey(keys []byte) (key, rest []byte) {
	for len(keys) > 0 {
		key, keys, _ = bytes.Cut(keys, []byte{' '})
		if len(key) > 0 {
			return key, keys
		}
	}
	return nil, nil
}

// addAgain is Add for the record of the last item. A key that the record has
// twice has two items, so each item answers for one key.
func (s *Set) addAgain(r *Record) error {
	present, err := s.hashesAt(r.Physical)
	if err != nil {
		return err
	}
	for _, hash := range r.hashes {
		if i := slices.Index(present, hash); i >= 0 {
			present = slices.Delete(present, i, i+1)
			continue
		}
		if err := s.Put(hash, r.Physical, r.StoreMs); err != nil {
			return err
		}
	}
	return nil
}

// hashesAt returns the hashes of the last items, as far as they are of the
// record at physical.
func (s *Set) hashesAt(physical int64) (hashes []int32, err error) {
	for _, f := range slices.Backward(s.Files()) {
		more, err := f.hashesAt(physical)
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, more...)
		if len(more) < f.Len() {
			break
		}
	}
	return hashes, nil
}

// Put enters one key by its hash (message.KeyHash). Physical offsets must not
// fall from one Put to the next. It fails if the tail is full and no new file
// can be made (ErrUnavailable), and if the disk cannot back a page.
func (s *Set) Put(hash int32, physical, storeMs int64) error {
	if hash < 0 || physical < 0 || physical < s.end {
		return fmt.Errorf("index: put of hash %d at %d: neither may be negative, and the last one was at %d", hash, physical, s.end)
	}
	f, err := s.tail()
	if err != nil {
		return err
	}
	if err := f.put(hash, physical, storeMs); err != nil {
		return fmt.Errorf("index: put into %s: %w", f.Path(), err)
	}
	s.end = physical
	if f.full.Load() && s.opt.Wake != nil {
		s.opt.Wake()
	}
	return nil
}
