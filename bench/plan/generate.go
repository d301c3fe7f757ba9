package plan

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"commitlab/engine/message"
)

// A Spec is what a plan is generated from. The zero value of a field but Seed
// means its default.
type Spec struct {
	Seed               uint64
	Operations         int   // default 400
	CommitLogFileBytes int64 // default 64 KiB
	// NoDelayed leaves delayed messages out: stores write their properties anew, and
	// where that takes another number of bytes all that follows lies elsewhere.
	NoDelayed bool
}

// The other sizes are fixed: small enough that every plan of some hundred
// operations fills several files of each kind.
const (
	queueFileBytes = 100 * 20
	indexSlots     = 100
	indexItems     = 400
)

// firstBornMs is when the first message of every plan was born: 2026-01-01.
const firstBornMs = 1767225600000

// Generate makes the plan of a spec.
func Generate(spec Spec) *Plan {
	if spec.Operations == 0 {
		spec.Operations = 400
	}
	if spec.CommitLogFileBytes == 0 {
		spec.CommitLogFileBytes = 64 << 10
	}
	p := &Plan{Head: Head{
		Kind: "plan", Seed: spec.Seed, Operations: spec.Operations, CommitLogFileBytes: spec.CommitLogFileBytes,
		ConsumeQueueFileBytes: queueFileBytes, IndexSlots: indexSlots, IndexItems: indexItems,
	}}
	g := generator{spec: spec, dice: stream(spec.Seed)}
	for n := range spec.Operations {
		p.Operations = append(p.Operations, g.operation(n))
	}
	return p
}

// generator makes operations one after the other.
type generator struct {
	spec Spec
	dice stream
	n    int // of the operation
}

// below draws a number in [0, n).
func (g *generator) below(n int) int { return int(g.dice.next() >> 33 % uint64(n)) }

// percent reports true in so many of a hundred cases.
func (g *generator) percent(n int) bool { return g.below(100) < n }

// pick draws one of a list.
func pick[T any](g *generator, list ...T) T { return list[g.below(len(list))] }

func (g *generator) operation(n int) Operation {
	g.n = n
	o := Operation{Kind: "put", Number: n, Since: V4}
	// The kinds that a small plan must not miss come at fixed places as well.
	switch roll := g.below(100); {
	case n%50 == 7 || roll < 8:
		o.Kind = "batch"
		o.Messages = g.batch()
		return o
	case n%50 == 11 || roll < 12:
		o.Messages = []Message{g.transaction(message.TransactionPrepared)}
	case n%50 == 12 || roll < 14:
		o.Messages = []Message{g.transaction(pick(g, message.TransactionCommit, message.TransactionCommit, message.TransactionRollback))}
	case n%50 == 21 || roll < 16:
		m := g.message()
		if !g.spec.NoDelayed {
			m.add(message.PropertyDelay, pick(g, "17", "18", "25"))
		}
		o.Messages = []Message{m}
	case n%50 == 31 || roll < 18:
		m := g.message()
		m.Topic = pick(g, strings.Repeat("long-topic-", 12)[:127], strings.Repeat("长", 42))
		o.Messages = []Message{m}
	case n%50 == 41 || roll < 20:
		m := g.message()
		m.Topic = message.RetryTopicPrefix + strings.Repeat("retry-of-a-group-", 15)[:pick(g, 121, 160, 247)]
		o.Messages, o.Since = []Message{m}, V5
	default:
		o.Messages = []Message{g.message()}
	}
	return o
}

// message makes a plain message.
func (g *generator) message() Message {
	m := Message{
		Topic: pick(g, "AaTopic", "BBTopic", "订单"), QueueID: int32(g.below(2)),
		BornMs: firstBornMs + int64(g.n), BornHost: g.host(25), StoreHost: g.host(10),
		BodySeed: int64(g.dice.next() >> 1), BodyBytes: g.bodyBytes(), Properties: [][2]string{},
	}
	if g.percent(30) {
		m.Flag = int32(g.dice.next())
	}
	if g.percent(10) {
		m.ReconsumeTimes = int32(g.below(16))
	}
	if g.percent(3) { // stored as it is; no store looks inside
		m.SysFlag |= message.FlagCompressed | pick[int32](g, 0, 0x100, 0x200, 0x300)
	}
	g.describe(&m)
	return m
}

func (g *generator) bodyBytes() int {
	switch roll := g.below(100); {
	case roll < 3:
		return 0
	case roll < 6:
		return 1
	case roll < 8:
		return int(g.spec.CommitLogFileBytes)/8 + g.below(int(g.spec.CommitLogFileBytes)/8)
	default:
		return 16 + g.below(400)
	}
}

// host draws an address; so many of a hundred are IPv6.
func (g *generator) host(v6 int) Host {
	port := uint16(1024 + g.below(60000))
	if g.percent(v6) {
		return Host(netip.AddrPortFrom(netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 15: byte(1 + g.below(200))}), port))
	}
	return Host(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(g.below(200)), byte(1 + g.below(200))}), port))
}

// describe gives a message its properties: a unique key, keys, tags and others,
// each of them or not.
func (g *generator) describe(m *Message) {
	unique := fmt.Sprintf("%016X%016X", g.spec.Seed, g.dice.next())
	if g.percent(80) {
		m.add(message.PropertyUniqueKey, unique)
	}
	word := func() string { return "key-" + strconv.Itoa(g.below(40)) }
	switch roll := g.below(100); {
	case roll < 40:
		m.add(message.PropertyKeys, word())
	case roll < 50:
		m.add(message.PropertyKeys, word()+" "+word()+" "+word())
	case roll < 55:
		same := word()
		m.add(message.PropertyKeys, same+" "+same)
	case roll < 60:
		m.add(message.PropertyKeys, word()+"  "+word())
	case roll < 65:
		m.add(message.PropertyKeys, pick(g, "Aa", "BB", "钥匙", "🔑"))
	case roll < 68:
		m.add(message.PropertyKeys, unique)
	}
	switch roll := g.below(100); {
	case roll < 50:
		m.add(message.PropertyTags, pick(g, "TagA", "TagB", "标签", "🏷"))
	case roll < 55:
		m.add(message.PropertyTags, "TagA||TagB")
		m.SysFlag |= message.FlagMultiTags
	case roll < 60:
		m.add(message.PropertyTags, "") // what no reader sees
	}
	if g.percent(3) {
		m.add(message.PropertyWait, pick(g, "true", "false"))
	}
	if g.percent(5) {
		m.add("user", "值 <&> \u2028")
	}
	m.OpenEnded = g.percent(20)
}

func (m *Message) add(name, value string) {
	m.Properties = append(m.Properties, [2]string{name, value})
}

// batch makes messages that share what a batch shares.
func (g *generator) batch() []Message {
	list := make([]Message, 2+g.below(5))
	for i := range list {
		list[i] = g.message()
		if i > 0 {
			first := &list[0]
			list[i].Topic, list[i].QueueID, list[i].BornMs = first.Topic, first.QueueID, first.BornMs
			list[i].BornHost, list[i].StoreHost, list[i].ReconsumeTimes = first.BornHost, first.StoreHost, first.ReconsumeTimes
		}
		list[i].SysFlag = 0
	}
	return list
}

// transaction makes a message of a transaction, as a broker stores it: prepared
// under the half topic, the other two under the real one.
func (g *generator) transaction(t message.Transaction) Message {
	m := g.message()
	m.SysFlag |= int32(t)
	m.add("TRAN_MSG", "true")
	m.add("PGROUP", "producers")
	if t == message.TransactionPrepared {
		m.add(message.PropertyRealTopic, m.Topic)
		m.add(message.PropertyRealQueue, strconv.Itoa(int(m.QueueID)))
		m.Topic, m.QueueID = message.HalfTopic, 0
	} else {
		m.PreparedOffset = int64(g.below(1 << 20))
	}
	return m
}
