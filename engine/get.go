package engine

import (
	"errors"
	"fmt"
	"slices"

	"commitlab/engine/consumequeue"
	"commitlab/engine/message"
)

// A GetStatus says what Get found.
type GetStatus int

// The statuses, in the order in which they are decided.
const (
	// NoMessageInQueue: the queue does not exist or never had a message.
	NoMessageInQueue GetStatus = iota + 1
	// OffsetTooSmall: the messages at the offset have been removed.
	OffsetTooSmall
	// OffsetOverflowOne: the offset is that of the next message to come.
	OffsetOverflowOne
	// OffsetOverflowBadly: the offset lies further ahead than that.
	OffsetOverflowBadly
	// OffsetFoundNull: the queue's units at the offset have just been removed.
	OffsetFoundNull
	// NoMatchedMessage: there are messages, but the filter passes none of those
	// looked at.
	NoMatchedMessage
	// MessageWasRemoving: the units are there, their records are not any more.
	MessageWasRemoving
	// Found: at least one message is returned.
	Found
)

var getStatusNames = map[GetStatus]string{
	NoMessageInQueue: "NO_MESSAGE_IN_QUEUE", OffsetTooSmall: "OFFSET_TOO_SMALL",
	OffsetOverflowOne: "OFFSET_OVERFLOW_ONE", OffsetOverflowBadly: "OFFSET_OVERFLOW_BADLY",
	OffsetFoundNull: "OFFSET_FOUND_NULL", NoMatchedMessage: "NO_MATCHED_MESSAGE",
	MessageWasRemoving: "MESSAGE_WAS_REMOVING", Found: "FOUND",
}

// String is the name the status has in RocketMQ.
func (s GetStatus) String() string {
	if name, ok := getStatusNames[s]; ok {
		return name
	}
	return fmt.Sprintf("GetStatus(%d)", int(s))
}

// A Filter selects messages. It is asked with the unit first, which is cheap,
// and with the record of those that pass.
type Filter interface {
	MatchUnit(tagsCode int64) bool
	MatchRecord(rec *message.Record) bool
}

// A GetResult is the answer of Get.
type GetResult struct {
	Status GetStatus
	// NextBegin is the queue offset to ask for next.
	NextBegin int64
	// Min and Max are the queue's offsets: the first message it still has, and
	// the one behind its last.
	Min, Max int64
	// Messages are in queue order. Release gives them back.
	Messages []View
	// Bytes is the size of their records.
	Bytes int64
}

// Release releases all messages. They must not be used after it.
func (r *GetResult) Release() {
	for i := range r.Messages {
		r.Messages[i].Release()
	}
	r.Messages = r.Messages[:0]
	r.Bytes = 0
}

// Get reads messages of a queue from a queue offset on: at most limit, and no
// more than the transfer limits of the options allow, but at least one if there
// is one. A nil filter passes all.
//
// NextBegin is past everything that was looked at, found or filtered out, and
// past units whose records were removed, so that a reader which goes on there
// always makes progress and never misses a message that is still in the log. A
// store that closes answers with ErrClosing, not with messages missing. A message
// that the disk does not give ends the result before it; asked for as the next one
// it is ErrUnreadable, and NextBegin stays there: only the caller can give it up.
func (s *Store) Get(topic string, queueID int32, offset int64, limit int, filter Filter) (GetResult, error) {
	var r GetResult
	err := s.GetInto(&r, topic, queueID, offset, limit, filter)
	return r, err
}

// GetInto is Get into a result that is used again: its messages must have been
// released, their slice is reused.
func (s *Store) GetInto(r *GetResult, topic string, queueID int32, offset int64, limit int, filter Filter) error {
	*r = GetResult{Messages: r.Messages[:0]}
	if s.queues == nil {
		return fmt.Errorf("get %s/%d: %w", topic, queueID, ErrNoDispatch)
	}
	q := s.queues.Get(topic, queueID)
	if q != nil {
		r.Min, r.Max = q.Min(), q.Max()
	}
	r.NextBegin = offset
	switch {
	case r.Max == 0:
		r.Status, r.NextBegin = NoMessageInQueue, 0
		return nil
	case offset < r.Min:
		r.Status, r.NextBegin = OffsetTooSmall, r.Min
		return nil
	case offset == r.Max:
		r.Status = OffsetOverflowOne
		return nil
	case offset > r.Max:
		r.Status, r.NextBegin = OffsetOverflowBadly, r.Max
		return nil
	}
	return s.scan(r, q, topic, queueID, offset, limit, filter)
}

// scan walks the units of one queue file from offset on.
func (s *Store) scan(r *GetResult, q *consumequeue.Queue, topic string, queueID int32, offset int64, limit int, filter Filter) error {
	units, err := q.Units(offset, max(s.opt.MaxFilterUnits, limit))
	if errors.Is(err, consumequeue.ErrNotFound) && !s.isClosing() { // deleted since Min was read
		r.Status, r.NextBegin = OffsetFoundNull, max(q.Min(), offset)
		return nil
	}
	if err != nil {
		return fmt.Errorf("get %s: %w", q.Dir(), s.orClosing(err))
	}
	defer units.Release()
	r.Status = NoMatchedMessage
	for at, u := range units.All() {
		if !s.fits(r, u, limit) {
			break
		}
		r.NextBegin = at + 1
		if u.IsPrefill() || filter != nil && !filter.MatchUnit(u.TagsCode) {
			continue
		}
		view, err := s.queued(u.PhysicalOffset, topic, queueID, at)
		if err != nil && s.isClosing() { // not removed: gone with the store
			r.Release()
			return fmt.Errorf("get %s: %w", q.Dir(), ErrClosing)
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			r.NextBegin = at // it may be there
			if r.Status == Found {
				return nil
			}
			return fmt.Errorf("get %s: message %d: %w", q.Dir(), at, err)
		}
		if err != nil {
			if len(r.Messages) == 0 {
				r.Status = MessageWasRemoving
			}
			continue
		}
		r.Messages = append(r.Messages, view)
		// Asked in its place in the slice, so that the view need not escape.
		if last := &r.Messages[len(r.Messages)-1]; filter != nil && !filter.MatchRecord(&last.Record) {
			last.Release()
			r.Messages = r.Messages[:len(r.Messages)-1]
			continue
		}
		r.Bytes += int64(u.Size)
		r.Status = Found
	}
	return nil
}

// queued returns the record that the unit at a queue offset points at. A record
// of another queue or place is not the unit's: the unit is damaged.
func (s *Store) queued(physical int64, topic string, queueID int32, offset int64) (View, error) {
	view, err := s.At(physical)
	if err != nil {
		return View{}, err
	}
	if view.QueueOffset != offset || view.QueueID != queueID || string(view.Topic) != topic {
		err := fmt.Errorf("%w: the unit at %d of queue %s/%d points at %d, where message %d of %s/%d stands",
			ErrNotFound, offset, topic, queueID, physical, view.QueueOffset, view.Topic, view.QueueID)
		view.Release()
		return View{}, err
	}
	return view, nil
}

// fits reports whether one more message may be added: the first always may.
// What is likely to come from the disk is limited more tightly.
func (s *Store) fits(r *GetResult, u consumequeue.Unit, limit int) bool {
	n := len(r.Messages)
	if n == 0 {
		return true
	}
	most, bytes := s.opt.TransferCountInMemory, s.opt.TransferBytesInMemory
	if s.log.Committed()-u.PhysicalOffset > s.opt.InMemoryBytes {
		most, bytes = s.opt.TransferCountOnDisk, s.opt.TransferBytesOnDisk
	}
	return n < limit && n < most && r.Bytes+int64(u.Size) <= bytes
}

// A TagFilter passes messages with one of its tags: it compares the hash in the
// unit first, then the tags themselves.
type TagFilter struct {
	tags  []string
	codes []int64
}

// Tags returns a filter for messages whose TAGS property is one of tags.
func Tags(tags ...string) TagFilter {
	f := TagFilter{tags: tags}
	for _, t := range tags {
		f.codes = append(f.codes, int64(message.StringHash(t)))
	}
	return f
}

// MatchUnit implements Filter. An address in an extension file, which stands in
// place of the code, passes.
func (f TagFilter) MatchUnit(tagsCode int64) bool {
	return consumequeue.IsExtAddress(tagsCode) || slices.Contains(f.codes, tagsCode)
}

// MatchRecord implements Filter.
func (f TagFilter) MatchRecord(rec *message.Record) bool {
	tags, _ := rec.Properties.Get(message.PropertyTags)
	return slices.Contains(f.tags, string(tags))
}
