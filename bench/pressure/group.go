package pressure

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// memoryGroup is a memory control group in which others can be made.
type memoryGroup struct {
	version int    // of control groups, 1 or 2
	home    string // directory of the group that the process is in
	parent  string // directory in which a group for it is made
}

// Names of the files of a group, by version.
var groupFiles = map[int]struct{ limit, most, refused string }{
	1: {"memory.limit_in_bytes", "memory.max_usage_in_bytes", "memory.failcnt"},
	2: {"memory.max", "memory.peak", ""},
}

const groupPrefix = "commitlab-"

// confine moves a process to a new group with a limit. Its memory so far stays
// charged to the old one; what it touches from now on, page cache included, is
// charged to the new.
func (g memoryGroup) confine(pid int, bytes int64) (running, error) {
	g.removeAbandoned()
	r := &confined{memoryGroup: g, pid: pid, bytes: bytes, dir: filepath.Join(g.parent, groupPrefix+strconv.Itoa(pid))}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		return nil, fmt.Errorf("make a memory control group: %w", err)
	}
	err := writeGroup(filepath.Join(r.dir, groupFiles[g.version].limit), bytes)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) && !exists(filepath.Join(r.dir, groupFiles[g.version].limit)) {
		err = fmt.Errorf("%w: groups in %s have no memory controller", errNoGroup, g.parent)
	}
	if err == nil {
		err = writeGroup(filepath.Join(r.dir, "cgroup.procs"), int64(pid))
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(r.dir))
	}
	return r, nil
}

// removeAbandoned removes groups of processes that were killed.
func (g memoryGroup) removeAbandoned() {
	dirs, _ := filepath.Glob(filepath.Join(g.parent, groupPrefix+"*"))
	for _, dir := range dirs {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), groupPrefix))
		if err == nil && !exists(filepath.Join("/proc", strconv.Itoa(pid))) {
			os.Remove(dir) // only works on an empty group, and is tried again next time
		}
	}
}

// hasMemory says whether groups in dir (version 2) have the memory controller.
func hasMemory(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	return err == nil && slices.Contains(strings.Fields(string(text)), "memory")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// writeGroup writes a number to a file of a group, which must exist.
func writeGroup(path string, n int64) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.WriteString(strconv.FormatInt(n, 10))
	return err
}

// readGroup reads a number of a group; ok is false where there is none.
func readGroup(path string) (n float64, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err = strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	return n, err == nil
}

// confined is a process in a group of its own.
type confined struct {
	memoryGroup
	pid   int
	bytes int64
	dir   string
}

func (r *confined) stop() (Report, error) {
	report := Report{
		Did:    fmt.Sprintf("a memory control group (version %d) with a limit of %s", r.version, size(r.bytes)),
		Values: map[string]float64{"limitBytes": float64(r.bytes), "version": float64(r.version)},
	}
	files := groupFiles[r.version]
	if most, ok := readGroup(filepath.Join(r.dir, files.most)); ok {
		report.Did += fmt.Sprintf("; at most %s were in use", size(int64(most)))
		report.Values["mostBytes"] = most
	}
	if n, ok := readGroup(filepath.Join(r.dir, files.refused)); ok && files.refused != "" {
		report.Did += fmt.Sprintf("; the limit was hit %.0f times", n)
		report.Values["limitHits"] = n
	}
	if err := writeGroup(filepath.Join(r.home, "cgroup.procs"), int64(r.pid)); err != nil {
		return report, fmt.Errorf("go back to the old memory control group: %w", err)
	}
	return report, os.Remove(r.dir)
}
