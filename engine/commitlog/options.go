package commitlog

import (
	"log/slog"
	"time"

	"commitlab/engine/message"
	"commitlab/engine/segment"
)

// Options describe a Log. All fields must be set; the store's options resolve
// the defaults.
type Options struct {
	Files segment.Options

	// Checksum is what recovery verifies of each record.
	Checksum message.Checksum

	SpinLock      bool // spin instead of blocking on the append lock
	ExactClock    bool // read the system clock for every store time
	BusyAfter     time.Duration
	Preallocate   bool // make the next file in the background
	SyncPath      segment.SyncPath
	BufferCount   int   // transient buffers, with SyncPwrite
	BufferBytes   int64 // size of one
	GroupSync     bool  // WaitDurable is served by group syncs
	FlushInterval time.Duration
	// FlushLeastPages is how many dirty 4096-byte pages an asynchronous flush
	// waits for; every FlushThorough it takes what there is.
	FlushLeastPages  int
	FlushThorough    time.Duration
	CommitInterval   time.Duration
	CommitLeastPages int
	CommitThorough   time.Duration

	// ColdRead is how Record reads what lies more than ColdAfterBytes behind the
	// end of the log.
	ColdRead       segment.ColdRead
	ColdAfterBytes int64

	// Durable, if not nil, is told after each sync up to where the log is durable,
	// before those who waited for it. It must be quick.
	Durable func(offset int64)
	// Beat, if not nil, is called about every millisecond, for those who follow
	// the log. It must not block.
	Beat func()

	Logger *slog.Logger
}
