package workload

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"commitlab/engine/message"
)

// Layout of a body; see the package comment for the picture.
const (
	seedOffset     = 0
	workerOffset   = seedOffset + 8
	lengthOffset   = workerOffset + 4
	sequenceOffset = lengthOffset + 4
	headBytes      = sequenceOffset + 8
	tailBytes      = 8
	stampedBytes   = headBytes + tailBytes // bodies from this size on have a tail
)

// Generator makes the messages of one worker. Not safe for concurrent use.
type Generator struct {
	workload   *Workload
	worker     int
	stream     uint64 // what the draws of this worker start from
	sequence   uint64 // of the next message
	draw       draw   // of the last message
	message    message.Message
	body       []byte // head, then filler everywhere but at tailAt; at least headBytes
	tailAt     int    // where the last tail overwrote filler; -1 if nowhere
	properties []byte // reused
}

// Generator returns the generator of a worker. Generators with the same
// worker number make the same messages.
func (w *Workload) Generator(worker int) *Generator {
	g := &Generator{
		workload: w,
		worker:   worker,
		stream:   w.stream(worker),
		body:     bytes.Clone(w.filler),
		tailAt:   -1,
		message: message.Message{
			BornTimestamp: bornTimestampMs,
			BornHost:      bornHost,
			StoreHost:     storeHost,
		},
	}
	binary.BigEndian.PutUint64(g.body[seedOffset:], w.spec.Seed)
	binary.BigEndian.PutUint32(g.body[workerOffset:], uint32(worker))
	return g
}

// Sequence is the number of the message that Next will make.
func (g *Generator) Sequence() uint64 { return g.sequence }

// Next makes the next message. The message and all its bytes belong to the
// generator and hold until the next call of Next or At.
func (g *Generator) Next() *message.Message {
	m := g.At(g.sequence)
	g.sequence++
	return m
}

// At makes message number sequence without moving on. Same lifetime as Next.
func (g *Generator) At(sequence uint64) *message.Message {
	w, m := g.workload, &g.message
	d := &g.draw
	w.draw(d, g.stream, sequence)
	m.Topic = w.topics[d.topic]
	m.QueueID = d.queue
	m.Body = g.fill(d, sequence)
	if w.keyed {
		g.properties = w.appendProperties(g.properties[:0], d)
		m.Properties = g.properties
	}
	return m
}

// fill makes the body in place: what differs from the last one is the rest of
// the head and the tail. A body shorter than the head is the start of it.
func (g *Generator) fill(d *draw, sequence uint64) []byte {
	if at := g.tailAt; at >= 0 {
		*(*[tailBytes]byte)(g.body[at:]) = *(*[tailBytes]byte)(g.workload.filler[at:])
		g.tailAt = -1
	}
	binary.BigEndian.PutUint32(g.body[lengthOffset:], uint32(d.size))
	binary.BigEndian.PutUint64(g.body[sequenceOffset:], sequence)
	if d.size >= stampedBytes {
		g.tailAt = d.size - tailBytes
		binary.BigEndian.PutUint64(g.body[g.tailAt:], d.hash)
	}
	return g.body[:d.size]
}

// Check compares what was read back with message number sequence; the error
// names the field and, for a body, the first byte that differs. It moves the
// generator's message, as At does.
func (g *Generator) Check(sequence uint64, topic []byte, queueID int32, body []byte) error {
	want := g.At(sequence)
	where := func() string { return fmt.Sprintf("message %d of worker %d", sequence, g.worker) }
	switch {
	case string(topic) != want.Topic:
		return fmt.Errorf("%s: topic is %q, want %q", where(), topic, want.Topic)
	case queueID != want.QueueID:
		return fmt.Errorf("%s: queue is %d, want %d", where(), queueID, want.QueueID)
	case len(body) != len(want.Body):
		return fmt.Errorf("%s: body has %d bytes, want %d", where(), len(body), len(want.Body))
	}
	if bytes.Equal(body, want.Body) {
		return nil
	}
	at := 0
	for body[at] == want.Body[at] {
		at++
	}
	return fmt.Errorf("%s: byte %d of %d of the body is %#02x, want %#02x", where(), at, len(body), body[at], want.Body[at])
}

// Identify reads worker and sequence back from a body of this workload. It
// reports false for a body that is too short to tell, has another seed or
// another length than it was made with. Check then compares the rest.
func (w *Workload) Identify(body []byte) (worker int, sequence uint64, ok bool) {
	if len(body) < headBytes ||
		binary.BigEndian.Uint64(body[seedOffset:]) != w.spec.Seed ||
		binary.BigEndian.Uint32(body[lengthOffset:]) != uint32(len(body)) {
		return 0, 0, false
	}
	return int(binary.BigEndian.Uint32(body[workerOffset:])), binary.BigEndian.Uint64(body[sequenceOffset:]), true
}
