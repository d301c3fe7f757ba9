package scenario

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"commitlab/bench/measure"
	"commitlab/bench/workload"
	"commitlab/engine/message"
)

// baseline writes records that are already encoded, with nothing of the engine
// around it: the cost below which no store of this kind can go on this
// machine. What the write is, is the store function.
//
// Concurrency: each worker has its own writer state; they meet in the volume's
// claim, once per extent.
type baseline struct {
	spec   Spec
	how    preparation
	volume *volume
	// store writes records[i] of the worker at the place it is given.
	store   func(v *volume, w *writer, file int, at int64, r *record) error
	writers []*writer
}

// writer is the state of one worker of a baseline.
type writer struct {
	records []record
	turn    int
	extent  extent
	written sample[placed]
}

func newBaseline(how preparation, store func(*volume, *writer, int, int64, *record) error) func(Spec) (measure.Instance, error) {
	return func(spec Spec) (measure.Instance, error) {
		if spec.MaxBytes <= 0 {
			return nil, fmt.Errorf("maxBytes is %d, want a positive number of bytes", spec.MaxBytes)
		}
		return &baseline{
			spec:   spec,
			how:    how,
			volume: newVolume(spec.Dir, spec.Options.CommitLogFileBytes, spec.MaxBytes, workerExtentBytes),
			store:  store,
		}, nil
	}
}

func (b *baseline) Setup(ctx context.Context) error {
	data, err := workload.New(b.spec.Workload)
	if err != nil {
		return err
	}
	for id := range b.spec.Writers {
		records, err := encodeRecords(data, id)
		if err != nil {
			return err
		}
		b.writers = append(b.writers, &writer{records: records, written: newSample[placed]()})
	}
	return b.volume.open(ctx, b.how)
}

// Op writes the worker's next record.
func (b *baseline) Op(mw *measure.Worker) error {
	w := b.writers[mw.ID]
	i := w.turn % recordsPerWorker
	r := &w.records[i]
	file, at, err := b.volume.place(&w.extent, int64(len(r.bytes)))
	if err != nil {
		return err
	}
	if err := b.store(b.volume, w, file, at, r); err != nil {
		return err
	}
	w.written.offer(placed{file: file, at: at, record: i})
	w.turn++
	return nil
}

// Verify reads a sample of the records back with pread, past the mapping.
func (b *baseline) Verify(ctx context.Context) error {
	return verifyPlaced(ctx, b.volume, b.writers)
}

func (b *baseline) Close() error { return b.volume.close() }

func verifyPlaced(ctx context.Context, v *volume, writers []*writer) error {
	var errs []error
	for id, w := range writers {
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, p := range w.written.kept {
			want := w.records[p.record].bytes
			got := make([]byte, len(want))
			_, err := v.handles[p.file].ReadAt(got, p.at)
			if err == nil {
				err = p.check(got, want)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("verify worker %d: %w", id, err))
				break // one per worker tells enough
			}
		}
	}
	return errors.Join(errs...)
}

// storeMapped copies a record into the mapping and stores the body's CRC,
// which it computes as an append must.
func storeMapped(v *volume, _ *writer, file int, at int64, r *record) error {
	crc := message.Checksum32(r.body)
	dst := v.regions[file].Bytes()[at : at+int64(len(r.bytes))]
	copy(dst, r.bytes)
	binary.BigEndian.PutUint32(dst[crcOffset:], crc)
	return nil
}

// storePwrite computes the body's CRC and writes the record with one pwrite.
func storePwrite(v *volume, _ *writer, file int, at int64, r *record) error {
	binary.BigEndian.PutUint32(r.bytes[crcOffset:], message.Checksum32(r.body))
	_, err := v.handles[file].WriteAt(r.bytes, at)
	return err
}
