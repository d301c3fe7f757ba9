package commitlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"commitlab/engine/message"
	"commitlab/engine/mmap"
	"commitlab/engine/segment"
)

// A DamageError says that bytes in the middle of the log are not records,
// though records behind them are known to have been durable. Opening refuses,
// because to cut the log there would lose them.
type DamageError struct {
	File     string // with the damage
	Offset   int64  // in the log, where records stop to make sense
	Position int64  // the same within File
	Behind   int64  // offset of a sound record behind the damage
	Reason   error  // why the bytes at Offset are no record
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("commit log is damaged in %s at byte %d (log offset %d): %v; a sound record follows at log offset %d, so the log was not cut and nothing was changed",
		e.File, e.Position, e.Offset, e.Reason, e.Behind)
}

func (e *DamageError) Unwrap() error { return e.Reason }

// History is what the store directory tells about how the log was left.
type History struct {
	// Clean: the log was closed in order, so everything in it is durable.
	Clean bool
	// DurableMs: records stored before this time were durable, epoch ms.
	DurableMs int64
}

// covers reports whether a record stored at storeMs is known to be durable.
func (h History) covers(storeMs int64) bool { return h.Clean || storeMs < h.DurableMs }

// recover finds the end of the log: it walks all records from the first file
// on, verifies each (checksum of the body, lengths, the physical offset it
// states) and rebuilds the queue offsets. The walk ends at the first bytes that
// are no record. If a record that is known to be durable lies behind them, that
// is damage, and the log is not opened; else it is the torn end of a log that
// was not closed, which is cut off and erased.
func (l *Log) recover(h History) error {
	files := l.queue.Files()
	if len(files) == 0 {
		return nil
	}
	end, at, reason, err := l.walk(files, h)
	if err != nil {
		return err
	}
	behind, found, err := l.soundBehind(files, at, end, h)
	if err != nil {
		return err
	}
	if found {
		return &DamageError{File: files[at].Path(), Offset: end, Position: end - files[at].Base(), Behind: behind, Reason: reason}
	}
	if n := len(files) - 1 - at; n > 0 {
		l.opt.Logger.Info("removing commit log files behind the end of the log", "files", n, "end", end)
	}
	if err := l.queue.Truncate(end); err != nil {
		return fmt.Errorf("cut commit log at %d: %w", end, err)
	}
	tail := files[at]
	if err := tail.Erase(end-tail.Base(), !h.Clean, &l.opt.Files); err != nil {
		return err
	}
	if !h.Clean { // what a killed process left in the page cache is not yet on disk
		for _, f := range files[:at+1] {
			if err := f.SyncAll(); err != nil {
				return err
			}
		}
	}
	l.committed.Store(end)
	l.flushed.Store(end)
	return nil
}

// walk verifies records until the first bytes that are none. It returns their
// offset, the index of their file and what is wrong with them.
func (l *Log) walk(files []*segment.File, h History) (end int64, at int, reason error, err error) {
	for at = range files {
		view, err := files[at].View(0, files[at].Size())
		if err != nil {
			return 0, 0, nil, err
		}
		var sealed bool
		end, sealed, reason, err = l.walkFile(view.Bytes(), files[at].Base(), h)
		view.Release()
		if err != nil {
			return 0, 0, nil, fmt.Errorf("recover %s: %w", files[at].Path(), err)
		}
		if !sealed {
			return end, at, reason, nil
		}
	}
	return files[at].End(), at, nil, nil // the last file is full
}

// walkFile walks the records of one file. sealed says that it reached the
// blank record; otherwise reason tells why the bytes at end are no record.
func (l *Log) walkFile(data []byte, base int64, h History) (end int64, sealed bool, reason error, err error) {
	defer mmap.Recover(&err, mmap.GuardFaults())
	for pos := int64(0); ; {
		size, kind, reason := message.Check(data[pos:], l.checks(base+pos, int64(len(data))-pos))
		switch kind {
		case message.KindBlank:
			return base + pos, true, nil, nil
		case message.KindInvalid:
			return base + pos, false, reason, nil
		}
		next := pos + int64(size)
		rec, err := message.Decode(data[pos:next])
		if err != nil {
			return 0, false, nil, err
		}
		if !h.covers(rec.StoreTimestamp) && torn(&rec, next) {
			return base + pos, false, errTorn, nil
		}
		l.account(&rec)
		pos = next
	}
}

// checks is what a record at a place must pass. left is the number of bytes
// from there to the end of the file.
func (l *Log) checks(offset, left int64) message.CheckOptions {
	return message.CheckOptions{Checksum: l.opt.Checksum, Position: true, PhysicalOffset: offset, BlankSize: left}
}

// account notes the queue offset that a sound record used up.
func (l *Log) account(rec *message.Record) {
	if l.opt.Visit != nil {
		l.opt.Visit(rec)
	}
	if message.TransactionOf(rec.SysFlag).Queued() {
		next := l.offsets.of(string(rec.Topic), rec.QueueID)
		*next = max(*next, rec.QueueOffset+1)
	}
}

// errTorn is what is wrong with a record that torn found.
var errTorn = errors.New("a sector of topic or properties was never written")

// sectorBytes is what a power cut leaves whole.
const sectorBytes = 512

// torn reports whether a sector's share of the topic or the properties of a
// record is all zeros: those no checksum protects, unless the record has one of
// its own, and a power cut may have taken them alone. end is the position of the
// record's end within its file.
func torn(rec *message.Record, end int64) bool {
	properties := end - int64(len(rec.Properties))
	const lengthBytes = 2
	topic := properties - lengthBytes - int64(len(rec.Topic))
	return emptySector(rec.Topic, topic) || emptySector(rec.Properties, properties)
}

// emptySector reports whether b, which stands at pos, has only zeros in one of
// the sectors that it touches.
func emptySector(b []byte, pos int64) bool {
	for len(b) > 0 {
		n := min(sectorBytes-pos%sectorBytes, int64(len(b)))
		if len(bytes.TrimLeft(b[:n], "\x00")) == 0 {
			return true
		}
		b, pos = b[n:], pos+n
	}
	return false
}

// probeBytes bounds the search for a sound record behind a bad one within a
// file: twice the largest record of the default configuration.
const probeBytes = 2 * (message.DefaultMaxBodyBytes + 64<<10)

// soundBehind looks for a record behind end that is known to have been
// durable: within reach in the same file, or at the start of a later one.
func (l *Log) soundBehind(files []*segment.File, at int, end int64, h History) (offset int64, found bool, err error) {
	first := files[at]
	from := end - first.Base() + 1
	for i, f := range files[at:] {
		data, release, err := wholeFile(f)
		if err != nil {
			return 0, false, err
		}
		if i == 0 {
			offset, found, err = l.searchSound(data, f.Base(), from, h)
		} else {
			found, err = l.soundAt(data, f.Base(), 0, h)
			offset = f.Base()
		}
		release()
		if err != nil {
			return 0, false, fmt.Errorf("search %s behind offset %d: %w", f.Path(), end, err)
		}
		if found {
			return offset, true, nil
		}
	}
	return 0, false, nil
}

func wholeFile(f *segment.File) (data []byte, release func(), err error) {
	view, err := f.View(0, f.Size())
	if err != nil {
		return nil, nil, err
	}
	return view.Bytes(), view.Release, nil
}

// searchSound tries every place in data[from:] that holds the magic of a
// record.
func (l *Log) searchSound(data []byte, base, from int64, h History) (offset int64, found bool, err error) {
	defer mmap.Recover(&err, mmap.GuardFaults())
	const magicAt = 4
	limit := min(from+probeBytes, int64(len(data)))
	for _, magic := range [][]byte{
		binary.BigEndian.AppendUint32(nil, message.MagicV1),
		binary.BigEndian.AppendUint32(nil, message.MagicV2),
	} {
		for pos := from; pos+magicAt < limit; {
			i := bytes.Index(data[pos+magicAt:limit], magic)
			if i < 0 {
				break
			}
			pos += int64(i)
			if ok, err := l.soundAt(data, base, pos, h); ok || err != nil {
				return base + pos, ok, err
			}
			pos++
		}
	}
	return 0, false, nil
}

// soundAt reports whether a record that is known to have been durable stands
// at pos.
func (l *Log) soundAt(data []byte, base, pos int64, h History) (sound bool, err error) {
	defer mmap.Recover(&err, mmap.GuardFaults())
	_, kind, err := message.Check(data[pos:], l.checks(base+pos, int64(len(data))-pos))
	if kind != message.KindRecord {
		var bad *message.CheckError
		if errors.As(err, &bad) || err == nil {
			return false, nil
		}
		return false, err
	}
	rec, err := message.Decode(data[pos:])
	if err != nil {
		return false, err
	}
	return h.covers(rec.StoreTimestamp), nil
}
