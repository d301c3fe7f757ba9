package plan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"commitlab/engine"
	"commitlab/engine/message"
)

// A plan is a function of its spec, and its lines are all that there is of it.
func TestPlanIsItsLines(t *testing.T) {
	text := func(seed uint64) string {
		var b bytes.Buffer
		if err := Generate(Spec{Seed: seed}).Write(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if text(1) != text(1) {
		t.Error("the same seed gives two plans")
	}
	if text(1) == text(2) {
		t.Error("two seeds give the same plan")
	}
	p, err := Read(strings.NewReader(text(1)))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(p, Generate(Spec{Seed: 1})) {
		t.Error("what was read is not what was written")
	}
}

// Small plans already hold every kind of message; which seed does not matter.
func TestPlanHoldsEveryKind(t *testing.T) {
	kinds := map[string]func(o Operation, m Message) bool{
		"batch":          func(o Operation, m Message) bool { return o.Kind == "batch" },
		"prepared":       func(_ Operation, m Message) bool { return of(m) == message.TransactionPrepared },
		"commit":         func(_ Operation, m Message) bool { return of(m) == message.TransactionCommit },
		"rollback":       func(_ Operation, m Message) bool { return of(m) == message.TransactionRollback },
		"delayed":        func(_ Operation, m Message) bool { return m.value(message.PropertyDelay) != "" },
		"topic 127":      func(_ Operation, m Message) bool { return len(m.Topic) == 127 },
		"topic over 127": func(o Operation, m Message) bool { return len(m.Topic) > 127 && o.Since == V5 },
		"big body":       func(_ Operation, m Message) bool { return m.BodyBytes > 8000 },
		"empty body":     func(_ Operation, m Message) bool { return m.BodyBytes == 0 },
		"several keys":   func(_ Operation, m Message) bool { return strings.Contains(m.value(message.PropertyKeys), " ") },
		"empty tag": func(_ Operation, m Message) bool {
			return slices.Contains(m.Properties, [2]string{message.PropertyTags, ""})
		},
		"IPv6 born":  func(_ Operation, m Message) bool { return strings.Contains(text(m.BornHost), "20010db8") },
		"IPv6 store": func(_ Operation, m Message) bool { return strings.Contains(text(m.StoreHost), "20010db8") },
		"open ended": func(_ Operation, m Message) bool { return m.OpenEnded },
		"compressed": func(_ Operation, m Message) bool { return m.SysFlag&message.FlagCompressed != 0 },
		"no wait":    func(_ Operation, m Message) bool { return m.value(message.PropertyWait) == "false" },
	}
	for seed := range uint64(5) {
		missing := make(map[string]bool)
		for name := range kinds {
			missing[name] = true
		}
		for _, o := range Generate(Spec{Seed: seed}).Operations {
			for _, m := range o.Messages {
				for name, is := range kinds {
					if is(o, m) {
						delete(missing, name)
					}
				}
			}
		}
		if len(missing) > 0 {
			t.Errorf("seed %d: no message is one of %v", seed, missing)
		}
	}
}

func of(m Message) message.Transaction { return message.TransactionOf(m.SysFlag) }

func (m *Message) value(name string) (value string) {
	for _, pair := range m.Properties {
		if pair[0] == name {
			value = pair[1]
		}
	}
	return value
}

func text(h Host) string { b, _ := h.MarshalText(); return string(b) }

// Every message of a plan is stored, and found again with the body it should have.
func TestPlanIsStored(t *testing.T) {
	for _, release := range []Release{V4, V5} {
		p := Generate(Spec{Seed: 3, Operations: 300})
		o := p.Head.Options(engine.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), TransientBufferBytes: 1 << 20})
		dir := t.TempDir()
		s, err := engine.Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		operations := p.For(release)
		n := 0
		err = p.Apply(context.Background(), s, release, func(r Result) error {
			o := operations[n]
			n++
			view, err := s.At(r.Offset)
			if err != nil {
				return err
			}
			defer view.Release()
			m := o.Messages[0]
			if r.Number != o.Number || r.Messages != len(o.Messages) || !bytes.Equal(view.Body, Body(m.BodyBytes, m.BodySeed)) {
				return fmt.Errorf("operation %d: %+v with a body of %d bytes, want %d", o.Number, r, len(view.Body), m.BodyBytes)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if n != len(operations) {
			t.Errorf("%s: %d results for %d operations", release, n, len(operations))
		}
		if files, _ := filepath.Glob(filepath.Join(dir, "commitlog", "*")); len(files) < 3 {
			t.Errorf("%s: the plan fills %d files of the log, want several", release, len(files))
		}
	}
}

func TestPlanRefusesWhatIsNone(t *testing.T) {
	good := `{"kind":"plan","seed":1,"operations":1}` + "\n"
	for name, text := range map[string]string{
		"nothing":   "",
		"no head":   `{"kind":"put"}`,
		"kind":      good + `{"kind":"get","n":0,"since":"v4","messages":[{}]}`,
		"release":   good + `{"kind":"put","n":0,"since":"v3","messages":[{}]}`,
		"host":      good + `{"kind":"put","n":0,"since":"v4","messages":[{"bornHost":"0a:1"}]}`,
		"empty":     good + `{"kind":"batch","n":0,"since":"v4","messages":[]}`,
		"cut short": good,
	} {
		if _, err := Read(strings.NewReader(text)); !errors.Is(err, ErrPlan) {
			t.Errorf("%s: %v, want ErrPlan", name, err)
		}
	}
}
