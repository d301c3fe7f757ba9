package host

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// cgroup reads the limits of the process's control group and of all above it,
// since the tightest one rules.
func (s *source) cgroup() {
	self, err := s.proc.Self()
	if err != nil {
		s.unknown("cgroup", err)
		return
	}
	groups, err := self.Cgroups()
	if err != nil {
		s.unknown("cgroup", err)
		return
	}
	mounts, err := procfs.GetMounts()
	if err != nil {
		s.unknown("cgroup", err)
		return
	}
	limits := cgroupReader{mounts: mounts}
	for _, g := range groups {
		limits.group(g)
	}
	s.Cgroup = limits.CgroupLimits
	if s.MemoryBytes > 0 && s.Cgroup.MemoryBytes >= s.MemoryBytes {
		s.Cgroup.MemoryBytes = 0 // more than there is: no limit
	}
}

type cgroupReader struct {
	CgroupLimits
	mounts []*procfs.MountInfo
}

// group takes in the limits of one line of /proc/self/cgroup.
func (c *cgroupReader) group(g procfs.Cgroup) {
	v2 := len(g.Controllers) == 0
	for _, m := range c.mounts {
		switch {
		case v2 && m.FSType == "cgroup2":
			c.walk(m, g.Path, func(dir string) {
				c.cpus(readWords(dir, "cpu.max"))
				c.memory(readWords(dir, "memory.max"))
			})
		case !v2 && m.FSType == "cgroup" && has(m.SuperOptions, g.Controllers[0]):
			c.walk(m, g.Path, func(dir string) {
				c.cpus(append(readWords(dir, "cpu.cfs_quota_us"), readWords(dir, "cpu.cfs_period_us")...))
				c.memory(readWords(dir, "memory.limit_in_bytes"))
			})
		}
	}
}

func has(options map[string]string, name string) bool {
	_, ok := options[name]
	return ok
}

// walk calls f for the directory of a group and all above it up to the mount.
// A group that is not below the mount's root is looked for at the mount point:
// that is where a container sees its own group.
func (c *cgroupReader) walk(m *procfs.MountInfo, group string, f func(dir string)) {
	if m.FSType == "cgroup2" {
		if c.Version == 0 {
			c.Version = 2
		}
	} else {
		c.Version = 1
	}
	dir := m.MountPoint
	if rel, err := filepath.Rel(m.Root, group); err == nil && !strings.HasPrefix(rel, "..") {
		dir = filepath.Join(m.MountPoint, rel)
	}
	for {
		f(dir)
		if dir == m.MountPoint || len(dir) <= len(m.MountPoint) {
			return
		}
		dir = filepath.Dir(dir)
	}
}

func readWords(dir, file string) []string {
	b, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return nil
	}
	return strings.Fields(string(b))
}

// cpus takes a quota and a period; "max" and -1 are no quota.
func (c *cgroupReader) cpus(words []string) {
	if len(words) != 2 {
		return
	}
	quota, err1 := strconv.ParseFloat(words[0], 64)
	period, err2 := strconv.ParseFloat(words[1], 64)
	if err1 != nil || err2 != nil || quota <= 0 || period <= 0 {
		return
	}
	if n := quota / period; c.CPUs == 0 || n < c.CPUs {
		c.CPUs = n
	}
}

// memory takes a limit in bytes; "max" is none.
func (c *cgroupReader) memory(words []string) {
	if len(words) != 1 {
		return
	}
	n, err := strconv.ParseUint(words[0], 10, 64)
	if err != nil || n == 0 {
		return
	}
	if c.MemoryBytes == 0 || n < c.MemoryBytes {
		c.MemoryBytes = n
	}
}
