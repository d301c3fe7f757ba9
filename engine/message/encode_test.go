package message

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const (
	vectorBornMs  = 1700000000000
	vectorStoreMs = 1700000000123
)

// vectorMessage is the message behind the byte-level vectors.
func vectorMessage() *Message {
	return &Message{
		Topic:         "T",
		QueueID:       3,
		BornTimestamp: vectorBornMs,
		BornHost:      netip.MustParseAddrPort("127.0.0.1:1234"),
		StoreHost:     netip.MustParseAddrPort("10.0.0.9:10911"),
		Properties:    Properties("KEYS\x01k1\x02TAGS\x01TAG1\x02"),
		Body:          []byte("hello"),
	}
}

const (
	vectorHead = "3610a686000000030000000000000000000000070000000000000000000000000000018bcfe56800" +
		"7f000001000004d20000018bcfe5687b0a00000900002a9f0000000000000000000000000000000568656c6c6f"
	vectorProperties = "4b455953016b3102544147530154414731" + "02"
	vectorV1         = "00000073daa320a7" + vectorHead + "0154" + "0012" + vectorProperties
	vectorV2         = "00000074daa320ab" + vectorHead + "000154" + "0012" + vectorProperties
	vectorCRC        = "00000087daa320a7" + vectorHead + "0154" + "0026" + vectorProperties +
		"5f5f43524333322301" + "35323030333135313031" + "02"
)

// mustEncode prepares and encodes m into exactly the bytes it needs, surrounded
// by bytes that must stay as they are.
func mustEncode(t rapid.TB, m *Message, l Limits, queueOffset, physicalOffset, storeMs int64) []byte {
	t.Helper()
	p, err := Prepare(m, l)
	if err != nil {
		t.Fatalf("prepare: %v", err)
	}
	dst := bytes.Repeat([]byte{0xEE}, p.Size+2)
	if n := p.Encode(dst[1:], m, queueOffset, physicalOffset, storeMs); n != p.Size {
		t.Fatalf("Encode = %d, Size = %d", n, p.Size)
	}
	if dst[0] != 0xEE || dst[p.Size+1] != 0xEE {
		t.Fatal("Encode wrote outside of dst[:Size]")
	}
	return dst[1 : p.Size+1]
}

func fromHex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEncodeWritesTheVectorsOfTheFormat(t *testing.T) {
	m := vectorMessage()
	if got, want := mustEncode(t, m, Limits{}, 7, 0, vectorStoreMs), fromHex(t, vectorV1); !bytes.Equal(got, want) {
		t.Errorf("v1\n got %x\nwant %x", got, want)
	}
	if got, want := mustEncode(t, m, Limits{AppendCRC: true}, 7, 0, vectorStoreMs), fromHex(t, vectorCRC); !bytes.Equal(got, want) {
		t.Errorf("v1 with record CRC\n got %x\nwant %x", got, want)
	}
	blank := make([]byte, BlankBytes)
	if PutBlank(blank, 1000); !bytes.Equal(blank, fromHex(t, "000003e8cbd43194")) {
		t.Errorf("blank: %x", blank)
	}
}

func TestDecodeReadsTheVectorsOfTheFormat(t *testing.T) {
	for version, s := range map[Version]string{V1: vectorV1, V2: vectorV2} {
		b := fromHex(t, s)
		m := vectorMessage()
		want := Record{
			Size: len(b), Version: version, BodyCRC: 907060870, QueueID: 3, QueueOffset: 7,
			BornTimestamp: vectorBornMs, BornHost: m.BornHost,
			StoreTimestamp: vectorStoreMs, StoreHost: m.StoreHost,
			Topic: []byte("T"), Body: m.Body, Properties: m.Properties,
		}
		got, err := Decode(append(b, "what follows"...))
		if err != nil {
			t.Errorf("v%d: %v", version, err)
		}
		if d := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); d != "" {
			t.Errorf("v%d (-want +got):\n%s", version, d)
		}
	}
}

func TestVersionIsChosenByTheBytesOfTheTopic(t *testing.T) {
	retry := func(n int) string { return RetryTopicPrefix + strings.Repeat("g", n-len(RetryTopicPrefix)) }
	for _, c := range []struct {
		topic  string
		limits Limits
		want   Version // 0: refused
	}{
		{strings.Repeat("t", 127), Limits{}, V1},
		{strings.Repeat("t", 128), Limits{}, 0},
		{retry(127), Limits{}, V1},
		{retry(128), Limits{}, V2},
		{retry(255), Limits{}, V2},
		{retry(256), Limits{}, 0},
		{retry(127), Limits{V1Only: true}, V1},
		{retry(128), Limits{V1Only: true}, 0},
		{strings.Repeat("\u4e2d", 42), Limits{}, V1},
		// 60 characters, 180 bytes: the Java store of 4.x accepts it as V1, can
		// never parse it again and loses every record behind it.
		{strings.Repeat("\u4e2d", 60), Limits{}, 0},
		{RetryTopicPrefix + strings.Repeat("\u4e2d", 60), Limits{}, V2},
		{"", Limits{}, 0},
		{".", Limits{}, 0},
		{"..", Limits{}, 0},
		{"a/b", Limits{}, 0},
		{"a\x00b", Limits{}, 0},
		{"\xff", Limits{}, 0},
	} {
		m := vectorMessage()
		m.Topic = c.topic
		p, err := Prepare(m, c.limits)
		if c.want == 0 {
			if !errors.Is(err, ErrIllegal) {
				t.Errorf("topic %q: got %v, want ErrIllegal", c.topic, err)
			}
			continue
		}
		if err != nil || p.Version != c.want {
			t.Errorf("topic %q: version %d, %v; want %d", c.topic, p.Version, err, c.want)
			continue
		}
		b := mustEncode(t, m, c.limits, 0, 0, 0)
		if r, err := Decode(b); err != nil || string(r.Topic) != c.topic {
			t.Errorf("topic %q: decoded %q, %v", c.topic, r.Topic, err)
		}
	}
}

func TestPrepareRefusesWhatMustNotBeStored(t *testing.T) {
	with := func(change func(*Message)) *Message {
		m := vectorMessage()
		change(m)
		return m
	}
	properties := func(n int) func(*Message) {
		return func(m *Message) { m.Properties = Properties("n\x01" + strings.Repeat("v", n-3) + "\x02") }
	}
	body := func(n int) func(*Message) { return func(m *Message) { m.Body = make([]byte, n) } }
	for _, c := range []struct {
		name   string
		m      *Message
		limits Limits
		want   error
	}{
		{"nil body", with(func(m *Message) { m.Body = nil }), Limits{}, ErrIllegal},
		{"empty body", with(func(m *Message) { m.Body = []byte{} }), Limits{}, nil},
		{"body at the default limit", with(body(DefaultMaxBodyBytes)), Limits{}, nil},
		{"body over the default limit", with(body(DefaultMaxBodyBytes + 1)), Limits{}, ErrIllegal},
		{"body at a limit", with(body(10)), Limits{MaxBodyBytes: 10}, nil},
		{"body over a limit", with(body(11)), Limits{MaxBodyBytes: 10}, ErrIllegal},
		{"properties at the limit", with(properties(32767)), Limits{}, nil},
		{"properties over the limit", with(properties(32768)), Limits{}, ErrPropertiesTooLong},
		{"properties with CRC at the limit", with(properties(32747)), Limits{AppendCRC: true}, nil},
		{"properties with CRC over the limit", with(properties(32748)), Limits{AppendCRC: true}, ErrPropertiesTooLong},
		{"separator puts properties over the limit", with(func(m *Message) {
			properties(32748)(m)
			m.Properties = m.Properties[:32747]
		}), Limits{AppendCRC: true}, ErrPropertiesTooLong},
		{"record as large as a file allows", with(func(*Message) {}), Limits{MaxRecordBytes: 115}, nil},
		{"record too large for a file", with(func(*Message) {}), Limits{MaxRecordBytes: 114}, ErrRecordTooLarge},
		{"negative queue id", with(func(m *Message) { m.QueueID = -1 }), Limits{}, ErrIllegal},
		{"malformed UTF-8 in properties", with(func(m *Message) { m.Properties = Properties("a\x01\xe4\xb8\x02") }), Limits{}, ErrIllegal},
		{"inner batch", with(func(m *Message) { m.SysFlag = FlagInnerBatch }), Limits{}, ErrIllegal},
		{"inner batch size without the flag", with(func(m *Message) { m.Properties = Properties("INNER_NUM\x012\x02") }), Limits{}, ErrIllegal},
		{"delay level that is no number", with(func(m *Message) {
			m.Topic, m.Properties = ScheduleTopic, Properties("DELAY\x01soon\x02")
		}), Limits{}, ErrIllegal},
		{"delay level", with(func(m *Message) {
			m.Topic, m.Properties = ScheduleTopic, Properties("DELAY\x0118\x02")
		}), Limits{}, nil},
	} {
		p, err := Prepare(c.m, c.limits)
		if !errors.Is(err, c.want) || (c.want == nil && err != nil) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
		if err != nil && p != (Plan{}) {
			t.Errorf("%s: a refused message has a plan", c.name)
		}
	}
}

func TestHostFlagsFollowTheHosts(t *testing.T) {
	v4 := netip.MustParseAddrPort("10.0.0.9:10911")
	v6 := netip.MustParseAddrPort("[2001:db8::5]:65535")
	for _, c := range []struct {
		born, store netip.AddrPort
		want        int32
		overhead    int
	}{
		{v4, v4, 0, 91},
		{v6, v4, FlagBornHostV6, 103},
		{v4, v6, FlagStoreHostV6, 103},
		{v6, v6, FlagBornHostV6 | FlagStoreHostV6, 115},
		{netip.AddrPort{}, netip.MustParseAddrPort("[::ffff:10.0.0.9]:1"), 0, 91},
	} {
		m := vectorMessage()
		m.BornHost, m.StoreHost = c.born, c.store
		m.SysFlag = FlagCompressed | FlagBornHostV6 | FlagStoreHostV6 // the last two are not the client's to say
		m.ReconsumeTimes, m.PreparedOffset = 16, 1<<40
		b := mustEncode(t, m, Limits{}, 1, 2, 3)
		r, err := Decode(b)
		if err != nil {
			t.Errorf("%v %v: %v", c.born, c.store, err)
			continue
		}
		if want := FlagCompressed | c.want; r.SysFlag != want {
			t.Errorf("%v %v: sys flag %#x, want %#x", c.born, c.store, r.SysFlag, want)
		}
		if want := c.overhead + len(m.Body) + len(m.Topic) + len(m.Properties); len(b) != want {
			t.Errorf("%v %v: %d bytes, want %d", c.born, c.store, len(b), want)
		}
		if got, want := r.BornHost, plainHost(c.born); got != want {
			t.Errorf("born host %v, want %v", got, want)
		}
		if got, want := r.StoreHost, plainHost(c.store); got != want {
			t.Errorf("store host %v, want %v", got, want)
		}
		if r.ReconsumeTimes != 16 || r.PreparedOffset != 1<<40 || r.StoreTimestamp != 3 {
			t.Errorf("%v %v: fields behind the hosts: %+v", c.born, c.store, r)
		}
	}
}

// plainHost is a host as it comes back from a record.
func plainHost(a netip.AddrPort) netip.AddrPort {
	addr := a.Addr().Unmap().WithZone("")
	if !addr.IsValid() {
		addr = netip.IPv4Unspecified()
	}
	return netip.AddrPortFrom(addr, a.Port())
}

// The record CRC is joined from parts; here it is taken over the finished bytes.
func TestRecordCRCCoversTheWholeRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMessage(t)
		b := mustEncode(t, &m, Limits{AppendCRC: true}, rapid.Int64().Draw(t, "queueOffset"), 4096, vectorStoreMs)
		got, ok := recordCRC(b)
		want := int64(crc32.ChecksumIEEE(b[:len(b)-crcTailBytes]) & crcMask)
		if !ok || got != want {
			t.Fatalf("record CRC %d (%v), want %d", got, ok, want)
		}
		options := CheckOptions{Checksum: ChecksumRecord, Position: true, PhysicalOffset: 4096}
		if size, kind, err := Check(b, options); err != nil || kind != KindRecord || size != len(b) {
			t.Fatalf("Check = %d, %v, %v", size, kind, err)
		}
		i := rapid.IntRange(0, len(b)-1).Draw(t, "damaged")
		b[i] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if _, kind, err := Check(b, options); err == nil {
			t.Fatalf("byte %d of %d damaged: %v", i, len(b), kind)
		}
	})
}

// A message restored from a record may still carry the CRC of that record.
func TestRecordCRCOfAnotherRecordIsNotStored(t *testing.T) {
	for _, properties := range []string{
		"__CRC32#\x011234567890\x02",
		"a\x01b\x02__CRC32#\x011234567890",
		"__CRC32#\x01\x02a\x01b\x02__CRC32#\x01x\x02c\x01d",
		"a\x01b\x02NOT__CRC32#\x01x\x02",
	} {
		for _, appendCRC := range []bool{false, true} {
			m := vectorMessage()
			m.Properties = Properties(properties)
			b := mustEncode(t, m, Limits{AppendCRC: appendCRC}, 0, 0, 0)
			if string(m.Properties) != properties {
				t.Errorf("%q: Encode changed the message", properties)
			}
			r, err := Decode(b)
			if err != nil {
				t.Fatal(err)
			}
			n := bytes.Count(append([]byte{propertySeparator}, r.Properties...), []byte("\x02__CRC32#\x01"))
			if want := map[bool]int{true: 1}[appendCRC]; n != want {
				t.Errorf("%q: %d record CRCs, want %d: %q", properties, n, want, b)
			}
			checksum := ChecksumBody
			if appendCRC {
				checksum = ChecksumRecord
			}
			if _, _, err := Check(b, CheckOptions{Checksum: checksum}); err != nil {
				t.Errorf("%q: %v", properties, err)
			}
		}
	}
}

// What a process leaves that dies inside Encode must not look like a record: size
// and magic are stored last.
func TestEncodeOfAMessageChangedAfterPreparePanics(t *testing.T) {
	m := vectorMessage()
	p, err := Prepare(m, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	m.Body = m.Body[:3]
	dst := make([]byte, p.Size)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
		if _, _, err := Check(dst, CheckOptions{}); stepOf(err) != StepUnwritten {
			t.Errorf("an unfinished record checks as %v, want %v", err, StepUnwritten)
		}
	}()
	p.Encode(dst, m, 0, 0, 0)
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMessage(t)
		limits := Limits{AppendCRC: rapid.Bool().Draw(t, "crc")}
		queueOffset, physicalOffset, storeMs := rapid.Int64().Draw(t, "q"), rapid.Int64().Draw(t, "p"), rapid.Int64().Draw(t, "ms")
		b := mustEncode(t, &m, limits, queueOffset, physicalOffset, storeMs)
		if size, kind, err := Check(b, CheckOptions{}); err != nil || kind != KindRecord || size != len(b) {
			t.Fatalf("Check = %d, %v, %v", size, kind, err)
		}
		r, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if r.QueueOffset != queueOffset || r.PhysicalOffset != physicalOffset || r.StoreTimestamp != storeMs {
			t.Fatalf("assigned fields: %+v", r)
		}
		want, got := m, r.Message()
		want.BornHost, want.StoreHost = plainHost(m.BornHost), plainHost(m.StoreHost)
		got.SysFlag &^= FlagBornHostV6 | FlagStoreHostV6
		if limits.AppendCRC {
			tail := len(got.Properties) - crcTailBytes
			got.Properties = got.Properties[:tail]
			if want.Properties.openEnded() {
				want.Properties = append(want.Properties[:len(want.Properties):len(want.Properties)], propertySeparator)
			}
		}
		if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
			t.Fatalf("\n got %s\nwant %s", g, w)
		}
	})
}

// drawMessage draws a message that Prepare accepts.
func drawMessage(t *rapid.T) Message {
	port := rapid.Uint16()
	host := rapid.Custom(func(t *rapid.T) netip.AddrPort {
		if rapid.Bool().Draw(t, "v6") {
			ip := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "ip")
			return netip.AddrPortFrom(netip.AddrFrom16([16]byte(ip)), port.Draw(t, "port"))
		}
		ip := rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "ip")
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(ip)), port.Draw(t, "port"))
	})
	topic := rapid.StringMatching(`[A-Za-z0-9_-]{1,127}`).Draw(t, "topic")
	if rapid.IntRange(0, 3).Draw(t, "retry") == 0 {
		topic = RetryTopicPrefix + topic + topic[:min(len(topic), 120)]
	}
	var properties Properties
	for range rapid.IntRange(0, 4).Draw(t, "properties") {
		name := rapid.StringMatching(`[A-Z]{1,8}`).Draw(t, "name")
		value := rapid.StringMatching(`[ -\x{1F600}]{1,40}`).Draw(t, "value")
		var err error
		if properties, err = properties.Append(name, value); err != nil {
			t.Fatal(err)
		}
	}
	if len(properties) > 0 && rapid.Bool().Draw(t, "stripped") {
		properties = properties[:len(properties)-1]
	}
	return Message{
		Topic:          topic,
		QueueID:        rapid.Int32Min(0).Draw(t, "queueID"),
		Flag:           rapid.Int32().Draw(t, "flag"),
		SysFlag:        rapid.Int32().Draw(t, "sysFlag") &^ (FlagInnerBatch | FlagBornHostV6 | FlagStoreHostV6),
		BornTimestamp:  rapid.Int64().Draw(t, "bornMs"),
		BornHost:       host.Draw(t, "born"),
		StoreHost:      host.Draw(t, "store"),
		ReconsumeTimes: rapid.Int32().Draw(t, "reconsume"),
		PreparedOffset: rapid.Int64().Draw(t, "prepared"),
		Properties:     properties,
		Body:           rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "body"),
	}
}
