package audit

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"commitlab/engine/consumequeue"
	"commitlab/engine/message"
)

// queueChunk is how much of a queue is read at once. Many queues are read in turn.
const queueChunk = 4 << 10

// A queue is one consume queue as it lies on disk.
type queue struct {
	topic string
	id    int32
	dir   string // relative to the store
	files chain
	src   window
	seen  []uint64 // bit for each unit from the first on: a record asked for it
	end   int64    // queue offset behind the last unit, once restOf has run
}

func (q *queue) first() int64 { return q.files[0].base / consumequeue.UnitBytes }
func (q *queue) limit() int64 { return q.files[len(q.files)-1].end() / consumequeue.UnitBytes }

func (q *queue) mark(offset int64) {
	n := offset - q.first()
	if q.seen == nil {
		q.seen = make([]uint64, (q.limit()-q.first()+63)/64)
	}
	q.seen[n/64] |= 1 << (n % 64)
}

func (q *queue) marked(offset int64) bool {
	n := offset - q.first()
	return q.seen != nil && q.seen[n/64]&(1<<(n%64)) != 0
}

// read returns the unit at a queue offset, and where it stands; false if no file
// has that place.
func (q *queue) read(offset int64) (u consumequeue.Unit, f numbered, position int64, ok bool, err error) {
	if offset < 0 || len(q.files) == 0 || offset >= q.limit() {
		return u, f, 0, false, nil
	}
	i := q.files.at(offset * consumequeue.UnitBytes)
	if i < 0 {
		return u, f, 0, false, nil
	}
	f = q.files[i]
	position = offset*consumequeue.UnitBytes - f.base
	b, err := q.src.view(f, position, consumequeue.UnitBytes)
	if err != nil || len(b) < consumequeue.UnitBytes {
		return u, f, position, false, err
	}
	return consumequeue.DecodeUnit(b), f, position, true, nil
}

// queueTable is all consume queues of a store.
type queueTable struct {
	byName map[string]map[int32]*queue // topic, queue id
	all    []*queue                    // by topic, then id
	delays message.DelayLevels
	r      *Report
}

func loadQueues(r *Report, root string, delays message.DelayLevels) (*queueTable, error) {
	t := &queueTable{byName: make(map[string]map[int32]*queue), delays: delays, r: r}
	topics, err := subdirectories(r, root, "consumequeue")
	if err != nil {
		return nil, err
	}
	for _, topic := range topics {
		dir := filepath.Join("consumequeue", topic)
		ids, err := subdirectories(r, root, dir)
		if err != nil {
			return nil, err
		}
		t.byName[topic] = make(map[int32]*queue)
		for _, name := range ids {
			if err := t.load(root, topic, filepath.Join(dir, name)); err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(t.all, func(a, b *queue) int { return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.id, b.id)) })
	r.Queues.Queues = len(t.all)
	return t, nil
}

func (t *queueTable) load(root, topic, dir string) error {
	id, err := strconv.ParseInt(filepath.Base(dir), 10, 32)
	if err != nil || id < 0 {
		t.r.note("%s is no queue", dir)
		return nil
	}
	files, err := listChain(t.r, ConsumeQueue, root, dir)
	if err != nil {
		return err
	}
	t.r.Queues.Files += len(files)
	for _, f := range files {
		if f.base%consumequeue.UnitBytes != 0 || f.size%consumequeue.UnitBytes != 0 {
			t.r.fault(ConsumeQueue, f.name, 0, "base %d and size %d are to be multiples of %d; the queue is left out", f.base, f.size, consumequeue.UnitBytes)
			files = nil
			break
		}
	}
	q := &queue{topic: topic, id: int32(id), dir: dir, files: files, src: window{chunk: queueChunk}}
	t.byName[topic][q.id] = q
	t.all = append(t.all, q)
	return nil
}

// subdirectories lists the directories in a directory below root; none if it is
// missing. Anything else in it becomes a note.
func subdirectories(r *Report, root, dir string) (names []string, err error) {
	entries, err := os.ReadDir(filepath.Join(root, dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("audit: list %s: %w", dir, err)
	}
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		} else {
			r.note("%s is none of the store's directories", filepath.Join(dir, e.Name()))
		}
	}
	return names, nil
}

// record demands the unit of a record.
func (t *queueTable) record(rec *message.Record) error {
	if !message.TransactionOf(rec.SysFlag).Queued() {
		return nil
	}
	if rec.PhysicalOffset < t.r.State.DeletedTopics[string(rec.Topic)].Before {
		return nil
	}
	q := t.byName[string(rec.Topic)][rec.QueueID]
	if q == nil {
		dir := filepath.Join("consumequeue", string(rec.Topic), strconv.Itoa(int(rec.QueueID)))
		t.r.fault(ConsumeQueue, dir, 0, "queue is missing, but the record at offset %d belongs in it, at queue offset %d", rec.PhysicalOffset, rec.QueueOffset)
		return nil
	}
	got, f, position, ok, err := q.read(rec.QueueOffset)
	if err != nil {
		return err
	}
	if !ok {
		t.r.fault(ConsumeQueue, q.dir, 0, "no file has queue offset %d, where the record at offset %d belongs", rec.QueueOffset, rec.PhysicalOffset)
		return nil
	}
	want := consumequeue.Unit{PhysicalOffset: rec.PhysicalOffset, Size: int32(rec.Size), TagsCode: rec.TagsCode(t.delays)}
	extended := consumequeue.IsExtAddress(got.TagsCode)
	if extended {
		want.TagsCode = got.TagsCode
	}
	sum := &t.r.Queues
	// RocketMQ 4.9 recovers before it knows its table of delays: units that it makes
	// then have no time of delivery.
	untimed := want
	if string(rec.Topic) == message.ScheduleTopic {
		untimed.TagsCode = rec.TagsCode(nil)
	}
	switch {
	case q.marked(rec.QueueOffset):
		t.r.fault(ConsumeQueue, f.name, position, "queue offset %d is asked for twice, now by the record at offset %d", rec.QueueOffset, rec.PhysicalOffset)
		return nil
	case got == consumequeue.Unit{}:
		t.r.fault(ConsumeQueue, f.name, position, "queue offset %d is empty, the record at offset %d is missing", rec.QueueOffset, rec.PhysicalOffset)
	case got != want && got == untimed:
		sum.Live++
		sum.Untimed++
		sum.PhysicalEnd = max(sum.PhysicalEnd, got.End())
	case got != want:
		t.r.fault(ConsumeQueue, f.name, position, "queue offset %d is %s, but the record there is %s", rec.QueueOffset, unitText(got), unitText(want))
	default:
		sum.Live++
		sum.PhysicalEnd = max(sum.PhysicalEnd, got.End())
		if extended {
			sum.Extended++
		}
	}
	q.mark(rec.QueueOffset)
	return nil
}

func unitText(u consumequeue.Unit) string {
	return fmt.Sprintf("(offset %d, size %d, tags code %d)", u.PhysicalOffset, u.Size, u.TagsCode)
}

// rest judges the units that no record asked for. It runs after all records.
func (t *queueTable) rest(l *logWalk) error {
	for _, q := range t.all {
		if len(q.files) == 0 {
			t.r.note("%s is a queue without files", q.dir)
			continue
		}
		if err := t.restOf(q, l); err != nil {
			return err
		}
	}
	return nil
}

func (t *queueTable) restOf(q *queue, l *logWalk) error {
	empty := int64(-1)  // queue offset of the first empty unit
	var used, live bool // one stood before: of a message, of a record in the log
	for offset := q.first(); offset < q.limit(); offset++ {
		u, f, position, ok, err := q.read(offset)
		if err != nil {
			return err
		}
		if !ok {
			continue // between two files, which is a fault by itself
		}
		if u == (consumequeue.Unit{}) {
			if empty < 0 {
				empty = offset
			}
			continue
		}
		if empty >= 0 {
			t.r.fault(ConsumeQueue, f.name, position, "queue offset %d is in use, but %d is empty", offset, empty)
			empty = -1
		}
		t.r.Queues.Units++
		q.end = offset + 1
		fault := func(what string) {
			t.r.fault(ConsumeQueue, f.name, position, "queue offset %d is %s: %s", offset, unitText(u), what)
		}
		switch {
		case q.marked(offset):
			live, used = true, true
			continue
		case u.IsPrefill():
			if t.r.Queues.Prefill++; used && len(t.r.State.Skipped) == 0 {
				fault("a pre-fill unit behind one of a message")
			}
			continue
		case !u.Valid():
			fault("no unit can be like that")
		case u.PhysicalOffset < t.r.CommitLog.Min:
			if t.r.Queues.Expired++; live {
				fault(fmt.Sprintf("points before the log, which begins at %d, behind a unit that does not", t.r.CommitLog.Min))
			}
		case u.End() > t.r.CommitLog.End:
			fault(fmt.Sprintf("points behind the end of the log, %d", t.r.CommitLog.End))
		default:
			if _, ok := t.r.skipped(u.PhysicalOffset); ok {
				break
			}
			what, err := l.describe(u.PhysicalOffset)
			if err != nil {
				return err
			}
			fault("points at " + what)
		}
		used = true
	}
	return nil
}

// describe says what a unit or an item points at that no record asked for.
func (l *logWalk) describe(offset int64) (string, error) {
	i := l.files.at(offset)
	if i < 0 {
		return "no file of the log", nil
	}
	f := l.files[i]
	at := offset - f.base
	if found, err := l.plausible(f, at); err != nil || !found {
		return "no record", err
	}
	b, err := l.probe.view(f, at, message.BlankBytes)
	if err != nil {
		return "", err
	}
	size, _ := stated(b)
	if b, err = l.probe.view(f, at, size); err != nil {
		return "", err
	}
	rec, bad := message.Decode(b)
	if bad != nil {
		return "a blank or a damaged record", nil
	}
	return fmt.Sprintf("a record of topic %s, queue %d, queue offset %d", rec.Topic, rec.QueueID, rec.QueueOffset), nil
}
