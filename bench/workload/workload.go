package workload

import (
	"errors"
	"fmt"
	"math/bits"
	"net/netip"
	"strconv"
)

// Spec describes a workload. The zero value is one topic with one queue,
// bodies of 1,024 bytes, no properties, seed 0.
type Spec struct {
	Seed uint64 `json:"seed"`
	// Body is the distribution of body sizes.
	Body Sizes `json:"body"`
	// Topics and Queues span the (topic, queue) pairs; each message goes to one
	// of them with equal chance. 0 means 1.
	Topics int `json:"topics,omitempty"`
	Queues int `json:"queues,omitempty"`
	// Tags is the number of distinct tags, one per message; 0 means no tag.
	Tags int `json:"tags,omitempty"`
	// Keys is the number of distinct keys; 0 means no keys.
	Keys int `json:"keys,omitempty"`
	// KeysPerMessage counts the keys of one message when Keys is not 0; 0
	// means 1.
	KeysPerMessage int `json:"keysPerMessage,omitempty"`
	// UniqueKeys gives each message the UNIQ_KEY property that clients add.
	UniqueKeys bool `json:"uniqueKeys,omitempty"`
}

// Bounds of a Spec. Names are part of every record, so they stay short.
const (
	maxTopics         = 10_000
	maxQueues         = 1_000
	maxTags           = 10_000
	maxKeys           = 1 << 32
	maxKeysPerMessage = 64
)

func (s Spec) withDefaults() (Spec, error) {
	var errs []error
	check := func(name string, got, most int) {
		if got < 0 || got > most {
			errs = append(errs, fmt.Errorf("%s is %d, want 0 to %d", name, got, most))
		}
	}
	check("topics", s.Topics, maxTopics)
	check("queues", s.Queues, maxQueues)
	check("tags", s.Tags, maxTags)
	check("keys", s.Keys, maxKeys)
	check("keysPerMessage", s.KeysPerMessage, maxKeysPerMessage)
	if len(errs) > 0 {
		return s, fmt.Errorf("workload: %w", errors.Join(errs...))
	}
	s.Topics, s.Queues = max(s.Topics, 1), max(s.Queues, 1)
	s.KeysPerMessage = max(s.KeysPerMessage, 1)
	return s, nil
}

// TopicNames lists the topics that the messages go to.
func (s Spec) TopicNames() []string {
	names := make([]string, s.Topics)
	for i := range names {
		names[i] = "topic-" + strconv.Itoa(i)
	}
	return names
}

// Workload is a Spec made ready to generate. Immutable, safe for any number of
// goroutines.
type Workload struct {
	spec   Spec
	topics []string
	tags   [][]byte
	filler []byte // as long as the largest body, at least as a head

	size  int    // of every body; -1 if they vary
	pairs uint64 // of topic and queue
	keyed bool   // messages have properties
}

// New checks the spec, joins what is wrong with it, and prepares names and
// filler.
func New(spec Spec) (*Workload, error) {
	spec, err := spec.withDefaults()
	if err != nil {
		return nil, err
	}
	w := &Workload{
		spec: spec, topics: spec.TopicNames(), filler: make([]byte, max(spec.Body.Max(), headBytes)),
		size: spec.Body.fixed(), pairs: uint64(spec.Topics * spec.Queues),
		keyed: spec.UniqueKeys || spec.Keys > 0 || spec.Tags > 0,
	}
	for i := range spec.Tags {
		w.tags = append(w.tags, []byte("tag-"+strconv.Itoa(i)))
	}
	state := spec.Seed
	for i := range w.filler {
		if i%8 == 0 {
			state = mix(state + 1)
		}
		w.filler[i] = byte(state >> (i % 8 * 8))
	}
	return w, nil
}

// Spec returns the resolved spec.
func (w *Workload) Spec() Spec { return w.spec }

// draw is everything that is random about one message.
type draw struct {
	size  int
	topic int
	queue int32
	tag   int
	hash  uint64 // source of the tail, the keys and the unique key
}

// stream is the start of a worker's draws.
func (w *Workload) stream(worker int) uint64 {
	return mix(w.spec.Seed ^ uint64(worker)*0x9e3779b97f4a7c15)
}

// draw tells message sequence of a worker from its stream. The two are the one
// place where randomness becomes content: a change here changes every workload.
func (w *Workload) draw(d *draw, stream, sequence uint64) {
	h := mix(stream + sequence)
	d.hash, d.size, d.topic, d.queue, d.tag = h, w.size, 0, 0, 0
	if d.size < 0 {
		d.size = w.spec.Body.at(h)
	}
	if w.pairs > 1 {
		pair := below(mix(h^1)>>32, w.pairs)
		d.topic = int(pair) / w.spec.Queues
		d.queue = int32(int(pair) % w.spec.Queues)
	}
	if len(w.tags) > 1 {
		d.tag = int(below(mix(h^2)>>32, uint64(len(w.tags))))
	}
}

// mix is the finaliser of the SplitMix64 generator (Steele, Lea, Flood 2014):
// a bijection of 64 bits in which every input bit reaches every output bit.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// keyNumber tells the i-th key of a message; two keys of one message may be
// the same.
func (w *Workload) keyNumber(hash uint64, i int) uint64 {
	high, _ := bits.Mul64(mix(hash^uint64(i+3)), uint64(w.spec.Keys))
	return high
}

// Hosts and birth of every message: constant, so that records do not depend on
// the machine or the clock. The store stamps its own time.
var (
	bornHost  = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 54321)
	storeHost = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 10911)
)

const bornTimestampMs = 1_700_000_000_000
