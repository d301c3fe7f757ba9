package answers

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"strconv"

	"commitlab/bench/plan"
	"commitlab/engine/message"
)

// ErrLost: a store does not hold what it said it had stored.
var ErrLost = errors.New("acknowledged, but not there as it was put")

// Holds checks answers against what was put: for every result, as Plan.Apply and
// RocketMQ's peer write them, each message of the operation must be among the
// records, at its place, with every field and the checksum of the body that the
// plan says. It returns the number of messages; the error names the first that
// is missing or different and wraps ErrLost.
func Holds(p *plan.Plan, results, answers io.Reader) (messages int, err error) {
	records, err := readRecords(answers)
	if err != nil {
		return 0, err
	}
	for d := json.NewDecoder(results); ; {
		var r plan.Result
		if err := d.Decode(&r); err == io.EOF {
			return messages, nil
		} else if err != nil {
			return messages, fmt.Errorf("result %d: %w", messages+1, err)
		}
		if r.Number < 0 || r.Number >= len(p.Operations) || r.Status != "PUT_OK" {
			return messages, fmt.Errorf("operation %d: %s; the plan has %d operations, none to be refused", r.Number, r.Status, len(p.Operations))
		}
		at := r.Offset
		for i := range p.Operations[r.Number].Messages {
			got, ok := records[at]
			if !ok {
				return messages, fmt.Errorf("%w: message %d of operation %d: no record at offset %d", ErrLost, i, r.Number, at)
			}
			want := expected(&p.Operations[r.Number].Messages[i])
			if field := want.differs(&got); field != "" {
				return messages, fmt.Errorf("%w: message %d of operation %d, the record at offset %d: %s", ErrLost, i, r.Number, at, field)
			}
			at += int64(got.Size)
			messages++
		}
	}
}

// readRecords returns the records of a text of answers by their offsets.
func readRecords(answers io.Reader) (map[int64]recordLine, error) {
	records := make(map[int64]recordLine)
	s := newScanner(bufio.NewReader(answers))
	for s.Scan() {
		var line recordLine
		if err := json.Unmarshal(s.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("answers: %w", err)
		}
		if line.Kind == "record" {
			records[line.Offset] = line
		}
	}
	return records, s.Err()
}

// expected is what the record of a message must say, apart from what the store
// assigns.
func expected(m *plan.Message) *recordLine {
	e := m.Encode()
	want := &recordLine{
		Topic: m.Topic, QueueID: m.QueueID, Flag: m.Flag, SysFlag: m.SysFlag, BornMs: m.BornMs, BornHost: m.BornHost,
		StoreHost: m.StoreHost, ReconsumeTimes: m.ReconsumeTimes, PreparedOffset: m.PreparedOffset,
		BodyBytes: len(e.Body), BodyCRC: crc32.ChecksumIEEE(e.Body) & 0x7fffffff, Properties: make(map[string]string),
	}
	if e.BornHost.Addr().Is6() {
		want.SysFlag |= message.FlagBornHostV6
	}
	if e.StoreHost.Addr().Is6() {
		want.SysFlag |= message.FlagStoreHostV6
	}
	for name, value := range e.Properties.All() {
		want.Properties[string(name)] = string(value)
	}
	want.delay()
	return want
}

// highestLevel is that of the usual table of delays.
const highestLevel = 18

// delay changes what must be stored of a delayed message: it waits in the queue
// of its level.
func (l *recordLine) delay() {
	level, err := strconv.Atoi(l.Properties[message.PropertyDelay])
	if err != nil || level <= 0 || !message.TransactionOf(l.SysFlag).Queued() {
		return
	}
	level = min(level, highestLevel)
	l.Properties[message.PropertyDelay] = strconv.Itoa(level)
	l.Properties[message.PropertyRealTopic] = l.Topic
	l.Properties[message.PropertyRealQueue] = strconv.Itoa(int(l.QueueID))
	l.Topic, l.QueueID = message.ScheduleTopic, int32(level-1)
}

// differs names the first field in which a record is not as it must be, with both
// values; "" if it is.
func (l *recordLine) differs(got *recordLine) string {
	for _, f := range []struct {
		name      string
		want, got any
	}{
		{"topic", l.Topic, got.Topic},
		{"queueId", l.QueueID, got.QueueID},
		{"flag", l.Flag, got.Flag},
		{"sysFlag", l.SysFlag, got.SysFlag},
		{"bornMs", l.BornMs, got.BornMs},
		{"bornHost", l.BornHost, got.BornHost},
		{"storeHost", l.StoreHost, got.StoreHost},
		{"reconsumeTimes", l.ReconsumeTimes, got.ReconsumeTimes},
		{"preparedOffset", l.PreparedOffset, got.PreparedOffset},
		{"bodyBytes", l.BodyBytes, got.BodyBytes},
		{"bodyCrc", l.BodyCRC, got.BodyCRC},
	} {
		if f.want != f.got {
			return fmt.Sprintf("%s is %v, want %v", f.name, f.got, f.want)
		}
	}
	if !maps.Equal(l.Properties, got.Properties) {
		return fmt.Sprintf("properties are %v, want %v", got.Properties, l.Properties)
	}
	return ""
}
