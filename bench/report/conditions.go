package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fact is one line of the conditions.
type fact struct{ Name, Value string }

// conditions describes what the figures were measured on and with, from the
// first run; what differs in others is in the differing conditions.
func (r *Report) conditions() []fact {
	var facts []fact
	add := func(name string, parts ...string) {
		parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
		if len(parts) > 0 {
			facts = append(facts, fact{name, strings.Join(parts, ", ")})
		}
	}
	first := r.firstRun()
	if first == nil {
		return nil
	}
	m := first.Manifest
	h := m.Host
	add("machine", h.CPUModel, counted(h.CPUs, "CPU"), bytesText(h.MemoryBytes)+" of memory", h.Virtualisation)
	add("system", strings.TrimSpace(h.OS+" "+h.Kernel), h.Arch, h.GoVersion, fmt.Sprintf("GOMAXPROCS %d", h.GOMAXPROCS), slice(h.SliceNs))
	add("file system", h.Dir.FileSystem, h.Dir.MountOptions, h.Dir.Device, h.Dir.DeviceModel)
	add("kernel settings", prefixed("transparent huge pages ", h.THP), prefixed("dirty ratio ", h.DirtyRatio), prefixed("dirty background ratio ", h.DirtyBackgroundRatio),
		prefixed("swappiness ", h.Swappiness), fmt.Sprintf("RLIMIT_MEMLOCK %s", bytesText(h.MemlockBytes)))
	commit := h.Revision
	if h.Modified {
		commit += " with changes that are not committed"
	}
	add("commit", commit)
	for _, s := range r.Studies {
		add("study", s.Name, "started "+s.Start.Format(time.RFC3339), fmt.Sprintf("seed %d", s.Seed), counted(s.Blocks, "block"), "order of the cells drawn anew for each block")
	}
	if len(r.Studies) == 0 {
		add("run", "started "+m.Start.Format(time.RFC3339), fmt.Sprintf("seed %d", m.Seed))
	}
	add("each run", prefixed("warm-up ", nonZero(time.Duration(m.WarmupNs))), prefixed("measured ", nonZero(time.Duration(m.DurationNs))))
	for _, g := range r.Groups {
		for _, c := range g.Cells {
			if len(c.Runs) > 0 {
				add("durability of "+c.Label, c.Runs[0].Manifest.Durability)
			}
		}
	}
	for _, g := range r.Groups {
		for _, c := range g.Cells {
			add(c.Label+" is", c.targets()...)
		}
	}
	command := m.Command
	if len(r.Studies) > 0 && len(r.Studies[0].Command) > 0 {
		command = r.Studies[0].Command
	}
	add("repeat with", strings.Join(command, " "))
	return once(facts)
}

// once leaves out facts that were said before, about another load of the same
// cell.
func once(facts []fact) []fact {
	said := map[fact]bool{}
	return slices.DeleteFunc(facts, func(f fact) bool {
		before := said[f]
		said[f] = true
		return before
	})
}

// targets says what the cell's runs measured where that was not this program:
// one text, or one for each that was met.
func (c *Cell) targets() []string {
	var all []string
	for _, r := range c.Runs {
		if r.Manifest.End == nil || len(r.Manifest.End.Target) == 0 {
			continue
		}
		t := r.Manifest.End.Target
		text := t["store"] + prefixed(" on ", t["runtime"]) + prefixed(" with ", t["flags"])
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

func (r *Report) firstRun() *Run {
	for _, g := range r.Groups {
		for _, c := range g.Cells {
			if len(c.Runs) > 0 {
				return c.Runs[0]
			}
		}
	}
	return nil
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func nonZero(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// bytesText writes a size in the largest binary unit that it reaches.
func bytesText(n uint64) string {
	if n == ^uint64(0) {
		return "unlimited"
	}
	size, unit := float64(n), "B"
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if size < 1024 {
			break
		}
		size, unit = size/1024, u
	}
	return strconv.FormatFloat(math.Round(size*10)/10, 'f', -1, 64) + " " + unit
}

// limits says what the figures do not tell, as far as it holds for this
// report.
func (r *Report) limits() []string {
	out := []string{
		"One machine, one disk, one moment: the ratios may be other on yours. Run the study there.",
		"The largest value is a single operation; it says that such a thing happens and not how often.",
	}
	closed, async, peers, pressed := false, false, false, false
	for _, g := range r.Groups {
		closed = closed || g.Closed
		pressed = pressed || g.Pressure != ""
		for _, c := range g.Cells {
			async = async || strings.Contains(c.Options["flush"], "async")
			peers = peers || c.isPeer()
		}
	}
	if peers {
		out = append(out, "A peer is another program on another runtime, which generates its load there: its distance to the others is that of both, with its runtime's pauses in it, and not of one option.")
	}
	if closed {
		out = append(out, "A closed loop slows down together with what it measures, so that a stall costs it one slow operation. Its percentiles do not show what a client that comes at its own time would see.")
	}
	if async {
		out = append(out, "With asynchronous flush an operation ends before its message is on disk: a power cut loses what was not yet synced. Such figures do not compare with those of synchronous flush.")
	}
	out = append(out, "The generator runs inside the process it measures and shares its processors; slip time and hiccups show how much that disturbed it.")
	if pressed {
		return append(out, "What went on beside the load did what the table of pressure says, and no more; what it was meant to stand for may do otherwise.")
	}
	return append(out, "Nothing here was measured under memory pressure, on a full disk, or beside other load, unless the scenario says so.")
}

// slice tells how long a thread runs on, if the system did.
func slice(ns int64) string {
	if ns == 0 {
		return ""
	}
	return "slices of " + time.Duration(ns).String()
}
