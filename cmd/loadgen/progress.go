package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"
)

// progress tells on stderr how far a command is: a bar on a terminal; lines
// elsewhere, one for each note and one whenever nothing was said for a while;
// nothing when quiet. Safe for concurrent use.
type progress struct {
	w     io.Writer // nil when quiet
	every time.Duration

	bars *mpb.Progress // nil without a terminal
	bar  *mpb.Bar

	mu    sync.Mutex
	text  string    // guarded by mu; what is going on
	spoke time.Time // guarded by mu; when the last line was written

	stop chan struct{}
	done sync.WaitGroup
}

// newProgress begins; total is how much there is to do, in any unit.
func newProgress(w io.Writer, quiet bool, total int64, every time.Duration) *progress {
	p := &progress{every: every, stop: make(chan struct{})}
	switch {
	case quiet:
		return p
	case isTerminal(w):
		p.w = w
		p.startBar(total)
	default:
		p.w = w
		p.spoke = time.Now()
		p.done.Go(p.speakUp)
	}
	return p
}

// isTerminal says whether w understands a bar.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

func (p *progress) startBar(total int64) {
	p.bars = mpb.New(mpb.WithOutput(p.w), mpb.WithWidth(24))
	p.bar = p.bars.New(total, mpb.BarStyle(),
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Elapsed(decor.ET_STYLE_MMSS), decor.Name(" ")),
		mpb.AppendDecorators(decor.Percentage(), decor.Any(func(decor.Statistics) string {
			p.mu.Lock()
			defer p.mu.Unlock()
			return "  " + p.text
		})),
	)
}

// speakUp writes a status line whenever nothing was written for a while.
func (p *progress) speakUp() {
	tick := time.NewTicker(max(p.every/10, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
			p.mu.Lock()
			if time.Since(p.spoke) >= p.every {
				p.line(p.text)
			}
			p.mu.Unlock()
		}
	}
}

// line is called with mu held. Nobody can be told that progress cannot be
// shown, so errors of the writer are dropped.
func (p *progress) line(text string) {
	p.spoke = time.Now()
	_, _ = fmt.Fprintln(p.w, text)
}

// at says how far the work is and what is going on.
func (p *progress) at(done int64, format string, args ...any) {
	p.mu.Lock()
	p.text = fmt.Sprintf(format, args...)
	p.mu.Unlock()
	if p.bar != nil {
		p.bar.SetCurrent(done)
	}
}

// step is at for something that begins: without a bar it is a line at once.
func (p *progress) step(done int64, format string, args ...any) {
	p.at(done, format, args...)
	if p.bars == nil {
		p.note(format, args...)
	}
}

// note writes a line that stays.
func (p *progress) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch text := fmt.Sprintf(format, args...); {
	case p.bars != nil:
		_, _ = fmt.Fprintln(p.bars, text)
	case p.w != nil:
		p.line(text)
	}
}

// close ends; nothing is written after it has returned.
func (p *progress) close() {
	close(p.stop)
	p.done.Wait()
	if p.bar != nil {
		p.bar.Abort(true)
		p.bars.Wait()
	}
}
