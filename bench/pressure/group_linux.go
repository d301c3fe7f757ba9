package pressure

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/prometheus/procfs"
)

// ownMemoryGroup finds the memory control group of this process, and where a
// group for it can be made.
func ownMemoryGroup() (memoryGroup, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return memoryGroup{}, err
	}
	self, err := fs.Self()
	if err != nil {
		return memoryGroup{}, err
	}
	groups, err := self.Cgroups()
	if err != nil {
		return memoryGroup{}, err
	}
	mounts, err := procfs.GetMounts()
	if err != nil {
		return memoryGroup{}, err
	}
	g, ok := memoryGroupOf(groups, mounts)
	if !ok {
		return memoryGroup{}, fmt.Errorf("%w: no memory controller is mounted", errNoGroup)
	}
	procs, err := os.OpenFile(filepath.Join(g.home, "cgroup.procs"), os.O_WRONLY, 0)
	if err != nil {
		return memoryGroup{}, fmt.Errorf("%w: %w: it takes root, or a group that was delegated to this user", errNoGroup, err)
	}
	return g, procs.Close()
}

// memoryGroupOf decides from the lines of /proc/self/cgroup and the mounts. With
// version 1 a group is made below the process's own. With version 2 it is made
// beside it: a group that has processes may not have groups below it that share
// memory out, unless it is the root.
func memoryGroupOf(groups []procfs.Cgroup, mounts []*procfs.MountInfo) (memoryGroup, bool) {
	for _, g := range groups {
		if !slices.Contains(g.Controllers, "memory") {
			continue
		}
		for _, m := range mounts {
			if _, ok := m.SuperOptions["memory"]; m.FSType == "cgroup" && ok {
				home := filepath.Join(m.MountPoint, g.Path)
				return memoryGroup{version: 1, home: home, parent: home}, true
			}
		}
	}
	for _, g := range groups {
		if len(g.Controllers) > 0 {
			continue
		}
		for _, m := range mounts {
			if m.FSType != "cgroup2" {
				continue
			}
			home := filepath.Join(m.MountPoint, g.Path)
			parent := home
			if g.Path != "/" {
				parent = filepath.Dir(home)
			}
			if exists(filepath.Join(parent, "cgroup.procs")) && hasMemory(parent) {
				return memoryGroup{version: 2, home: home, parent: parent}, true
			}
		}
	}
	return memoryGroup{}, false
}
