package profile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// collector takes one kind of profile. begin starts it; the function it returns
// ends it and writes the file.
type collector func(out io.Writer, w *window) (end func() error, err error)

var collectors = map[Kind]collector{
	CPU:   beginCPU,
	Wall:  beginWall,
	Heap:  beginHeap,
	Mutex: beginMutex,
	Block: beginBlock,
	Trace: beginTrace,
}

// window is what the profiles of a session have in common.
type window struct {
	label Label
	kind  Kind
	start time.Time // with monotonic reading
	end   time.Time
}

// Session is a set of profiles being taken.
type Session struct {
	running []*running
}

// running is one profile being taken, with its file.
type running struct {
	*window
	file *os.File
	stop func() error
}

// Start begins profiles of the given kinds, to be written to dir, which must
// exist. On error nothing runs on and no file is left.
func Start(dir string, label Label, kinds []Kind) (*Session, error) {
	s := &Session{}
	// The order of Kinds keeps the snapshots out of the samples.
	for _, kind := range Kinds {
		if !slices.Contains(kinds, kind) {
			continue
		}
		r, err := start(filepath.Join(dir, label.FileName(kind)), label, kind)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("start %s profile: %w", kind, err), s.discard())
		}
		s.running = append(s.running, r)
	}
	return s, nil
}

func start(path string, label Label, kind Kind) (*running, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	r := &running{window: &window{label: label, kind: kind, start: time.Now()}, file: file}
	if r.stop, err = collectors[kind](file, r.window); err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(path))
	}
	return r, nil
}

// Stop ends the profiles, the last started first, and writes their files. It
// returns the paths of those that succeeded and the errors of the others. A
// session is stopped once.
func (s *Session) Stop() (paths []string, err error) {
	var problems []error
	for _, r := range slices.Backward(s.running) {
		r.window.end = time.Now()
		if err := errors.Join(r.stop(), r.file.Close()); err != nil {
			problems = append(problems, fmt.Errorf("write %s profile: %w", r.kind, err))
			continue
		}
		paths = append(paths, r.file.Name())
	}
	slices.Sort(paths)
	return paths, errors.Join(problems...)
}

// discard stops the profiles and removes their files.
func (s *Session) discard() error {
	paths, err := s.Stop()
	for _, path := range paths {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// Window returns a hook for measure.Plan.Window: it starts the profiles when the
// window opens and writes them when it closes.
func Window(dir string, label Label, kinds []Kind) func() (closed func() error, err error) {
	return func() (func() error, error) {
		s, err := Start(dir, label, kinds)
		if err != nil {
			return nil, err
		}
		return func() error {
			_, err := s.Stop()
			return err
		}, nil
	}
}
