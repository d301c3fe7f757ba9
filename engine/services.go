package engine

import (
	"errors"
	"fmt"
	"time"

	"commitlab/engine/service"
)

// services are the background jobs of a store beside those of its log.
type services struct {
	reaper, disk, dispatch, queueFlush, queueNames, index, delivery, checkpoint, clean *service.Loop // nil: not running
}

// deliveryInterval bounds how late a delayed message arrives.
const deliveryInterval = 20 * time.Millisecond

// reaperNice is the priority of the reaper: nobody waits for it.
const reaperNice = 10

// start begins the services in the order in which a message meets them.
func (v *services) start(s *Store) {
	warn := service.WarnOnce(s.opt.Logger)
	run := func(svc service.Service, interval time.Duration) *service.Loop {
		return service.Start(svc, service.Options{Interval: interval, OnError: warn})
	}
	v.reaper = service.Start(s.reaper, service.Options{Interval: time.Second, Nice: reaperNice, OnError: warn})
	v.disk = run(s.disk, ms(s.opt.CleanIntervalMs))
	v.disk.Wake()
	if s.index != nil { // before the dispatcher, which wakes it
		v.index = run(s.index, time.Second)
	}
	if s.dispatch != nil {
		v.queueNames = run(s.queueNames, time.Second)
		v.dispatch = run(s.dispatch, time.Second)
		v.queueFlush = run(newQueueFlusher(s), time.Duration(s.opt.FlushIntervalConsumeQueueMs)*time.Millisecond)
	}
	v.checkpoint = run(s.checkpoint, checkpointInterval)
	v.clean = run(s.cleaner, s.cleaner.tick()) // before the log, whose beat wakes it
	s.log.Start()
	if s.dispatch != nil { // after the log: it puts messages
		v.delivery = run(s.delivery, deliveryInterval)
	}
}

// beat is called by the log about every millisecond.
func (s *Store) beat() {
	if d := s.dispatch; d != nil && s.services.dispatch != nil && d.atBeat() {
		s.services.dispatch.Wake()
	}
	if clean := s.services.clean; clean != nil && s.cleaner.oversize() {
		clean.Wake()
	}
}

// wakeIndex is called by the index when a file is full.
func (v *services) wakeIndex() {
	if v.index != nil {
		v.index.Wake()
	}
}

// wakeQueueNames is called when a file of a consume queue was made.
func (v *services) wakeQueueNames() {
	if v.queueNames != nil {
		v.queueNames.Wake()
	}
}

// wakeReaper is called whenever there is a file to take down.
func (v *services) wakeReaper() {
	if v.reaper != nil {
		v.reaper.Wake()
	}
}

// stop ends the services, follows the log to its end, and makes queues, index
// and checkpoint durable, in this order: what is derived never claims more than
// the log holds, and the checkpoint never more than is durable.
func (v *services) stop(s *Store) error {
	var errs []error
	v.clean.Stop()
	s.cleaner.stop()
	v.disk.Stop()
	if v.delivery != nil { // it puts messages
		v.delivery.Stop()
		errs = append(errs, s.delivery.finish(time.Now()))
	}
	errs = append(errs, s.log.Stop())
	if s.dispatch != nil {
		v.dispatch.Stop()
		s.dispatch.endAssistance()
		if at, end := s.dispatch.at.Load(), s.log.Committed(); at < end {
			errs = append(errs, fmt.Errorf("%w: dispatched up to offset %d of %d", ErrDispatchBehind, at, end))
		}
		v.queueNames.Stop()
		v.queueFlush.Stop()
		_, err := s.queues.Sync(0)
		errs = append(errs, err)
	}
	if s.index != nil {
		v.index.Stop()
		errs = append(errs, s.index.Sync())
	}
	v.checkpoint.Stop()
	v.reaper.Stop() // release takes down what is left
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return s.checkpoint.final()
}
