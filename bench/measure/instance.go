package measure

import (
	"context"
	"errors"
)

// ErrEnd, wrapped by an error of Op, says that the target has given what it can
// (its space is used up, its input is read) and ends the run in order: what was
// measured until then counts, and that Op itself counts as nothing. The
// outcome's Reason is the error.
var ErrEnd = errors.New("target ended the run")

// Instance is one target, made ready to be operated on. A run calls Setup once,
// then Op from all its workers, then Verify, then Close.
type Instance interface {
	// Setup prepares the target. It is not timed. When it fails it cleans up
	// after itself: Close is not called.
	Setup(ctx context.Context) error
	// Op does one operation of the plan's primary kind. Each worker calls it from
	// a goroutine of its own, never twice at once for one worker. It must not
	// keep w. An error is counted and the operation leaves no latency; how many
	// errors end the run is the plan's to say.
	Op(w *Worker) error
	// Verify checks, untimed, that the target did what Op claimed. It is called
	// after the last Op has returned; not after a failed run, and not when an Op
	// never returned.
	Verify(ctx context.Context) error
	// Close frees the target. It is called exactly once after a successful Setup,
	// possibly while an Op that hangs is still inside.
	Close() error
}

// Preparer is an optional part of an Instance: what the generator has to do for an
// operation before there is anything to ask the target, such as choosing a key. A
// random choice among many is a cache miss or two, as long as the shortest of
// operations; within Op it would count as the target's time.
type Preparer interface {
	// Prepare is called before each Op, by the same worker, outside of every time
	// that is measured: before the due time is waited for, and in a closed loop
	// before the operation starts. The worker's N is not yet that of the operation,
	// and there may be none to come. It must not observe or note anything.
	Prepare(w *Worker)
}

// CounterSource is an optional part of an Instance: numbers sampled at each tick.
type CounterSource interface {
	// Counters returns a value that encodes to JSON. It is called from the run's
	// own goroutine while operations go on, and must not block.
	Counters() any
}
