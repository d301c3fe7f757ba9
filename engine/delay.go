package engine

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"
	"sync/atomic"
	"time"

	"commitlab/engine/consumequeue"
	"commitlab/engine/message"
	"commitlab/engine/schedule"
	"commitlab/engine/storedir"
)

// delayed returns what is stored for a message with a delay level: the same
// under the schedule topic, with its destination in properties. A level beyond
// the table counts as the highest, and is stored as that; none, or a part of a transaction that is not
// committed, leaves the message as it is.
func (s *Store) delayed(m *message.Message) (*message.Message, error) {
	value, ok := m.Properties.Get(message.PropertyDelay)
	if !ok { // without a value it is no property
		return m, nil
	}
	level, err := strconv.Atoi(string(value))
	if err != nil {
		return nil, fmt.Errorf("%w: delay level %q is not a number", ErrIllegalMessage, value)
	}
	asked := level
	if level = s.delays.Cap(level); level <= 0 || !message.TransactionOf(m.SysFlag).Queued() || m.Topic == message.ScheduleTopic {
		return m, nil
	}
	d := *m
	if level != asked {
		d.Properties, err = d.Properties.Set(message.PropertyDelay, strconv.Itoa(level))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrIllegalMessage, err)
	}
	if d.Properties, err = d.Properties.Set(message.PropertyRealTopic, m.Topic); err == nil {
		d.Properties, err = d.Properties.Set(message.PropertyRealQueue, strconv.Itoa(int(m.QueueID)))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrIllegalMessage, err)
	}
	d.Topic, d.QueueID = message.ScheduleTopic, int32(level-1)
	return &d, nil
}

// A delivery is the store as the schedule service sees it. It is a service itself,
// around that one.
type delivery struct {
	store   *Store
	service *schedule.Service
	counter int64 // saves of the progress

	covered atomic.Pointer[coveredDelays]
}

// coveredDelays says that the saved progress covers what was delivered below a log
// offset; sum is what its offsets add up to.
type coveredDelays struct{ offset, sum int64 }

// newDelivery returns a delivery that goes on where the saved progress, or the
// log, says that it was: delivered has the last record of each level that the part
// of the log which was read shows to be delivered.
func newDelivery(s *Store, saved storedir.DelayOffsets, delivered map[int]int64) *delivery {
	offsets := maps.Clone(saved)
	for level, source := range delivered {
		view, err := s.At(source)
		if err != nil {
			continue // the schedule record is gone; so is its unit
		}
		if string(view.Topic) == message.ScheduleTopic && int(view.QueueID) == level-1 {
			offsets[level] = max(offsets[level], view.QueueOffset+1)
		}
		view.Release()
	}
	d := &delivery{store: s}
	d.service = schedule.New(d, s.delays, offsets, saved)
	return d
}

// Name implements service.Service.
func (d *delivery) Name() string { return d.service.Name() }

// Step implements service.Service.
func (d *delivery) Step(now time.Time) (worked int, err error) {
	worked, err = d.service.Step(now)
	d.cover()
	return worked, err
}

// finish saves the progress of a store that is about to stop.
func (d *delivery) finish(now time.Time) error {
	err := d.service.Save(now.UnixMilli())
	d.cover()
	return err
}

// cover notes how far the saved progress covers the log, for recovery: all of it,
// if nothing was delivered since. Only the goroutine of Step delivers.
func (d *delivery) cover() {
	if all, sum := d.service.Saved(); all {
		d.covered.Store(&coveredDelays{offset: d.store.log.Appended(), sum: sum})
	}
}

// Bounds implements schedule.Store.
func (d *delivery) Bounds(level int) (first, next int64) {
	return d.store.QueueBounds(message.ScheduleTopic, int32(level-1))
}

// Unit implements schedule.Store.
func (d *delivery) Unit(level int, offset int64) (schedule.Unit, bool) {
	q := d.store.queues.Get(message.ScheduleTopic, int32(level-1))
	if q == nil {
		return schedule.Unit{}, false
	}
	u, ok := q.Read(offset)
	if ok && u.TagsCode <= math.MaxInt32 {
		u.TagsCode = d.due(u)
	}
	return schedule.Unit{PhysicalOffset: u.PhysicalOffset, DeliverAtMs: u.TagsCode}, ok
}

// due is the time of delivery by the record of a unit that holds no time but the
// hash of tags. RocketMQ 4.9 makes such units when it recovers, before it has read
// its table of delays, and then delivers at once.
func (d *delivery) due(u consumequeue.Unit) int64 {
	view, err := d.store.At(u.PhysicalOffset)
	if err != nil {
		return u.TagsCode
	}
	defer view.Release()
	return view.TagsCode(d.store.delays)
}

// Deliver implements schedule.Store: it puts the message again under its real
// topic and queue. The prepared offset, which only transactions use, says which
// record it came from, so that recovery knows what was delivered. A record that
// is gone or names no destination is passed over with a warning; one that the disk
// does not give is an error, and those behind it wait.
func (d *delivery) Deliver(level int, offset int64, u schedule.Unit) error {
	skip := func(why any) error {
		d.store.opt.Logger.Warn("delayed message cannot be delivered and is passed over", "level", level, "queueOffset", offset, "reason", why)
		return nil
	}
	view, err := d.store.queued(u.PhysicalOffset, message.ScheduleTopic, int32(level-1), offset)
	if errors.Is(err, ErrUnreadable) || err != nil && d.store.isClosing() {
		return err // it is asked for again
	}
	if err != nil {
		return skip(err)
	}
	defer view.Release()
	m := view.Message()
	topic, ok := m.Properties.Get(message.PropertyRealTopic)
	if !ok {
		return skip("no " + message.PropertyRealTopic)
	}
	queue, _ := m.Properties.Get(message.PropertyRealQueue)
	id, err := strconv.ParseInt(string(queue), 10, 32)
	if err != nil {
		return skip(err)
	}
	if string(topic) == message.HalfTopic || string(topic) == message.ScheduleTopic {
		return skip("destination " + string(topic))
	}
	m.Topic, m.QueueID, m.PreparedOffset = string(topic), int32(id), u.PhysicalOffset
	plan, err := message.Prepare(&m, d.store.limits)
	if err != nil {
		return skip(err)
	}
	pos, err := d.store.put(&m, &plan)
	if err != nil && pos.Size > 0 {
		// Stored, though perhaps not yet durable. To put it again would make two
		// of it; Save waits until it is durable.
		d.store.opt.Logger.Warn("delayed message is delivered, but not yet durable", "level", level, "queueOffset", offset, "err", err)
		return nil
	}
	return err
}

// Save implements schedule.Store. What the progress says is delivered must be
// durable before: a power cut may take the progress back, but never a message.
func (d *delivery) Save(offsets map[int]int64, nowMs int64) error {
	if err := d.store.Flush(); err != nil {
		return err
	}
	d.counter++
	return d.store.dir.SaveDelayOffsets(storedir.DelayOffsets(offsets), d.counter, nowMs)
}
