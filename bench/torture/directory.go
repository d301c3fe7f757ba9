package torture

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A directory is where a run lives; see the package comment.
type directory string

func (d directory) store() string  { return filepath.Join(string(d), "store") }
func (d directory) clone() string  { return filepath.Join(string(d), "clone") }
func (d directory) base() string   { return filepath.Join(string(d), "base") }
func (d directory) synced() string { return filepath.Join(string(d), "synced") }
func (d directory) ledger() string { return filepath.Join(string(d), "ledger") }

// before is the store as it was before a round.
func (d directory) before(round int) string {
	return filepath.Join(string(d), fmt.Sprintf("before-%d", round))
}

// violation is the store in which something was found to be wrong.
func (d directory) violation(round int) string {
	return filepath.Join(string(d), fmt.Sprintf("violation-%d", round))
}

// ErrDirectory: a directory does not hold what a run could begin with.
var ErrDirectory = errors.New("cannot begin in this directory")

// begin makes the directory ready for a round, 0 for the next one, and returns its
// number: it is the next, or the last once more, or any in an empty directory. Only
// if that can be, something is changed.
func (d directory) begin(seed uint64, round int) (int, *ledger, error) {
	if err := os.MkdirAll(string(d), 0o755); err != nil {
		return 0, nil, fmt.Errorf("torture: %w", err)
	}
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return 0, nil, fmt.Errorf("torture: %w", err)
	}
	if len(entries) == 0 {
		return max(round, 1), newLedger(), nil
	}
	whole, _, err := readLedger(d.ledger(), seed, math.MaxInt)
	if err != nil {
		return 0, nil, err
	}
	kept := 0
	for _, e := range entries {
		if text, ok := strings.CutPrefix(e.Name(), "before-"); ok {
			if n, err := strconv.Atoi(text); err == nil {
				kept = max(kept, n)
			}
		}
	}
	next := max(kept, whole.rounds+1)
	if round == 0 {
		round = next
	}
	_, noStore := os.Stat(d.store())
	switch {
	case kept == 0 && whole.rounds == 0:
		return 0, nil, fmt.Errorf("%w: %s holds something else", ErrDirectory, d)
	case round == kept:
		err = copyTree(d.before(round), d.store())
	case round != next:
		err = fmt.Errorf("%w: %s holds rounds up to %d, so round %d cannot come now", ErrDirectory, d, whole.rounds, round)
	case noStore != nil:
		err = fmt.Errorf("%w: the store was set aside after round %d; only that can be repeated", ErrDirectory, whole.rounds)
	}
	if err != nil {
		return 0, nil, err
	}
	l, size, err := readLedger(d.ledger(), seed, round)
	if err == nil && l.rounds != whole.rounds {
		err = os.Truncate(d.ledger(), size)
	}
	return round, l, err
}

// keep copies the store before a round and drops the copies of earlier rounds.
func (d directory) keep(round int) error {
	if _, err := os.Stat(d.before(round)); err == nil {
		return nil // it is being repeated
	}
	if err := os.MkdirAll(d.store(), 0o755); err != nil {
		return fmt.Errorf("torture: %w", err)
	}
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return fmt.Errorf("torture: %w", err)
	}
	if err := copyTree(d.store(), d.before(round)); err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "before-") {
			if err := os.RemoveAll(filepath.Join(string(d), e.Name())); err != nil {
				return fmt.Errorf("torture: %w", err)
			}
		}
	}
	return nil
}

// swap puts what a power cut left in the place of the store. All of that is durable.
// again: it is so the base of an image.
func (d directory) swap(again bool) error {
	err := errors.Join(os.RemoveAll(d.store()), os.RemoveAll(d.base()), os.RemoveAll(d.synced()))
	if err == nil {
		err = os.Rename(d.clone(), d.store())
	}
	if err != nil {
		return fmt.Errorf("torture: %w", err)
	}
	if again {
		return copyTree(d.store(), d.base())
	}
	return nil
}

// imageOf is the image of the store in a round.
func (d directory) imageOf(round int) image {
	base := d.base() // since the power went off
	if !exists(base) {
		base = d.before(round)
	}
	return image{Store: d.store(), Base: base, Changes: d.synced()}
}

// forget drops what is left of the lives of a round.
func (d directory) forget() error {
	return errors.Join(os.RemoveAll(d.base()), os.RemoveAll(d.synced()), os.RemoveAll(d.clone()))
}

// setAside keeps a store for whoever looks into what is wrong with it.
func (d directory) setAside(round int) error {
	if err := os.RemoveAll(d.violation(round)); err != nil {
		return fmt.Errorf("torture: %w", err)
	}
	if err := os.Rename(d.store(), d.violation(round)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("torture: %w", err)
	}
	return nil
}

// copyTree makes to a copy of from, whatever was there, and never half of one.
func copyTree(from, to string) error {
	half := to + ".half"
	err := errors.Join(os.RemoveAll(half), os.RemoveAll(to))
	if err == nil {
		err = os.CopyFS(half, os.DirFS(from))
	}
	if err == nil {
		err = os.Rename(half, to)
	}
	if err != nil {
		return fmt.Errorf("torture: copy %s to %s: %w", from, to, err)
	}
	return nil
}
