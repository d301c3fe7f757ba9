package report

import (
	"errors"
)

// Load reads the studies and runs at the paths and computes the report. Runs
// of several paths that did the same under the same options are blocks of one
// cell. Logs are streamed: memory depends on the number of cells and not on
// the length of the runs.
//
// A path that is no result is an error. A run inside a study that cannot be
// read is listed in Problems instead, since the others still tell something.
func Load(paths ...string) (*Report, error) {
	if len(paths) == 0 {
		return nil, errors.New("no result named: want the directory of a study or of a run")
	}
	b := newBuilder()
	for _, path := range paths {
		if err := b.addPath(path, ""); err != nil {
			return nil, err
		}
	}
	return b.finish(), nil
}

// Compare reads two results that were not run together, and sets each
// configuration of b beside the same of a. There are no common blocks to pair
// runs in, so that everything that changed between the two results in time is
// part of the difference; the report says so.
func Compare(a, b string) (*Report, error) {
	builder := newBuilder()
	builder.report.Unpaired = true
	for i, path := range []string{a, b} {
		if err := builder.addPath(path, string(rune('A'+i))); err != nil {
			return nil, err
		}
	}
	return builder.finish(), nil
}
