package workload

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"commitlab/engine/message"
)

func newWorkload(t testing.TB, spec Spec) *Workload {
	t.Helper()
	w, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func sizes(t testing.TB, text string) Sizes {
	t.Helper()
	s, err := ParseSizes(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Goal: a result can be repeated on another machine and by a later version.
// Method: hash the first thousand messages of two workers; the value must stay
// for ever, or every recorded seed loses its meaning.
func TestWorkloadIsPinned(t *testing.T) {
	w := newWorkload(t, Spec{
		Seed: 42, Body: sizes(t, "16x2,100-300x3,1KiB"),
		Topics: 3, Queues: 4, Tags: 5, Keys: 1000, KeysPerMessage: 2, UniqueKeys: true,
	})
	h := sha256.New()
	for worker := range 2 {
		g := w.Generator(worker)
		for range 1000 {
			m := g.Next()
			fmt.Fprintf(h, "%s %d %x %x\n", m.Topic, m.QueueID, []byte(m.Properties), m.Body)
		}
	}
	const want = "96649a19b80c3d5513e47631b024a51147a6cb80053292de6f0f1f6a594273f7"
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		t.Errorf("hash of the workload is %s, want %s", got, want)
	}
}

func TestMessagesDependOnSeedWorkerAndSequenceOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := Spec{Seed: rapid.Uint64().Draw(t, "seed"), Tags: 3, Keys: 50, UniqueKeys: true, Topics: 2, Queues: 3}
		spec.Body, _ = ParseSizes("1-200")
		w, _ := New(spec)
		worker := rapid.IntRange(0, 1000).Draw(t, "worker")
		sequence := rapid.Uint64().Draw(t, "sequence")

		g := w.Generator(worker)
		for _, other := range rapid.SliceOfN(rapid.Uint64(), 0, 5).Draw(t, "made before") {
			g.At(other)
		}
		got, want := g.At(sequence), w.Generator(worker).At(sequence)
		if got.Topic != want.Topic || got.QueueID != want.QueueID ||
			!bytes.Equal(got.Properties, want.Properties) || !bytes.Equal(got.Body, want.Body) {
			t.Fatalf("message %d of worker %d depends on what was made before it", sequence, worker)
		}
		if err := g.Check(sequence, []byte(want.Topic), want.QueueID, want.Body); err != nil {
			t.Fatal(err)
		}
	})
}

func TestCheckNamesWhatDiffers(t *testing.T) {
	w := newWorkload(t, Spec{Seed: 7, Queues: 8})
	m := *w.Generator(3).At(11)
	flipped := func(at int) []byte {
		b := bytes.Clone(m.Body)
		b[at] ^= 1
		return b
	}
	for _, c := range []struct {
		name, topic string
		queue       int32
		body        []byte
		want        string
	}{
		{"topic", "other", m.QueueID, m.Body, `topic is "other"`},
		{"queue", m.Topic, m.QueueID + 1, m.Body, "queue is"},
		{"short", m.Topic, m.QueueID, m.Body[:1000], "body has 1000 bytes, want 1024"},
		{"head", m.Topic, m.QueueID, flipped(0), "byte 0 of 1024"},
		{"filler", m.Topic, m.QueueID, flipped(512), "byte 512 of 1024"},
		{"tail", m.Topic, m.QueueID, flipped(1023), "byte 1023 of 1024"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := w.Generator(3).Check(11, []byte(c.topic), c.queue, c.body)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Check says %v, want an error with %q", err, c.want)
			}
		})
	}
}

// Goal: a record torn between two messages of the same size is noticed from
// its body alone.
func TestTornBodyIsFound(t *testing.T) {
	w := newWorkload(t, Spec{Seed: 1})
	torn := bytes.Clone(w.Generator(0).At(1).Body)
	copy(torn[512:], w.Generator(0).At(2).Body[512:])
	worker, sequence, ok := w.Identify(torn)
	if !ok || worker != 0 || sequence != 1 {
		t.Fatalf("Identify = %d, %d, %v; want worker 0, sequence 1", worker, sequence, ok)
	}
	m := w.Generator(0).At(1)
	if err := w.Generator(0).Check(1, []byte(m.Topic), m.QueueID, torn); err == nil {
		t.Error("Check accepts a body torn between two messages")
	}
}

func TestIdentifyRefusesForeignBodies(t *testing.T) {
	w := newWorkload(t, Spec{Seed: 1})
	body := w.Generator(9).At(5).Body
	if worker, sequence, ok := w.Identify(body); !ok || worker != 9 || sequence != 5 {
		t.Errorf("Identify = %d, %d, %v; want 9, 5, true", worker, sequence, ok)
	}
	foreign := newWorkload(t, Spec{Seed: 2}).Generator(9).At(5).Body
	for name, b := range map[string][]byte{"other seed": foreign, "cut": body[:1023], "short": body[:headBytes-1], "empty": nil} {
		if _, _, ok := w.Identify(b); ok {
			t.Errorf("%s: Identify accepts it", name)
		}
	}
}

func TestPropertiesAreThoseOfAClient(t *testing.T) {
	m := newWorkload(t, Spec{Seed: 3, Tags: 2, Keys: 10, KeysPerMessage: 3, UniqueKeys: true}).Generator(0).At(0)
	got := map[string]string{}
	for name, value := range message.Properties(m.Properties).All() {
		got[string(name)] = string(value)
	}
	if len(got) != 3 || len(got["UNIQ_KEY"]) != 32 || len(strings.Fields(got["KEYS"])) != 3 || !strings.HasPrefix(got["TAGS"], "tag-") {
		t.Errorf("properties are %v; want a unique key of 32 digits, three keys and a tag", got)
	}
}

func TestSpreadReachesEveryQueueAndSize(t *testing.T) {
	w := newWorkload(t, Spec{Seed: 5, Topics: 3, Queues: 4, Body: sizes(t, "10x3,20-22")})
	g := w.Generator(0)
	pairs, bySize := map[string]int{}, map[int]int{}
	const n = 12_000
	for range n {
		m := g.Next()
		pairs[fmt.Sprint(m.Topic, m.QueueID)]++
		bySize[len(m.Body)]++
	}
	if len(pairs) != 12 {
		t.Errorf("%d of 12 queues were used: %v", len(pairs), pairs)
	}
	for pair, count := range pairs {
		if count < n/12*8/10 || count > n/12*12/10 {
			t.Errorf("queue %s has %d messages, want about %d", pair, count, n/12)
		}
	}
	if len(bySize) != 4 || bySize[10] < n*70/100 || bySize[10] > n*80/100 {
		t.Errorf("sizes are %v; want three quarters of 10 and the rest spread over 20 to 22", bySize)
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	g := newWorkload(t, Spec{Topics: 4, Queues: 4, Tags: 4, Keys: 1 << 20, KeysPerMessage: 2, UniqueKeys: true, Body: sizes(t, "1-2KiB")}).Generator(0)
	for range 100 {
		g.Next()
	}
	if allocs := testing.AllocsPerRun(1000, func() { g.Next() }); allocs != 0 {
		t.Errorf("%v allocations per message, want 0", allocs)
	}
}

func TestSpecErrorsAreJoined(t *testing.T) {
	_, err := New(Spec{Topics: -1, Tags: maxTags + 1})
	if err == nil || !strings.Contains(err.Error(), "topics is -1") || !strings.Contains(err.Error(), "tags is 10001") {
		t.Errorf("New says %v; want both topics and tags named", err)
	}
}

func TestParseSizes(t *testing.T) {
	for _, c := range []struct {
		text, canonical string
		max             int
		mean            float64
	}{
		{"1024", "1024", 1024, 1024},
		{"1KiB", "1024", 1024, 1024},
		{"256-4KiB", "256-4096", 4096, 2176},
		{"128x6, 1KiBx3, 16KiB", "128x6,1024x3,16384", 16384, 2022.4},
	} {
		s := sizes(t, c.text)
		if s.String() != c.canonical || s.Max() != c.max || s.Mean() != c.mean {
			t.Errorf("ParseSizes(%q) = %s, max %d, mean %v; want %s, %d, %v", c.text, s, s.Max(), s.Mean(), c.canonical, c.max, c.mean)
		}
		var back Sizes
		if b, err := json.Marshal(s); err != nil || json.Unmarshal(b, &back) != nil || back.String() != c.canonical {
			t.Errorf("%q does not survive JSON: %s, %v", c.text, b, err)
		}
	}
	var zero Sizes
	if zero.String() != "1024" || zero.Max() != 1024 || zero.Mean() != 1024 {
		t.Errorf("zero Sizes is %s, max %d; want 1024", zero, zero.Max())
	}
	for _, text := range []string{"", "0", "-5", "x3", "10x0", "20-10", "10,,20", "1mb", "65MiB", "1x4294967295,1x4294967295"} {
		if s, err := ParseSizes(text); err == nil {
			t.Errorf("ParseSizes(%q) = %s, want an error", text, s)
		}
	}
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "4096": 4096, "1B": 1, "64KiB": 65536, "3 MiB": 3 << 20, "1GiB": 1 << 30, "2TiB": 2 << 40, "5kB": 5000, "1GB": 1e9,
	} {
		if got, err := ParseBytes(text); err != nil || got != want {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "KiB", "64kib", "1.5GiB", "-1", "9223372036854775807KiB", "1 0"} {
		if got, err := ParseBytes(text); err == nil {
			t.Errorf("ParseBytes(%q) = %d, want an error", text, got)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for _, c := range []struct {
		name string
		spec Spec
	}{
		{"properties=none", Spec{}},
		{"properties=all", Spec{Topics: 4, Queues: 4, Tags: 4, Keys: 1 << 20, UniqueKeys: true}},
	} {
		b.Run(c.name, func(b *testing.B) {
			g := newWorkload(b, c.spec).Generator(0)
			b.ReportAllocs()
			for b.Loop() {
				g.Next()
			}
		})
	}
}
