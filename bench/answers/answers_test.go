package answers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"commitlab/bench/plan"
	"commitlab/engine"
	"commitlab/engine/message"
)

// filled is a store with a plan in it, and what the store said about each put.
func filled(t *testing.T, dir string, p *plan.Plan) (s *engine.Store, results []byte) {
	t.Helper()
	o := p.Head.Options(engine.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), TransientBufferBytes: 1 << 20})
	s, err := engine.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	if err := p.Apply(context.Background(), s, plan.V5, func(r plan.Result) error { return e.Encode(r) }); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = engine.Open(dir, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, out.Bytes()
}

func write(t *testing.T, s *engine.Store, r plan.Release) string {
	t.Helper()
	var text strings.Builder
	if err := Write(context.Background(), s, r, &text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// The answers hold every message that was put, and two readings are the same.
func TestAnswersAreComplete(t *testing.T) {
	p := plan.Generate(plan.Spec{Seed: 5, Operations: 200})
	s, results := filled(t, t.TempDir(), p)
	text := write(t, s, plan.V5)
	want := 0
	for _, o := range p.Operations {
		want += len(o.Messages)
	}
	n, err := Holds(p, bytes.NewReader(results), strings.NewReader(text))
	if err != nil || n != want {
		t.Errorf("%d messages are there, %v; want %d", n, err, want)
	}
	c, err := Compare(strings.NewReader(text), strings.NewReader(write(t, s, plan.V5)), plan.V5)
	if err != nil || c.First != nil || c.Lines != strings.Count(text, "\n") {
		t.Errorf("read twice: %+v, %v; want all %d lines the same", c, err, strings.Count(text, "\n"))
	}
	for _, kind := range []string{"log", "record", "queue", "message", "get", "time", "key"} {
		if !strings.Contains(text, `{"kind":"`+kind+`"`) {
			t.Errorf("no line of kind %s", kind)
		}
	}
	if strings.Contains(write(t, s, plan.V4), `{"kind":"time"`) {
		t.Error("searches by time are written for release 4, which answers them otherwise")
	}
}

// What is missing or was changed is told, whatever it is.
func TestHoldsTellsWhatIsLost(t *testing.T) {
	p := plan.Generate(plan.Spec{Seed: 6, Operations: 60})
	s, results := filled(t, t.TempDir(), p)
	text := write(t, s, plan.V5)
	for name, spoil := range map[string]func(line string) string{
		"record gone":    func(string) string { return "" },
		"body":           func(l string) string { return strings.Replace(l, `"bodyCrc":`, `"bodyCrc":1,"x":`, 1) },
		"flag":           func(l string) string { return strings.Replace(l, `"flag":`, `"flag":1`, 1) },
		"queue":          func(l string) string { return strings.Replace(l, `"queueId":`, `"queueId":1`, 1) },
		"property":       func(l string) string { return strings.Replace(l, `"properties":{`, `"properties":{"x":"y",`, 1) },
		"born host":      func(l string) string { return strings.Replace(l, `"bornHost":"`, `"bornHost":"00000000:1","x":"`, 1) },
		"born timestamp": func(l string) string { return strings.Replace(l, `"bornMs":`, `"bornMs":1`, 1) },
	} {
		lines := strings.SplitAfter(text, "\n")
		for i, line := range lines {
			// One without a flag or a queue id, so that a digit before it changes it.
			if strings.HasPrefix(line, `{"kind":"record"`) && !strings.Contains(line, `"bodyCrc":0`) && !strings.Contains(line, `"flag":-`) {
				lines[i] = spoil(line)
				break
			}
		}
		if _, err := Holds(p, bytes.NewReader(results), strings.NewReader(strings.Join(lines, ""))); !errors.Is(err, ErrLost) {
			t.Errorf("%s: %v, want ErrLost", name, err)
		}
	}
	refused := strings.Replace(string(results), "PUT_OK", "MESSAGE_ILLEGAL", 1)
	if _, err := Holds(p, strings.NewReader(refused), strings.NewReader(text)); err == nil {
		t.Error("a refused operation passes")
	}
}

func TestCompareNamesTheFirstDifference(t *testing.T) {
	a := `{"kind":"log","min":0,"end":5}` + "\n" + `{"kind":"queue","topic":"t","max":3}` + "\n"
	for name, c := range map[string]struct{ b, want string }{
		"value":    {strings.Replace(a, `"max":3`, `"max":4`, 1), "line 2 differs: max"},
		"kind":     {strings.Replace(a, `"queue"`, `"key"`, 1), "line 2 differs\n"},
		"shorter":  {a[:strings.Index(a, "\n")+1], "line 2 differs\n  a   {\"kind\":\"queue\",\"topic\":\"t\",\"max\":3}\n  bb  (ends here)"},
		"longer":   {a + "{}\n", "line 3 differs\n  a   (ends here)\n  bb  {}"},
		"the same": {a, ""},
	} {
		outcome, err := Compare(strings.NewReader(a), strings.NewReader(c.b), plan.V4)
		if err != nil {
			t.Fatal(err)
		}
		d := outcome.First
		got := ""
		if d != nil {
			got = d.String("a", "bb")
		}
		if c.want == "" && d != nil || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// Only what 4.9 is known for is forgiven: the missing time of a delayed message.
func TestCompareForgivesUntimedUnits(t *testing.T) {
	line := func(topic string, at, tagsCode int64) io.Reader {
		b, _ := json.Marshal(messageLine{Kind: "message", Topic: topic, At: at, TagsCode: tagsCode})
		return bytes.NewReader(b)
	}
	const time = 1796013095474
	for name, c := range map[string]struct {
		topic    string
		at, code int64
		release  plan.Release
		forgiven bool
	}{
		"no time":       {message.ScheduleTopic, 1, 0, plan.V4, true},
		"hash":          {message.ScheduleTopic, 1, -72057252, plan.V4, true},
		"another time":  {message.ScheduleTopic, 1, time + 1, plan.V4, false},
		"another topic": {"t", 1, 0, plan.V4, false},
		"another unit":  {message.ScheduleTopic, 2, 0, plan.V4, false},
		"release 5":     {message.ScheduleTopic, 1, 0, plan.V5, false},
	} {
		got, err := Compare(line(c.topic, 1, time), line(c.topic, c.at, c.code), c.release)
		if err != nil || (got.First == nil) != c.forgiven || (got.Untimed == 1) != c.forgiven {
			t.Errorf("%s: %+v, %v; want forgiven: %v", name, got, err, c.forgiven)
		}
	}
}
