package answers

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"commitlab/bench/plan"
	"commitlab/engine"
	"commitlab/engine/message"
)

// Write writes all answers of a store, in the form of a release. The store is
// only read; nobody may put into it meanwhile.
func Write(ctx context.Context, s *engine.Store, r plan.Release, w io.Writer) error {
	buffered := bufio.NewWriter(w)
	a := &writer{store: s, release: r, out: json.NewEncoder(buffered), keys: make(map[topicKey]bool)}
	a.out.SetEscapeHTML(false)
	err := a.all(ctx)
	return errors.Join(err, buffered.Flush())
}

type topicKey struct{ topic, key string }

// everything is more than any answer here holds.
const everything = 1 << 20

type writer struct {
	store   *engine.Store
	release plan.Release
	out     *json.Encoder
	keys    map[topicKey]bool // that some record has
}

func (a *writer) all(ctx context.Context) error {
	if err := a.records(ctx); err != nil {
		return err
	}
	for _, q := range a.store.Queues() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := a.queue(q); err != nil {
			return fmt.Errorf("queue %s/%d: %w", q.Topic, q.QueueID, err)
		}
	}
	return a.allKeys(ctx)
}

// records writes the bounds of the log and every record in it.
func (a *writer) records(ctx context.Context) error {
	log := a.store.Snapshot().CommitLog
	if err := a.out.Encode(logLine{Kind: "log", Min: log.MinOffset, End: log.AppendedOffset}); err != nil {
		return err
	}
	fileBytes := a.store.Options().CommitLogFileBytes
	for at := log.MinOffset; at < log.AppendedOffset && ctx.Err() == nil; {
		view, err := a.store.At(at)
		if errors.Is(err, engine.ErrNotFound) { // the blank that ends a file
			at = (at/fileBytes + 1) * fileBytes
			continue
		}
		if err != nil {
			return err
		}
		err = a.record(&view)
		at += int64(view.Size)
		view.Release()
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (a *writer) record(v *engine.View) error {
	line := recordLine{
		Kind: "record", Offset: v.PhysicalOffset, Size: v.Size, Topic: string(v.Topic), QueueID: v.QueueID, QueueOffset: v.QueueOffset,
		Flag: v.Flag, SysFlag: v.SysFlag, BornMs: v.BornTimestamp, BornHost: plan.Host(v.BornHost), StoreMs: v.StoreTimestamp,
		StoreHost: plan.Host(v.StoreHost), ReconsumeTimes: v.ReconsumeTimes, PreparedOffset: v.PreparedOffset,
		BodyBytes: len(v.Body), BodyCRC: v.BodyCRC, Properties: make(map[string]string),
		MsgID: message.OffsetID(v.StoreHost, v.PhysicalOffset), SHA256: sum(v),
	}
	for name, value := range v.Properties.All() {
		line.Properties[string(name)] = string(value)
	}
	for key := range v.Properties.Keys() {
		a.keys[topicKey{line.Topic, string(key)}] = true
	}
	if unique := line.Properties[message.PropertyUniqueKey]; unique != "" {
		a.keys[topicKey{line.Topic, unique}] = true
	}
	return a.out.Encode(line)
}

func sum(v *engine.View) string {
	sum := sha256.Sum256(v.Bytes())
	return hex.EncodeToString(sum[:])
}

// queue writes what a consumer can see of a queue.
func (a *writer) queue(q engine.QueueName) error {
	first, next := a.store.QueueBounds(q.Topic, q.QueueID)
	if next == 0 {
		return nil
	}
	err := a.out.Encode(queueLine{Kind: "queue", Topic: q.Topic, QueueID: q.QueueID, Min: first, Max: next})
	if err != nil {
		return err
	}
	times, err := a.messages(q, first, next)
	if err != nil {
		return err
	}
	for _, at := range []int64{first - 1, first, next - 1, next, next + 1} {
		if at < 0 {
			continue
		}
		got, err := a.store.Get(q.Topic, q.QueueID, at, 1, nil)
		if err != nil {
			return err
		}
		line := getLine{Kind: "get", Topic: q.Topic, QueueID: q.QueueID, At: at, Status: got.Status.String(), Next: got.NextBegin}
		got.Release()
		if err := a.out.Encode(line); err != nil {
			return err
		}
	}
	if a.release == plan.V4 {
		return nil
	}
	return a.times(q, times)
}

// messages writes every unit and returns the store times of their records.
func (a *writer) messages(q engine.QueueName, first, next int64) (times []int64, err error) {
	for at := first; at < next; {
		var units tagsCodes
		got, err := a.store.Get(q.Topic, q.QueueID, at, 32, &units)
		if err != nil {
			return nil, err
		}
		if len(got.Messages) == 0 {
			got.Release()
			return nil, fmt.Errorf("at %d: %s, no message", at, got.Status)
		}
		for i := range got.Messages {
			v := &got.Messages[i]
			err = errors.Join(err, a.out.Encode(messageLine{
				Kind: "message", Topic: q.Topic, QueueID: q.QueueID, At: at, Offset: v.PhysicalOffset, Size: int32(v.Size),
				TagsCode: units[i], SHA256: sum(v),
			}))
			times = append(times, v.StoreTimestamp)
			at++
		}
		if got.NextBegin != at {
			err = errors.Join(err, fmt.Errorf("next is %d, want %d", got.NextBegin, at))
		}
		got.Release()
		if err != nil {
			return nil, err
		}
	}
	return times, nil
}

// tagsCodes is a filter that passes everything and keeps what the units say.
type tagsCodes []int64

// MatchUnit implements engine.Filter.
func (c *tagsCodes) MatchUnit(tagsCode int64) bool {
	*c = append(*c, tagsCode)
	return true
}

// MatchRecord implements engine.Filter.
func (c *tagsCodes) MatchRecord(*message.Record) bool { return true }

// times writes where store times lead to.
func (a *writer) times(q engine.QueueName, times []int64) error {
	slices.Sort(times)
	times = slices.Compact(times)
	if len(times) == 0 {
		return nil
	}
	var ask []int64
	for _, ms := range []int64{times[0], times[len(times)/2], times[len(times)-1]} {
		ask = append(ask, ms-1, ms, ms+1)
	}
	slices.Sort(ask)
	for _, ms := range slices.Compact(ask) {
		lower, err := a.store.OffsetByTime(q.Topic, q.QueueID, ms, engine.Lower)
		if err != nil {
			return err
		}
		upper, err := a.store.OffsetByTime(q.Topic, q.QueueID, ms, engine.Upper)
		if err != nil {
			return err
		}
		err = a.out.Encode(timeLine{Kind: "time", Topic: q.Topic, QueueID: q.QueueID, Ms: ms, Lower: lower, Upper: upper})
		if err != nil {
			return err
		}
	}
	return nil
}

// allKeys writes where the keys of all records lead to.
func (a *writer) allKeys(ctx context.Context) error {
	keys := slices.Collect(maps.Keys(a.keys))
	slices.SortFunc(keys, func(x, y topicKey) int {
		return cmp.Or(cmp.Compare(x.topic, y.topic), cmp.Compare(x.key, y.key))
	})
	for _, k := range keys {
		if err := ctx.Err(); err != nil {
			return err
		}
		found, err := a.store.Query(k.topic, k.key, everything, 0, math.MaxInt64)
		if err != nil {
			return fmt.Errorf("key %q of %s: %w", k.key, k.topic, err)
		}
		line := keyLine{Kind: "key", Topic: k.topic, Key: k.key, Offsets: []int64{}}
		for i := range found {
			line.Offsets = append(line.Offsets, found[i].PhysicalOffset)
			found[i].Release()
		}
		slices.Sort(line.Offsets)
		if err := a.out.Encode(line); err != nil {
			return err
		}
	}
	return nil
}
