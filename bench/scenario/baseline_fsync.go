package scenario

import (
	"context"
	"encoding/binary"
	"fmt"

	"commitlab/bench/measure"
	"commitlab/bench/workload"
	"commitlab/engine/message"
)

// baselineFsync is the limit for durable appends: writers hand encoded records
// to a group, whose leader writes them with one pwrite into blocks that were
// written before and calls fdatasync once.
type baselineFsync struct {
	spec    Spec
	volume  *volume
	group   *groupWriter
	extent  extent // of the whole log; used by the leader only
	writers []*durableWriter
}

// durableWriter is the state of one worker.
type durableWriter struct {
	records []record
	turn    int
}

func newBaselineFsync(spec Spec) (measure.Instance, error) {
	if spec.MaxBytes <= 0 {
		return nil, fmt.Errorf("maxBytes is %d, want a positive number of bytes", spec.MaxBytes)
	}
	b := &baselineFsync{
		spec:   spec,
		volume: newVolume(spec.Dir, spec.Options.CommitLogFileBytes, spec.MaxBytes, spec.Options.CommitLogFileBytes),
	}
	b.group = newGroupWriter(b.writeGroup)
	return b, nil
}

func (b *baselineFsync) Setup(ctx context.Context) error {
	data, err := workload.New(b.spec.Workload)
	if err != nil {
		return err
	}
	for id := range b.spec.Writers {
		records, err := encodeRecords(data, id)
		if err != nil {
			return err
		}
		b.writers = append(b.writers, &durableWriter{records: records})
	}
	return b.volume.open(ctx, written)
}

// Op makes the worker's next record durable.
func (b *baselineFsync) Op(mw *measure.Worker) error {
	w := b.writers[mw.ID]
	r := &w.records[w.turn%recordsPerWorker]
	binary.BigEndian.PutUint32(r.bytes[crcOffset:], message.Checksum32(r.body))
	if err := b.group.append(r.bytes); err != nil {
		return err
	}
	w.turn++
	return nil
}

func (b *baselineFsync) writeGroup(records []byte) error {
	file, at, err := b.volume.place(&b.extent, int64(len(records)))
	if err != nil {
		return err
	}
	region := b.volume.regions[file]
	if _, err := region.WriteAt(records, at); err != nil {
		return err
	}
	return region.SyncData(at, int64(len(records)))
}

// Verify walks each file from its start: at least as many whole, valid records
// as were acknowledged must be there.
func (b *baselineFsync) Verify(ctx context.Context) error {
	acknowledged, found := 0, 0
	for _, w := range b.writers {
		acknowledged += w.turn
	}
	for _, region := range b.volume.regions {
		if err := ctx.Err(); err != nil {
			return err
		}
		found += countRecords(region.Bytes())
	}
	if found < acknowledged {
		return fmt.Errorf("verify: %d records were acknowledged as durable, %d are in the files", acknowledged, found)
	}
	return nil
}

func (b *baselineFsync) Close() error { return b.volume.close() }

// countRecords counts the valid records that b starts with.
func countRecords(b []byte) int {
	for n := 0; ; n++ {
		size, kind, err := message.Check(b, message.CheckOptions{})
		if err != nil || kind != message.KindRecord {
			return n
		}
		b = b[size:]
	}
}
