package torture

import (
	"cmp"
	"fmt"
	"slices"
)

// An ack is a put that was acknowledged.
type ack struct {
	ID
	offset, queueOffset, size int64
}

func (a ack) end() int64 { return a.offset + a.size }

// A fate is what a child told about a message that it sent.
type fate byte

const (
	unknown  fate = iota // under way when the child died: may be there or not
	acked                // acknowledged
	maybe                // the put failed, but may have stored it
	rejected             // the put failed without storing anything
)

// A record of a life: what its child told.
type lifeLog struct {
	Round, Number int
	set           string
	async         bool
	buffers       bool // appends go to transient buffers first
	plan          Life

	fates              map[ID]fate
	acks               []ack
	waited             int64 // log offset behind the last ack whose put waited for the disk
	committed, flushed int64 // the last watermarks told
	recovered          int64 // where the log ended when the store was open; -1 if it never was
	closed             bool
}

// heard takes in an event that is about a message or a watermark.
func (l *lifeLog) heard(e event, c *content) {
	n := e.numbers
	switch e.what {
	case eventOpened:
		l.recovered, l.committed, l.flushed = n[0], n[0], n[0]
	case eventClosed:
		l.closed = true
	case eventSending:
		l.fates[ID{uint32(n[0]), uint64(n[1])}] = unknown
	case eventFailed:
		l.fates[ID{uint32(n[0]), uint64(n[1])}] = rejected
		if n[2] == 1 {
			l.fates[ID{uint32(n[0]), uint64(n[1])}] = maybe
		}
	case eventAcked:
		a := ack{ID: ID{uint32(n[0]), uint64(n[1])}, offset: n[2], queueOffset: n[3], size: n[4]}
		l.fates[a.ID] = acked
		l.acks = append(l.acks, a)
		if !l.async && !c.traits(a.ID).noWait {
			l.waited = max(l.waited, a.end())
		}
	case eventWatermark:
		l.committed, l.flushed = max(l.committed, n[0]), max(l.flushed, n[1])
	}
}

// ackedEnd is the log offset behind the last acknowledged message.
func (l *lifeLog) ackedEnd() (end int64) {
	for _, a := range l.acks {
		end = max(end, a.end())
	}
	return end
}

// required is the log offset up to which every acknowledged message must be there.
func (l *lifeLog) required() int64 {
	switch {
	case !l.plan.keepsCache():
		return l.durable()
	case l.closed: // whatever came after
		return l.ackedEnd()
	case l.buffers:
		return max(l.waited, l.committed)
	}
	return l.ackedEnd()
}

// durable is the log offset up to which every acknowledged message is on disk.
func (l *lifeLog) durable() int64 {
	if l.closed {
		return l.ackedEnd()
	}
	return max(l.waited, l.flushed)
}

// A loss is what a life cost: acknowledged messages that are gone, lawfully.
type loss struct {
	messages int
	bytes    int64 // of the log, from the first lost message to the end of the last
	allowed  int64 // bytes that it could have cost
}

// A verdict collects what is wrong. A limit keeps one fault from filling pages.
type verdict struct {
	found []string
	more  int
}

const maxFound = 20

func (v *verdict) wrong(format string, args ...any) {
	if len(v.found) == maxFound {
		v.more++
		return
	}
	v.found = append(v.found, fmt.Sprintf(format, args...))
}

// judge decides about the records that follow those of the ledger, in the order of
// the log, given what the lives of the round told. It returns what each life cost.
func judge(v *verdict, l *ledger, records []stored, lives []*lifeLog) []loss {
	byWorker := make(map[[2]int]*lifeLog)
	for _, life := range lives {
		byWorker[[2]int{life.Round, life.Number}] = life
	}
	judgeRecords(v, l, records, byWorker)
	at := make(map[int64]stored, len(records))
	forms := make(map[form]stored, len(records))
	for _, r := range records {
		at[r.offset] = r
		forms[form{r.ID, r.kind}] = r
	}
	var losses []loss
	for i, life := range lives {
		losses = append(losses, judgeLife(v, life, requiredOf(life, lives[i+1:]), at, forms))
	}
	return losses
}

// requiredOf is the log offset up to which the acknowledged messages of a life must
// be there after later ones. What a later life has recovered survives for good; if
// the power goes off before, pages that an earlier one left may not be on disk.
func requiredOf(l *lifeLog, later []*lifeLog) int64 {
	required := l.required()
	for _, next := range later {
		if next.recovered >= 0 {
			return max(required, next.recovered)
		}
		if !next.plan.keepsCache() {
			required = min(required, l.durable())
		}
	}
	return required
}

// judgeRecords looks for what nobody sent, what is there twice, and queue offsets
// that are not in line.
func judgeRecords(v *verdict, l *ledger, records []stored, lives map[[2]int]*lifeLog) {
	seen := make(map[form]int64)
	waits := make(map[int64]ID) // by offset of the record in the schedule topic
	next := make(map[queueName]int64)
	for _, r := range records {
		if i, old := l.forms[form{r.ID, r.kind}]; old {
			v.wrong("%v is at offset %d, and again at %d", r.ID, l.records[i].offset, r.offset)
		} else if first, twice := seen[form{r.ID, r.kind}]; twice {
			v.wrong("%v is at offset %d, and again at %d", r.ID, first, r.offset)
		}
		seen[form{r.ID, r.kind}] = r.offset

		round, number := lifeOf(r.Worker)
		life := lives[[2]int{round, number}]
		fate, sent := unknown, false
		if life != nil {
			fate, sent = life.fates[r.ID]
		}
		switch {
		case life == nil:
			v.wrong("%v of round %d is at offset %d, where it was not before", r.ID, round, r.offset)
		case !sent:
			v.wrong("%v is at offset %d, but was not sent", r.ID, r.offset)
		case fate == rejected:
			v.wrong("%v is at offset %d, but its put said that nothing was stored", r.ID, r.offset)
		}

		switch r.kind {
		case waiting:
			waits[r.offset] = r.ID
		case delivered:
			if id, ok := waits[r.source]; !ok || id != r.ID {
				v.wrong("%v at offset %d was delivered from offset %d, where it does not wait", r.ID, r.offset, r.source)
			}
		}
		if next[r.queue] == 0 {
			next[r.queue] = l.next(r.queue)
		}
		if want := next[r.queue]; r.queueOffset != want {
			v.wrong("%v at offset %d has offset %d in queue %v, want %d", r.ID, r.offset, r.queueOffset, r.queue, want)
		}
		next[r.queue] = r.queueOffset + 1
	}
}

// judgeLife demands that the acknowledged messages of a life are where they were
// acknowledged, up to some offset that does not lie before the one required.
func judgeLife(v *verdict, life *lifeLog, required int64, at map[int64]stored, forms map[form]stored) (cost loss) {
	end := life.ackedEnd()
	cost.allowed = max(0, end-required)
	slices.SortFunc(life.acks, func(a, b ack) int { return cmp.Compare(a.offset, b.offset) })
	var gone *ack
	for i := range life.acks {
		a := &life.acks[i]
		r, there := at[a.offset]
		if there = there && r.ID == a.ID && r.kind != delivered; !there {
			for _, k := range []kind{plain, waiting} {
				if other, ok := forms[form{a.ID, k}]; ok {
					v.wrong("%v was acknowledged at offset %d and is at %d", a.ID, a.offset, other.offset)
				}
			}
			if gone == nil {
				gone = a
				cost.bytes = end - a.offset
			}
			cost.messages++
			if a.end() <= required {
				v.wrong("%v is lost: acknowledged at offset %d with %d bytes, and all up to %d had to survive", a.ID, a.offset, a.size, required)
			}
			continue
		}
		if gone != nil {
			v.wrong("%v at offset %d is there, but %v before it at %d is not", a.ID, a.offset, gone.ID, gone.offset)
		}
		if r.size != a.size || r.queueOffset != a.queueOffset {
			v.wrong("%v at offset %d has %d bytes and queue offset %d; acknowledged were %d and %d", a.ID, a.offset, r.size, r.queueOffset, a.size, a.queueOffset)
		}
	}
	return cost
}
