package host

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/procfs"
)

func TestCollectKnowsThisMachine(t *testing.T) {
	dir := t.TempDir()
	f := Collect(filepath.Join(dir, "not", "there", "yet"))
	if f.OS != "linux" || f.Kernel == "" || f.CPUs != runtime.NumCPU() || f.GoVersion != runtime.Version() || f.PageBytes != os.Getpagesize() {
		t.Errorf("basic facts are missing: %+v", f)
	}
	if f.MemoryBytes == 0 || f.AvailableBytes > f.MemoryBytes || f.MaxMapCount == 0 || f.OpenFiles == 0 {
		t.Errorf("memory %d, available %d, map count %d, open files %d", f.MemoryBytes, f.AvailableBytes, f.MaxMapCount, f.OpenFiles)
	}
	if f.ClockReadNs <= 0 {
		t.Errorf("a clock reading takes %g ns", f.ClockReadNs)
	}
	if f.Dir.FileSystem == "" || f.Dir.MountPoint == "" || f.Dir.TotalBytes == 0 || f.Dir.ReadOnly {
		t.Errorf("volume of the nearest directory is not known: %+v", f.Dir)
	}
	if f.StealFraction < 0 || f.StealFraction > 1 {
		t.Errorf("steal fraction is %g", f.StealFraction)
	}
}

func TestPreflightOfThisMachineGivesReasons(t *testing.T) {
	for _, g := range Preflight(t.TempDir()) {
		if g.What == "" || g.Why == "" {
			t.Errorf("finding without a reason: %+v", g)
		}
	}
}

func TestTmpfsIsFound(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "preflight")
	if err != nil {
		t.Skipf("no /dev/shm to write to: %v", err)
	}
	defer os.RemoveAll(dir)
	f := Collect(dir)
	if f.Dir.FileSystem != "tmpfs" {
		t.Skipf("/dev/shm is %s, not tmpfs", f.Dir.FileSystem)
	}
	if found := Judge(f); found[0].Severity != Problem || !strings.Contains(found[0].What, "tmpfs") {
		t.Errorf("first finding is %+v, want the tmpfs", found[0])
	}
}

// tree writes files below a fresh directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// A machine with everything that this one may not have.
func TestFactsComeFromProcAndSys(t *testing.T) {
	proc := tree(t, map[string]string{
		"cpuinfo": "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Xeon\nflags\t\t: fpu hypervisor\n\n" +
			"processor\t: 1\nvendor_id\t: GenuineIntel\nmodel name\t: Xeon\nflags\t\t: fpu hypervisor\n\n",
		"stat":                          "cpu  800 0 100 5000 0 0 0 100 0 0\ncpu0 800 0 100 5000 0 0 0 100 0 0\nintr 0\nctxt 1\nbtime 1\nprocesses 1\nprocs_running 1\nprocs_blocked 0\nsoftirq 0 0 0 0 0 0 0 0 0 0 0\n",
		"loadavg":                       "1.50 0.00 0.00 1/100 100\n",
		"meminfo":                       "MemTotal: 1024 kB\nMemAvailable: 512 kB\nSwapTotal: 256 kB\n",
		"sys/vm/dirty_ratio":            "20\n",
		"sys/vm/max_map_count":          "65530\n",
		"pressure/cpu":                  "some avg10=1.50 avg60=0.00 avg300=0.00 total=0\nfull avg10=9.00 avg60=0.00 avg300=0.00 total=0\n",
		"pressure/memory":               "some avg10=2.50 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=0\n",
		"pressure/io":                   "some avg10=3.50 avg60=0.00 avg300=0.00 total=0\nfull avg10=1.00 avg60=0.00 avg300=0.00 total=0\n",
		"fs/ext4/nvme0n1p2/options":     "rw\n",
		"fs/jbd2/nvme0n1p2-8/info":      "\n",
		"fs/ext4/nvme0n1p3/options":     "rw\n",
		"fs/jbd2/nvme0n1p33-8/not_this": "\n",
	})
	sys := tree(t, map[string]string{
		"devices/system/cpu/cpu0/cpufreq/scaling_governor":            "powersave\n",
		"devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq":            "3500000\n",
		"devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
		"kernel/mm/transparent_hugepage/enabled":                      "[always] madvise never\n",
		"kernel/mm/transparent_hugepage/shmem_enabled":                "always [never]\n",
		"class/dmi/id/sys_vendor":                                     "Acme\n",
		"devices/pci/nvme0n1/queue/rotational":                        "0\n",
		"devices/pci/nvme0n1/queue/scheduler":                         "none [mq-deadline] bfq\n",
		"devices/pci/nvme0n1/queue/write_cache":                       "write back\n",
		"devices/pci/nvme0n1/queue/read_ahead_kb":                     "4096\n",
		"bus/virtio/drivers/virtio_balloon/virtio0/features":          "0110010100000000\n",
		"devices/pci/nvme0n1/device/model":                            "Fast Disk\n",
		"devices/pci/nvme0n1/nvme0n1p2/partition":                     "2\n",
	})
	for link, target := range map[string]string{"dev/block/259:2": "devices/pci/nvme0n1/nvme0n1p2", "block/nvme0n1": "devices/pci/nvme0n1"} {
		path := filepath.Join(sys, link)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(sys, target), path); err != nil {
			t.Fatal(err)
		}
	}
	fs, err := procfs.NewFS(proc)
	if err != nil {
		t.Fatal(err)
	}
	var f Facts
	s := source{Facts: &f, proc: fs, procRoot: proc, sysRoot: sys}
	s.processor()
	s.memory()
	s.settings()
	s.pressure()
	s.device("259:2")
	f.Dir.FileSystem, f.Dir.Source = "ext4", "/dev/nvme0n1p2"
	f.Dir.Journal = s.journal()

	want := Facts{
		CPUModel: "Xeon", CPUsOnline: 2, Governor: "powersave", MaxMHz: 3500, Clocksource: "tsc",
		StealFraction: 0.1, Load1: 1.5, MemoryBytes: 1 << 20, AvailableBytes: 512 << 10, SwapBytes: 256 << 10,
		THP: "always", THPShmem: "never", FreePageReporting: true, DirtyRatio: "20", MaxMapCount: 65530,
		PSI: &Pressure{CPUSome: 1.5, MemorySome: 2.5, MemoryFull: 0.5, IOSome: 3.5, IOFull: 1},
		Dir: Volume{FileSystem: "ext4", Source: "/dev/nvme0n1p2", Device: "nvme0n1", DeviceModel: "Fast Disk",
			Rotational: "no", Scheduler: "mq-deadline", WriteCache: "write back", ReadAheadKiB: 4096, Journal: "yes"},
	}
	unknown := f.Unknown
	f.Unknown = nil
	if d := cmp.Diff(want, f); d != "" {
		t.Error("(-want +got)\n" + d)
	}
	if len(unknown) != 6 || !strings.HasPrefix(unknown[0], "vm.dirty_background_ratio: ") {
		t.Errorf("unknown is %q, want the six settings that this tree lacks", unknown)
	}

	f.Dir.Source = "/dev/nvme0n1p3"
	if got := s.journal(); got != "no" {
		t.Errorf("journal of a partition without one is %q, want no", got)
	}
	f.Dir.Source = "/dev/elsewhere"
	if got := s.journal(); got != "" {
		t.Errorf("journal of an unknown device is %q, want not known", got)
	}
	if !s.hypervisorBit() {
		t.Error("the hypervisor bit of the CPU was not seen")
	}
}

func TestMountOfADirectory(t *testing.T) {
	mounts := []*procfs.MountInfo{
		{MountID: 1, MountPoint: "/", MajorMinorVer: "8:1"},
		{MountID: 2, MountPoint: "/data", MajorMinorVer: "8:2"},
		{MountID: 3, MountPoint: "/data", MajorMinorVer: "8:3"}, // hides the one before
		{MountID: 4, MountPoint: "/database", MajorMinorVer: "8:4"},
		{MountID: 5, MountPoint: "/btrfs", MajorMinorVer: "0:50"},
	}
	for _, c := range []struct {
		dir, number string
		want        int
	}{
		{"/home/x", "8:1", 1},
		{"/data/x", "8:3", 3},
		{"/data", "8:3", 3},
		{"/database/x", "8:4", 4},
		{"/btrfs/sub", "0:51", 5}, // stat shows the subvolume's number
	} {
		m := mountOf(mounts, c.number, c.dir)
		if m == nil || m.MountID != c.want {
			t.Errorf("%s: mount %+v, want number %d", c.dir, m, c.want)
		}
	}
	if m := mountOf(nil, "8:1", "/"); m != nil {
		t.Errorf("mount %+v of none", m)
	}
}

func TestTightestCgroupLimitRules(t *testing.T) {
	v2 := tree(t, map[string]string{
		"memory.max":       "max\n",
		"a/memory.max":     "1073741824\n",
		"a/cpu.max":        "max 100000\n",
		"a/b/memory.max":   "2147483648\n",
		"a/b/cpu.max":      "150000 100000\n",
		"other/memory.max": "1\n",
	})
	cpu := tree(t, map[string]string{"g/cpu.cfs_quota_us": "50000\n", "g/cpu.cfs_period_us": "100000\n", "cpu.cfs_quota_us": "-1\n", "cpu.cfs_period_us": "100000\n"})
	memory := tree(t, map[string]string{"memory.limit_in_bytes": "4096\n"})
	for _, c := range []struct {
		name   string
		mounts []*procfs.MountInfo
		groups []procfs.Cgroup
		want   CgroupLimits
	}{
		{"version 2", []*procfs.MountInfo{{FSType: "cgroup2", MountPoint: v2, Root: "/"}}, []procfs.Cgroup{{Path: "/a/b"}},
			CgroupLimits{Version: 2, CPUs: 1.5, MemoryBytes: 1 << 30}},
		{"version 2, no limit", []*procfs.MountInfo{{FSType: "cgroup2", MountPoint: v2, Root: "/"}}, []procfs.Cgroup{{Path: "/"}},
			CgroupLimits{Version: 2}},
		{"version 1", []*procfs.MountInfo{{FSType: "cgroup", MountPoint: cpu, Root: "/", SuperOptions: map[string]string{"cpu": ""}}},
			[]procfs.Cgroup{{Controllers: []string{"cpu"}, Path: "/g"}}, CgroupLimits{Version: 1, CPUs: 0.5}},
		// A container sees its own group at the mount point, by the host's path.
		{"container", []*procfs.MountInfo{{FSType: "cgroup", MountPoint: memory, Root: "/docker/x", SuperOptions: map[string]string{"memory": ""}}},
			[]procfs.Cgroup{{Controllers: []string{"memory"}, Path: "/docker/x"}}, CgroupLimits{Version: 1, MemoryBytes: 4096}},
		{"container, path outside", []*procfs.MountInfo{{FSType: "cgroup", MountPoint: memory, Root: "/docker/x", SuperOptions: map[string]string{"memory": ""}}},
			[]procfs.Cgroup{{Controllers: []string{"memory"}, Path: "/"}}, CgroupLimits{Version: 1, MemoryBytes: 4096}},
		{"none", nil, []procfs.Cgroup{{Path: "/"}}, CgroupLimits{}},
	} {
		r := cgroupReader{mounts: c.mounts}
		for _, g := range c.groups {
			r.group(g)
		}
		if r.CgroupLimits != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, r.CgroupLimits, c.want)
		}
	}
}
