package host

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Severity orders findings.
type Severity int

const (
	Note    Severity = iota // to know when reading figures
	Warning                 // spoils figures; they can still be compared with care
	Problem                 // the run would fail or measure something else
)

func (s Severity) String() string {
	switch s {
	case Note:
		return "note"
	case Warning:
		return "warning"
	case Problem:
		return "problem"
	}
	return "severity " + strconv.Itoa(int(s))
}

// MarshalText makes a Severity a word in JSON.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Finding is one thing about a machine that a user should know before trusting
// figures from it.
type Finding struct {
	Severity Severity `json:"severity"`
	What     string   `json:"what"` // what was seen, with its value
	Why      string   `json:"why"`  // what it does to results
	Mend     string   `json:"mend"` // what to do; "" if nothing can be done
}

// Preflight looks at the machine and the directory of a planned run. Findings
// come in order of severity, gravest first.
func Preflight(dir string) []Finding { return Judge(Collect(dir)) }

const (
	mib = 1 << 20
	gib = 1 << 30
	// fileBytes is the size of a commit log file as RocketMQ has it, which is
	// what most limits are held against.
	fileBytes = gib
)

// Judge is Preflight on facts that were collected before. Facts that are not
// known give no finding.
func Judge(f Facts) []Finding {
	j := judge{Facts: f}
	j.processor()
	j.neighbours()
	j.memory()
	j.limits()
	j.volume()
	j.durability()
	j.program()
	slices.SortStableFunc(j.findings, func(a, b Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	return j.findings
}

type judge struct {
	Facts
	findings []Finding
}

func (j *judge) add(s Severity, what, why, mend string) {
	j.findings = append(j.findings, Finding{s, what, why, mend})
}

func (j *judge) processor() {
	if j.CPUs < 4 {
		j.add(Warning, fmt.Sprintf("%d CPUs", j.CPUs),
			"the generator, the engine's services and the kernel's write-back share them, and each shows up in the others' latency",
			"use a machine with 4 CPUs or more, or keep to one writer and rates well below the maximum")
	}
	if q := j.Cgroup.CPUs; q > 0 && q < float64(j.CPUs) {
		j.add(Warning, fmt.Sprintf("the control group allows %.3g of %d CPUs", q, j.CPUs),
			"a group that has used up its quota is stopped for the rest of a period, up to 100 ms: that is the tail you will see",
			"lift the CPU quota, or set GOMAXPROCS to no more than the quota")
	}
	switch j.Governor {
	case "", "performance":
	default:
		j.add(Warning, "CPU frequency governor "+j.Governor,
			"the clock frequency follows the load, so that a paced run is slower per operation than a full one",
			"cpupower frequency-set -g performance")
	}
	switch j.Clocksource {
	case "", "tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page":
	default:
		j.add(Warning, "clock source "+j.Clocksource,
			"reading it is a system call or a device access, and every operation reads it twice",
			"if the kernel offers tsc: echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource")
	}
	if j.ClockReadNs > 150 {
		j.add(Warning, fmt.Sprintf("one reading of the clock takes %.0f ns", j.ClockReadNs),
			"it is part of every service time; operations near it cannot be told apart",
			"compare with the baseline scenarios, which pay the same")
	}
	if j.Virtualisation != "" {
		j.add(Note, j.Virtualisation,
			"memory and CPU are the host's: first touches and absolute times drift from hour to hour; hardware counters are missing",
			"compare only what ran interleaved in one study")
	}
	if j.FreePageReporting {
		j.add(Warning, "free memory goes back to the host (free page reporting)",
			"the first touch of a page that was free for some seconds waits for the host and costs up to ten times as much: whatever makes new files pays it, whoever writes to recycled ones does not",
			"compare only what ran interleaved in one study, or have the host switch it off")
	}
}

func (j *judge) neighbours() {
	if j.StealFraction > 0.01 {
		j.add(Warning, fmt.Sprintf("%.1f %% of the CPU time wanted since boot was stolen by the host", 100*j.StealFraction),
			"the machine stops without knowing; the hiccup histogram shows how long",
			"use a dedicated machine, or more blocks")
	}
	if p := j.PSI; p != nil {
		for _, r := range []struct {
			what  string
			share float64
			limit float64
		}{
			{"a CPU", p.CPUSome, 10}, {"memory", p.MemorySome, 1}, {"I/O", p.IOSome, 5},
		} {
			if r.share > r.limit {
				j.add(Warning, fmt.Sprintf("tasks waited for %s in %.0f %% of the last 10 s", r.what, r.share),
					"something else is at work on this machine and will be in the figures",
					"stop it, or wait; see top and /proc/pressure")
			}
		}
	} else if j.Load1 > 0.5*float64(max(1, j.CPUsOnline)) {
		j.add(Warning, fmt.Sprintf("load average %.2f on %d CPUs", j.Load1, j.CPUsOnline),
			"something else is at work on this machine and will be in the figures",
			"stop it, or wait; see top")
	}
}

func (j *judge) memory() {
	if n := j.AvailableBytes; n > 0 && n < 4*gib {
		j.add(Warning, "available memory "+size(n),
			"a few commit log files of 1 GiB fill it, and the kernel then writes back and evicts pages under the writer",
			"free memory, or use smaller files: --set commitLogFileBytes=…")
	}
	if n := j.Cgroup.MemoryBytes; n > 0 && n < 4*gib {
		j.add(Warning, "the control group's memory limit is "+size(n),
			"page cache of the store counts against it; at the limit every new page waits for an old one",
			"raise the limit, or use smaller files: --set commitLogFileBytes=…")
	}
	if n, err := strconv.ParseUint(j.Swappiness, 10, 64); err == nil && n > 10 && j.SwapBytes > 0 {
		j.add(Warning, fmt.Sprintf("swap is on with swappiness %d", n),
			"a full page cache pushes the program's own memory out, and its return is a stall",
			"sysctl vm.swappiness=1, or swapoff -a")
	}
	if limit, ok := j.dirtyLimit(); ok && limit < fileBytes {
		j.add(Warning, "writers are throttled from "+size(limit)+" of dirty pages on",
			"less than one commit log file: an unthrottled run measures the disk, not the engine",
			"sysctl vm.dirty_ratio=40 (or vm.dirty_bytes)")
	}
	if j.THP == "always" {
		j.add(Note, "transparent huge pages are on for everything",
			"the heap of the program is compacted and merged in the background",
			"echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")
	}
}

// dirtyLimit returns from how many dirty bytes on the kernel makes writers
// wait. A limit in bytes overrules the ratio, which is of available memory.
func (j *judge) dirtyLimit() (bytes uint64, ok bool) {
	if n, err := strconv.ParseUint(j.DirtyBytes, 10, 64); err == nil && n > 0 {
		return n, true
	}
	n, err := strconv.ParseUint(j.DirtyRatio, 10, 64)
	if err != nil || j.AvailableBytes == 0 {
		return 0, false
	}
	return j.AvailableBytes / 100 * n, true
}

func (j *judge) limits() {
	if j.OS != "linux" {
		j.add(Warning, "operating system "+j.OS,
			"most of what this store is built on (fallocate, populate, cachestat, pressure) exists on Linux only",
			"measure on Linux")
		return
	}
	if !j.Root && j.MemlockBytes < 2*fileBytes {
		j.add(Warning, "RLIMIT_MEMLOCK is "+size(j.MemlockBytes),
			"configurations that lock a commit log file in memory cannot, and are measured without the lock",
			"ulimit -l unlimited, or LimitMEMLOCK=infinity in the unit, or --set memoryLock=none")
	}
	if n := j.MaxMapCount; n > 0 && n < 65530 {
		j.add(Warning, fmt.Sprintf("vm.max_map_count is %d", n),
			"each file of a consume queue is a mapping; many queues end in ENOMEM",
			"sysctl vm.max_map_count=262144")
	}
	if j.OpenFiles < 4096 {
		j.add(Warning, fmt.Sprintf("at most %d open files", j.OpenFiles),
			"each file of the store stays open",
			"ulimit -n 65536")
	}
	for _, k := range []struct {
		major, minor int
		what, why    string
	}{
		{5, 14, "MADV_POPULATE_WRITE", "populate=window and populate=file do nothing, and every first touch of a page is a fault under the writer"},
		{6, 5, "cachestat", "reports do not show which part of a file was in memory or dirty"},
	} {
		if olderThan(j.Kernel, k.major, k.minor) {
			j.add(Warning, fmt.Sprintf("kernel %s has no %s", j.Kernel, k.what), k.why,
				fmt.Sprintf("use Linux %d.%d or newer", k.major, k.minor))
		}
	}
}

// olderThan compares a kernel release such as "6.18.44-fc"; one that cannot be
// read is not older.
func olderThan(release string, major, minor int) bool {
	var a, b int
	if n, _ := fmt.Sscanf(release, "%d.%d", &a, &b); n != 2 {
		return false
	}
	return a < major || a == major && b < minor
}

func (j *judge) program() {
	if j.GOMAXPROCS == 1 {
		j.add(Warning, "GOMAXPROCS is 1",
			"a page fault holds the only processor: generator, engine and hiccup meter stop together",
			"unset GOMAXPROCS")
	}
	if j.Modified {
		j.add(Note, "the program was built from a changed tree",
			"the revision in the results does not say what was measured",
			"commit before a run that is to be kept")
	}
}

// size prints bytes in the largest unit that keeps the figure readable.
func size(n uint64) string {
	switch {
	case n == 1<<64-1:
		return "unlimited"
	case n >= gib:
		return fmt.Sprintf("%.1f GiB", float64(n)/gib)
	case n >= mib:
		return fmt.Sprintf("%.1f MiB", float64(n)/mib)
	}
	return fmt.Sprintf("%d bytes", n)
}

// option reports whether a comma-separated list of mount options holds name,
// alone or with a value.
func option(options, name string) bool {
	for o := range strings.SplitSeq(options, ",") {
		if o == name || strings.HasPrefix(o, name+"=") {
			return true
		}
	}
	return false
}
