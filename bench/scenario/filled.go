package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"commitlab/bench/workload"
	"commitlab/engine"
	"commitlab/engine/message"
)

// filled is a store with messages in it, all dispatched: what scenarios that
// read start from. The messages are those of the generator of worker 0.
type filled struct {
	spec  Spec
	data  *workload.Workload
	store *engine.Store
	put   []stored // by sequence; after thin only one in step
	step  int      // 0: 1
}

// stored is where one message is and the unique key it is found by.
type stored struct {
	offset      int64
	queueOffset int64
	size        int32
	queue       int32
	topic       string
	key         string
}

// fill opens the store and puts messages until the byte budget is used.
func (f *filled) fill(ctx context.Context) (err error) {
	f.spec.Workload.UniqueKeys = true
	if f.data, err = workload.New(f.spec.Workload); err != nil {
		return err
	}
	if f.store, err = engine.Open(f.spec.Dir, f.spec.Options); err != nil {
		return err
	}
	if err := f.putAll(ctx); err != nil {
		return fmt.Errorf("fill the store: %w", errors.Join(err, f.store.Close()))
	}
	return nil
}

func (f *filled) putAll(ctx context.Context) error {
	g := f.data.Generator(0)
	var m *message.Message
	put := func() (engine.PutResult, error) { return f.store.Put(m) }
	for end := int64(0); end < f.spec.MaxBytes; {
		if err := ctx.Err(); err != nil {
			return err
		}
		m = g.Next()
		r, err := settingUp.put(ctx, put)
		if err != nil {
			return err
		}
		end = r.End()
		key, _ := m.Properties.Get(message.PropertyUniqueKey)
		f.put = append(f.put, stored{
			offset: r.PhysicalOffset, queueOffset: r.QueueOffset, size: r.Size,
			queue: m.QueueID, topic: m.Topic, key: string(key),
		})
	}
	return awaitDispatch(ctx, f.store)
}

// awaitDispatch returns when queues and index have all that was put.
func awaitDispatch(ctx context.Context, s *engine.Store) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if snap := s.Snapshot(); snap.DispatchedOffset >= snap.CommitLog.AppendedOffset {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// Verify reads a sample of the messages back by physical offset and compares
// them with what the generator made.
func (f *filled) Verify(ctx context.Context) error {
	check := f.data.Generator(0)
	for i := 0; i < len(f.put); i += max(len(f.put)/sampleSize, 1) {
		if err := ctx.Err(); err != nil {
			return err
		}
		view, err := f.store.At(f.put[i].offset)
		if err != nil {
			return err
		}
		err = check.Check(uint64(i*max(f.step, 1)), view.Topic, view.QueueID, view.Body)
		view.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// thin keeps only what Verify looks at, for scenarios that do not ask for single
// messages: half a million of them would be a load on the garbage collector while
// it is measured.
func (f *filled) thin() {
	f.step = max(len(f.put)/sampleSize, 1)
	var kept []stored
	for i := 0; i < len(f.put); i += f.step {
		kept = append(kept, f.put[i])
	}
	f.put = kept
}

// Counters is the store's own account of the run so far.
func (f *filled) Counters() any { return f.store.Snapshot() }

// Close closes the store.
func (f *filled) Close() error { return f.store.Close() }
