package host

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// quiet is a machine that spoils nothing.
func quiet() Facts {
	return Facts{
		OS: "linux", Arch: "amd64", Kernel: "6.18.44", CPUs: 8, CPUsOnline: 8,
		Governor: "performance", Clocksource: "tsc", ClockReadNs: 25,
		MemoryBytes: 64 * gib, AvailableBytes: 60 * gib,
		DirtyRatio: "20", DirtyBytes: "0", Swappiness: "60", MaxMapCount: 65530, THP: "madvise",
		MemlockBytes: 1<<64 - 1, OpenFiles: 1 << 20, PSI: &Pressure{}, GOMAXPROCS: 8,
		Dir: Volume{
			Path: "results", FileSystem: "ext4", MountOptions: "relatime,rw", Journal: "yes", Rotational: "no",
			TotalBytes: 1000 * gib, AvailableBytes: 500 * gib,
		},
	}
}

func TestQuietMachineHasNoFindings(t *testing.T) {
	for _, f := range Judge(quiet()) {
		t.Errorf("%s: %s", f.Severity, f.What)
	}
}

// One thing at a time is wrong; exactly that is found.
func TestWhatSpoilsResultsIsFound(t *testing.T) {
	for _, c := range []struct {
		name     string
		spoil    func(f *Facts)
		severity Severity
		what     string // in the finding's What
	}{
		{"few cores", func(f *Facts) { f.CPUs = 2 }, Warning, "2 CPUs"},
		{"cpu quota", func(f *Facts) { f.Cgroup.CPUs = 1.5 }, Warning, "1.5 of 8 CPUs"},
		{"governor", func(f *Facts) { f.Governor = "powersave" }, Warning, "powersave"},
		{"clock source", func(f *Facts) { f.Clocksource = "hpet" }, Warning, "hpet"},
		{"clock cost", func(f *Facts) { f.ClockReadNs = 900 }, Warning, "900 ns"},
		{"virtual machine", func(f *Facts) { f.Virtualisation = "virtual machine" }, Note, "virtual machine"},
		{"free page reporting", func(f *Facts) { f.FreePageReporting = true }, Warning, "free page reporting"},
		{"read-ahead", func(f *Facts) { f.Dir.Device, f.Dir.ReadAheadKiB = "vda", 8192 }, Warning, "vda reads 8192 KiB ahead"},
		{"steal", func(f *Facts) { f.StealFraction = 0.03 }, Warning, "3.0 %"},
		{"cpu pressure", func(f *Facts) { f.PSI.CPUSome = 40 }, Warning, "a CPU in 40 %"},
		{"memory pressure", func(f *Facts) { f.PSI.MemorySome = 2 }, Warning, "memory in 2 %"},
		{"io pressure", func(f *Facts) { f.PSI.IOSome = 30 }, Warning, "I/O in 30 %"},
		{"load without psi", func(f *Facts) { f.PSI, f.Load1 = nil, 6 }, Warning, "load average 6.00"},
		{"little memory", func(f *Facts) { f.AvailableBytes, f.DirtyBytes = 3*gib, "2147483648" }, Warning, "3.0 GiB"},
		{"memory limit", func(f *Facts) { f.Cgroup.MemoryBytes = 512 * mib }, Warning, "512.0 MiB"},
		{"swap", func(f *Facts) { f.SwapBytes = gib }, Warning, "swappiness 60"},
		{"dirty bytes", func(f *Facts) { f.DirtyBytes = "268435456" }, Warning, "256.0 MiB of dirty"},
		{"dirty ratio", func(f *Facts) { f.DirtyRatio = "1" }, Warning, "of dirty pages"},
		{"huge pages", func(f *Facts) { f.THP = "always" }, Note, "huge pages"},
		{"memlock", func(f *Facts) { f.MemlockBytes = 8 * mib }, Warning, "RLIMIT_MEMLOCK is 8.0 MiB"},
		{"map count", func(f *Facts) { f.MaxMapCount = 1000 }, Warning, "max_map_count is 1000"},
		{"open files", func(f *Facts) { f.OpenFiles = 256 }, Warning, "256 open files"},
		{"kernel without cachestat", func(f *Facts) { f.Kernel = "5.15.0-91-generic" }, Warning, "no cachestat"},
		{"not linux", func(f *Facts) { f.OS = "darwin" }, Warning, "darwin"},
		{"one processor", func(f *Facts) { f.GOMAXPROCS = 1 }, Warning, "GOMAXPROCS"},
		{"changed tree", func(f *Facts) { f.Modified = true }, Note, "changed tree"},
		{"read-only", func(f *Facts) { f.Dir.ReadOnly = true }, Problem, "cannot be written"},
		{"tmpfs", func(f *Facts) { f.Dir.FileSystem, f.Dir.Journal = "tmpfs", "no" }, Problem, "tmpfs"},
		{"container layer", func(f *Facts) { f.Dir.FileSystem = "overlay" }, Warning, "overlay"},
		{"network", func(f *Facts) { f.Dir.FileSystem = "nfs4" }, Problem, "nfs4"},
		{"rotating", func(f *Facts) { f.Dir.Rotational, f.Dir.Device = "yes", "sda" }, Warning, "sda rotates"},
		{"full disk", func(f *Facts) { f.Dir.AvailableBytes = gib }, Problem, "1.0 GiB of disk"},
		{"nearly full disk", func(f *Facts) { f.Dir.AvailableBytes = 50 * gib }, Warning, "95 % full"},
		{"discard", func(f *Facts) { f.Dir.MountOptions = "discard,rw" }, Warning, "with discard"},
		{"discard=async", func(f *Facts) { f.Dir.MountOptions = "discard=async,rw" }, Warning, "with discard"},
		{"sync", func(f *Facts) { f.Dir.MountOptions = "rw,sync" }, Warning, "with sync"},
		{"dax", func(f *Facts) { f.Dir.MountOptions = "dax=always,rw" }, Note, "with dax"},
		{"no journal", func(f *Facts) { f.Dir.Journal = "no" }, Warning, "without a journal"},
		{"no barrier", func(f *Facts) { f.Dir.MountOptions = "nobarrier,rw" }, Warning, "nobarrier"},
		{"barrier=0", func(f *Facts) { f.Dir.MountOptions = "barrier=0,rw" }, Warning, "barrier=0"},
		{"data=journal", func(f *Facts) { f.Dir.MountOptions = "data=journal,rw" }, Warning, "data=journal"},
	} {
		f := quiet()
		c.spoil(&f)
		found := Judge(f)
		if len(found) != 1 {
			t.Errorf("%s: %d findings, want 1: %+v", c.name, len(found), found)
			continue
		}
		if g := found[0]; g.Severity != c.severity || !strings.Contains(g.What, c.what) || g.Why == "" {
			t.Errorf("%s: %+v; want a %s with %q and its reason", c.name, g, c.severity, c.what)
		}
	}
}

func TestWhatIsNotKnownIsNotAFinding(t *testing.T) {
	f := quiet()
	f.Kernel, f.Governor, f.Clocksource, f.DirtyRatio, f.DirtyBytes, f.Swappiness = "", "", "", "", "", ""
	f.AvailableBytes, f.MaxMapCount, f.PSI = 0, 0, nil
	f.Dir = Volume{Path: "results"}
	for _, g := range Judge(f) {
		t.Errorf("%s: %s", g.Severity, g.What)
	}
}

func TestRootIsExemptFromMemlock(t *testing.T) {
	f := quiet()
	f.MemlockBytes, f.Root = 8*mib, true
	if found := Judge(f); len(found) != 0 {
		t.Errorf("findings: %+v", found)
	}
}

func TestGravestFindingsComeFirst(t *testing.T) {
	f := quiet()
	f.Modified = true          // note
	f.CPUs = 2                 // warning
	f.Dir.FileSystem = "tmpfs" // problem
	var order []string
	for _, g := range Judge(f) {
		order = append(order, g.Severity.String())
	}
	if want := []string{"problem", "warning", "note"}; !slices.Equal(order, want) {
		t.Errorf("order is %v, want %v", order, want)
	}
	b, err := json.Marshal(Judge(f)[0])
	if err != nil || !strings.HasPrefix(string(b), `{"severity":"problem",`) {
		t.Errorf("JSON is %s, %v; want the severity as a word", b, err)
	}
}

func TestKernelReleasesAreCompared(t *testing.T) {
	for _, c := range []struct {
		release string
		want    bool
	}{{"6.5.0", false}, {"6.4.16", true}, {"5.19-rc1", true}, {"6.18.44-fc-v782", false}, {"10.0", false}, {"", false}, {"custom", false}} {
		if got := olderThan(c.release, 6, 5); got != c.want {
			t.Errorf("%q older than 6.5: %v, want %v", c.release, got, c.want)
		}
	}
}

func TestDiffNamesLastingDifferencesOnly(t *testing.T) {
	a, b := quiet(), quiet()
	b.Kernel, b.Dir.FileSystem, b.Governor = "6.19.0", "xfs", ""
	b.AvailableBytes, b.PSI, b.Load1, b.Dir.AvailableBytes, b.ClockReadNs = 1, &Pressure{IOSome: 3}, 9, 1, 99
	want := []Difference{
		{"dir.file_system", "ext4", "xfs"},
		{"governor", "performance", ""},
		{"kernel", "6.18.44", "6.19.0"},
	}
	if d := cmp.Diff(want, a.Diff(b)); d != "" {
		t.Error("(-want +got)\n" + d)
	}
	if d := a.Diff(a); len(d) != 0 {
		t.Errorf("a machine differs from itself: %v", d)
	}
}

func TestFactsComeBackFromJSON(t *testing.T) {
	want := Collect(t.TempDir())
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Facts
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error("(-collected +read)\n" + d)
	}
}
