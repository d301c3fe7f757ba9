package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"commitlab/bench/measure"
	"commitlab/engine"
)

// recoverer times how long a store takes to open. An operation is one restart:
//
//	scan the log     as baseline_scan does, over the same files           scan.mib
//	leave it         put the directory into the state of the scenario
//	open             verify, settle, queues, index, dispatch              recover.open
//	close
//
// so that one run tells both, taken in turn. Opening and scanning are also given
// as the time for a MiB of log: recover.mib is what was verified, divided by the
// whole time of opening; the ratio of scan.mib to it is how near opening comes to
// just reading. A MiB in 250 µs is 4.2 GB/s.
//
// The log is warm: Setup has just written it, and every scan reads it. A start of
// a machine, with nothing in memory, waits for the disk in addition.
type recoverer struct {
	filled
	leave func(*recoverer) error
	scan  *logScan
	// checkpoint is what the file said when all was put and the store still open.
	checkpoint []byte

	mu      sync.Mutex
	account recoverAccount // guarded by mu
}

// recoverAccount is the last restart.
type recoverAccount struct {
	engine.Recovery
	LogBytes int64 `json:"logBytes"`
	// ScanBytesPerSecond and OpenBytesPerSecond are the log over the time of the
	// scan, and what was verified over the time of opening.
	ScanBytesPerSecond int64 `json:"scanBytesPerSecond"`
	OpenBytesPerSecond int64 `json:"openBytesPerSecond"`
	// ScanProcessorNs and OpenProcessorNs are the time of all processors that the
	// process used for the two, in nanoseconds. On a busy machine these compare
	// better than the real time, but do not show what is done side by side.
	ScanProcessorNs int64 `json:"scanProcessorNs"`
	OpenProcessorNs int64 `json:"openProcessorNs"`
	// CachedBytes of the log were in the page cache after opening; -1 if the
	// system does not tell.
	CachedBytes int64 `json:"cachedBytes"`
}

func newRecoverer(leave func(*recoverer) error) func(Spec) (measure.Instance, error) {
	return func(spec Spec) (measure.Instance, error) {
		return &recoverer{filled: filled{spec: spec}, leave: leave}, nil
	}
}

// leftClosed leaves the store as Close did.
func leftClosed(*recoverer) error { return nil }

// leftKilled leaves the store as a killed process would: with its abort marker,
// and the checkpoint of the last second.
func leftKilled(r *recoverer) error {
	return errors.Join(
		os.WriteFile(r.path("abort"), nil, 0o644),
		os.WriteFile(r.path("checkpoint"), r.checkpoint, 0o644),
	)
}

// leftBare leaves a killed store with nothing but its log, so that all of it is
// verified and queues and index are built again.
func leftBare(r *recoverer) error {
	return errors.Join(
		os.WriteFile(r.path("abort"), nil, 0o644),
		os.RemoveAll(r.path("checkpoint")),
		os.RemoveAll(r.path("consumequeue")),
		os.RemoveAll(r.path("index")),
	)
}

func (r *recoverer) path(name string) string { return filepath.Join(r.spec.Dir, name) }

// needRecovery makes several log files of the budget, unless their size was set.
func needRecovery(o *engine.Options) error {
	if o.CommitLogFileBytes == 0 {
		o.CommitLogFileBytes = 64 << 20
	}
	return needDispatch(o)
}

// Setup fills a store and closes it.
func (r *recoverer) Setup(ctx context.Context) (err error) {
	if err := r.fill(ctx); err != nil {
		return err
	}
	end := r.end()
	r.thin()
	r.checkpoint, err = os.ReadFile(r.path("checkpoint"))
	if err = errors.Join(err, r.store.Close()); err != nil {
		return err
	}
	r.scan, err = newLogScan(r.spec.Dir, r.spec.Options.CommitLogFileBytes, end)
	return err
}

// Op is one restart.
func (r *recoverer) Op(w *measure.Worker) error {
	used, start := processorNs(), w.Now()
	if err := r.scan.pass(); err != nil {
		return err
	}
	scan, scanUsed := w.Now()-start, processorNs()-used
	w.Observe(opScan, perMiB(scan, r.scan.end))
	if err := r.leave(r); err != nil {
		return err
	}
	used, start = processorNs(), w.Now()
	s, err := engine.Open(r.spec.Dir, r.spec.Options)
	if err != nil {
		return err
	}
	open, openUsed := w.Now()-start, processorNs()-used
	recovery := s.Snapshot().Recovery
	w.Observe(opRecoverOpen, open)
	w.Observe(opRecoverMiB, perMiB(open, recovery.BytesScanned))
	w.Note(noteScanned, recovery.BytesScanned)
	account := recoverAccount{
		Recovery: recovery, LogBytes: r.scan.end, CachedBytes: -1,
		ScanBytesPerSecond: perSecond(r.scan.end, scan), OpenBytesPerSecond: perSecond(recovery.BytesScanned, open),
		ScanProcessorNs: scanUsed, OpenProcessorNs: openUsed,
	}
	if cache, err := s.LogCache(); err == nil {
		account.CachedBytes = cache.CachedPages * int64(os.Getpagesize())
	}
	r.mu.Lock()
	r.account = account
	r.mu.Unlock()
	if recovery.EndOffset != r.scan.end {
		err = fmt.Errorf("%w: the log was found to end at %d, it ends at %d", errAnswer, recovery.EndOffset, r.scan.end)
	}
	return errors.Join(err, s.Close())
}

// noteScanned is the name under which a restart notes how much of the log was
// verified.
const noteScanned = "scannedBytes"

// perMiB is the share of a MiB in a time that n bytes took.
func perMiB(d time.Duration, n int64) time.Duration {
	return time.Duration(float64(d) * (1 << 20) / float64(max(n, 1)))
}

func perSecond(n int64, d time.Duration) int64 {
	return int64(float64(n) / max(d, 1).Seconds())
}

// processorNs is what the process has used so far, user and system; 0 where the
// system does not tell.
func processorNs() int64 {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return used.Utime.Nano() + used.Stime.Nano()
}

// Verify opens the store once more and compares a sample.
func (r *recoverer) Verify(ctx context.Context) (err error) {
	if r.store, err = engine.Open(r.spec.Dir, r.spec.Options); err != nil {
		return err
	}
	return errors.Join(r.filled.Verify(ctx), r.store.Close())
}

// Counters is the account of the last restart.
func (r *recoverer) Counters() any {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.account
}

// Close gives up the file that a scan was interrupted in.
func (r *recoverer) Close() error { return r.scan.close() }
