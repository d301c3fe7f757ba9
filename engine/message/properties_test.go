package message

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// readAll reads properties as a map, as Java does: later values win.
func readAll(p Properties) map[string]string {
	m := map[string]string{}
	for name, value := range p.All() {
		m[string(name)] = string(value)
	}
	return m
}

func TestPropertiesAreReadAsTheJavaStoreReadsThem(t *testing.T) {
	for _, c := range []struct {
		encoded string
		want    map[string]string
	}{
		{"", map[string]string{}},
		{"a\x01b\x02", map[string]string{"a": "b"}},
		{"a\x01b", map[string]string{"a": "b"}}, // 4.9.1 to 5.1.4
		{"a\x01b\x02c\x01d", map[string]string{"a": "b", "c": "d"}},
		{"a\x01b\x02a\x01c\x02", map[string]string{"a": "c"}},
		{"a\x01b\x02a\x01\x02", map[string]string{"a": "b"}},
		{"a\x01b\x01c\x02", map[string]string{"a": "b\x01c"}},
		{"\x01b\x02a\x01\x02ab\x02\x02\x02x\x01y\x02", map[string]string{"x": "y"}},
	} {
		got := readAll(Properties(c.encoded))
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%q (-want +got):\n%s", c.encoded, d)
		}
		for _, name := range []string{"a", "c", "x", "ab", ""} {
			value, ok := Properties(c.encoded).Get(name)
			if want, exists := c.want[name]; ok != exists || string(value) != want {
				t.Errorf("%q: Get(%q) = %q, %v", c.encoded, name, value, ok)
			}
		}
	}
}

func TestKeysAreSplitAtSingleSpaces(t *testing.T) {
	for keys, want := range map[string][]string{
		"k":        {"k"},
		"k1 k2":    {"k1", "k2"},
		"a  b":     {"a", "b"},
		" a ":      {"a"},
		"k k k":    {"k", "k", "k"},
		"\u4e2d x": {"\u4e2d", "x"},
		" ":        nil,
	} {
		p, err := Properties(nil).Append(PropertyKeys, keys)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for k := range p.Keys() {
			got = append(got, string(k))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q (-want +got):\n%s", keys, d)
		}
	}
	for k := range Properties("x\x01y\x02").Keys() {
		t.Errorf("key %q out of nothing", k)
	}
}

func TestDeleteTakesWholeNamesAndAllOccurrences(t *testing.T) {
	for _, c := range []struct{ encoded, name, want string }{
		{"a\x01b\x02aa\x01c\x02a\x01d\x02", "a", "aa\x01c\x02"},
		{"a\x01b\x02ba\x01c", "ba", "a\x01b\x02"},
		{"a\x01\x02b\x01c", "a", "b\x01c"},
		{"x\x01a\x01b\x02", "a", "x\x01a\x01b\x02"},
		{"a\x01b", "a", ""},
		{"", "a", ""},
		{"", "", ""},
		{"a\x01b\x02\x01c\x02d\x01e", "", "a\x01b\x02d\x01e"},
	} {
		p := Properties(c.encoded)
		if got := p.Delete(c.name); string(got) != c.want {
			t.Errorf("%q without %s: %q, want %q", c.encoded, c.name, got, c.want)
		}
		if string(p) != c.encoded {
			t.Errorf("%q was changed to %q", c.encoded, p)
		}
	}
}

func TestPropertiesThatNoReaderWouldSeeAreRefused(t *testing.T) {
	for _, c := range []struct{ name, value string }{
		{"", "v"}, {"n", ""}, {"n\x01", "v"}, {"n\x02", "v"}, {"n", "v\x01"}, {"n", "\x02v"},
	} {
		p := Properties("a\x01b\x02")
		for op, f := range map[string]func(string, string) (Properties, error){"Append": p.Append, "Set": p.Set} {
			if got, err := f(c.name, c.value); !errors.Is(err, ErrProperty) || string(got) != string(p) {
				t.Errorf("%s(%q, %q) = %q, %v", op, c.name, c.value, got, err)
			}
		}
	}
}

// Properties of a record are views into mapped memory: writing there would
// corrupt the log.
func TestSetAndDeleteLeaveTheBytesTheyCameFromAlone(t *testing.T) {
	b := mustEncode(t, vectorMessage(), Limits{}, 0, 0, 0)
	file := append(b, "the next record"...)
	before := string(file)
	r, err := Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Properties.Append("x", "y"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Properties.Set(PropertyTags, "T"); err != nil {
		t.Fatal(err)
	}
	r.Properties.Delete(PropertyKeys)
	if string(file) != before {
		t.Errorf("the file was written to: %q", file)
	}
}

func TestPropertiesBehaveLikeAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p Properties
		model := map[string]string{}
		name := rapid.SampledFrom([]string{"a", "aa", "b", "KEYS", "\u4e2d"})
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			n := name.Draw(t, "name")
			before := string(p)
			old := p
			switch rapid.IntRange(0, 3).Draw(t, "op") {
			case 0, 1:
				v := rapid.StringMatching(`[ -~]{1,5}`).Draw(t, "value")
				var err error
				if p, err = p.Set(n, v); err != nil {
					t.Fatal(err)
				}
				model[n] = v
			case 2:
				p = p.Delete(n)
				delete(model, n)
			case 3: // what a 4.9 store makes of it
				p = Properties(strings.TrimSuffix(string(p), "\x02"))
			}
			if string(old) != before {
				t.Fatalf("%q was changed to %q", before, old)
			}
			if got := readAll(p); !maps.Equal(got, model) {
				t.Fatalf("%q reads as %v, want %v", p, got, model)
			}
		}
	})
}
