package pressure

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func parse(t testing.TB, text string) Set {
	t.Helper()
	set, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// put puts pressure on for a while and returns what it says it did.
func put(t testing.TB, text string, env Env, d time.Duration) []Report {
	t.Helper()
	session, err := parse(t, text).Start(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(d)
	reports, err := session.Stop()
	if err != nil {
		t.Fatal(err)
	}
	return reports
}

// leftIn lists what is left in a directory.
func leftIn(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestParseReadsWhatStringWrites(t *testing.T) {
	const text = "held-readers=8,page-writer=200MB/s,ballast=2GiB/locked,memory-limit=1GiB,disk-filler=85%,fsync-storm=100/s,cpu-hog=2"
	set := parse(t, text)
	if got := set.String(); got != text {
		t.Errorf("wrote %q, want %q", got, text)
	}
	if len(set) != len(Kinds) {
		t.Errorf("read %d kinds, want all %d", len(set), len(Kinds))
	}
	if set := parse(t, " held-readers=1/50ms , fsync-storm=max "); len(set) != 2 || set[0].source.(heldReaders).hold != 50*time.Millisecond {
		t.Errorf("read %+v", set)
	}
	if set := parse(t, ""); set != nil || set.String() != "" {
		t.Errorf("nothing was read as %v", set)
	}
	for _, k := range Kinds {
		if _, err := Parse(k.Name + "=" + k.Example); err != nil {
			t.Errorf("the example of %s: %v", k.Name, err)
		}
	}
}

// Goal: a mistake is an error that shows what was given and what is wanted.
func TestBadSpecsAreErrorsThatHelp(t *testing.T) {
	for text, want := range map[string]string{
		"readers=8":             `pressure "readers" does not exist; want one of held-readers, page-writer`,
		"cpu-hog":               "pressure cpu-hog: it needs an argument, such as cpu-hog=1",
		"cpu-hog=":              "it needs an argument",
		"cpu-hog=1,cpu-hog=2":   "pressure cpu-hog is given twice",
		"cpu-hog=0":             `pressure cpu-hog: got "0", want a number of processes`,
		"held-readers=0":        `got "0", want a number of readers`,
		"held-readers=8/0s":     `got "8/0s", want readers and a duration`,
		"page-writer=200MB":     `got "200MB", want a rate of 64KiB/s or more, such as 200MB/s`,
		"page-writer=1/s":       "want a rate",
		"ballast=lots":          "want a size, touched by default, or locked",
		"ballast=1GiB/frozen":   "want a size, touched by default, or locked",
		"memory-limit=1MiB":     "want a size of 256.0 MiB or more",
		"disk-filler=96%":       "want a share of the disk from 1% to 95%",
		"disk-filler=0.5":       "want a share of the disk",
		"disk-filler=NaN%":      "want a share of the disk",
		"fsync-storm=0/s":       "want a rate such as 100/s, or max",
		"fsync-storm=100":       "want a rate",
		"walk=1,cpu-hog=x,bear": `"bear" does not exist`,
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) says %v; want it to contain %q", text, err, want)
		}
	}
}

// fakeSource is a kind of pressure that writes down what happens to it.
type fakeSource struct {
	name string
	fail error
	log  *[]string
}

func (f fakeSource) missing(Env) string { return f.name + " is not there" }

func (f fakeSource) start(Env) (running, error) {
	*f.log = append(*f.log, "start "+f.name)
	return f, f.fail
}

func (f fakeSource) stop() (Report, error) {
	*f.log = append(*f.log, "stop "+f.name)
	return Report{Did: f.name}, nil
}

func TestStartIsAllOrNothing(t *testing.T) {
	var log []string
	broken := errors.New("broken")
	set := Set{
		{Kind: "a", source: fakeSource{"a", nil, &log}}, {Kind: "b", source: fakeSource{"b", nil, &log}},
		{Kind: "c", Asked: "3", source: fakeSource{"c", broken, &log}},
	}
	_, err := set.Start(t.Context(), Env{})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "start pressure c=3") {
		t.Errorf("Start says %v", err)
	}
	if want := []string{"start a", "start b", "start c", "stop b", "stop a"}; !slices.Equal(log, want) {
		t.Errorf("happened: %q, want %q", log, want)
	}
	if got := set.Missing(Env{}); !slices.Equal(got, []string{"a: a is not there", "b: b is not there", "c: c is not there"}) {
		t.Errorf("missing: %q", got)
	}
}

// Goal: an interrupt ends the pressure, and Stop still tells what it did.
func TestSessionEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir := t.TempDir()
	session, err := parse(t, "page-writer=10MB/s,fsync-storm=50/s").Start(ctx, Env{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(30 * time.Millisecond)
	cancel()
	var reports []Report
	for range 2 {
		if reports, err = session.Stop(); err != nil || len(reports) != 2 || reports[0].Kind != "page-writer" || reports[1].Asked != "50/s" {
			t.Fatalf("Stop returns %+v, %v", reports, err)
		}
	}
	if left := leftIn(t, dir); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
