package host

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// system reads the machine, the limits and the volume of dir from /proc, /sys
// and system calls.
func (f *Facts) system(dir string) {
	s := source{Facts: f, procRoot: procfs.DefaultMountPoint, sysRoot: "/sys"}
	proc, err := procfs.NewFS(s.procRoot)
	if err != nil {
		f.unknown("proc", err)
		return
	}
	s.proc = proc
	s.kernel()
	s.processor()
	s.memory()
	s.settings()
	s.pressure()
	s.limits()
	s.cgroup()
	s.volume(dir)
	f.Virtualisation = s.virtualisation()
}

// source is the two pseudo file systems that facts come from, so that tests
// can put others in their place.
type source struct {
	*Facts
	proc              procfs.FS
	procRoot, sysRoot string
}

// sys reads one line below /sys; "" if there is none.
func (s *source) sys(path ...string) string {
	b, err := os.ReadFile(filepath.Join(append([]string{s.sysRoot}, path...)...))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// sysctl reads one kernel setting; "" if there is none.
func (s *source) sysctl(name string) string {
	v, err := s.proc.SysctlStrings(name)
	if err != nil {
		s.unknown(name, err)
		return ""
	}
	return strings.Join(v, " ")
}

// selected returns the choice in brackets of a list such as
// "always [madvise] never", or the whole text if there is none.
func selected(list string) string {
	if _, rest, ok := strings.Cut(list, "["); ok {
		if choice, _, ok := strings.Cut(rest, "]"); ok {
			return choice
		}
	}
	return list
}

func (s *source) kernel() {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		s.unknown("kernel", err)
		return
	}
	s.Kernel = unix.ByteSliceToString(u.Release[:])
}

func (s *source) processor() {
	if cpus, err := s.proc.CPUInfo(); err != nil {
		s.unknown("cpu", err)
	} else if len(cpus) > 0 {
		s.CPUModel = cpus[0].ModelName
		s.CPUsOnline = len(cpus)
	}
	s.Governor = s.sys("devices/system/cpu/cpu0/cpufreq/scaling_governor")
	if khz, err := strconv.ParseFloat(s.sys("devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"), 64); err == nil {
		s.MaxMHz = khz / 1000
	}
	s.Clocksource = s.sys("devices/system/clocksource/clocksource0/current_clocksource")
	if stat, err := s.proc.Stat(); err != nil {
		s.unknown("steal", err)
	} else {
		t := stat.CPUTotal
		wanted := t.User + t.Nice + t.System + t.IRQ + t.SoftIRQ + t.Steal
		if wanted > 0 {
			s.StealFraction = t.Steal / wanted
		}
	}
	if load, err := s.proc.LoadAvg(); err != nil {
		s.unknown("load", err)
	} else {
		s.Load1 = load.Load1
	}
}

func (s *source) memory() {
	m, err := s.proc.Meminfo()
	if err != nil {
		s.unknown("memory", err)
		return
	}
	value := func(p *uint64) uint64 {
		if p == nil {
			return 0
		}
		return *p
	}
	s.MemoryBytes = value(m.MemTotalBytes)
	s.AvailableBytes = value(m.MemAvailableBytes)
	s.SwapBytes = value(m.SwapTotalBytes)
	s.THP = selected(s.sys("kernel/mm/transparent_hugepage/enabled"))
	s.FreePageReporting = s.freePageReporting()
	s.THPShmem = selected(s.sys("kernel/mm/transparent_hugepage/shmem_enabled"))
}

// freePageReporting looks at bit 5 of what the guest's balloon has agreed upon with its
// host (Virtual I/O Device specification 1.2, 5.5.3).
func (s *source) freePageReporting() bool {
	const reporting = 5
	found, _ := filepath.Glob(filepath.Join(s.sysRoot, "bus/virtio/drivers/virtio_balloon/virtio*"))
	for _, device := range found {
		b, err := os.ReadFile(filepath.Join(device, "features"))
		if err == nil && len(b) > reporting && b[reporting] == '1' {
			return true
		}
	}
	return false
}

func (s *source) settings() {
	s.DirtyRatio = s.sysctl("vm.dirty_ratio")
	s.DirtyBackgroundRatio = s.sysctl("vm.dirty_background_ratio")
	s.DirtyBytes = s.sysctl("vm.dirty_bytes")
	s.DirtyBackgroundBytes = s.sysctl("vm.dirty_background_bytes")
	s.DirtyExpireCs = s.sysctl("vm.dirty_expire_centisecs")
	s.DirtyWritebackCs = s.sysctl("vm.dirty_writeback_centisecs")
	s.Swappiness = s.sysctl("vm.swappiness")
	s.MaxMapCount, _ = strconv.ParseUint(s.sysctl("vm.max_map_count"), 10, 64)
}

func (s *source) pressure() {
	var p Pressure
	for _, r := range []struct {
		name       string
		some, full *float64
	}{
		{"cpu", &p.CPUSome, nil}, // a whole machine cannot wait for its own CPUs
		{"memory", &p.MemorySome, &p.MemoryFull},
		{"io", &p.IOSome, &p.IOFull},
	} {
		stats, err := s.proc.PSIStatsForResource(r.name)
		if err != nil {
			s.unknown("pressure", err)
			return
		}
		if stats.Some != nil {
			*r.some = stats.Some.Avg10
		}
		if stats.Full != nil && r.full != nil {
			*r.full = stats.Full.Avg10
		}
	}
	s.PSI = &p
}

func (s *source) limits() {
	for _, l := range []struct {
		name     string
		resource int
		value    *uint64
	}{
		{"memlock", unix.RLIMIT_MEMLOCK, &s.MemlockBytes},
		{"open files", unix.RLIMIT_NOFILE, &s.OpenFiles},
	} {
		var r unix.Rlimit
		if err := unix.Getrlimit(l.resource, &r); err != nil {
			s.unknown(l.name, err)
			continue
		}
		*l.value = r.Cur
	}
}

// virtualisation names what the program runs in. A container inside of a
// virtual machine is named with it.
func (s *source) virtualisation() string {
	var in []string
	if v := s.sys("hypervisor/type"); v != "" {
		in = append(in, v)
	} else if v := s.sys("class/dmi/id/sys_vendor"); s.hypervisorBit() {
		in = append(in, strings.TrimSpace("virtual machine "+v))
	}
	if v := os.Getenv("container"); v != "" {
		in = append(in, "container "+v)
	} else if exists("/.dockerenv") {
		in = append(in, "container docker")
	} else if exists("/run/.containerenv") {
		in = append(in, "container podman")
	}
	return strings.Join(in, ", ")
}

func (s *source) hypervisorBit() bool {
	cpus, err := s.proc.CPUInfo()
	if err != nil || len(cpus) == 0 {
		return false
	}
	for _, flag := range cpus[0].Flags {
		if flag == "hypervisor" {
			return true
		}
	}
	return false
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
