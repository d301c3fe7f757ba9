package report

import (
	"time"

	"commitlab/bench/result"
)

// Report is everything that the renderings show, computed once: Text, HTML and
// Export only write it down. It is immutable after Load and may be read by
// several goroutines.
type Report struct {
	Sources  []string // the paths as given
	Studies  []result.Study
	Groups   []*Group
	Unpaired bool // made by Compare: the two sides were not run in common blocks
	// Quotients are what the studies ask for beside comparisons within a group.
	Quotients []Quotient

	// Hosts lists what differs between the machines and settings of the runs, one
	// value per column of HostColumns. Empty when all ran under the same.
	Hosts       []Difference
	HostColumns []string
	// Problems are runs that could not be read, and files that end early.
	Problems []string
}

// Group is what can be compared: the cells of one scenario under the same pace
// and parameters, in the order of the study.
type Group struct {
	Scenario   string
	Primary    string // the operation the scenario is about
	Pace       string
	Pressure   string // put on beside the load, "" for none
	Closed     bool   // closed loop: there are no due times and so no response time
	Workers    int
	Parameters map[string]string // the scenario's, flattened; equal in all cells
	Cells      []*Cell
	// Checks are the study's tests of its own method. Their B cells are no
	// columns: they are not configurations that anybody chooses between.
	Checks []Check
	// Options lists the engine options that differ between the Cells.
	Options []Difference

	Comparisons []Comparison
	// Profiles are CPU profiles of cells beside those of their bases, where both
	// have one. They explain, and are part of no comparison.
	Profiles []*Profiles
}

// Check is a comparison whose outcome is known beforehand: an A/A pair, which
// must show no difference and whose interval is the noise floor, or a control,
// whose injected delay must be found.
type Check struct {
	Kind       result.ComparisonKind
	A, B       *Cell
	InjectedNs int64
	Results    []Comparison
}

// Cell is one configuration in one group: all its runs and their merged
// latencies.
type Cell struct {
	Name    string // as in the study, "" for runs that belong to none
	Label   string // as printed, distinct within the group
	Config  string
	Side    string            // "A" or "B" in Compare, else ""
	Options map[string]string // resolved, flattened
	Runs    []*Run            // by block

	// Latency holds the merged distribution of each tag over the runs that
	// count (see Run.Dropped). If no run counts, all that hold data are merged,
	// and Tainted is set: figures to look at, not to compare.
	Latency map[string]*result.Distribution
	Tainted bool
}

// Run is one run, reduced to what a report needs: its histograms are gone once
// they are merged into the cell.
type Run struct {
	Dir      string
	Manifest result.Manifest
	Block    Block
	Dropped  string // why the run does not count, "" if it does
	Latency  map[string]*RunLatency
	// Summary is the run's figures as loadgen prints them; nil where the files
	// are too damaged to compute it.
	Summary *result.Summary
}

// Block identifies one block: configurations are paired within it.
type Block struct {
	Study  string
	Number int
	Repeat int // 0, or the count of runs of the same cell and block before
}

// RunLatency is one run's latencies of one tag.
type RunLatency struct {
	Count    int64
	Extremes result.Extremes
	MeanNs   float64   // NaN without operations
	Values   []float64 // of Statistics, in nanoseconds; NaN without operations
	// Samples says per percentile ("p99.9") how many independent values stand
	// behind it; nil where that could not be computed.
	Samples map[string]result.Samples
	Curve   []float64 // at tailAt(0), tailAt(1), …
	Series  []Point   // over time, at most maxPoints
}

// Point is the latencies of one stretch of a run, NaN without operations.
type Point struct {
	Start, End    time.Duration // since the run's first interval
	Count         int64
	P50, P99, Max float64 // nanoseconds
}

// Counted returns the runs whose figures count.
func (c *Cell) Counted() []*Run {
	var out []*Run
	for _, r := range c.Runs {
		if r.Dropped == "" {
			out = append(out, r)
		}
	}
	return out
}

// shown returns the runs whose figures the cell's rows are made of.
func (c *Cell) shown() []*Run {
	if c.Tainted {
		return c.Runs
	}
	return c.Counted()
}

// Throughput is what was asked for and what was done, summed over runs. A rate is
// operations by measured time of the runs themselves: the time between runs
// never enters.
type Throughput struct {
	OfferedPerSecond  float64 // NaN in closed loop or when no run has ended
	AchievedPerSecond float64 // NaN when no run has ended
	Due, Done         uint64
	Late, NeverSent   uint64
	Errors            uint64
}

// Throughput sums up the runs that the cell shows.
func (c *Cell) Throughput() Throughput {
	var l Throughput
	var offered, achieved, offeredWeight, achievedWeight float64
	for _, r := range c.shown() {
		end := r.Manifest.End
		if end == nil {
			continue
		}
		seconds := time.Duration(end.WindowNs).Seconds()
		if end.OfferedPerSecond != nil {
			offered += *end.OfferedPerSecond * seconds
			offeredWeight += seconds
		}
		if end.AchievedPerSecond != nil {
			achieved += *end.AchievedPerSecond * seconds
			achievedWeight += seconds
		}
		l.Due += end.Due
		l.Done += end.Done
		l.Late += end.Late
		l.NeverSent += end.NeverSent
		l.Errors += end.Errors
	}
	l.OfferedPerSecond = offered / offeredWeight // 0/0 is NaN: nothing to show
	l.AchievedPerSecond = achieved / achievedWeight
	return l
}

// spread returns the smallest and largest value of a statistic over the shown
// runs, one of Statistics by its index.
func (c *Cell) spread(tag string, statistic int) (low, high float64, n int) {
	for _, r := range c.shown() {
		l := r.Latency[tag]
		if l == nil || l.Count == 0 {
			continue
		}
		v := l.Values[statistic]
		if n == 0 {
			low, high = v, v
		}
		low, high = min(low, v), max(high, v)
		n++
	}
	return low, high, n
}
