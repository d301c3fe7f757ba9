package study

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
)

// maxWarnings bounds what one run keeps; a store that complains more often
// complains about the same.
const maxWarnings = 32

// warningLog keeps what a store logs as a warning or worse, each line once, for
// the end of the run: on a terminal nobody would find it again.
type warningLog struct {
	mu    sync.Mutex
	lines []string // guarded by mu
}

// logger returns a logger that keeps its lines here. Dates and levels are left
// out, so that a repeated warning is the same line.
func (l *warningLog) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{
		Level: slog.LevelWarn,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
				return slog.Attr{}
			}
			return a
		},
	}))
}

// Write takes one line from the handler.
func (l *warningLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := "store: " + strings.TrimSpace(string(line))
	if len(l.lines) < maxWarnings && !slices.Contains(l.lines, text) {
		l.lines = append(l.lines, text)
	}
	return len(line), nil
}

func (l *warningLog) warnings() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}
