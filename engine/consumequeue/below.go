package consumequeue

import (
	"crypto/sha256"
	"encoding/binary"
	"sort"
	"sync/atomic"
)

// Below returns the queue offset behind the last unit of a record that ends at or
// below a log offset. Without such a unit it is 0, or, if the first file of the queue
// does not begin at 0, the offset of the first message: such units may have been in
// files that were deleted. It does not depend on Min. A file that is to be looked at
// and cannot be opened counts as none.
//
// Note: a queue may also start in a later file, where a deleted topic comes back, and
// does not tell that from a deletion of files. It then counts for log offsets below
// its first record too: a sum that was remembered before it was made differs, and the
// next recovery reads more than it had to.
func (q *Queue) Below(physical int64) int64 {
	files := q.files.Files()
	last, u, ok := q.lastMessage(q.max.Load())
	if !ok || len(files) == 0 {
		return 0
	}
	if u.End() <= physical {
		return last + 1
	}
	if q.files.Use() != nil {
		return 0
	}
	first := files[0].Base() / UnitBytes
	// Pre-fill units stand for the last message before them.
	n := sort.Search(int(last-first), func(i int) bool {
		u, err := q.at(first + int64(i))
		if err != nil || !u.Valid() || u.IsPrefill() {
			if _, u, ok = q.lastMessage(first + int64(i)); !ok {
				return false
			}
		}
		return u.End() > physical
	})
	if before, _, ok := q.lastMessage(first + int64(n)); ok {
		return before + 1
	}
	if first == 0 {
		return 0
	}
	return q.firstMessage(first, last+1)
}

// Sum tells this table from one that lacks a queue, or units of one, of the
// records that end at or below a log offset. It is the same whatever was put
// behind, but for the queues of the note at Below. It is no checksum of the units.
//
// Note: a simple hash will not do. Two queues that lack one unit each must not
// cancel out in the sum.
func (t *Table) Sum(physical int64) uint64 {
	var sum atomic.Uint64
	eachParallel(t.All(), func(e *Entry) error {
		if n := e.Below(physical); n > 0 {
			text := binary.BigEndian.AppendUint32([]byte(e.Topic), uint32(e.ID))
			text = binary.BigEndian.AppendUint64(text, uint64(n))
			digest := sha256.Sum256(text)
			sum.Add(binary.BigEndian.Uint64(digest[:]))
		}
		return nil
	})
	return sum.Load()
}
