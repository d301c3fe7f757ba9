package torture

import (
	"fmt"
	"io"
	"log/slog"

	"commitlab/engine"
	"commitlab/engine/segment"
)

// A set is a named set of engine options.
type set struct {
	name    string
	destroy segment.Destruction // used where old files are deleted
	options engine.Options
}

// sets are the option sets, one for each round in turn: every flush mode, and
// every way in which files are made and filled.
var sets = []set{
	{"async-msync", segment.DestroyBackground, engine.Options{Flush: engine.FlushAsync, SyncPath: segment.SyncMsync, DispatchAssistBytes: 1}},
	{"sync-pwrite", segment.DestroyRecycle, engine.Options{Flush: engine.FlushSync, SyncPath: segment.SyncPwrite}},
	{"async-transient", segment.DestroyRecycle, engine.Options{Flush: engine.FlushAsync, SyncPath: segment.SyncPwrite}},
	{"sync-msync-crc", segment.DestroyPunch, engine.Options{Flush: engine.FlushSync, SyncPath: segment.SyncMsync, AppendCRC: engine.On}},
	{"async-fdatasync-crc", segment.DestroyInline, engine.Options{
		Flush: engine.FlushAsync, SyncPath: segment.SyncFdatasync, AppendCRC: engine.On,
		AppendLock: engine.LockSpin, Clock: engine.ClockExact, Populate: segment.PopulateFile, DispatchAssistBytes: -1,
	}},
	{"sync-fdatasync", segment.DestroyStepwise, engine.Options{
		Flush: engine.FlushSync, SyncPath: segment.SyncFdatasync, Preallocate: engine.Off, Populate: segment.PopulateNone, DispatchAssistBytes: 1,
	}},
	{"async-transient-sparse", segment.DestroyBackground, engine.Options{
		Flush: engine.FlushAsync, SyncPath: segment.SyncPwrite, Allocate: segment.Sparse, AppendCRC: engine.On,
	}},
	{"sync-msync-warm", segment.DestroyRecycle, engine.Options{
		Flush: engine.FlushSync, SyncPath: segment.SyncMsync, Allocate: segment.ZeroFill,
		WarmUp: segment.WarmUpTouch, Populate: segment.PopulateNone, ColdRead: segment.ColdPread, ColdAfterBytes: 1 << 16,
	}},
}

// delayLevels of every store: due at once, and after a second.
const delayLevels = "0s 1s"

// optionsOf returns the options of a set. The sizes of files are the seed's,
// because a directory keeps them: small, so that files roll all the time. With
// maxLogBytes old files are deleted, in the way of the set.
func optionsOf(name string, seed uint64, maxLogBytes int64) (engine.Options, error) {
	for _, s := range sets {
		if s.name != name {
			continue
		}
		o := s.options
		o.CommitLogFileBytes = 64 << 10 << (seed % 3)
		o.MaxBodyBytes = 24 << 10
		o.ConsumeQueueFileBytes = 20 * int64(100+seed%50) // bytes of a unit
		o.IndexSlots, o.IndexItems = 500, 2000+int(seed%1000)
		o.DelayLevels = delayLevels
		o.FlushIntervalMs, o.FlushLeastPages, o.FlushThoroughIntervalMs = 5, 2, 50
		o.CommitIntervalMs, o.CommitLeastPages, o.CommitThoroughIntervalMs = 5, 2, 20
		o.FlushIntervalConsumeQueueMs, o.FlushConsumeQueueLeastPages, o.FlushConsumeQueueThoroughIntervalMs = 20, 1, 100
		o.TransientBuffers, o.TransientBufferBytes = 6, o.CommitLogFileBytes
		// A process that stands still for a while on a busy machine is no fault.
		o.PageCacheBusyMs, o.SyncFlushTimeoutMs = 60_000, 60_000
		o.MaxLogBytes, o.Destroy = maxLogBytes, s.destroy
		o.CleanIntervalMs, o.DeleteFileIntervalMs = 20, 1
		// Nothing is deleted because the disk is full.
		o.CleanFileForcibly = engine.Off
		o.DiskMaxUsedPercent, o.DiskCleanForciblyPercent, o.DiskWarningPercent = 100, 100, 100
		// What the store warns of is expected here; what it does is checked.
		o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
		return o, nil
	}
	return engine.Options{}, fmt.Errorf("torture: no option set %q", name)
}
