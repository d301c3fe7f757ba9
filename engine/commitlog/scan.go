package commitlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"commitlab/engine/message"
	"commitlab/engine/mmap"
	"commitlab/engine/segment"
)

// A History is what the store directory tells about how the log was left.
type History struct {
	// Clean: the log was closed in order, so everything in it is durable.
	Clean bool
	// Durable is the log offset up to which the log is known to be durable; -1 if
	// only times tell.
	Durable int64
	// DurableMs: records stored before this time were durable, epoch ms. It counts
	// if Durable is not known.
	DurableMs int64
	// Reused: files of the log may have been others before, whose bytes show where
	// nothing was written over them. All that was written then has a checksum over
	// the whole record.
	Reused bool
	// Skipped are ranges that were given up before: reading goes on behind them.
	Skipped Ranges
}

// Covers reports whether a record that ends at an offset and was stored at a
// time is known to have been durable.
func (h History) Covers(end, storeMs int64) bool {
	if h.Durable >= 0 {
		return end <= h.Durable
	}
	return h.Clean || storeMs < h.DurableMs
}

// A FileScan is what was found in one file of the log.
type FileScan struct {
	Path      string
	Base, End int64 // the file's place in the log
	// Runs are the rows of sound records in it, ascending. The first begins at
	// Base and is empty if no record stands there.
	Runs []Run
}

// A Run is a row of sound records with nothing between them.
type Run struct {
	From, To int64 // log offsets
	Records  int64
	First    Place // of the first record
	LatestMs int64 // store time: the latest of its records
	// Sealed: at To the file was closed in order, or ends.
	Sealed bool
	// Reason is why the bytes at To are no record, nil if Sealed.
	Reason error
	// Next has the next queue offset of each queue with records in the run.
	Next map[QueueKey]int64
}

// A Place is what a record says about where and when it belongs.
type Place struct {
	Queue       QueueKey
	QueueOffset int64
	Queued      bool // not a part of a transaction that no queue has
	StoreMs     int64
}

// ScanOptions describe one scan.
type ScanOptions struct {
	From    int // index of the first file
	Workers int // files read at a time
	History History
	// Visit, if not nil, is shown every sound record, from several goroutines and
	// in no order. The record must not be kept.
	Visit func(rec *message.Record)
	// Read, if not nil, is told of bytes that were read, and of a file that is
	// done, from several goroutines.
	Read func(bytes int64, file bool)
}

// Scan verifies all records of the files from number From on: lengths, checksum
// and the physical offset that each states. It changes nothing. Where records
// stop to make sense it looks for the next one in the same file, as far as the
// log may be durable there.
func (l *Log) Scan(o ScanOptions) ([]FileScan, error) {
	files := l.queue.Files()[o.From:]
	scans, errs := make([]FileScan, len(files)), make([]error, len(files))
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(max(o.Workers, 1), len(files)) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(files); i = int(next.Add(1)) - 1 {
				s := scanner{log: l, opt: &o, file: files[i]}
				if scans[i], errs[i] = s.run(); errs[i] != nil {
					errs[i] = fmt.Errorf("recover %s: %w", files[i].Path(), errs[i])
					next.Store(int64(len(files))) // no use to read on
				}
			}
		})
	}
	group.Wait()
	return scans, errors.Join(errs...)
}

// A scanner reads one file.
type scanner struct {
	log  *Log
	opt  *ScanOptions
	file *segment.File
	data []byte

	read   int64           // position up to which Read was told
	asked  int64           // position up to which the system was asked for pages
	rec    message.Record  // the one at hand
	queues QueueMap[int64] // next queue offsets in the run at hand
}

func (s *scanner) run() (scan FileScan, err error) {
	view, err := s.file.View(0, s.file.Size())
	if err != nil {
		return FileScan{}, err
	}
	defer view.Release()
	defer mmap.Recover(&err, mmap.GuardFaults())
	s.data = view.Bytes()
	scan = FileScan{Path: s.file.Path(), Base: s.file.Base(), End: s.file.End()}
	for pos := int64(0); ; {
		run, err := s.walk(pos)
		if err != nil {
			return FileScan{}, err
		}
		scan.Runs = append(scan.Runs, run)
		if run.Sealed {
			break
		}
		var found bool
		if pos, found, err = s.resume(run.To - s.file.Base()); err != nil {
			return FileScan{}, err
		}
		if !found {
			break
		}
	}
	s.progress(s.file.Size())
	if s.opt.Read != nil {
		s.opt.Read(0, true)
	}
	return scan, nil
}

// progressBytes is how often a scan tells how far it is, and how much of a file
// it asks of the system at a time.
const progressBytes = 8 << 20

func (s *scanner) progress(pos int64) {
	if s.opt.Read != nil {
		s.opt.Read(pos-s.read, false)
	}
	s.read = pos
}

// walk reads records from a position on, to the first bytes that are none.
func (s *scanner) walk(pos int64) (run Run, err error) {
	base := s.file.Base()
	run = Run{From: base + pos}
	s.queues = QueueMap[int64]{}
	for {
		if pos >= s.read+progressBytes {
			s.progress(pos)
		}
		if pos >= s.asked {
			s.asked = min(pos+progressBytes, int64(len(s.data)))
			_ = s.file.Prefetch(pos, s.asked-pos) // else they are faulted in
		}
		rec := &s.rec
		kind, reason := message.CheckRecord(rec, s.data[pos:], s.log.checks(base+pos, int64(len(s.data))-pos))
		run.To = base + pos
		if kind != message.KindRecord {
			run.Sealed, run.Reason = kind == message.KindBlank, reason
			break
		}
		next := pos + int64(rec.Size)
		if h := &s.opt.History; !h.Covers(base+next, rec.StoreTimestamp) && (torn(rec, next) || h.Reused && !whole(s.data[pos:next])) {
			run.Reason = errTorn
			break
		}
		s.note(&run, rec)
		pos = next
		if pos == int64(len(s.data)) {
			run.To, run.Sealed = base+pos, true
			break
		}
	}
	run.Next = maps.Collect(s.queues.All())
	return run, nil
}

// note takes a sound record into its run.
func (s *scanner) note(run *Run, rec *message.Record) {
	queued := message.TransactionOf(rec.SysFlag).Queued()
	if run.Records == 0 {
		run.First = Place{QueueKey{string(rec.Topic), rec.QueueID}, rec.QueueOffset, queued, rec.StoreTimestamp}
		run.LatestMs = rec.StoreTimestamp
	}
	run.Records++
	run.LatestMs = max(run.LatestMs, rec.StoreTimestamp)
	if queued {
		next := s.queues.OfBytes(rec.Topic, rec.QueueID)
		*next = max(*next, rec.QueueOffset+1)
	}
	if s.opt.Visit != nil {
		s.opt.Visit(rec)
	}
}

// resume returns the position at which records make sense again, behind one at
// which they do not.
func (s *scanner) resume(bad int64) (pos int64, found bool, err error) {
	base, h := s.file.Base(), &s.opt.History
	if gap, ok := h.Skipped.At(base + bad); ok && gap.Contains(base+bad) {
		if gap.To >= s.file.End() {
			return 0, false, nil
		}
		if sound, err := s.sound(gap.To - base); sound || err != nil {
			return gap.To - base, sound, err
		}
		bad = gap.To - base
	}
	limit := int64(len(s.data))
	if h.Durable >= 0 {
		limit = min(limit, h.Durable-base)
	}
	for from := bad + 1; from < limit; {
		if from, err = s.file.NextData(from); err != nil || from >= limit {
			return 0, false, err
		}
		to := min(from+searchBytes, limit)
		if pos, found, err = s.search(from, to); found || err != nil {
			return pos, found, err
		}
		from = to
	}
	return 0, false, nil
}

// searchBytes is how much is searched before the system is asked again whether
// anything is stored behind.
const searchBytes = 1 << 20

// magicPrefix is what the magics of all records begin with.
var magicPrefix = binary.BigEndian.AppendUint32(nil, message.MagicV1)[:3]

// search tries every place in [from, to) where the magic of a record would stand
// as it should.
func (s *scanner) search(from, to int64) (pos int64, found bool, err error) {
	const magicAt = 4
	end := min(to+magicAt+int64(len(magicPrefix))-1, int64(len(s.data)))
	for pos = from; pos+magicAt < end; pos++ {
		i := bytes.Index(s.data[pos+magicAt:end], magicPrefix)
		if i < 0 {
			break
		}
		pos += int64(i)
		if found, err = s.sound(pos); found || err != nil {
			return pos, found, err
		}
	}
	return 0, false, nil
}

// sound reports whether a record stands at a position.
func (s *scanner) sound(pos int64) (bool, error) {
	_, kind, err := message.Check(s.data[pos:], s.log.checks(s.file.Base()+pos, int64(len(s.data))-pos))
	var bad *message.CheckError
	if kind == message.KindInvalid && !errors.As(err, &bad) {
		return false, err
	}
	return kind == message.KindRecord, nil
}

// checks is what a record at a place must pass. left is the number of bytes
// from there to the end of the file.
func (l *Log) checks(offset, left int64) message.CheckOptions {
	return message.CheckOptions{Checksum: l.opt.Checksum, Position: true, PhysicalOffset: offset, BlankSize: left}
}
