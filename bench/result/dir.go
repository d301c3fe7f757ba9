package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// Dir is the directory of a study, or of a single run that stands alone.
type Dir struct {
	// Path is the directory as it was given.
	Path string
	// Study is nil when the directory is that of a single run.
	Study *Study
}

const runsDir = "runs"

// utcLayout names a study's directory. It has no colon, which some file
// systems refuse.
const utcLayout = "20060102T150405Z"

// CreateStudy makes root/<utc>-<name> with study.json in it. It fills Schema,
// and Start if that is zero. A directory of that name that is there already
// (two studies in one second) is an error that wraps fs.ErrExist.
func CreateStudy(root string, s Study) (*Dir, error) {
	s.Schema = StudySchema
	if s.Start.IsZero() {
		s.Start = time.Now()
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(root, 0o777); err != nil {
		return nil, fmt.Errorf("create study: %w", err)
	}
	path := filepath.Join(root, s.Start.UTC().Format(utcLayout)+"-"+s.Name)
	if err := os.Mkdir(path, 0o777); err != nil {
		return nil, fmt.Errorf("create study: %w", err)
	}
	if err := writeJSON(filepath.Join(path, StudyFile), &s); err != nil {
		return nil, fmt.Errorf("create study: %w", err)
	}
	return &Dir{Path: path, Study: &s}, nil
}

// Open opens the directory of a study or of a run. Any other directory is an
// error.
func Open(path string) (*Dir, error) {
	var s Study
	err := readJSON(filepath.Join(path, StudyFile), &s)
	switch {
	case err == nil:
		if s.Schema != StudySchema {
			return nil, fmt.Errorf("open %s: schema of %s is %q, want %q", path, StudyFile, s.Schema, StudySchema)
		}
		return &Dir{Path: path, Study: &s}, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("open study: %w", err)
	}
	if _, err := os.Stat(filepath.Join(path, ManifestFile)); err != nil {
		return nil, fmt.Errorf("open %s: neither %s nor %s in it: %w", path, StudyFile, ManifestFile, err)
	}
	return &Dir{Path: path}, nil
}

// RunPath returns the directory of one run of the study.
func (d *Dir) RunPath(cell string, block int) string {
	return filepath.Join(d.Path, runsDir, cell, fmt.Sprintf("%03d", block))
}

// CreateRun starts the run that the manifest names by Cell and Block. An
// earlier attempt of the same run is moved aside, to <block>~<n>, and is no
// longer among Runs: evidence is never written over.
func (d *Dir) CreateRun(m Manifest) (*Writer, error) {
	if d.Study == nil {
		return nil, fmt.Errorf("create run in %s: not the directory of a study", d.Path)
	}
	if err := checkName("cell", m.Cell); err != nil {
		return nil, err
	}
	if m.Block < 1 {
		return nil, fmt.Errorf("create run of cell %s: block is %d, want 1 or more", m.Cell, m.Block)
	}
	path := d.RunPath(m.Cell, m.Block)
	if err := moveAside(path); err != nil {
		return nil, err
	}
	m.Study = d.Study.Name
	return CreateRun(path, m)
}

func moveAside(path string) error {
	for n := 1; ; n++ {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		aside := path + "~" + strconv.Itoa(n)
		if _, err := os.Lstat(aside); err == nil {
			continue
		}
		if err := os.Rename(path, aside); err != nil {
			return fmt.Errorf("move earlier attempt aside: %w", err)
		}
		return nil
	}
}

// Runs opens all runs, ordered by cell (in the order of the study) and block.
// A run whose manifest cannot be read is reported in the error, joined with
// the others; the runs that could be read are returned all the same.
func (d *Dir) Runs() ([]*Run, error) {
	if d.Study == nil {
		r, err := OpenRun(d.Path)
		if err != nil {
			return nil, err
		}
		return []*Run{r}, nil
	}
	var runs []*Run
	var errs []error
	for _, c := range d.Study.Cells {
		blocks, _, err := d.blocks(c.Name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, b := range blocks {
			r, err := OpenRun(d.RunPath(c.Name, b))
			if err != nil {
				errs = append(errs, err)
				continue
			}
			runs = append(runs, r)
		}
	}
	return runs, errors.Join(errs...)
}

// Superseded lists the directories of attempts that were moved aside, so that
// a report can say how many there were.
func (d *Dir) Superseded() ([]string, error) {
	if d.Study == nil {
		return nil, nil
	}
	var paths []string
	var errs []error
	for _, c := range d.Study.Cells {
		_, aside, err := d.blocks(c.Name)
		errs = append(errs, err)
		paths = append(paths, aside...)
	}
	return paths, errors.Join(errs...)
}

// blocks lists the blocks of a cell that were run, in ascending order, and the
// directories of earlier attempts.
func (d *Dir) blocks(cell string) (blocks []int, aside []string, err error) {
	path := filepath.Join(d.Path, runsDir, cell)
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil // not run yet
	}
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n > 0 {
			blocks = append(blocks, n)
		} else {
			aside = append(aside, filepath.Join(path, e.Name()))
		}
	}
	slices.Sort(blocks)
	return blocks, aside, nil
}

func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// writeJSON replaces the file at path atomically: after a crash it holds the
// old or the new content, whole.
func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(f.Name()) // fails, as it should, once the file has its real name
	_, err = f.Write(append(b, '\n'))
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
