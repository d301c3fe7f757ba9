package consumequeue

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"sync"

	"commitlab/engine/segment"
)

// A scanned is what recovery has read of the files of a queue, without opening them.
type scanned struct {
	end    int64 // byte of the queue behind the last unit that makes sense
	logEnd int64 // log offset behind the last record
	// The first and the last message met.
	first, last message
	// zeros: nothing else follows the end in its file. False if that was not read.
	zeros bool
}

// A message is a unit with its queue offset. The zero message is none.
type message struct {
	offset int64
	unit   Unit
}

// ok reports whether there is a message, and not only what fills its place.
func (m message) ok() bool { return m.unit.Valid() && !m.unit.IsPrefill() }

// lastTrusted is the index of the last file that starts with the unit of a record
// below a log offset, or 0: the units of all files before it are of such records.
func lastTrusted(files []*segment.File, durable int64) (int, error) {
	for i := len(files) - 1; i > 0; i-- {
		u, err := peekUnit(files[i])
		if err != nil {
			return 0, err
		}
		// A filler tells only whether the file is used at all.
		if u.Valid() && (durable == math.MaxInt64 || !u.IsPrefill() && u.End() <= durable) {
			return i, nil
		}
	}
	return 0, nil
}

// scan walks the units of files[from:] as far as they make sense.
func scan(files []*segment.File, from int, logger *slog.Logger) (s scanned, err error) {
	for i, f := range files[from:] {
		if err := s.walk(f); err != nil {
			return s, err
		}
		if s.end == f.End() {
			continue
		}
		for _, behind := range files[from+i+1:] {
			if u, err := peekUnit(behind); err == nil && u.Valid() {
				logger.Warn("consume queue is damaged; the units behind have to be built again from the log",
					"file", f.Path(), "position", s.end-f.Base(), "lastFile", files[len(files)-1].Path())
				break
			}
		}
		break
	}
	return s, nil
}

// How much of a file is read at once: little at first, since most queues are short.
const (
	firstPieceBytes = 4096 / UnitBytes * UnitBytes
	pieceGrowth     = 4
	pieceBytes      = pieceGrowth * pieceGrowth * firstPieceBytes
)

var pieces = sync.Pool{New: func() any { return new([pieceBytes]byte) }}

// walk goes on with the units of f, which follows what was walked: up to the first
// that is not valid or lies before its neighbour in the log.
func (s *scanned) walk(f *segment.File) error {
	room := pieces.Get().(*[pieceBytes]byte)
	defer pieces.Put(room)
	s.end, s.zeros = f.Base(), true
	for size := int64(firstPieceBytes); s.end < f.End(); size = min(size*pieceGrowth, pieceBytes) {
		piece := room[:min(size, f.End()-s.end)]
		if err := peek(f, piece, s.end-f.Base()); err != nil {
			return err
		}
		rest := s.accept(piece)
		if len(rest) > 0 {
			s.zeros = s.end+int64(len(rest)) == f.End() && bytes.Count(rest, []byte{0}) == len(rest)
			return nil
		}
	}
	return nil
}

// accept takes the units of a piece and returns what follows the last that makes
// sense.
func (s *scanned) accept(piece []byte) (rest []byte) {
	for ; len(piece) >= UnitBytes; piece = piece[UnitBytes:] {
		u := DecodeUnit(piece)
		if !u.IsPrefill() {
			if !u.Valid() || u.PhysicalOffset < s.logEnd {
				break
			}
			s.logEnd = u.End()
			s.last = message{offset: s.end / UnitBytes, unit: u}
			if !s.first.ok() {
				s.first = s.last
			}
		}
		s.end += UnitBytes
	}
	return piece
}

// peekUnit reads what stands at the start of f.
func peekUnit(f *segment.File) (Unit, error) {
	var b [UnitBytes]byte
	if err := peek(f, b[:], 0); err != nil {
		return Unit{}, err
	}
	return DecodeUnit(b[:]), nil
}

func peek(f *segment.File, p []byte, pos int64) error {
	if n, err := f.Peek(p, pos); err != nil {
		return fmt.Errorf("read [%d, +%d) of %s: got %d bytes: %w", pos, len(p), f.Path(), n, err)
	}
	return nil
}
