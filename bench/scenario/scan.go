package scenario

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"

	"commitlab/bench/measure"
	"commitlab/engine"
	"commitlab/engine/mmap"
)

// logScan reads a commit log in sequence and takes the CRC of every byte: the
// least that recovery could do which verifies it. It maps file after file, as
// recovery does, so the page faults of a fresh mapping are part of it, and knows
// nothing of records. It uses one processor.
//
// The log is warm, that is, in the page cache: it has just been written. What the
// disk would add is not measured, here or in recovery.
type logScan struct {
	files     []string // oldest first
	fileBytes int64
	end       int64 // bytes of the log; the rest of the last file is not read
	sums      []uint32

	at     int64 // next byte
	file   *os.File
	region mmap.Region // of the file that holds at; nil between files
}

// scanStepBytes is what one operation of a scan reads.
const scanStepBytes = 1 << 20

// newLogScan scans the log of a store that is closed and ends at an offset, once,
// to know the CRC of each step.
func newLogScan(dir string, fileBytes, end int64) (*logScan, error) {
	l := &logScan{fileBytes: fileBytes, end: end}
	for base := int64(0); base < end; base += fileBytes {
		l.files = append(l.files, filepath.Join(dir, "commitlog", fmt.Sprintf("%020d", base)))
	}
	for l.sums == nil || l.at > 0 {
		sum, err := l.step()
		if err != nil {
			return nil, err
		}
		l.sums = append(l.sums, sum)
	}
	return l, nil
}

// step reads up to scanStepBytes and returns their CRC. Behind the last byte it
// begins again.
func (l *logScan) step() (sum uint32, err error) {
	if l.region == nil {
		if err := l.open(); err != nil {
			return 0, err
		}
	}
	pos := l.at % l.fileBytes
	n := min(scanStepBytes, l.fileBytes-pos, l.end-l.at)
	err = mmap.Guard(func() error {
		sum = crc32.ChecksumIEEE(l.region.Bytes()[pos : pos+n])
		return nil
	})
	if l.at += n; l.at == l.end || l.at%l.fileBytes == 0 {
		err = errors.Join(err, l.close())
	}
	if l.at == l.end {
		l.at = 0
	}
	return sum, err
}

func (l *logScan) open() (err error) {
	if l.file, err = os.Open(l.files[l.at/l.fileBytes]); err != nil {
		return err
	}
	l.region, err = mmap.OS.Map(l.file, l.fileBytes, mmap.ReadOnly)
	return err
}

// close gives up what is open, if anything is.
func (l *logScan) close() error {
	var errs []error
	if l.region != nil {
		errs = append(errs, l.region.Unmap())
	}
	if l.file != nil {
		errs = append(errs, l.file.Close())
	}
	l.region, l.file = nil, nil
	return errors.Join(errs...)
}

// check reads the step at hand and compares its CRC with that of the first time.
func (l *logScan) check() error {
	at := l.at
	sum, err := l.step()
	if err != nil {
		return err
	}
	// Steps end with their file, so they are numbered by file and place in it.
	steps := (l.fileBytes + scanStepBytes - 1) / scanStepBytes
	if want := l.sums[at/l.fileBytes*steps+at%l.fileBytes/scanStepBytes]; sum != want {
		return fmt.Errorf("%w: the log from offset %d on has CRC %08x, had %08x", errAnswer, at, sum, want)
	}
	return nil
}

// pass reads the whole log.
func (l *logScan) pass() error {
	for {
		if err := l.check(); err != nil || l.at == 0 {
			return err
		}
	}
}

// baselineScan times the steps of a scan of a log that the engine wrote.
type baselineScan struct {
	filled
	scan *logScan
}

func newBaselineScan(spec Spec) (measure.Instance, error) {
	return &baselineScan{filled: filled{spec: spec}}, nil
}

// Setup fills a store and closes it.
func (b *baselineScan) Setup(ctx context.Context) (err error) {
	if err := b.fill(ctx); err != nil {
		return err
	}
	end := b.end()
	b.thin()
	if err := b.store.Close(); err != nil {
		return err
	}
	b.scan, err = newLogScan(b.spec.Dir, b.spec.Options.CommitLogFileBytes, end)
	return err
}

// Op reads the next MiB.
func (b *baselineScan) Op(*measure.Worker) error { return b.scan.check() }

// Verify opens the store and compares a sample.
func (b *baselineScan) Verify(ctx context.Context) (err error) {
	if b.store, err = engine.Open(b.spec.Dir, b.spec.Options); err != nil {
		return err
	}
	return errors.Join(b.filled.Verify(ctx), b.store.Close())
}

// Counters is nil: no store is open.
func (b *baselineScan) Counters() any { return nil }

// Close gives up the file that the scan is in.
func (b *baselineScan) Close() error { return b.scan.close() }

// end is the offset behind the last message of a filled store.
func (f *filled) end() int64 {
	last := slices.MaxFunc(f.put, func(a, b stored) int { return int(a.offset - b.offset) })
	return last.offset + int64(last.size)
}
