package report

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"commitlab/bench/host"
	"commitlab/bench/report/hotspot"
	"commitlab/bench/result"

	"github.com/google/pprof/profile"
)

// Profiles is where one profiled run spends what a kind of profile counts, or
// where two differ. It does not change after it was loaded.
type Profiles struct {
	Runs  []ProfiledRun // A, and B if two are compared
	Focus string        // see LoadProfiles
	Table *hotspot.Table
	// Settings and Hosts list what differs between A and B: the load, the
	// options, the profilers, and the machine.
	Settings, Hosts []Difference
}

// ProfiledRun is one side: a run and its profile.
type ProfiledRun struct {
	Dir      string // of the run; below the path that was named, if that holds the profiled run
	File     string // the profile
	Manifest result.Manifest
	hotspot.Side
}

// LoadProfiles reads the profiles of a kind ("cpu", "wall", "heap", "mutex" or
// "block") of one run, or of a run A and a run B. A path is the directory of a
// profiled run, or of the run that was repeated with profilers. If focus is not
// nil, only samples count whose stack has a function, or a file, that it matches.
//
// A run without the profile is an error that says how to take it; so are two
// profiles that do not go together, and runs of different scenarios.
func LoadProfiles(name string, focus *regexp.Regexp, paths ...string) (*Profiles, error) {
	if len(paths) != 1 && len(paths) != 2 {
		return nil, fmt.Errorf("profiles of %d runs: want one, or two to compare", len(paths))
	}
	kind, err := hotspot.ParseKind(name)
	if err != nil {
		return nil, err
	}
	p := &Profiles{}
	for _, path := range paths {
		r, err := openProfiled(path, kind)
		if err != nil {
			return nil, err
		}
		p.Runs = append(p.Runs, r)
	}
	if err := p.focus(focus); err != nil {
		return nil, err
	}
	if len(paths) == 1 {
		p.Table, err = hotspot.Single(kind, p.Runs[0].Side)
	} else {
		err = p.compare(kind)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(paths, " and "), err)
	}
	return p, nil
}

// focus takes the samples out that are not looked for. One that is in no profile
// is more likely mistyped than an answer.
func (p *Profiles) focus(on *regexp.Regexp) error {
	if on == nil {
		return nil
	}
	p.Focus = on.String()
	found := false
	for _, r := range p.Runs {
		matched, _, _, _ := r.Profile.FilterSamplesByName(on, nil, nil, nil)
		found = found || matched
	}
	if !found {
		return fmt.Errorf("focus %q: no function in %s matches it", p.Focus, p.Runs[0].File)
	}
	return nil
}

func (p *Profiles) compare(kind hotspot.Kind) error {
	a, b := &p.Runs[0], &p.Runs[1]
	if a.Manifest.Scenario != b.Manifest.Scenario {
		return fmt.Errorf("A is of scenario %s and B of %s: their operations are not the same thing", a.Manifest.Scenario, b.Manifest.Scenario)
	}
	var err error
	if p.Table, err = hotspot.Compare(kind, a.Side, b.Side); err != nil {
		return err
	}
	var sets []map[string]string
	for i := range p.Runs {
		set, err := p.Runs[i].settings()
		if err != nil {
			return err
		}
		sets = append(sets, set)
	}
	p.Settings = differences(sets)
	p.Hosts = factDifferences([]host.Facts{a.Manifest.Host, b.Manifest.Host})
	return nil
}

// settings is what was chosen for the run, by name.
func (r *ProfiledRun) settings() (map[string]string, error) {
	m := r.Manifest
	set, err := flatten(m.Options)
	if err != nil {
		return nil, fmt.Errorf("%s: options: %w", r.Dir, err)
	}
	parameters, err := flatten(m.Spec)
	if err != nil {
		return nil, fmt.Errorf("%s: spec: %w", r.Dir, err)
	}
	maps.DeleteFunc(parameters, func(name, _ string) bool { return !isParameter(name) })
	maps.Copy(set, parameters)
	set["pace"] = m.Pace
	set["pressure"] = m.Pressure
	set["profilers"] = strings.Join(slices.Sorted(slices.Values(m.Profiles)), ", ")
	return set, nil
}

// openProfiled finds the profile that a path leads to.
func openProfiled(path string, kind hotspot.Kind) (ProfiledRun, error) {
	dir, err := open(path)
	if err != nil {
		return ProfiledRun{}, err
	}
	if dir.Study != nil {
		return ProfiledRun{}, fmt.Errorf("result %s: it is a study, which is measured without profilers; profile one configuration by itself: loadgen run --scenario SCENARIO --config CONFIG --profile %s", path, kind)
	}
	run, err := result.OpenRun(dir.Path)
	if err != nil {
		return ProfiledRun{}, err
	}
	if below := filepath.Join(run.Dir, result.ProfiledDir); len(run.Manifest.Profiles) == 0 && has(below, result.ManifestFile) {
		if run, err = result.OpenRun(below); err != nil {
			return ProfiledRun{}, err
		}
	}
	file, err := run.Profile(string(kind))
	if errors.Is(err, fs.ErrNotExist) {
		return ProfiledRun{}, fmt.Errorf("result %s: %w", path, notProfiled(run.Manifest, kind))
	}
	if err != nil {
		return ProfiledRun{}, err
	}
	p, err := readProfile(file)
	if err != nil {
		return ProfiledRun{}, err
	}
	r := ProfiledRun{Dir: run.Dir, File: file, Manifest: run.Manifest, Side: hotspot.Side{Profile: p}}
	if end := run.Manifest.End; end != nil {
		r.Window = time.Duration(end.WindowNs)
		// Done is of what was due in the window. What the profile saw is what ended
		// in it, due earlier or not.
		if end.AchievedPerSecond != nil {
			r.Operations = uint64(math.Round(*end.AchievedPerSecond * r.Window.Seconds()))
		}
	}
	return r, nil
}

// notProfiled says why a run has no profile of a kind and how to get one.
func notProfiled(m result.Manifest, kind hotspot.Kind) error {
	if m.End != nil && len(m.End.Target) > 0 {
		return fmt.Errorf("no %s profile: %s was measured in a process of its own, which is not profiled", kind, m.Config)
	}
	words := m.Command
	if m.Study != "" || len(words) == 0 {
		words = []string{"loadgen", "run", "--scenario", m.Scenario, "--config", m.Config}
	}
	there := "no profiles in it"
	if len(m.Profiles) > 0 {
		there = fmt.Sprintf("no %s profile in it, only %s", kind, strings.Join(m.Profiles, ", "))
	}
	return fmt.Errorf("%s; take it with: %s --profile %s", there, strings.Join(words, " "), kind)
}

func readProfile(path string) (*profile.Profile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	defer f.Close() // it was only read
	p, err := profile.Parse(f)
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", path, err)
	}
	return p, nil
}
