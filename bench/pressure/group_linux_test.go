package pressure

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/procfs"
)

func mounted(kind, at string, options ...string) *procfs.MountInfo {
	m := &procfs.MountInfo{FSType: kind, MountPoint: at, SuperOptions: map[string]string{}}
	for _, o := range options {
		m.SuperOptions[o] = ""
	}
	return m
}

func TestMemoryGroupIsFoundInBothVersions(t *testing.T) {
	root := t.TempDir()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(root, "two/slice/unit"), 0o755))
	for _, dir := range []string{"two", "two/slice", "two/slice/unit"} {
		must(os.WriteFile(filepath.Join(root, dir, "cgroup.procs"), nil, 0o644))
	}
	must(os.WriteFile(filepath.Join(root, "two/slice/cgroup.subtree_control"), []byte("cpu memory pids\n"), 0o644))
	must(os.WriteFile(filepath.Join(root, "two/cgroup.subtree_control"), []byte("cpu\n"), 0o644))
	one, two := mounted("cgroup", "/cg/memory", "rw", "memory"), mounted("cgroup2", filepath.Join(root, "two"))

	g, ok := memoryGroupOf([]procfs.Cgroup{{Controllers: []string{"cpu"}, Path: "/a"}, {Controllers: []string{"memory"}, Path: "/box"}},
		[]*procfs.MountInfo{mounted("cgroup", "/cg/cpu", "cpu"), one, two})
	if !ok || g != (memoryGroup{1, "/cg/memory/box", "/cg/memory/box"}) {
		t.Errorf("version 1: %+v, %v", g, ok)
	}
	g, ok = memoryGroupOf([]procfs.Cgroup{{Path: "/slice/unit"}}, []*procfs.MountInfo{two})
	if !ok || g.version != 2 || g.parent != filepath.Join(root, "two/slice") || g.home != filepath.Join(root, "two/slice/unit") {
		t.Errorf("version 2: %+v, %v; want a group beside the own one", g, ok)
	}
	if g, ok = memoryGroupOf([]procfs.Cgroup{{Path: "/slice"}}, []*procfs.MountInfo{two}); ok {
		t.Errorf("a parent without the memory controller is taken: %+v", g)
	}
}

// Goal: the process is moved and the limit is set, and both are taken back. Method:
// a group of this test's own, with a child process in the place of the load
// generator.
func TestMemoryLimitConfinesAndLetsGo(t *testing.T) {
	const mount = "/sys/fs/cgroup/memory"
	home := filepath.Join(mount, fmt.Sprintf("commitlab-test-%d", os.Getpid()))
	if !exists(filepath.Join(mount, "memory.limit_in_bytes")) {
		t.Skip("needs the memory controller of control groups, version 1")
	}
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Skipf("needs to make a control group: %v", err)
	}
	defer func() {
		if err := os.Remove(home); err != nil {
			t.Errorf("the group of the test: %v", err)
		}
	}()
	process := exec.Command("sleep", "60")
	if err := process.Start(); err != nil {
		t.Skipf("needs sleep: %v", err)
	}
	defer func() { process.Process.Kill(); process.Wait() }()
	pid := process.Process.Pid

	// Left by a process that was killed: no such number can exist.
	abandoned := filepath.Join(home, groupPrefix+"2147483647")
	if err := os.Mkdir(abandoned, 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := memoryGroup{version: 1, home: home, parent: home}.confine(pid, gib)
	if err != nil {
		t.Fatal(err)
	}
	if exists(abandoned) {
		t.Error("the group of a killed process is still there")
	}
	group := filepath.Join(home, groupPrefix+strconv.Itoa(pid))
	if n, ok := readGroup(filepath.Join(group, "memory.limit_in_bytes")); !ok || n != gib {
		t.Errorf("the limit is %v, %v; want 1 GiB", n, ok)
	}
	if where := groupOf(t, pid); !strings.HasSuffix(where, filepath.Base(group)) {
		t.Errorf("the process is in %q, want its own group", where)
	}
	report, err := r.stop()
	if err != nil || report.Values["limitBytes"] != gib || report.Values["version"] != 1 {
		t.Errorf("report is %+v, %v", report, err)
	}
	if where := groupOf(t, pid); !strings.HasSuffix(where, filepath.Base(home)) || exists(group) {
		t.Errorf("afterwards the process is in %q, and its group exists: %v", where, exists(group))
	}
}

// groupOf is the memory control group of a process.
func groupOf(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if _, path, ok := strings.Cut(line, ":memory:"); ok {
			return strings.TrimSpace(path)
		}
	}
	return ""
}

// Goal: where no group can be made, ballast takes its place, and that is said.
func TestBallastTakesThePlaceOfALimit(t *testing.T) {
	m, err := memory()
	if err != nil {
		t.Skipf("needs to know free memory: %v", err)
	}
	p := memoryLimit{bytes: m.available + gib} // nothing to take: 1 byte
	r, err := p.instead(Env{}, errNoGroup)
	if err != nil {
		t.Fatal(err)
	}
	report, err := r.stop()
	if err != nil || len(report.Notes) != 1 || !strings.Contains(report.Notes[0], "ballast was put in its place") {
		t.Errorf("report is %+v, %v", report, err)
	}
	// A directory that is no control group: its files are missing.
	dir := t.TempDir()
	if _, err := (memoryGroup{version: 2, home: dir, parent: dir}).confine(os.Getpid(), gib); !errors.Is(err, errNoGroup) {
		t.Errorf("confine in a directory that is no group: %v", err)
	}
	if left := leftIn(t, dir); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
