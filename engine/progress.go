package engine

import (
	"log/slog"
	"sync"
	"time"

	"commitlab/engine/commitlog"
)

// A Recovery tells what Open did to bring a store directory into order. Offsets
// are those of the commit log; fields ending in Ns are nanoseconds.
type Recovery struct {
	// Clean: the store had been closed in order.
	Clean bool `json:"clean"`
	// Reason says why reading began where it did.
	Reason string `json:"reason"`

	// StartOffset is where verifying began, the start of a file, EndOffset where
	// the log was found to end.
	StartOffset int64 `json:"startOffset"`
	EndOffset   int64 `json:"endOffset"`
	// Files of the log there were, and of these FilesScanned with BytesScanned were
	// verified and RecordsScanned found.
	Files          int   `json:"files"`
	FilesScanned   int   `json:"filesScanned"`
	BytesScanned   int64 `json:"bytesScanned"`
	RecordsScanned int64 `json:"recordsScanned"`

	// DispatchOffset is from where on queues and index were compared with the log
	// and completed; RecordsDispatched is how many records that were.
	DispatchOffset    int64 `json:"dispatchOffset"`
	RecordsDispatched int64 `json:"recordsDispatched"`
	// Queues there were, and of these QueuesAtRest had not been touched since a clean
	// end had noted theirs.
	Queues       int `json:"queues"`
	QueuesAtRest int `json:"queuesAtRest"`

	// Skipped are the parts of the log that are no records and were given up, by
	// this Open or one before; NewlySkipped is how many of them this one found.
	Skipped      commitlog.Ranges `json:"skipped,omitempty"`
	NewlySkipped int              `json:"newlySkipped"`

	QueuesNs   int64 `json:"queuesNs"` // opening the consume queues
	IndexNs    int64 `json:"indexNs"`
	ScanNs     int64 `json:"scanNs"`
	SettleNs   int64 `json:"settleNs"` // cutting and syncing what was decided
	DispatchNs int64 `json:"dispatchNs"`
	TotalNs    int64 `json:"totalNs"`
}

// A RecoveryProgress tells how far Open is.
type RecoveryProgress struct {
	Phase      string // "scan" or "dispatch"
	Files      int    // done in this phase, of FilesTotal
	FilesTotal int
	Bytes      int64 // done in this phase, of BytesTotal
	BytesTotal int64
	Elapsed    time.Duration // of this phase
	Remaining  time.Duration // of this phase, if it goes on like this; 0 while unknown
}

// How often progress is told, and written to the log.
const (
	progressInterval    = 200 * time.Millisecond
	progressLogInterval = 5 * time.Second
)

// A recoveryMeter counts what a phase of recovery has done, and tells. Safe for
// concurrent use.
type recoveryMeter struct {
	tell   func(RecoveryProgress) // may be nil
	logger *slog.Logger

	mu           sync.Mutex
	at           RecoveryProgress
	began        time.Time
	told, logged time.Time
}

// begin starts a phase.
func (m *recoveryMeter) begin(phase string, files int, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.at = RecoveryProgress{Phase: phase, FilesTotal: files, BytesTotal: bytes}
	m.began, m.logged, m.told = now, now, now
	m.report(now)
}

// add counts bytes, and a file if that is done.
func (m *recoveryMeter) add(bytes int64, file bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at.Bytes += bytes
	if file {
		m.at.Files++
	}
	now := time.Now()
	if now.Sub(m.logged) >= progressLogInterval {
		m.logged = now
		m.fill(now)
		m.logger.Info("recovering", "phase", m.at.Phase, "bytes", m.at.Bytes, "of", m.at.BytesTotal,
			"files", m.at.Files, "ofFiles", m.at.FilesTotal, "remaining", m.at.Remaining.Round(time.Second))
	}
	if now.Sub(m.told) >= progressInterval {
		m.told = now
		m.report(now)
	}
}

// end tells that a phase is done and returns what it did and how long it took.
func (m *recoveryMeter) end() (RecoveryProgress, time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.report(now)
	return m.at, now.Sub(m.began)
}

// fill computes the times; mu is held.
func (m *recoveryMeter) fill(now time.Time) {
	m.at.Elapsed, m.at.Remaining = now.Sub(m.began), 0
	if m.at.Bytes > 0 {
		left := float64(m.at.BytesTotal-m.at.Bytes) / float64(m.at.Bytes)
		m.at.Remaining = time.Duration(max(left, 0) * float64(m.at.Elapsed))
	}
}

// report calls tell; mu is held.
func (m *recoveryMeter) report(now time.Time) {
	if m.tell == nil {
		return
	}
	m.fill(now)
	m.tell(m.at)
}
