// Package stats holds what the store reports about itself beside its data:
// the outcome of optional system calls and maxima that many goroutines raise.
package stats

import (
	"log/slog"
	"maps"
	"sync"
)

// Optional records how the system calls went that the store would like but can
// do without (locking memory, populating pages, allocating blocks, advice).
// The first failure of a call is logged as one warning; later ones are only
// counted. The zero value with a nil logger records without logging.
type Optional struct {
	logger *slog.Logger

	mu       sync.Mutex
	outcomes map[string]string // guarded by mu; call -> "ok" or the first failure
	failures map[string]int64  // guarded by mu
}

// NewOptional returns an Optional that warns on logger, which may be nil.
func NewOptional(logger *slog.Logger) *Optional { return &Optional{logger: logger} }

// Record notes that call ended with err (nil for success) and returns whether
// it worked. fallback says what the store does instead, for the warning.
func (o *Optional) Record(call string, err error, fallback string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.outcomes == nil {
		o.outcomes = make(map[string]string)
		o.failures = make(map[string]int64)
	}
	if err == nil {
		if _, seen := o.outcomes[call]; !seen {
			o.outcomes[call] = "ok"
		}
		return true
	}
	o.failures[call]++
	if o.failures[call] == 1 {
		o.outcomes[call] = "failed: " + err.Error()
		if o.logger != nil {
			o.logger.Warn("optional system call failed", "call", call, "err", err, "instead", fallback)
		}
	}
	return false
}

// Outcomes returns a copy of call -> "ok" or "failed: …" for the calls tried.
func (o *Optional) Outcomes() map[string]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.outcomes)
}

// Failures returns a copy of call -> number of failures, for the calls that
// failed at least once.
func (o *Optional) Failures() map[string]int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.failures)
}
