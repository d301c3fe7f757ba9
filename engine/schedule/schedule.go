// Package schedule delivers delayed messages. A message with a delay level waits
// in the queue level-1 of the topic SCHEDULE_TOPIC_XXXX, whose units carry the
// time of delivery in place of a tags code; when it is due it is put again,
// under its real topic and queue.
//
//	Put with DELAY ─► SCHEDULE_TOPIC_XXXX/level-1 ─► unit (deliver time) ─► due ─► Put under REAL_TOPIC
//	                                                   └── offset of the next unit, saved ──┘
//
// Within a level messages are due in the order in which they were put, so only
// the first undelivered unit of each level is looked at.
//
// # Once
//
// The offsets are saved every few seconds and when the store closes. After a
// crash the saved ones are behind what was delivered; the store then looks for what
// the log holds, and the service starts there: nothing is delivered twice.
package schedule

import (
	"fmt"
	"maps"
	"time"

	"commitlab/engine/message"
)

// A Unit is the place of one delayed message.
type Unit struct {
	PhysicalOffset int64
	DeliverAtMs    int64
}

// Store is what delivery needs of the store. Levels count from 1.
type Store interface {
	// Bounds are the first and the next queue offset of a level; equal when it
	// holds nothing.
	Bounds(level int) (first, next int64)
	// Unit reads one unit; ok is false if it has been removed.
	Unit(level int, offset int64) (u Unit, ok bool)
	// Deliver puts the message of a unit under its real topic and queue.
	Deliver(level int, offset int64, u Unit) error
	// Save makes the progress durable.
	Save(offsets map[int]int64, nowMs int64) error
}

// saveInterval is how often the progress is saved while it moves.
const saveInterval = 10 * time.Second

// stepDeliveries bounds the messages of one level that one Step delivers.
const stepDeliveries = 64

// A Service delivers what is due. It is a service of the store; Step must not
// be called concurrently.
type Service struct {
	store   Store
	levels  message.DelayLevels
	offsets map[int]int64 // next offset to deliver, by level
	saved   map[int]int64 // as last saved
	savedAt time.Time
}

// New returns a service that goes on at offsets, brought within the bounds of the
// queues; saved is what was last saved. Both must be its own.
func New(store Store, levels message.DelayLevels, offsets, saved map[int]int64) *Service {
	s := &Service{store: store, levels: levels, offsets: offsets, saved: saved}
	for level := range levels {
		s.clamp(level + 1)
	}
	return s
}

// clamp moves a level's offset into what its queue holds.
func (s *Service) clamp(level int) {
	first, next := s.store.Bounds(level)
	if at := s.offsets[level]; at < first || at > next {
		s.offsets[level] = min(max(at, first), next)
	}
}

// Name implements service.Service.
func (s *Service) Name() string { return "schedule" }

// Step delivers what is due at now and returns how many messages that were. An
// error leaves the message where it is, for the next Step.
func (s *Service) Step(now time.Time) (worked int, err error) {
	for i := range s.levels {
		n, err := s.deliver(i+1, now.UnixMilli())
		worked += n
		if err != nil {
			return worked, err
		}
	}
	if now.Sub(s.savedAt) >= saveInterval {
		s.savedAt = now
		return worked, s.Save(now.UnixMilli())
	}
	return worked, nil
}

// deliver delivers what is due of one level.
func (s *Service) deliver(level int, nowMs int64) (worked int, err error) {
	for worked < stepDeliveries {
		at := s.offsets[level]
		first, next := s.store.Bounds(level)
		if at >= next {
			return worked, nil
		}
		if at < first { // removed unread by retention
			s.offsets[level] = first
			continue
		}
		u, ok := s.store.Unit(level, at)
		if !ok {
			return worked, nil // being removed; the bounds follow
		}
		// A clock that was set back must not keep a message for longer than its
		// level says.
		if u.DeliverAtMs > nowMs && u.DeliverAtMs <= nowMs+s.levels[level-1] {
			return worked, nil
		}
		if err := s.store.Deliver(level, at, u); err != nil {
			return worked, fmt.Errorf("deliver delayed message %d of level %d: %w", at, level, err)
		}
		s.offsets[level] = at + 1
		worked++
	}
	return worked, nil
}

// Saved reports whether all progress is saved, and what the saved offsets add up
// to. It must not be called beside Step.
func (s *Service) Saved() (all bool, sum int64) {
	for _, offset := range s.saved {
		sum += offset
	}
	return maps.Equal(s.offsets, s.saved), sum
}

// Save makes the progress durable if it has moved.
func (s *Service) Save(nowMs int64) error {
	if maps.Equal(s.offsets, s.saved) {
		return nil
	}
	if err := s.store.Save(s.offsets, nowMs); err != nil {
		return err
	}
	s.saved = maps.Clone(s.offsets)
	return nil
}
