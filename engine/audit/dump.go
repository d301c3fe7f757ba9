package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"commitlab/engine/consumequeue"
	"commitlab/engine/message"
	"commitlab/engine/storedir"
)

// Dump says what to show of a store.
type Dump struct {
	// From is a physical offset: records that start before it, units and index files
	// that lead before it are left out.
	From int64
	// Limit is the number of lines; 0 or less: all.
	Limit int
}

// errEnough ends a walk whose limit is reached.
var errEnough = errors.New("enough")

// A RecordLine is one record of the log, without its body.
type RecordLine struct {
	Kind           string            `json:"kind"` // record
	Offset         int64             `json:"offset"`
	Size           int               `json:"size"`
	Version        int               `json:"version"`
	Topic          string            `json:"topic"`
	QueueID        int32             `json:"queueId"`
	QueueOffset    int64             `json:"queueOffset"`
	Flag           int32             `json:"flag"`
	SysFlag        int32             `json:"sysFlag"`
	BornMs         int64             `json:"bornMs"`
	BornHost       string            `json:"bornHost"`
	StoreMs        int64             `json:"storeMs"`
	StoreHost      string            `json:"storeHost"`
	ReconsumeTimes int32             `json:"reconsumeTimes"`
	PreparedOffset int64             `json:"preparedOffset"`
	BodyBytes      int               `json:"bodyBytes"`
	BodyCRC        uint32            `json:"bodyCrc"`
	Properties     map[string]string `json:"properties"`
}

func (l RecordLine) String() string {
	return fmt.Sprintf("record %d size %d topic %s queue %d at %d stored %s body %d keys %q tags %q", l.Offset, l.Size, l.Topic, l.QueueID,
		l.QueueOffset, timeText(l.StoreMs), l.BodyBytes, l.Properties[message.PropertyKeys], l.Properties[message.PropertyTags])
}

func timeText(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// A UnitLine is one unit of a queue.
type UnitLine struct {
	Kind        string `json:"kind"` // unit
	Topic       string `json:"topic"`
	QueueID     int32  `json:"queueId"`
	QueueOffset int64  `json:"queueOffset"`
	Offset      int64  `json:"offset"`
	Size        int32  `json:"size"`
	TagsCode    int64  `json:"tagsCode"`
	Prefill     bool   `json:"prefill"`
}

func (l UnitLine) String() string {
	return fmt.Sprintf("unit %s %d at %d record %d size %d tags code %d", l.Topic, l.QueueID, l.QueueOffset, l.Offset, l.Size, l.TagsCode)
}

// An IndexLine is the header of one index file.
type IndexLine struct {
	Kind          string `json:"kind"` // index
	File          string `json:"file"`
	Bytes         int64  `json:"bytes"`
	BeginMs       int64  `json:"beginMs"`
	EndMs         int64  `json:"endMs"`
	BeginPhysical int64  `json:"beginPhysical"`
	EndPhysical   int64  `json:"endPhysical"`
	UsedSlots     int32  `json:"usedSlots"`
	Count         int32  `json:"count"`
}

func (l IndexLine) String() string {
	return fmt.Sprintf("index %s items %d slots used %d records %d to %d stored %s to %s", filepath.Base(l.File), max(l.Count-1, 0), l.UsedSlots,
		l.BeginPhysical, l.EndPhysical, timeText(l.BeginMs), timeText(l.EndMs))
}

// A CheckpointLine is the checkpoint; times are epoch ms.
type CheckpointLine struct {
	Kind                string `json:"kind"` // checkpoint
	CommitLogMs         int64  `json:"commitLogMs"`
	ConsumeQueueMs      int64  `json:"consumeQueueMs"`
	IndexMs             int64  `json:"indexMs"`
	MasterFlushedOffset int64  `json:"masterFlushedOffset"`
	ConfirmOffset       int64  `json:"confirmOffset"`
}

func (l CheckpointLine) String() string {
	return fmt.Sprintf("checkpoint commit log %s consume queues %s index %s", timeText(l.CommitLogMs), timeText(l.ConsumeQueueMs), timeText(l.IndexMs))
}

// A FaultLine is damage of the log that Records met.
type FaultLine struct {
	Kind string `json:"kind"` // fault
	Fault
}

func (l FaultLine) String() string { return "fault " + l.Fault.String() }

// Records calls line with a RecordLine for each record and a FaultLine for damage (at most 20),
// in the order of the log. An error of line ends it and is returned; so with the
// others below.
func (d Dump) Records(ctx context.Context, dir string, line func(fmt.Stringer) error) error {
	r := newReport(dir)
	l, err := newLogWalk(r, dir)
	if err != nil {
		return err
	}
	// The file that has From is read from its start: only there a record surely starts.
	for len(l.files) > 0 && l.files[0].end() <= d.From {
		l.files = l.files[1:]
	}
	shown, faults := 0, 0
	show := func(s fmt.Stringer) error {
		if err := line(s); err != nil {
			return err
		}
		if shown++; shown == d.Limit {
			return errEnough
		}
		return nil
	}
	showFaults := func() error {
		for ; faults < len(r.Faults); faults++ {
			if err := line(FaultLine{"fault", r.Faults[faults]}); err != nil {
				return err
			}
		}
		return nil
	}
	l.visit = func(rec *message.Record) error {
		if err := showFaults(); err != nil || rec.PhysicalOffset < d.From {
			return err
		}
		return show(recordLine(rec))
	}
	err = l.run(ctx)
	return errors.Join(enough(err), showFaults())
}

// enough drops the error that only says that the limit was reached.
func enough(err error) error {
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func recordLine(rec *message.Record) RecordLine {
	properties := make(map[string]string)
	for name, value := range rec.Properties.All() {
		properties[string(name)] = string(value)
	}
	return RecordLine{
		Kind: "record", Offset: rec.PhysicalOffset, Size: rec.Size, Version: int(rec.Version),
		Topic: string(rec.Topic), QueueID: rec.QueueID, QueueOffset: rec.QueueOffset, Flag: rec.Flag, SysFlag: rec.SysFlag,
		BornMs: rec.BornTimestamp, BornHost: rec.BornHost.String(), StoreMs: rec.StoreTimestamp, StoreHost: rec.StoreHost.String(),
		ReconsumeTimes: rec.ReconsumeTimes, PreparedOffset: rec.PreparedOffset,
		BodyBytes: len(rec.Body), BodyCRC: rec.BodyCRC, Properties: properties,
	}
}

// Units calls line with a UnitLine for each unit that is not empty, queue by queue.
func (d Dump) Units(ctx context.Context, dir string, line func(fmt.Stringer) error) error {
	t, err := loadQueues(newReport(dir), dir, nil)
	if err != nil {
		return err
	}
	shown := 0
	for _, q := range t.all {
		if err := ctx.Err(); err != nil || len(q.files) == 0 {
			if err != nil {
				return err
			}
			continue
		}
		for offset := q.first(); offset < q.limit(); offset++ {
			u, _, _, ok, err := q.read(offset)
			if err != nil {
				return err
			}
			if !ok || u == (consumequeue.Unit{}) || u.PhysicalOffset < d.From {
				continue
			}
			if err := line(UnitLine{"unit", q.topic, q.id, offset, u.PhysicalOffset, u.Size, u.TagsCode, u.IsPrefill()}); err != nil {
				return err
			}
			if shown++; shown == d.Limit {
				return nil
			}
		}
	}
	return nil
}

// Index calls line with an IndexLine for each index file, in the order of the log.
func (d Dump) Index(dir string, line func(fmt.Stringer) error) error {
	files, err := listIndex(newReport(dir), dir)
	if err != nil {
		return err
	}
	shown := 0
	for _, f := range files {
		h := f.header
		if h.EndPhysical < d.From {
			continue
		}
		err := line(IndexLine{"index", f.name, f.size, h.BeginMs, h.EndMs, h.BeginPhysical, h.EndPhysical, h.UsedSlots, h.Count})
		if err != nil {
			return err
		}
		if shown++; shown == d.Limit {
			break
		}
	}
	return nil
}

// Checkpoint calls line with the CheckpointLine. A store without one has none.
func (Dump) Checkpoint(dir string, line func(fmt.Stringer) error) error {
	c, err := storedir.Layout(dir).ReadCheckpoint()
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return line(CheckpointLine{"checkpoint", c.CommitLogMs, c.ConsumeQueueMs, c.IndexMs, c.MasterFlushedOffset, c.ConfirmOffset})
}
