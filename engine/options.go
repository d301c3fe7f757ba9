package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"time"

	"commitlab/engine/commitlog"
	"commitlab/engine/consumequeue"
	"commitlab/engine/fsutil"
	"commitlab/engine/index"
	"commitlab/engine/message"
	"commitlab/engine/mmap"
	"commitlab/engine/segment"
	"commitlab/engine/stats"
)

// Options are the settings of a store: plain data, the same in Go, in JSON and
// on a command line. The zero value of a field means its default, and all
// defaults together are the configuration that measures best ("tuned").
// Sizes are bytes, times milliseconds, pages 4096 bytes.
type Options struct {
	// CommitLogFileBytes is the size of each commit log file. A directory can
	// only be opened with the size it was made with. Default 1 GiB.
	CommitLogFileBytes int64 `json:"commitLogFileBytes"`
	// MaxBodyBytes limits the body of a message. Default 4 MiB.
	MaxBodyBytes int64 `json:"maxBodyBytes"`
	// AppendCRC "on" ends each record with a checksum over all of it. Default off,
	// with destroy recycle on.
	AppendCRC string `json:"appendCRC"`

	// AppendLock orders appends: "mutex" blocks, "spin" spins and yields.
	AppendLock string `json:"appendLock"`
	// Clock gives the store time: "coarse" is refreshed every millisecond,
	// "exact" reads the system clock for each message.
	Clock string `json:"clock"`
	// PageCacheBusyMs: while one append holds the append lock for longer,
	// others are refused. Default 1000.
	PageCacheBusyMs int64 `json:"pageCacheBusyMs"`

	// Allocate says where the blocks of a new file come from: "fallocate",
	// "zerofill" or "sparse". Default fallocate, with flush sync and syncPath
	// pwrite zerofill.
	Allocate segment.Allocation `json:"allocate"`
	// Preallocate "on" makes the next file while the current one is written.
	Preallocate string `json:"preallocate"`
	// Populate says which pages are made ahead of the writer: "window", "file"
	// or "none". Default window, with syncPath pwrite none.
	Populate segment.Populate `json:"populate"`
	// PopulateWindowBytes is the width of the window. Default 16 MiB.
	PopulateWindowBytes int64 `json:"populateWindowBytes"`
	// WarmUp "touch" stores a byte to every page of a new file.
	WarmUp segment.WarmUp `json:"warmUp"`
	// MemoryLock keeps new files in memory, the current and the next one: "none",
	// "file" or "onfault".
	MemoryLock segment.MemoryLock `json:"memoryLock"`
	// Advise tells the kernel how mappings are used: "normal", "sequential",
	// "random", "willneed" or "hugepage", which holds while a file is written to. Large
	// pages are cheaper to make and to flush, and no call keeps a processor as long as one
	// that reads ahead. But a writer that overtakes the window waits for a whole one, and
	// with flush "sync" a put waits for 2 MiB to be written.
	Advise segment.Advice `json:"advise"`

	// Prefetch "on" has the processor fetch the cache lines of the next record
	// while the caller prepares it. Only for appends through the mapping.
	Prefetch string `json:"prefetch"`

	// Flush says when a put returns: "async" when the message is in the page
	// cache, "sync" when it is durable.
	Flush string `json:"flush"`
	// SyncPath is how bytes become durable: "msync" and "fdatasync" store
	// through the mapping, "pwrite" collects in transient buffers first.
	// Default msync, with flush sync pwrite.
	SyncPath segment.SyncPath `json:"syncPath"`
	// FlushIntervalMs is the pause between asynchronous flushes. Default 500.
	FlushIntervalMs int64 `json:"flushIntervalMs"`
	// FlushLeastPages is how many dirty pages such a flush waits for. Default 4.
	FlushLeastPages int `json:"flushLeastPages"`
	// FlushThoroughIntervalMs: after this time a flush takes what there is.
	// Default 10000.
	FlushThoroughIntervalMs int64 `json:"flushThoroughIntervalMs"`
	// SyncFlushTimeoutMs limits the wait of a put with flush sync. Default 5000.
	SyncFlushTimeoutMs int64 `json:"syncFlushTimeoutMs"`

	// TransientBuffers of TransientBufferBytes each collect appends with
	// syncPath pwrite. Default 4 of 8 MiB, at least one record each.
	TransientBuffers     int   `json:"transientBuffers"`
	TransientBufferBytes int64 `json:"transientBufferBytes"`
	// CommitIntervalMs is the pause between commits of these buffers with flush
	// async. Default 200. CommitLeastPages (4) and CommitThoroughIntervalMs
	// (200) are as for flushes.
	CommitIntervalMs         int64 `json:"commitIntervalMs"`
	CommitLeastPages         int   `json:"commitLeastPages"`
	CommitThoroughIntervalMs int64 `json:"commitThoroughIntervalMs"`

	// Dispatch "on" follows the log and builds consume queues and index, so that
	// messages are found by queue, time and key. With "off" they are only found
	// by physical offset; a later Open with "on" builds what is missing.
	Dispatch string `json:"dispatch"`
	// DispatchAssistBytes: a put that finds more of the log than that undispatched
	// dispatches as much as it put itself, and four records if there are so many, unless
	// it had to wait for the disk. So messages can be found soon even where the dispatcher
	// waits for a processor. With a larger value puts help only a dispatcher that is far
	// behind; what is less waits for it, two milliseconds at most if it has a processor.
	// The study dispatch measures the gain and what puts pay. -1 is never. Default 4 KiB.
	DispatchAssistBytes int64 `json:"dispatchAssistBytes"`
	// ConsumeQueueFileBytes is the size of each consume queue file, rounded up
	// to whole units of 20 bytes. Default 6000000.
	ConsumeQueueFileBytes int64 `json:"consumeQueueFileBytes"`
	// FlushIntervalConsumeQueueMs is the pause between flushes of queues with at
	// least FlushConsumeQueueLeastPages dirty pages; all are flushed every
	// FlushConsumeQueueThoroughIntervalMs. Defaults 1000, 2, 60000.
	FlushIntervalConsumeQueueMs         int64 `json:"flushIntervalConsumeQueueMs"`
	FlushConsumeQueueLeastPages         int   `json:"flushConsumeQueueLeastPages"`
	FlushConsumeQueueThoroughIntervalMs int64 `json:"flushConsumeQueueThoroughIntervalMs"`
	// Index "on" builds the index by key. IndexSlots and IndexItems size its
	// files; defaults 5000000 and 20000000.
	Index      string `json:"index"`
	IndexSlots int    `json:"indexSlots"`
	IndexItems int    `json:"indexItems"`
	// IndexTags "on" enters the tags of each message beside its keys, as RocketMQ
	// does since 5.4, whose consoles search by tags. Default off: 4.x has no such
	// entries, and nothing here reads them.
	IndexTags string `json:"indexTags"`
	// DelayLevels are the delays of delayed messages, level 1 first.
	DelayLevels string `json:"delayLevels"`

	// MaxFilterUnits is how many units one Get looks at. Default 800.
	MaxFilterUnits int `json:"maxFilterUnits"`
	// A Get returns at most so many messages and bytes (32, 256 KiB); if they lie
	// more than InMemoryBytes (40 % of the memory) behind the end of the log and
	// so are likely on disk, 8 and 64 KiB.
	TransferCountInMemory int   `json:"transferCountInMemory"`
	TransferBytesInMemory int64 `json:"transferBytesInMemory"`
	TransferCountOnDisk   int   `json:"transferCountOnDisk"`
	TransferBytesOnDisk   int64 `json:"transferBytesOnDisk"`
	InMemoryBytes         int64 `json:"inMemoryBytes"`
	// ColdRead is how records are read that lie more than ColdAfterBytes (40 % of
	// the memory) behind the end of the log: "populate" makes their pages with a
	// system call first, "fault" touches them, "pread" copies to the heap.
	ColdRead       segment.ColdRead `json:"coldRead"`
	ColdAfterBytes int64            `json:"coldAfterBytes"`

	// Damage says what Open does about bytes in the log that were durable and are
	// no records: "refuse" opens nothing and names them; "skip" leaves them where
	// they are, goes on behind them, and remembers it for the next Open; "truncate"
	// ends the log there, as RocketMQ does, and loses what is behind.
	Damage string `json:"damage"`
	// RecoverFrom says at which log file Open begins to verify the log and to
	// compare queues and index with it: "durable" at the first that may have
	// anything that was not durable, the last three of a store closed in order;
	// "first" at the first file; "rocketmq" by the times of the checkpoint as
	// RocketMQ 4 does, "rocketmq5" as RocketMQ 5.3.2 and later do. The last two
	// may leave messages out of queues and index that only the log has.
	RecoverFrom string `json:"recoverFrom"`
	// MessageIndexSafe "off" lets those two begin without regard to how far the
	// index is durable.
	MessageIndexSafe string `json:"messageIndexSafe"`
	// RecoveryWorkers is how many log files Open verifies at a time. Default
	// GOMAXPROCS.
	RecoveryWorkers int `json:"recoveryWorkers"`
	// Progress, if not nil, is told by Open how far it is, several times a second
	// at most and never concurrently. It must not call the store.
	Progress func(RecoveryProgress) `json:"-"`
	// Readable, if not nil, is told that the messages below a log offset can be found by
	// queue and key, for each few of them, in order and never concurrently, by the
	// goroutine that dispatched them: the dispatcher's or that of a put. It must return at
	// once, not call the store and take no lock that is held across a Put: dispatch waits
	// for it. Of what Open dispatches it is told nothing.
	Readable func(offset int64) `json:"-"`
	// FileReservedMs is how long records are kept: a commit log file goes when its
	// newest record is older. Default 72 h. The file that is written never goes. Time
	// that passed while the store was not open, and what the clock was set forward,
	// counts an hour later, lest a clock that is wrong for a while deletes everything;
	// a clock that stays wrong does.
	FileReservedMs int64 `json:"fileReservedMs"`
	// DeleteWhen are the hours of the day, local time, in which expired files go:
	// numbers from 0 to 23 separated by semicolons. Default "04". Where the disk is
	// fuller than DiskMaxUsedPercent they go at any hour.
	DeleteWhen string `json:"deleteWhen"`
	// MaxLogBytes: while the commit log is larger its oldest files go, expired or
	// not. 0 is no such limit; else it is at least CommitLogFileBytes.
	MaxLogBytes int64 `json:"maxLogBytes"`
	// The disk is judged by the percentage in use, as df computes it. Above
	// DiskMaxUsedPercent (75) expired files go at any hour; above
	// DiskCleanForciblyPercent (85) files go that have not expired, oldest first, if
	// CleanFileForcibly is "on"; above DiskWarningPercent (90) puts are refused,
	// until it is DiskCleanForciblyPercent or less.
	DiskMaxUsedPercent       int    `json:"diskMaxUsedPercent"`
	DiskCleanForciblyPercent int    `json:"diskCleanForciblyPercent"`
	DiskWarningPercent       int    `json:"diskWarningPercent"`
	CleanFileForcibly        string `json:"cleanFileForcibly"`
	// CleanIntervalMs is the time between two cleaning passes, and between two looks
	// at the disk. Default 10000. A pass deletes at most DeleteFileBatch (10) files
	// of the commit log, DeleteFileIntervalMs (100) apart.
	CleanIntervalMs      int64 `json:"cleanIntervalMs"`
	DeleteFileBatch      int   `json:"deleteFileBatch"`
	DeleteFileIntervalMs int64 `json:"deleteFileIntervalMs"`
	// DestroyForceMs: a deleted file that readers hold keeps its disk space so long;
	// then its pages are exchanged for zeros. Default 120000.
	DestroyForceMs int64 `json:"destroyForceMs"`
	// RetryHangedMs is the time between attempts at a file that could not be removed.
	// Default 120000.
	RetryHangedMs int64 `json:"retryHangedMs"`
	// Destroy says how deleted files are taken down: "inline", "background",
	// "stepwise", "punch" or "recycle". Default background.
	Destroy segment.Destruction `json:"destroy"`
	// DestroyBytesPerSecond limits how fast disk space is freed, except with destroy
	// inline. Default 256 MiB with destroy stepwise and punch, else no limit. While 32
	// files wait for it no file of the log is deleted.
	DestroyBytesPerSecond int64 `json:"destroyBytesPerSecond"`
	// Compatible "strict" keeps from what a RocketMQ store could take for records of
	// its own if it opened the directory, also after a crash: destroy recycle becomes
	// background. Default loose.
	Compatible string `json:"compatible"`

	// Logger gets warnings. Default slog.Default().
	Logger *slog.Logger `json:"-"`
	// Mapper and Disk replace the operating system in tests.
	Mapper mmap.Mapper  `json:"-"`
	Disk   segment.Disk `json:"-"`
	// OnDestroy, if not nil, is told of each step of taking a file down, by the
	// goroutine that took it. It must not block.
	OnDestroy func(segment.DestroyStep) `json:"-"`
	// DiskUsage replaces the operating system in tests.
	DiskUsage func(path string) (fsutil.DiskUsage, error) `json:"-"`
	// MapCountLimit replaces the operating system in tests: how many mappings a
	// process may have.
	MapCountLimit func() (int, error) `json:"-"`
}

// Values of the options that are not types of package segment.
const (
	LockMutex   = "mutex"
	LockSpin    = "spin"
	ClockCoarse = "coarse"
	ClockExact  = "exact"
	FlushAsync  = "async"
	FlushSync   = "sync"
	On          = "on"
	Off         = "off"
	Loose       = "loose"
	Strict      = "strict"
)

// ErrOption is wrapped by every complaint about an option.
var ErrOption = errors.New("bad option")

// Resolve returns o with all defaults filled in. It reports every bad value,
// joined in one error; the result is then not usable.
func (o Options) Resolve() (Options, error) {
	r := &resolver{}
	r.size("commitLogFileBytes", &o.CommitLogFileBytes, 1<<30, 4096, 1<<31-1)
	r.size("maxBodyBytes", &o.MaxBodyBytes, message.DefaultMaxBodyBytes, 1, 1<<30)
	checksums := []string{Off, On}
	if o.Destroy == segment.DestroyRecycle && o.Compatible != Strict {
		slices.Reverse(checksums)
	}
	resolve(r, "appendCRC", &o.AppendCRC, checksums...)
	resolve(r, "appendLock", &o.AppendLock, LockMutex, LockSpin)
	resolve(r, "clock", &o.Clock, ClockCoarse, ClockExact)
	r.size("pageCacheBusyMs", &o.PageCacheBusyMs, 1000, 1, 1<<40)

	resolve(r, "flush", &o.Flush, FlushAsync, FlushSync)
	// How records become durable decides what a file should be made of.
	paths := []segment.SyncPath{segment.SyncMsync, segment.SyncFdatasync, segment.SyncPwrite}
	if o.Flush == FlushSync {
		paths = []segment.SyncPath{segment.SyncPwrite, segment.SyncMsync, segment.SyncFdatasync}
	}
	resolve(r, "syncPath", &o.SyncPath, paths...)
	allocations := []segment.Allocation{segment.Fallocate, segment.ZeroFill, segment.Sparse}
	populates := []segment.Populate{segment.PopulateWindow, segment.PopulateFile, segment.PopulateNone}
	if o.SyncPath == segment.SyncPwrite {
		slices.Reverse(populates)
		if o.Flush == FlushSync {
			allocations = []segment.Allocation{segment.ZeroFill, segment.Fallocate, segment.Sparse}
		}
	}
	resolve(r, "allocate", &o.Allocate, allocations...)
	resolve(r, "preallocate", &o.Preallocate, On, Off)
	resolve(r, "populate", &o.Populate, populates...)
	r.size("populateWindowBytes", &o.PopulateWindowBytes, 16<<20, segment.WindowStepBytes, 1<<31)
	resolve(r, "warmUp", &o.WarmUp, segment.WarmUpNone, segment.WarmUpTouch)
	resolve(r, "memoryLock", &o.MemoryLock, segment.LockNone, segment.LockFile, segment.LockOnFault)
	resolve(r, "advise", &o.Advise, segment.AdviseNormal, segment.AdviseSequential, segment.AdviseRandom, segment.AdviseWillNeed, segment.AdviseHugePage)

	resolve(r, "prefetch", &o.Prefetch, On, Off)

	r.size("flushIntervalMs", &o.FlushIntervalMs, 500, 1, 1<<40)
	r.count("flushLeastPages", &o.FlushLeastPages, 4, 1)
	r.size("flushThoroughIntervalMs", &o.FlushThoroughIntervalMs, 10_000, 1, 1<<40)
	r.size("syncFlushTimeoutMs", &o.SyncFlushTimeoutMs, 5_000, 1, 1<<40)

	record := min(o.MaxBodyBytes+recordOverheadBytes, o.CommitLogFileBytes)
	r.count("transientBuffers", &o.TransientBuffers, 4, 2)
	r.size("transientBufferBytes", &o.TransientBufferBytes, max(8<<20, record), record, 1<<31)
	r.size("commitIntervalMs", &o.CommitIntervalMs, 200, 1, 1<<40)
	r.count("commitLeastPages", &o.CommitLeastPages, 4, 1)
	r.size("commitThoroughIntervalMs", &o.CommitThoroughIntervalMs, 200, 1, 1<<40)

	resolve(r, "dispatch", &o.Dispatch, On, Off)
	r.size("dispatchAssistBytes", &o.DispatchAssistBytes, 4<<10, -1, 1<<40)
	r.size("consumeQueueFileBytes", &o.ConsumeQueueFileBytes, 300_000*consumequeue.UnitBytes, consumequeue.UnitBytes, 1<<31-consumequeue.UnitBytes)
	o.ConsumeQueueFileBytes = (o.ConsumeQueueFileBytes + consumequeue.UnitBytes - 1) / consumequeue.UnitBytes * consumequeue.UnitBytes
	r.size("flushIntervalConsumeQueueMs", &o.FlushIntervalConsumeQueueMs, 1000, 1, 1<<40)
	r.count("flushConsumeQueueLeastPages", &o.FlushConsumeQueueLeastPages, 2, 1)
	r.size("flushConsumeQueueThoroughIntervalMs", &o.FlushConsumeQueueThoroughIntervalMs, 60_000, 1, 1<<40)
	resolve(r, "index", &o.Index, On, Off)
	resolve(r, "indexTags", &o.IndexTags, Off, On)
	r.count("indexSlots", &o.IndexSlots, index.DefaultSlots, 1)
	r.count("indexItems", &o.IndexItems, index.DefaultItems, 2)
	if o.DelayLevels == "" {
		o.DelayLevels = message.DefaultDelayLevels
	}
	r.count("maxFilterUnits", &o.MaxFilterUnits, 800, 1)
	r.count("transferCountInMemory", &o.TransferCountInMemory, 32, 1)
	r.size("transferBytesInMemory", &o.TransferBytesInMemory, 256<<10, 1, 1<<40)
	r.count("transferCountOnDisk", &o.TransferCountOnDisk, 8, 1)
	r.size("transferBytesOnDisk", &o.TransferBytesOnDisk, 64<<10, 1, 1<<40)
	likelyCached := max(mmap.PhysicalMemory()/100*40, 1<<30)
	r.size("inMemoryBytes", &o.InMemoryBytes, likelyCached, 1, 1<<50)
	resolve(r, "coldRead", &o.ColdRead, segment.ColdPopulate, segment.ColdFault, segment.ColdPread)
	r.size("coldAfterBytes", &o.ColdAfterBytes, likelyCached, 1, 1<<50)

	resolve(r, "damage", &o.Damage, DamageRefuse, DamageSkip, DamageTruncate)
	resolve(r, "recoverFrom", &o.RecoverFrom, RecoverDurable, RecoverFirst, RecoverRocketMQ, RecoverRocketMQ5)
	resolve(r, "messageIndexSafe", &o.MessageIndexSafe, On, Off)
	r.count("recoveryWorkers", &o.RecoveryWorkers, runtime.GOMAXPROCS(0), 1)
	o.resolveRetention(r)

	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Mapper == nil {
		o.Mapper = mmap.OS
	}
	if o.Disk == nil {
		o.Disk = segment.OSDisk{}
	}
	return o, errors.Join(r.problems...)
}

// recordOverheadBytes is how much larger than its body a record may be.
const recordOverheadBytes = 64 << 10

// A resolver fills in defaults and collects complaints.
type resolver struct{ problems []error }

func (r *resolver) complain(name string, got any, want string) {
	r.problems = append(r.problems, fmt.Errorf("%w %s: got %v, expected %s", ErrOption, name, got, want))
}

// size resolves a number of bytes or milliseconds.
func (r *resolver) size(name string, v *int64, byDefault, least, most int64) {
	if *v == 0 {
		*v = byDefault
	}
	if *v < least || *v > most {
		r.complain(name, *v, fmt.Sprintf("%d to %d", least, most))
	}
}

func (r *resolver) count(name string, v *int, byDefault, least int) {
	if *v == 0 {
		*v = byDefault
	}
	if *v < least {
		r.complain(name, *v, fmt.Sprintf("at least %d", least))
	}
}

// resolve resolves one of several words; the first is the default.
func resolve[T ~string](r *resolver, name string, v *T, words ...T) {
	if *v == "" {
		*v = words[0]
	}
	if !slices.Contains(words, *v) {
		list := make([]string, len(words))
		for i, w := range words {
			list[i] = string(w)
		}
		r.complain(name, *v, strings.Join(list, ", "))
	}
}

// ms is a duration in milliseconds.
func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// commitLog returns the part of resolved options that the commit log needs.
func (o Options) commitLog(optional *stats.Optional, reaper *segment.Reaper) commitlog.Options {
	checksum := message.ChecksumBody
	if o.AppendCRC == On {
		checksum = message.ChecksumStrongest
	}
	advise, writing := o.Advise, segment.Advice("")
	if advise == segment.AdviseHugePage { // good for what is written; a cold read of a record needs no 2 MiB
		advise, writing = segment.AdviseNormal, advise
	}
	return commitlog.Options{
		Files: segment.Options{
			FileBytes: o.CommitLogFileBytes, Allocate: o.Allocate, Populate: o.Populate, WindowBytes: o.PopulateWindowBytes,
			WarmUp: o.WarmUp, MemoryLock: o.MemoryLock, Advise: advise, Writing: writing, Prefetch: o.Prefetch == On,
			Mapper: o.Mapper, Disk: o.Disk, Optional: optional, Reaper: reaper,
		},
		Checksum: checksum,
		SpinLock: o.AppendLock == LockSpin, ExactClock: o.Clock == ClockExact, BusyAfter: ms(o.PageCacheBusyMs),
		Preallocate: o.Preallocate == On,
		SyncPath:    o.SyncPath, BufferCount: o.TransientBuffers, BufferBytes: o.TransientBufferBytes,
		GroupSync:     o.Flush == FlushSync,
		FlushInterval: ms(o.FlushIntervalMs), FlushLeastPages: o.FlushLeastPages, FlushThorough: ms(o.FlushThoroughIntervalMs),
		CommitInterval: ms(o.CommitIntervalMs), CommitLeastPages: o.CommitLeastPages, CommitThorough: ms(o.CommitThoroughIntervalMs),
		ColdRead: o.ColdRead, ColdAfterBytes: o.ColdAfterBytes,
		Logger: o.Logger,
	}
}

// derivedFiles describes the files of queues and index: real blocks, so that a
// full disk is an error, and pages made as they are needed, one at a time: the writer
// that waits for a page waits for no others.
func (o Options) derivedFiles(optional *stats.Optional, reaper *segment.Reaper) segment.Options {
	return segment.Options{
		Allocate: segment.Fallocate, Populate: segment.PopulateNone, WarmUp: segment.WarmUpNone,
		MemoryLock: segment.LockNone, Advise: segment.AdviseNormal, Writing: segment.AdviseRandom, SyncLater: true,
		Mapper: o.Mapper, Disk: o.Disk, Optional: optional, Reaper: reaper,
	}
}

// consumeQueue returns the part of resolved options that consume queues need.
func (o Options) consumeQueue(optional *stats.Optional, reaper *segment.Reaper, clean bool) consumequeue.Options {
	files := o.derivedFiles(optional, reaper)
	files.FileBytes, files.Unclean = o.ConsumeQueueFileBytes, !clean
	return consumequeue.Options{Files: files, SyncPath: segment.SyncMsync, Clean: clean, Logger: o.Logger}
}

// index returns the part of resolved options that the index needs. Its slots and items
// are read in no order, a page of the file for each, so that with small pages a search
// waits for the translation of the address as well as for the memory: a sixth of its
// whole time, with some hundred thousand keys. Large ones cost little: slots are
// used all over their 20 MB soon, and items from their beginning on. Whoever dispatches
// waits for one now and then.
func (o Options) index(optional *stats.Optional, reaper *segment.Reaper, clean bool, durableMs int64, wake func()) index.Options {
	files := o.derivedFiles(optional, reaper)
	files.Advise, files.Writing, files.Unclean = segment.AdviseHugePage, "", !clean
	return index.Options{
		Slots: o.IndexSlots, Items: o.IndexItems, Files: files,
		Unclean: !clean, DurableMs: durableMs, Wake: wake, Logger: o.Logger,
	}
}
