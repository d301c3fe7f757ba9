package scenario

import (
	"errors"
	"fmt"
	"strings"

	"commitlab/engine"
	"commitlab/engine/segment"
)

// Config is a named set of engine options.
type Config struct {
	Name    string
	Doc     string // one line
	Options engine.Options
}

// rocketMQ is the store of Apache RocketMQ as it comes: files that are only a
// length, pages made by the writer's first touch, msync every 500 ms. File size
// and flush mode are left open: a scenario may need its own.
var rocketMQ = engine.Options{
	AppendLock:               engine.LockMutex,
	Clock:                    engine.ClockExact,
	Allocate:                 segment.Sparse,
	Preallocate:              engine.On,
	Populate:                 segment.PopulateNone,
	WarmUp:                   segment.WarmUpNone,
	MemoryLock:               segment.LockNone,
	Prefetch:                 engine.Off,
	Advise:                   segment.AdviseNormal,
	SyncPath:                 segment.SyncMsync,
	FlushIntervalMs:          500,
	FlushLeastPages:          4,
	FlushThoroughIntervalMs:  10_000,
	SyncFlushTimeoutMs:       5_000,
	CommitIntervalMs:         200,
	CommitLeastPages:         4,
	CommitThoroughIntervalMs: 200,
	DispatchAssistBytes:      -1,
	ColdRead:                 segment.ColdFault,
}

// Configs lists the named configurations in the order in which they are shown.
var Configs = []Config{
	{
		Name:    "rocketmq",
		Doc:     "Apache RocketMQ's defaults: sparse files, no warm-up, async flush every 500 ms",
		Options: rocketMQ,
	},
	{
		Name:    "rocketmq-warm",
		Doc:     "the same with warmMapedFileEnable: every page touched, locked, willneed",
		Options: rocketMQWarm(),
	},
	{
		Name:    "rocketmq-transient",
		Doc:     "the same with transientStorePoolEnable: appends go to 5 buffers of 1 GiB, committed every 200 ms",
		Options: rocketMQTransient(),
	},
	{
		Name: "tuned",
		Doc:  "this engine's defaults: blocks reserved, a populated window ahead of the writer",
	},
	{
		Name:    "populated",
		Doc:     "tuned with every page of a file made when the file is prepared",
		Options: engine.Options{Populate: segment.PopulateFile},
	},
}

func rocketMQWarm() engine.Options {
	o := rocketMQ
	o.WarmUp = segment.WarmUpTouch
	o.MemoryLock = segment.LockFile
	o.Advise = segment.AdviseWillNeed
	return o
}

func rocketMQTransient() engine.Options {
	o := rocketMQ
	o.SyncPath = segment.SyncPwrite
	o.TransientBuffers = 5
	o.TransientBufferBytes = 1 << 30
	return o
}

// FindConfig returns the configuration of that name; the error names those
// that exist.
func FindConfig(name string) (Config, error) {
	var names []string
	for _, c := range Configs {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return Config{}, fmt.Errorf("configuration %q does not exist%s", name, suggestion(name, names))
}

// With returns the options with settings of the form key=value put over them;
// all problems are joined.
func (c Config) With(settings ...string) (engine.Options, error) {
	o := c.Options
	var errs []error
	for _, setting := range settings {
		key, value, ok := strings.Cut(setting, "=")
		if !ok {
			errs = append(errs, fmt.Errorf("setting %q: want key=value", setting))
			continue
		}
		errs = append(errs, Set(&o, strings.TrimSpace(key), strings.TrimSpace(value)))
	}
	return o, errors.Join(errs...)
}
