package audit

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"commitlab/engine/message"
)

// How much of the log is read at once.
const (
	logChunk   = 1 << 20
	probeChunk = 4 << 10
)

// Where a record states its own physical offset, and how much of it is needed to
// see that. See the drawing in package message.
const (
	statedOffsetAt = 28
	statedBytes    = statedOffsetAt + 8
)

// headBytes is at least what stands in front of the body of any record.
const headBytes = 128

// A logWalk goes through a commit log from its first file to its end.
type logWalk struct {
	files chain
	src   window
	probe window // for looking ahead, and at what units point at
	r     *Report
	// visit gets each record that can be decoded and says that it belongs where it
	// is. A view: valid until visit returns.
	visit func(rec *message.Record) error
}

func newLogWalk(r *Report, root string) (*logWalk, error) {
	files, err := listChain(r, CommitLog, root, "commitlog")
	if err != nil {
		return nil, err
	}
	l := &logWalk{files: files, src: window{chunk: logChunk}, probe: window{chunk: probeChunk}, r: r}
	r.CommitLog.Files = len(files)
	for _, f := range files {
		r.CommitLog.Bytes += f.size
	}
	if len(files) > 0 {
		r.CommitLog.Min, r.CommitLog.End = files[0].base, files[0].base
	}
	return l, nil
}

// run visits all records. Faults go to the report; the error is that of reading,
// of ctx or of visit.
func (l *logWalk) run(ctx context.Context) error {
	for i, at := 0, int64(0); i < len(l.files); {
		f := l.files[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		if at >= f.size {
			i, at = i+1, 0
			continue
		}
		if gap, ok := l.r.skipped(f.base + at); ok {
			at = min(gap.To-f.base, f.size)
			l.r.CommitLog.End = f.base + at
			continue
		}
		next, fault, err := l.step(f, at)
		if err != nil {
			return err
		}
		if fault == nil {
			at = next
			continue
		}
		if fault.Step == message.StepUnwritten {
			j, p, err := l.nextWritten(i, at)
			if err != nil || j == len(l.files) {
				return err // the end
			}
			l.r.fault(CommitLog, f.name, at, "nothing was written at offset %d, but at byte %d of %s something is", f.base+at, p, l.files[j].name)
			// Up to three bytes of a size may be zero.
			i = j
			if at, err = l.resume(l.files[i], max(p-3, 0)); err != nil {
				return err
			}
			continue
		}
		resume, err := l.resume(f, next)
		if err != nil {
			return err
		}
		behind := fmt.Sprintf("reading goes on %d bytes behind", resume-at)
		if resume == f.size {
			behind = "nothing in the rest of the file can be read"
		}
		l.r.fault(CommitLog, f.name, at, "offset %d: %v; %s", f.base+at, fault, behind)
		at = resume
	}
	return nil
}

// step judges what stands at a position of a file and returns the position behind
// it. With a fault that is where the next record may be looked for.
func (l *logWalk) step(f numbered, at int64) (next int64, fault *message.CheckError, err error) {
	left := f.size - at
	head, err := l.src.view(f, at, message.BlankBytes)
	if err != nil {
		return 0, nil, err
	}
	if len(head) < message.BlankBytes {
		return f.size, &message.CheckError{Step: message.StepHeader, Got: left, Want: message.BlankBytes}, nil
	}
	size, magic := stated(head)
	if magic == message.MagicBlank {
		if size != left {
			return at + 1, &message.CheckError{Step: message.StepBlank, Got: size, Want: left}, nil
		}
		l.r.CommitLog.Blanks++
		return f.size, nil, nil
	}
	switch {
	case size == 0 && magic == 0:
		return at, &message.CheckError{Step: message.StepUnwritten}, nil
	case magic != message.MagicV1 && magic != message.MagicV2:
		return at + 1, &message.CheckError{Step: message.StepMagic, Got: int64(magic), Want: int64(message.MagicV1)}, nil
	case size > left:
		return at + 1, &message.CheckError{Step: message.StepBounds, Got: size, Want: left}, nil
	}
	b, err := l.src.view(f, at, max(size, headBytes))
	if err != nil {
		return 0, nil, err
	}
	return l.record(f, at, b)
}

// record is step for the bytes of a would-be record.
func (l *logWalk) record(f numbered, at int64, b []byte) (next int64, fault *message.CheckError, err error) {
	o := message.CheckOptions{Position: true, PhysicalOffset: f.base + at}
	_, _, bad := message.Check(b, o)
	rec, undecodable := message.Decode(b)
	if undecodable == nil && bad == nil {
		if _, sealed := rec.Properties.Get(message.PropertyRecordCRC); sealed {
			o.Checksum = message.ChecksumRecord
			_, _, bad = message.Check(b, o)
		}
	}
	if bad != nil {
		fault = bad.(*message.CheckError)
	}
	if undecodable != nil || rec.PhysicalOffset != f.base+at {
		return at + 1, fault, nil
	}
	next = at + int64(rec.Size)
	sum := &l.r.CommitLog
	if fault != nil {
		// The size may be what is damaged: it counts only if something sensible follows.
		if sensible, err := l.boundary(f, next); err != nil || !sensible {
			return at + 1, fault, err
		}
		sum.Damaged++
	}
	if sum.Records == 0 {
		sum.FirstStoreMs = rec.StoreTimestamp
	}
	sum.Records++
	sum.LastStoreMs = max(sum.LastStoreMs, rec.StoreTimestamp)
	sum.End = f.base + next
	return next, fault, l.visit(&rec)
}

// nextWritten finds the first byte that is not zero, from a position of file i on;
// a file behind the last if there is none.
func (l *logWalk) nextWritten(i int, at int64) (file int, position int64, err error) {
	for ; i < len(l.files); i, at = i+1, 0 {
		p, err := l.src.written(l.files[i], at)
		if err != nil || p < l.files[i].size {
			return i, p, err
		}
	}
	return i, 0, nil
}

// resume finds the next place from a position on where a record or blank seems to
// start; the end of the file if there is none.
func (l *logWalk) resume(f numbered, at int64) (int64, error) {
	if sensible, err := l.boundary(f, at); err != nil || sensible {
		return at, err
	}
	for from := at; from < f.size; {
		b, err := l.src.view(f, from, logChunk)
		if err != nil {
			return 0, err
		}
		for i := range candidates(b) {
			p := from + int64(i)
			if found, err := l.plausible(f, p); err != nil || found {
				return p, err
			}
		}
		if from+int64(len(b)) == f.size {
			break
		}
		from += int64(len(b)) - message.BlankBytes + 1
	}
	return f.size, nil
}

// candidates yields where in b the second word is a magic.
func candidates(b []byte) func(yield func(int) bool) {
	magics := [][]byte{
		binary.BigEndian.AppendUint32(nil, message.MagicV1),
		binary.BigEndian.AppendUint32(nil, message.MagicV2),
		binary.BigEndian.AppendUint32(nil, message.MagicBlank),
	}
	return func(yield func(int) bool) {
		for i := 0; i+message.BlankBytes <= len(b); i++ {
			for _, m := range magics {
				if b[i+4] == m[0] && bytes.HasPrefix(b[i+4:], m) && !yield(i) {
					return
				}
			}
		}
	}
}

// plausible reports whether a record or a blank seems to start at a position: one
// that says that it belongs there and fits in.
func (l *logWalk) plausible(f numbered, at int64) (bool, error) {
	b, err := l.probe.view(f, at, statedBytes)
	if err != nil || len(b) < message.BlankBytes {
		return false, err
	}
	size, magic := stated(b)
	switch magic {
	case message.MagicBlank:
		return size == f.size-at, nil
	case message.MagicV1, message.MagicV2:
		return len(b) == statedBytes && size > statedBytes && size <= f.size-at &&
			int64(binary.BigEndian.Uint64(b[statedOffsetAt:])) == f.base+at, nil
	}
	return false, nil
}

// boundary reports whether a position can be the end of a record: something
// plausible starts there, or nothing was written there yet.
func (l *logWalk) boundary(f numbered, at int64) (bool, error) {
	if at >= f.size {
		return at == f.size, nil
	}
	b, err := l.probe.view(f, at, message.BlankBytes)
	if err != nil {
		return false, err
	}
	if size, magic := stated(append(b, make([]byte, message.BlankBytes)...)); size == 0 && magic == 0 {
		return true, nil
	}
	return l.plausible(f, at)
}

// stated is size and magic of what starts at b, which has 8 bytes or more.
func stated(b []byte) (size int64, magic uint32) {
	return int64(int32(binary.BigEndian.Uint32(b))), binary.BigEndian.Uint32(b[4:])
}
