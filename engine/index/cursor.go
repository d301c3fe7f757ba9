package index

import (
	"encoding/binary"
	"fmt"

	"commitlab/engine/mmap"
	"commitlab/engine/segment"
)

// A Cursor walks over the candidates of one search, newest first:
//
//	c := set.Search(message.KeyHash(topic, key), begin, end)
//	defer c.Release()
//	for c.Next() {
//		… c.Physical() …
//	}
//	if err := c.Err(); err != nil { … }
//
// It allocates nothing and belongs to one goroutine. What is added after Search
// may or may not be seen. It must not be copied once Next was called.
type Cursor struct {
	set            *Set
	hash           int32
	beginMs, endMs int64
	files          []*File // still to be searched; the last one is next

	file     *File
	view     segment.View // of file, held
	next     int32        // item to look at, 0: go on with files
	physical int64        // the candidate; -1 before the first
	reach    int64        // see Reach
	damaged  bool
	err      error
}

// Search returns a Cursor over the records that were added with a key of this
// hash (message.KeyHash) and whose store time may lie in [beginMs, endMs].
func (s *Set) Search(hash int32, beginMs, endMs int64) Cursor {
	return Cursor{set: s, hash: hash, beginMs: beginMs, endMs: endMs, files: *s.files.Load(), physical: -1}
}

// Next goes to the next candidate. It returns false behind the last one, where
// it lets the file go, and on a fault: see Err. A record that has the same key
// more than once comes once.
func (c *Cursor) Next() (ok bool) {
	if c.err != nil {
		return false
	}
	defer mmap.Recover(&c.err, mmap.GuardFaults())
	for {
		if c.next == 0 && !c.older() {
			return false
		}
		n := c.next
		item := c.view.Bytes()[c.file.layout.itemAt(int(n)):]
		item = item[:ItemBytes:ItemBytes]
		c.next = int32(binary.BigEndian.Uint32(item[previousAt:]))
		if c.next < 0 || c.next >= n {
			c.damage("item", n, c.next)
		}
		if int32(binary.BigEndian.Uint32(item[hashAt:])) != c.hash {
			continue
		}
		earliest, latest := c.file.times(n, int32(binary.BigEndian.Uint32(item[secondsAt:])))
		if earliest > c.endMs || latest < c.beginMs {
			if latest < c.beginMs && c.file.ordered.Load() {
				c.next = 0
			}
			continue
		}
		physical := int64(binary.BigEndian.Uint64(item[physicalAt:]))
		if physical == c.physical {
			continue
		}
		c.physical, c.reach = physical, c.reachOf(n, physical)
		return true
	}
}

// reachItems is how many items behind a candidate's are looked at for the next
// record: as many as a message has keys, as a rule. They lie in the cache line that
// was just waited for, or in the next one.
const reachItems = 3

// reachOf is the reach of the record at physical, which item n is of. Items behind
// count are not looked at: the writer may be at it.
func (c *Cursor) reachOf(n int32, physical int64) int64 {
	items := c.view.Bytes()[c.file.layout.itemAt(int(n)):]
	for ahead := min(reachItems, c.file.count.Load()-1-n); ahead > 0 && len(items) >= 2*ItemBytes; ahead-- {
		items = items[ItemBytes:]
		if next := int64(binary.BigEndian.Uint64(items[physicalAt:])); next != physical {
			return next - physical
		}
	}
	return 0
}

// older goes to the newest item of the next file that has one in the slot.
func (c *Cursor) older() bool {
	for len(c.files) > 0 {
		f := c.files[len(c.files)-1]
		c.files = c.files[:len(c.files)-1]
		if f.misses(c.beginMs, c.endMs) {
			continue
		}
		c.view.Release()
		view, err := f.seg.View(0, f.seg.Size())
		if err != nil {
			continue // taken down meanwhile
		}
		c.view, c.file = view, f
		slot := f.layout.SlotOf(c.hash)
		c.next = int32(mmap.LoadUint32BE(view.Bytes(), f.layout.slotAt(slot)))
		if c.next < 0 || c.next >= f.count.Load() {
			c.damage("slot", int32(slot), c.next)
		}
		if c.next != 0 {
			return true
		}
	}
	c.view.Release()
	return false
}

// damage ends the walk in this file. Older items of the chain are not found.
func (c *Cursor) damage(what string, number, link int32) {
	c.next, c.damaged = 0, true
	if c.file.damaged.CompareAndSwap(false, true) {
		c.set.warnDamage(c.file, what, number, link)
	}
}

// Physical is the physical offset of the candidate's record.
func (c *Cursor) Physical() int64 { return c.physical }

// Reach is how far behind the candidate's record the next one begins that is in the
// index, in bytes; 0 if the items behind it do not tell. The items are in the order of
// the log, so this is the size of the record if the next message has a key, too, and
// more if not. It is a hint for who wants to fetch the record before its size is
// known, and in a damaged file it can be anything.
func (c *Cursor) Reach() int64 { return c.reach }

// Damaged reports that a chain could not be walked to its end, so that
// candidates may be missing.
func (c *Cursor) Damaged() bool { return c.damaged }

// Err is the fault that ended the walk: a page of the file that the disk cannot
// back.
func (c *Cursor) Err() error {
	if c.err != nil {
		return fmt.Errorf("index: search: %w", c.err)
	}
	return nil
}

// Release lets the file under the cursor go. Calling it again does nothing.
func (c *Cursor) Release() {
	c.view.Release()
	c.files, c.next = nil, 0
}
