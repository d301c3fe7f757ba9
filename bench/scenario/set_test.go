package scenario

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// knobs has a field of each type that an option may have.
type knobs struct {
	Mode         string  `json:"mode"`
	FileBytes    int64   `json:"fileBytes"`
	IntervalMs   int     `json:"intervalMs"`
	LeastPages   int32   `json:"leastPages"`
	Ratio        float64 `json:"ratio"`
	Strict       bool    `json:"strict"`
	Hook         func()  `json:"-"`
	List         []int   `json:"list"`
	unexportedMs int     //nolint:unused // shows that it cannot be reached
}

func TestSetReadsUnits(t *testing.T) {
	var k knobs
	for _, s := range [][2]string{
		{"mode", "spin"}, {"fileBytes", "64MiB"}, {"intervalMs", "1.5s"},
		{"leastPages", "-1"}, {"ratio", "0.25"}, {"strict", "true"},
	} {
		if err := setField(&k, s[0], s[1]); err != nil {
			t.Errorf("set %s=%s: %v", s[0], s[1], err)
		}
	}
	want := knobs{Mode: "spin", FileBytes: 64 << 20, IntervalMs: 1500, LeastPages: -1, Ratio: 0.25, Strict: true}
	if diff := cmp.Diff(want, k, cmp.AllowUnexported(knobs{})); diff != "" {
		t.Errorf("after setting every field (-want +got):\n%s", diff)
	}
	if err := setField(&k, "fileBytes", "4096"); err != nil || k.FileBytes != 4096 {
		t.Errorf("plain bytes: %v, got %d, want 4096", err, k.FileBytes)
	}
	if err := setField(&k, "intervalMs", "250"); err != nil || k.IntervalMs != 250 {
		t.Errorf("plain milliseconds: %v, got %d, want 250", err, k.IntervalMs)
	}
}

func TestSetNamesKeyGotAndExpected(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"fileBytes", "64mb", `option fileBytes: got "64mb", want bytes such as 1048576, 64KiB or 1GiB`},
		{"intervalMs", "500us", `option intervalMs: got "500us", want whole milliseconds such as 500, 500ms or 10s`},
		{"leastPages", "few", `option leastPages: got "few", want a whole number`},
		{"leastPages", "4294967296", `option leastPages: got "4294967296", want a number of 32 bits`},
		{"ratio", "NaN", `option ratio: got "NaN", want a number`},
		{"strict", "maybe", `option strict: got "maybe", want true or false`},
		{"list", "1", `option list: got "1", want no value: options of type []int cannot be set by name`},
		{"filebyte", "1", `option "filebyte" does not exist; did you mean "fileBytes"?`},
		{"zzz", "1", `option "zzz" does not exist; want one of fileBytes, intervalMs, leastPages, list, mode, ratio, strict`},
		{"", "1", `option "" does not exist; want one of`},
		{"-", "1", `option "-" does not exist; want one of`},
	} {
		err := setField(&knobs{}, c.key, c.value)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("set %s=%s: %v, want %s", c.key, c.value, err, c.want)
		}
	}
}

func TestEveryOptionCanBeSetByName(t *testing.T) {
	config, err := FindConfig("tuned")
	if err != nil {
		t.Fatal(err)
	}
	keys := Keys()
	if len(keys) < 20 || !slices.Contains(keys, "commitLogFileBytes") {
		t.Fatalf("keys are %v, want those of the engine's options", keys)
	}
	for _, key := range keys {
		if _, err := config.With(key + "=1"); err != nil && !strings.Contains(err.Error(), "got \"1\"") {
			t.Errorf("%v", err)
		}
	}
}

func TestWithJoinsAllProblems(t *testing.T) {
	_, err := Configs[0].With("flush", "commitLogFileBytes=big", "nope=1")
	for _, want := range []string{`setting "flush": want key=value`, `option commitLogFileBytes: got "big"`, `option "nope" does not exist`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("With says %v; want it to contain %q", err, want)
		}
	}
}
