package message

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var twoMembers = []Member{
	{Flag: 1, Properties: Properties("TAGS\x01A\x02"), Body: []byte("one")},
	{Flag: -1, Properties: Properties("TAGS\x01B"), Body: []byte{}},
}

func mustBatch(t *testing.T, members ...Member) []byte {
	t.Helper()
	body, err := AppendBatch(nil, members...)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestBatchBodyHasTheFormOfTheClients(t *testing.T) {
	want := fromHex(t, "00000020"+"00000000"+"00000000"+"00000001"+"00000003"+"6f6e65"+"0007"+"54414753014102"+
		"0000001c"+"00000000"+"00000000"+"ffffffff"+"00000000"+"0006"+"544147530142")
	if d := cmp.Diff(want, mustBatch(t, twoMembers...)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	var got []Member
	for m, err := range ParseBatch(want) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m)
	}
	if d := cmp.Diff(twoMembers, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestBatchMembersTakeWhatTheyLackFromTheBatch(t *testing.T) {
	batch := vectorMessage()
	batch.Flag, batch.ReconsumeTimes, batch.PreparedOffset = 99, 5, 77
	batch.SysFlag = FlagNeedUnwrap
	batch.Body = mustBatch(t, twoMembers...)
	got, err := ExpandBatch(batch, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(twoMembers) {
		t.Fatalf("%d messages, want %d", len(got), len(twoMembers))
	}
	for i, m := range got {
		if m.Flag != twoMembers[i].Flag || string(m.Body) != string(twoMembers[i].Body) || string(m.Properties) != string(twoMembers[i].Properties) {
			t.Errorf("member %d: %+v", i, m)
		}
		if m.Topic != batch.Topic || m.QueueID != 3 || m.SysFlag != batch.SysFlag || m.BornHost != batch.BornHost ||
			m.StoreHost != batch.StoreHost || m.BornTimestamp != batch.BornTimestamp || m.ReconsumeTimes != 5 || m.PreparedOffset != 0 {
			t.Errorf("member %d: %+v", i, m)
		}
	}
}

// H14: the Java batch encoder puts the record CRC behind properties without a last
// separator and so makes one property of two; recovery then drops the log from
// there on.
func TestBatchMemberWithoutLastSeparatorKeepsItsRecordCRC(t *testing.T) {
	batch := vectorMessage()
	batch.Body = mustBatch(t, twoMembers...)
	members, err := ExpandBatch(batch, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range members {
		b := mustEncode(t, &members[i], Limits{AppendCRC: true}, int64(i), 0, vectorStoreMs)
		if _, _, err := Check(b, CheckOptions{Checksum: ChecksumRecord}); err != nil {
			t.Errorf("member %d: %v", i, err)
		}
		r, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"TAGS": string("AB"[i])}
		got := readAll(r.Properties)
		delete(got, PropertyRecordCRC)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("member %d (-want +got):\n%s", i, d)
		}
	}
}

func TestBatchesThatCannotBeStoredAreRefused(t *testing.T) {
	body := mustBatch(t, twoMembers...)
	changed := func(at int, c byte) []byte {
		b := append([]byte(nil), body...)
		b[at] = c
		return b
	}
	for _, c := range []struct {
		name   string
		change func(*Message)
		limits Limits
	}{
		{"empty", func(m *Message) { m.Body = []byte{} }, Limits{}},
		{"no batch", func(m *Message) { m.Body = []byte("hello") }, Limits{}},
		{"cut", func(m *Message) { m.Body = body[:len(body)-1] }, Limits{}},
		{"cut in a head", func(m *Message) { m.Body = body[:33] }, Limits{}},
		{"total size", func(m *Message) { m.Body = changed(3, 0x21) }, Limits{}},
		{"negative body length", func(m *Message) { m.Body = changed(16, 0x80) }, Limits{}},
		{"body length", func(m *Message) { m.Body = changed(18, 0xFF) }, Limits{}},
		{"negative properties length", func(m *Message) { m.Body = changed(23, 0x80) }, Limits{}},
		{"properties length", func(m *Message) { m.Body = changed(23, 0x7F) }, Limits{}},
		{"transaction", func(m *Message) { m.SysFlag = int32(TransactionPrepared) }, Limits{}},
		{"delay", func(m *Message) { m.Properties = Properties("DELAY\x013\x02") }, Limits{}},
		{"bodies over the limit", func(*Message) {}, Limits{MaxBodyBytes: len(body) - 1}},
	} {
		batch := vectorMessage()
		batch.Body = body
		c.change(batch)
		if ms, err := ExpandBatch(batch, c.limits); !errors.Is(err, ErrIllegal) {
			t.Errorf("%s: %d messages, %v; want ErrIllegal", c.name, len(ms), err)
		}
	}
	dst := []byte("before")
	got, err := AppendBatch(dst, twoMembers[0], Member{Properties: make(Properties, maxPropertiesBytes+1)})
	if !errors.Is(err, ErrPropertiesTooLong) || string(got) != "before" {
		t.Errorf("AppendBatch of a member with too many properties: %q, %v", got, err)
	}
}
