package torture

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"commitlab/bench/workload"
	"commitlab/engine/message"
)

// An ID names a message: every byte of it follows from the seed and these two.
type ID struct {
	Worker   uint32
	Sequence uint64
}

func (id ID) String() string { return fmt.Sprintf("message %d of worker %d", id.Sequence, id.Worker) }

// queueName is a topic and queue id.
type queueName struct {
	topic string
	id    int32
}

func (q queueName) String() string {
	if len(q.topic) > 24 {
		return fmt.Sprintf("%.16s…(%d)/%d", q.topic, len(q.topic), q.id)
	}
	return fmt.Sprintf("%s/%d", q.topic, q.id)
}

// Every message has a unique key, one or two keys that others share, and a tag.
const (
	topics, queues, tags = 4, 3, 5
	sharedKeys           = 3000
	longTopicFrom        = 2 // topics from this one on have names that need the longer record format; only those of retries may
	longTopicBytes       = 150
)

// content makes the messages of a run. Not safe for concurrent use.
type content struct {
	seed       uint64
	work       *workload.Workload
	generators map[uint32]*workload.Generator
}

func newContent(seed uint64) (*content, error) {
	sizes, err := workload.ParseSizes("32-300x8,300-2KiBx6,2KiB-8KiBx2,8KiB-20KiB")
	if err != nil {
		return nil, err
	}
	work, err := workload.New(workload.Spec{
		Seed: seed, Body: sizes, Topics: topics, Queues: queues, Tags: tags, Keys: sharedKeys, KeysPerMessage: 2, UniqueKeys: true,
	})
	if err != nil {
		return nil, err
	}
	return &content{seed: seed, work: work, generators: make(map[uint32]*workload.Generator)}, nil
}

// maxGenerators bounds those that are kept; they are made again when needed.
const maxGenerators = 64

func (c *content) generator(worker uint32) *workload.Generator {
	g := c.generators[worker]
	if g == nil {
		if len(c.generators) == maxGenerators {
			clear(c.generators)
		}
		g = c.work.Generator(int(worker))
		c.generators[worker] = g
	}
	return g
}

// traits are what is special about a message.
type traits struct {
	delay  int  // level, 0: none
	noWait bool // its put does not wait for the disk
	long   bool // its properties fill sectors of their own
}

func (c *content) traits(id ID) (t traits) {
	h := rand.NewPCG(c.seed^uint64(id.Worker)<<32, id.Sequence).Uint64()
	round, _ := lifeOf(id.Worker)
	if h%32 == 0 {
		t.delay = 1
		if (uint64(round)^c.seed)%4 == 0 { // a delay that takes time has its rounds, since the check waits for it
			t.delay = 1 + int(h>>8%2)
		}
	}
	t.noWait = h>>16%8 == 0
	t.long = h>>24%8 == 0
	return t
}

// message makes a message. Its bytes hold until the next call with this worker.
func (c *content) message(id ID) message.Message {
	m := *c.generator(id.Worker).At(id.Sequence)
	m.Topic = topicName(m.Topic)
	t := c.traits(id)
	if t.long {
		m.Properties = append(m.Properties, longProperty...)
	}
	if t.noWait {
		m.Properties = append(m.Properties, message.PropertyWait+"\x01false\x02"...)
	}
	if t.delay > 0 {
		m.Properties = append(m.Properties, message.PropertyDelay+"\x01"+strconv.Itoa(t.delay)+"\x02"...)
	}
	return m
}

// longProperty is longer than two sectors: a power cut may take one out of its middle,
// where no checksum of the body sees it.
var longProperty = "padding\x01" + strings.Repeat("p", 1200) + "\x02"

// topicName stretches the workload's name of some topics.
func topicName(short string) string {
	for i := longTopicFrom; i < topics; i++ {
		if short == "topic-"+strconv.Itoa(i) {
			name := message.RetryTopicPrefix + short
			return name + strings.Repeat("v", longTopicBytes-len(name))
		}
	}
	return short
}

// kind is what a record is to its message.
type kind byte

const (
	plain     kind = 'p' // the message as it was put
	waiting   kind = 'w' // a delayed message in the schedule topic
	delivered kind = 'd' // a delayed message as put again
)

// identify says which message a record is and checks every byte of it.
func (c *content) identify(rec *message.Record) (id ID, k kind, err error) {
	worker, sequence, ok := c.work.Identify(rec.Body)
	if !ok {
		return id, k, fmt.Errorf("a body of %d bytes that nobody sent", len(rec.Body))
	}
	id = ID{uint32(worker), sequence}
	m := c.message(id)
	want, got := queueName{m.Topic, m.QueueID}, queueName{string(rec.Topic), rec.QueueID}
	k = plain
	if t := c.traits(id); t.delay > 0 {
		k = delivered
		if got.topic == message.ScheduleTopic {
			k = waiting
			want = queueName{message.ScheduleTopic, int32(t.delay - 1)}
		}
	}
	if got != want {
		return id, k, fmt.Errorf("%v is in queue %v, was sent to %v", id, got, want)
	}
	if !bytes.Equal(rec.Body, m.Body) {
		return id, k, fmt.Errorf("%v has another body than was sent", id)
	}
	added, ok := bytes.CutPrefix(rec.Properties, m.Properties)
	if !ok {
		return id, k, fmt.Errorf("%v has properties %q, was sent with %q", id, rec.Properties, m.Properties)
	}
	for name := range message.Properties(added).All() {
		switch string(name) {
		case message.PropertyRecordCRC:
		case message.PropertyRealTopic, message.PropertyRealQueue:
			if k == plain {
				return id, k, fmt.Errorf("%v has a property %s that nobody sent", id, name)
			}
		default:
			return id, k, fmt.Errorf("%v has a property %s that nobody sent", id, name)
		}
	}
	return id, k, nil
}
