package torture

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// asChild makes the test binary a child of the run that a test does.
const asChild = "TORTURE_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(asChild) != "" {
		if err := Child(os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func childCommand() *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asChild+"=1")
	return cmd
}

// memoryDir is where Linux keeps files in memory.
const memoryDir = "/dev/shm"

// scratch is a fresh directory in memory where the system offers that, else on disk.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(memoryDir, "torture")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func text(t *testing.T, r *Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Text(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestStoresSurviveTwentyRounds(t *testing.T) {
	t.Parallel()
	r, err := Run(t.Context(), Options{Dir: scratch(t), Seed: 1, Rounds: 20, Command: childCommand,
		Progress: func(done int, r Round) { t.Logf("%d: %v", done, r) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(text(t, r))
	if len(r.Violations) > 0 {
		t.Errorf("violations")
	}
}
