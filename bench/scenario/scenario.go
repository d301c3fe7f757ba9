package scenario

import (
	"errors"
	"fmt"
	"strings"

	"commitlab/bench/measure"
	"commitlab/bench/workload"
	"commitlab/engine"
	"commitlab/engine/segment"
)

// Names of the operations that scenarios time.
const (
	opAppend = "append" // one Put
	opRoll   = "roll"   // a Put that went to a new file
	opWrite  = "write"  // one record of a baseline
	opLookup = "lookup" // one message by key, copied
	opGet    = "get"    // neighbouring messages of a queue

	opTurn    = "turn"     // a read, and now and then the eviction of the log before it
	opRead    = "read"     // one message by key from a cold log, copied
	opTicker  = "ticker"   // how late a goroutine is that is due every millisecond
	opMix     = "mix"      // a put, and now and then a lookup
	opTailGet = "tail_get" // what has come at the end of a queue

	opFollow   = "follow"   // a put and a look at what has become readable
	opReadable = "readable" // from the start of a put until its message is found
	opDispatch = "dispatch" // from the return of a put until its message is found; one in many is followed
	opRound    = "round"    // files filled, flushed and taken down
	opExpire   = "expire"   // from the call that deletes them until they are gone

	opRebuild         = "rebuild"          // a restart that builds queues and index anew
	opDispatchMessage = "dispatch_message" // the share of one message in the dispatch of a rebuild
	opRebuildMiB      = "rebuild.mib"      // the share of one MiB of log in the opening that builds them

	opRestart     = "restart"      // one scan of the log, one opening and closing of the store
	opRecoverOpen = "recover.open" // the opening
	opRecoverMiB  = "recover.mib"  // the share of one MiB of verified log in it
	opScan        = "scan.mib"     // one MiB of log read and its CRC taken
)

// noteOffset is the name under which an append notes its physical offset.
const noteOffset = "offset"

// errVolumeFull ends a run in order: its byte budget is used.
var errVolumeFull = fmt.Errorf("%w: byte budget used", measure.ErrEnd)

// Spec is one run of a scenario, without its schedule.
type Spec struct {
	// Options are those of the configuration under test, with what the scenario
	// needs put over them. Baselines take the file size from them.
	Options engine.Options `json:"-"`
	// Dir is an empty directory, or none yet, for the run alone. The scenario
	// leaves its files there.
	Dir      string        `json:"-"`
	Workload workload.Spec `json:"workload"`
	// Writers is the number of workers that call Op; 0 means the scenario's
	// default.
	Writers int `json:"writers"`
	// MaxBytes is the byte budget of the run; 0 means the scenario's default.
	// The store may have one file more than that on disk.
	MaxBytes int64 `json:"maxBytes"`
}

// Scenario is something that can be measured.
type Scenario struct {
	Name string
	Doc  string // one line
	// Ops are the operations that are timed: first that of Op itself, then what
	// is observed within.
	Ops []string
	// Primary is the operation the scenario is about, one of Ops.
	Primary string
	// Bystanders are those of Ops that are compared inside and outside of what
	// the scenario reports as a disturbance.
	Bystanders []string
	// Writers and MaxBytes are the defaults of Spec.
	Writers  int
	MaxBytes int64
	// Engine says that a store is measured; a baseline has none and knows of a
	// configuration only the file size.
	Engine bool
	// Reads says that MaxBytes are what an operation reads from, or fills anew, and
	// not what all of them write, so that a run ends by time or count alone.
	Reads bool
	// Rolling says that old files are taken down while it runs, so that MaxBytes
	// is what is written and not what lies on the disk at a time.
	Rolling bool
	// Slow says that one operation takes about a second, so that counting many of
	// them is no use: benchmarks leave it to the load generator.
	Slow bool
	// OpBytes is how much an operation reads; 0 means one record.
	OpBytes int64
	// New makes an instance for a resolved spec.
	New func(Spec) (measure.Instance, error)

	needs      func(*engine.Options) error // fills in what the scenario needs; nil for nothing
	durability func(engine.Options) string
}

// All lists the scenarios in the order in which they are shown.
var All = []Scenario{
	{
		Name:    "append",
		Doc:     "put messages; the store flushes in the background; no dispatch unless set",
		Ops:     []string{opAppend},
		Primary: opAppend, Writers: 1, MaxBytes: 4 << 30, Engine: true,
		New:        func(s Spec) (measure.Instance, error) { return newAppender(s) },
		needs:      func(o *engine.Options) error { return needLog(o, engine.FlushAsync) },
		durability: engineDurability,
	},
	{
		Name:    "append_sync",
		Doc:     "put messages; each put returns when its message is on disk; no dispatch unless set",
		Ops:     []string{opAppend},
		Primary: opAppend, Writers: 64, MaxBytes: 2 << 30, Engine: true,
		New:        func(s Spec) (measure.Instance, error) { return newAppender(s) },
		needs:      func(o *engine.Options) error { return needLog(o, engine.FlushSync) },
		durability: engineDurability,
	},
	{
		Name:    "roll",
		Doc:     "put messages into 4 MiB files; the puts that open a new file are timed apart",
		Ops:     []string{opAppend, opRoll},
		Primary: opRoll, Writers: 1, MaxBytes: 2 << 30, Engine: true,
		New: func(s Spec) (measure.Instance, error) {
			a, err := newAppender(s)
			return roller{a}, err
		},
		needs:      smallFiles,
		durability: engineDurability,
	},
	{
		Name:    "dispatch",
		Doc:     "put messages and time until each is found by queue and key",
		Ops:     []string{opFollow, opAppend, opReadable},
		Primary: opReadable, Writers: 1, MaxBytes: 2 << 30, Engine: true,
		New:        newFollower,
		needs:      needDispatch,
		durability: engineDurability,
	},
	{
		Name:    "dispatch_rebuild",
		Doc:     "restart a store without queues and index: they are built from the log",
		Ops:     []string{opRebuild, opDispatchMessage, opRebuildMiB},
		Primary: opDispatchMessage, Writers: 1, MaxBytes: 1 << 30, Engine: true, Reads: true, Slow: true,
		New:        newRebuilder,
		needs:      needDispatch,
		durability: engineDurability,
	},
	{
		Name:    "recover",
		Doc:     "open a store that was closed in order; beside it a scan of its log",
		Ops:     recoverOps,
		Primary: opRecoverMiB, Writers: 1, MaxBytes: 512 << 20, Engine: true, Reads: true, Slow: true,
		New:        newRecoverer(leftClosed),
		needs:      needRecovery,
		durability: readOnly,
	},
	{
		Name:    "recover_killed",
		Doc:     "the same after a kill: from the checkpoint on everything is looked at again",
		Ops:     recoverOps,
		Primary: opRecoverMiB, Writers: 1, MaxBytes: 512 << 20, Engine: true, Reads: true, Slow: true,
		New:        newRecoverer(leftKilled),
		needs:      needRecovery,
		durability: readOnly,
	},
	{
		Name:    "recover_bare",
		Doc:     "the same after a kill with nothing left but the log: queues and index are built again",
		Ops:     recoverOps,
		Primary: opRecoverMiB, Writers: 1, MaxBytes: 512 << 20, Engine: true, Reads: true, Slow: true,
		New:        newRecoverer(leftBare),
		needs:      needRecovery,
		durability: readOnly,
	},
	{
		Name:    "lookup",
		Doc:     "find one message by its unique key, any of those stored, and copy it",
		Ops:     []string{opLookup},
		Primary: opLookup, Writers: 1, MaxBytes: 1200 << 20, Engine: true, Reads: true,
		New:        newLookup(askUniform),
		needs:      needDispatch,
		durability: readOnly,
	},
	{
		Name:    "lookup_hot",
		Doc:     "the same with a few keys asked for most of the time",
		Ops:     []string{opLookup},
		Primary: opLookup, Writers: 1, MaxBytes: 1200 << 20, Engine: true, Reads: true,
		New:        newLookup(askHot),
		needs:      needDispatch,
		durability: readOnly,
	},
	{
		Name:    "lookup_miss",
		Doc:     "the same with keys that nobody stored",
		Ops:     []string{opLookup},
		Primary: opLookup, Writers: 1, MaxBytes: 1200 << 20, Engine: true, Reads: true,
		New:        newLookup(askMiss),
		needs:      needDispatch,
		durability: readOnly,
	},
	{
		Name:    "lookup_cold",
		Doc:     "the same from a log that is kept out of the page cache; a 1 ms ticker beside it",
		Ops:     []string{opTurn, opRead, opTicker},
		Primary: opRead, Writers: 64, MaxBytes: 2 << 30, Engine: true, Reads: true,
		New:        newColdLookup,
		needs:      needCold,
		durability: readOnly,
	},
	{
		Name:    "get",
		Doc:     "read up to 32 neighbouring messages of a queue from a random offset on",
		Ops:     []string{opGet},
		Primary: opGet, Writers: 1, MaxBytes: 1200 << 20, Engine: true, Reads: true,
		New:        newGetter,
		needs:      needDispatch,
		durability: readOnly,
	},
	{
		Name:    "mixed",
		Doc:     "put and dispatch messages, with a reader at the end of each queue and a lookup every 16 puts",
		Ops:     []string{opMix, opAppend, opTailGet, opLookup},
		Primary: opAppend, Writers: 1, MaxBytes: 2 << 30, Engine: true,
		New:        newMixer,
		needs:      needDispatch,
		durability: engineDurability,
	},
	{
		Name:    "destroy",
		Doc:     "fill files of 256 MiB and take them down; each step of it is timed; readers may hold them (--pressure held-readers)",
		Ops:     append([]string{opRound, opExpire}, destroyOps...),
		Primary: opExpire, Writers: 1, MaxBytes: 512 << 20, Engine: true, Reads: true, Slow: true,
		New:        newDestroyer,
		needs:      needDestroy,
		durability: engineDurability,
	},
	{
		Name:       "retention",
		Doc:        "put and dispatch into a log of four files of 64 MiB, so that files are made and destroyed all the time; lookups beside",
		Ops:        append([]string{opAppend, opRoll, opDispatch, opLookup}, destroyOps...),
		Bystanders: []string{opAppend, opDispatch, opLookup},
		Primary:    opAppend, Writers: 1, MaxBytes: 16 << 30, Engine: true, Rolling: true,
		New:        newRetainer,
		needs:      func(o *engine.Options) error { return needRolling(o, engine.FlushAsync) },
		durability: engineDurability,
	},
	{
		Name:       "retention_sync",
		Doc:        "the same with puts that return when their message is on disk",
		Ops:        append([]string{opAppend, opRoll, opDispatch, opLookup}, destroyOps...),
		Bystanders: []string{opAppend, opDispatch, opLookup},
		Primary:    opAppend, Writers: 64, MaxBytes: 4 << 30, Engine: true, Rolling: true,
		New:        newRetainer,
		needs:      func(o *engine.Options) error { return needRolling(o, engine.FlushSync) },
		durability: engineDurability,
	},
	{
		Name:    "baseline_map",
		Doc:     "limit of lookup: a Go map from key to offset and the same copy",
		Ops:     []string{opLookup},
		Primary: opLookup, Writers: 1, MaxBytes: 1200 << 20, Reads: true,
		New:        newBaselineMap,
		needs:      needDispatch,
		durability: readOnly,
	},
	{
		Name:    "baseline_scan",
		Doc:     "limit of recover: the log read in sequence from the page cache and its CRC taken, 1 MiB at a time",
		Ops:     []string{opScan},
		Primary: opScan, Writers: 1, MaxBytes: 512 << 20, Reads: true, OpBytes: scanStepBytes,
		New:        newBaselineScan,
		needs:      needRecovery,
		durability: readOnly,
	},
	{
		Name:    "baseline_memcpy",
		Doc:     "limit of append: body CRC and copy of an encoded record into a populated mapping",
		Ops:     []string{opWrite},
		Primary: opWrite, Writers: 1, MaxBytes: 4 << 30,
		New:        newBaseline(populated, storeMapped),
		durability: pageCacheOnly,
	},
	{
		Name:    "baseline_mmap",
		Doc:     "the same into a sparse mapping: the writer makes the pages",
		Ops:     []string{opWrite},
		Primary: opWrite, Writers: 1, MaxBytes: 4 << 30,
		New:        newBaseline(sparse, storeMapped),
		durability: pageCacheOnly,
	},
	{
		Name:    "baseline_pwrite",
		Doc:     "body CRC and one pwrite of an encoded record",
		Ops:     []string{opWrite},
		Primary: opWrite, Writers: 1, MaxBytes: 4 << 30,
		New:        newBaseline(sparse, storePwrite),
		durability: pageCacheOnly,
	},
	{
		Name:    "baseline_fsync",
		Doc:     "limit of append_sync: grouped pwrite and fdatasync into written blocks",
		Ops:     []string{opWrite},
		Primary: opWrite, Writers: 64, MaxBytes: 2 << 30,
		New:        newBaselineFsync,
		durability: func(engine.Options) string { return "durable when the write returns (fdatasync)" },
	},
}

var recoverOps = []string{opRestart, opRecoverOpen, opRecoverMiB, opScan}

// Find returns the scenario of that name; the error names those that exist.
func Find(name string) (Scenario, error) {
	var names []string
	for _, s := range All {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Scenario{}, fmt.Errorf("scenario %q does not exist%s", name, suggestion(name, names))
}

// Resolve puts the scenario's defaults and needs into a spec and resolves its
// options; all problems are joined.
func (s Scenario) Resolve(spec Spec) (Spec, error) {
	var errs []error
	if spec.Writers == 0 {
		spec.Writers = s.Writers
	}
	if spec.MaxBytes == 0 {
		spec.MaxBytes = s.MaxBytes
	}
	if spec.Writers < 1 || spec.Writers > maxWriters {
		errs = append(errs, fmt.Errorf("writers is %d, want 1 to %d", spec.Writers, maxWriters))
	}
	if spec.MaxBytes < 1 {
		errs = append(errs, fmt.Errorf("maxBytes is %d, want a positive number of bytes", spec.MaxBytes))
	}
	if s.needs != nil {
		errs = append(errs, s.needs(&spec.Options))
	}
	options, err := spec.Options.Resolve()
	errs = append(errs, err)
	spec.Options = options
	data, err := workload.New(spec.Workload)
	if err == nil {
		spec.Workload = data.Spec()
	}
	errs = append(errs, err)
	if err := errors.Join(errs...); err != nil {
		return spec, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	return spec, nil
}

// needLog makes the log alone what the scenario measures: the flush mode is
// given, and nothing is dispatched unless that was asked for.
func needLog(o *engine.Options, mode string) error {
	if o.Dispatch == "" {
		o.Dispatch = engine.Off
	}
	if o.Flush != "" && o.Flush != mode {
		return fmt.Errorf("option flush: got %s, want %s: that is what the scenario measures", o.Flush, mode)
	}
	o.Flush = mode
	return nil
}

// needDispatch insists on what the scenario measures.
func needDispatch(o *engine.Options) error {
	if o.Dispatch == engine.Off || o.Index == engine.Off {
		return errors.New("options dispatch and index: got off, want on: that is what the scenario measures")
	}
	return nil
}

func readOnly(engine.Options) string { return "nothing is written while it is measured" }

// smallFiles makes files roll often, unless their size was set, and leaves
// dispatch out of it.
func smallFiles(o *engine.Options) error {
	if o.CommitLogFileBytes == 0 {
		o.CommitLogFileBytes = 4 << 20
	}
	if o.Dispatch == "" {
		o.Dispatch = engine.Off
	}
	return nil
}

// maxWriters bounds the goroutines of a run; each has its own histograms.
const maxWriters = 4096

// Durability says what a crash would lose, in words, for the manifest.
func (s Scenario) Durability(o engine.Options) string { return s.durability(o) }

func pageCacheOnly(engine.Options) string {
	return "page cache only: a power cut loses what the kernel has not written"
}

func engineDurability(o engine.Options) string {
	if o.Flush == engine.FlushSync {
		return fmt.Sprintf("sync flush (%s): durable when put returns", o.SyncPath)
	}
	var b strings.Builder
	if o.SyncPath == segment.SyncPwrite {
		fmt.Fprintf(&b, "transient buffers, committed every %d ms (lost with the process); ", o.CommitIntervalMs)
	}
	fmt.Fprintf(&b, "async flush every %d ms of %d pages or more, of all every %d ms",
		o.FlushIntervalMs, o.FlushLeastPages, o.FlushThoroughIntervalMs)
	return b.String()
}
