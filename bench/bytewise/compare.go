package bytewise

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"commitlab/engine/consumequeue"
	"commitlab/engine/message"
)

// ErrDiffers: the directories differ where a plan leaves no choice.
var ErrDiffers = errors.New("differs")

// A Report counts what was compared and what a plan cannot fix.
type Report struct {
	Records, Blanks, Queues, Units int

	StoreTimestamps   int // the clock of the store
	DelayedProperties int // records whose property string differs, with the same meaning
	Sizes             int // of them, those of another length
	PhysicalOffsets   int // of records and in units: a record before has another size
	BlankPlaces       int // likewise
	DelayedTagsCodes  int // units that hold a time of delivery
}

// Compare compares two directories. An error that wraps ErrDiffers names the
// first place where they differ and may not, with both sides.
func Compare(a, b string) (Report, error) {
	left, err := read(a)
	if err != nil {
		return Report{}, err
	}
	right, err := read(b)
	if err != nil {
		return Report{}, err
	}
	c := comparison{a: left, b: right}
	if err := c.log(); err != nil {
		return c.Report, err
	}
	return c.Report, c.queues()
}

type comparison struct {
	Report
	a, b *directory
}

func (c *comparison) log() error {
	if len(c.a.records) != len(c.b.records) {
		return fmt.Errorf("%w: %d records in %s, %d in %s", ErrDiffers, len(c.a.records), c.a.path, len(c.b.records), c.b.path)
	}
	for i := range c.a.records {
		c.Records++
		if err := c.record(&c.a.records[i], &c.b.records[i]); err != nil {
			return fmt.Errorf("record %d, at offset %d in %s and %d in %s: %w", i, c.a.records[i].offset, c.a.path, c.b.records[i].offset, c.b.path, err)
		}
	}
	return c.blanksOf()
}

// blanksOf compares the blanks. If sizes differ they lie elsewhere.
func (c *comparison) blanksOf() error {
	c.Blanks = len(c.a.blanks)
	if len(c.a.blanks) != len(c.b.blanks) && c.Sizes == 0 {
		return fmt.Errorf("%w: %d blanks in %s, %d in %s", ErrDiffers, len(c.a.blanks), c.a.path, len(c.b.blanks), c.b.path)
	}
	for i := range min(len(c.a.blanks), len(c.b.blanks)) {
		x, y := &c.a.blanks[i], &c.b.blanks[i]
		switch {
		case x.offset != y.offset && c.Sizes > 0:
			c.BlankPlaces++
		case x.offset != y.offset:
			return fmt.Errorf("blank %d: %w: at offset %d and %d", i, ErrDiffers, x.offset, y.offset)
		case !bytes.Equal(x.bytes, y.bytes):
			return fmt.Errorf("blank at offset %d: %w: % x and % x", x.offset, ErrDiffers, x.bytes[:message.BlankBytes], y.bytes[:message.BlankBytes])
		}
	}
	return nil
}

// A field is a part of a record.
type field struct {
	name  string
	bytes []byte
}

// fields cuts a record into its fields, in stored order.
func (r *record) fields() []field {
	b := r.bytes
	var list []field
	take := func(name string, n int) {
		list = append(list, field{name, b[:n]})
		b = b[n:]
	}
	host := func(bit int32) int {
		if r.SysFlag&bit != 0 {
			return 16 + 4
		}
		return 4 + 4
	}
	take("size", 4)
	take("magic", 4)
	take("body CRC", 4)
	take("queue id", 4)
	take("flag", 4)
	take("queue offset", 8)
	take("physical offset", 8)
	take("sys flag", 4)
	take("born timestamp", 8)
	take("born host", host(message.FlagBornHostV6))
	take("store timestamp", 8)
	take("store host", host(message.FlagStoreHostV6))
	take("reconsume times", 4)
	take("prepared offset", 8)
	take("body length", 4)
	take("body", len(r.Body))
	take("topic", len(b)-len(r.Topic)-2-len(r.Properties)) // its length
	take("topic", len(r.Topic))
	take("properties length", 2)
	take("properties", len(b))
	return list
}

func (c *comparison) record(x, y *record) error {
	delayed := string(x.Topic) == message.ScheduleTopic && string(y.Topic) == message.ScheduleTopic
	var properties, size bool
	right := y.fields()
	for i, f := range x.fields() {
		g := right[i]
		if bytes.Equal(f.bytes, g.bytes) {
			continue
		}
		switch f.name {
		case "store timestamp":
			c.StoreTimestamps++
			continue
		case "physical offset":
			if c.Sizes > 0 && x.PhysicalOffset == x.offset && y.PhysicalOffset == y.offset {
				c.PhysicalOffsets++
				continue
			}
		case "size", "properties length", "properties":
			if delayed && maps.Equal(meaning(x), meaning(y)) {
				properties, size = true, size || f.name == "size"
				continue
			}
		}
		return fmt.Errorf("%s %w: % x and % x", f.name, ErrDiffers, f.bytes, g.bytes)
	}
	if properties {
		c.DelayedProperties++
	}
	if size {
		c.Sizes++
	}
	return nil
}

// meaning is what a reader sees of the properties.
func meaning(r *record) map[string]string {
	seen := make(map[string]string)
	for name, value := range r.Properties.All() {
		seen[string(name)] = string(value)
	}
	return seen
}

func (c *comparison) queues() error {
	names := slices.Sorted(maps.Keys(c.a.queues))
	if others := slices.Sorted(maps.Keys(c.b.queues)); !slices.Equal(names, others) {
		return fmt.Errorf("%w: queues %q in %s, %q in %s", ErrDiffers, names, c.a.path, others, c.b.path)
	}
	for _, name := range names {
		c.Queues++
		x, y := c.a.queues[name], c.b.queues[name]
		if len(x) != len(y) {
			return fmt.Errorf("queue %s %w: %d units in %s, %d in %s", name, ErrDiffers, len(x), c.a.path, len(y), c.b.path)
		}
		for i := range x {
			c.Units++
			if err := c.unit(x[i], y[i]); err != nil {
				return fmt.Errorf("unit %d of queue %s: %w", i, name, err)
			}
		}
	}
	return nil
}

// unit compares two units of the same place: both must lead to the same record,
// each in its own log.
func (c *comparison) unit(x, y consumequeue.Unit) error {
	i, okX := c.a.at[x.PhysicalOffset]
	j, okY := c.b.at[y.PhysicalOffset]
	if !okX || !okY || i != j {
		return fmt.Errorf("%w: physical offset %d is record %d, %d is record %d", ErrDiffers, x.PhysicalOffset, i, y.PhysicalOffset, j)
	}
	left, right := &c.a.records[i], &c.b.records[j]
	if int(x.Size) != left.Size || int(y.Size) != right.Size {
		return fmt.Errorf("%w: sizes %d and %d for records of %d and %d bytes", ErrDiffers, x.Size, y.Size, left.Size, right.Size)
	}
	if x.PhysicalOffset != y.PhysicalOffset {
		c.PhysicalOffsets++
	}
	if x.TagsCode == y.TagsCode {
		return nil
	}
	delay, other := x.TagsCode-left.StoreTimestamp, y.TagsCode-right.StoreTimestamp
	if string(left.Topic) != message.ScheduleTopic || delay != other {
		return fmt.Errorf("%w: tags codes %s and %s", ErrDiffers, hex(x.TagsCode), hex(y.TagsCode))
	}
	c.DelayedTagsCodes++
	return nil
}

func hex(n int64) string { return fmt.Sprintf("% x", binary.BigEndian.AppendUint64(nil, uint64(n))) }

// String is the report as text: what was compared, then what the plan cannot fix.
func (r Report) String() string {
	s := fmt.Sprintf("%d records, %d blanks and %d units of %d queues are identical but for what the plan cannot fix:\n",
		r.Records, r.Blanks, r.Units, r.Queues)
	for _, l := range []struct {
		count     int
		what, why string
	}{
		{r.StoreTimestamps, "store timestamp", "the clock of the store"},
		{r.DelayedProperties, "properties of delayed messages", "put together again from a map: order, properties without value, last separator"},
		{r.Sizes, "size of these", "likewise"},
		{r.PhysicalOffsets, "physical offset", "follows where a record before has another size"},
		{r.BlankPlaces, "place of a blank", "likewise"},
		{r.DelayedTagsCodes, "tags code of delayed messages", "time of delivery, counted from the clock of the store"},
	} {
		if l.count > 0 {
			s += fmt.Sprintf("  %6d  %-31s %s\n", l.count, l.what, l.why)
		}
	}
	return s
}
