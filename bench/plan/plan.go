package plan

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"

	"commitlab/engine/message"
)

// A Release is a generation of RocketMQ that a plan is for.
type Release string

// The releases. What V4 can hold V5 can hold as well.
const (
	V4 Release = "v4"
	V5 Release = "v5"
)

// A Head is the first line of a plan. Sizes are bytes.
type Head struct {
	Kind                  string `json:"kind"` // plan
	Seed                  uint64 `json:"seed"`
	Operations            int    `json:"operations"`
	CommitLogFileBytes    int64  `json:"commitLogFileBytes"`
	ConsumeQueueFileBytes int64  `json:"consumeQueueFileBytes"`
	IndexSlots            int    `json:"indexSlots"`
	IndexItems            int    `json:"indexItems"`
}

// An Operation is one call of the store: a put of one message, or of a batch.
type Operation struct {
	Kind     string    `json:"kind"` // put or batch
	Number   int       `json:"n"`
	Since    Release   `json:"since"`
	Messages []Message `json:"messages"`
}

// A Message is what a producer decides. Times are epoch milliseconds.
type Message struct {
	Topic          string      `json:"topic"`
	QueueID        int32       `json:"queueId"`
	Flag           int32       `json:"flag"`
	SysFlag        int32       `json:"sysFlag"`
	BornMs         int64       `json:"bornMs"`
	BornHost       Host        `json:"bornHost"`
	StoreHost      Host        `json:"storeHost"`
	ReconsumeTimes int32       `json:"reconsumeTimes"`
	PreparedOffset int64       `json:"preparedOffset"`
	Properties     [][2]string `json:"properties"` // name and value, in stored order
	OpenEnded      bool        `json:"openEnded"`  // the last separator is left out
	BodyBytes      int         `json:"bodyBytes"`
	BodySeed       int64       `json:"bodySeed"`
}

// A Host is an address with its port, as text "0a000001:10911": all bytes of the
// address in hexadecimal, so that both sides write an IPv6 address the same way.
type Host netip.AddrPort

// MarshalText writes the text form.
func (h Host) MarshalText() ([]byte, error) {
	a := netip.AddrPort(h)
	return fmt.Appendf(nil, "%x:%d", a.Addr().AsSlice(), a.Port()), nil
}

// UnmarshalText reads the text form.
func (h *Host) UnmarshalText(text []byte) error {
	address, port, _ := strings.Cut(string(text), ":")
	var raw []byte
	_, err := fmt.Sscanf(address, "%x", &raw)
	a, ok := netip.AddrFromSlice(raw)
	if err != nil || !ok {
		return fmt.Errorf("host %q: want 8 or 32 hexadecimal digits, a colon and a port", text)
	}
	p, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return fmt.Errorf("host %q: %w", text, err)
	}
	*h = Host(netip.AddrPortFrom(a, uint16(p)))
	return nil
}

// Encode returns the message as the store takes it. Its body is made anew.
func (m *Message) Encode() *message.Message {
	var properties message.Properties
	for _, pair := range m.Properties {
		properties = append(properties, pair[0]+"\x01"+pair[1]+"\x02"...)
	}
	if m.OpenEnded && len(properties) > 0 {
		properties = properties[:len(properties)-1]
	}
	return &message.Message{
		Topic: m.Topic, QueueID: m.QueueID, Flag: m.Flag, SysFlag: m.SysFlag,
		BornTimestamp: m.BornMs, BornHost: netip.AddrPort(m.BornHost), StoreHost: netip.AddrPort(m.StoreHost),
		ReconsumeTimes: m.ReconsumeTimes, PreparedOffset: m.PreparedOffset,
		Properties: properties, Body: Body(m.BodyBytes, m.BodySeed),
	}
}

// Body makes n letters: each step of a SplitMix64 stream from seed gives eight,
// its lowest byte first.
func Body(n int, seed int64) []byte {
	body := make([]byte, n)
	s := stream(seed)
	var bits uint64
	for i := range body {
		if i%8 == 0 {
			bits = s.next()
		}
		body[i] = 'a' + byte(bits)%26
		bits >>= 8
	}
	return body
}

// A stream is a SplitMix64 generator (Steele, Lea, Flood 2014).
type stream uint64

func (s *stream) next() uint64 {
	*s += 0x9E3779B97F4A7C15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// A Plan is a head and its operations.
type Plan struct {
	Head       Head
	Operations []Operation
}

// Write writes a plan as JSON lines.
func (p *Plan) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	if err := e.Encode(p.Head); err != nil {
		return err
	}
	for i := range p.Operations {
		if err := e.Encode(&p.Operations[i]); err != nil {
			return err
		}
	}
	return out.Flush()
}

// ErrPlan: the lines are no plan.
var ErrPlan = errors.New("not a plan")

// Read reads what Write wrote. Errors wrap ErrPlan and name the line.
func Read(r io.Reader) (*Plan, error) {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	p := &Plan{}
	if err := d.Decode(&p.Head); err != nil || p.Head.Kind != "plan" {
		return nil, fmt.Errorf("%w: line 1 has kind %q, want plan (%w)", ErrPlan, p.Head.Kind, errOr(err))
	}
	for line := 2; ; line++ {
		var o Operation
		if err := d.Decode(&o); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrPlan, line, err)
		}
		if err := o.check(); err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrPlan, line, err)
		}
		p.Operations = append(p.Operations, o)
	}
	if len(p.Operations) != p.Head.Operations {
		return nil, fmt.Errorf("%w: %d operations, the head says %d", ErrPlan, len(p.Operations), p.Head.Operations)
	}
	return p, nil
}

func (o *Operation) check() error {
	switch {
	case o.Kind != "put" && o.Kind != "batch":
		return fmt.Errorf("kind %q, want put or batch", o.Kind)
	case o.Since != V4 && o.Since != V5:
		return fmt.Errorf("since %q, want %s or %s", o.Since, V4, V5)
	case len(o.Messages) == 0, o.Kind == "put" && len(o.Messages) > 1:
		return fmt.Errorf("a %s of %d messages", o.Kind, len(o.Messages))
	}
	for _, m := range o.Messages {
		if m.BodyBytes < 0 {
			return fmt.Errorf("a body of %d bytes", m.BodyBytes)
		}
	}
	return nil
}

func errOr(err error) error {
	if err == nil {
		return errors.New("the head comes first")
	}
	return err
}

// For returns the operations that a release can store.
func (p *Plan) For(r Release) []Operation {
	if r == V5 {
		return p.Operations
	}
	var kept []Operation
	for _, o := range p.Operations {
		if o.Since <= r {
			kept = append(kept, o)
		}
	}
	return kept
}
