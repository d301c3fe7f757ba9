package message

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// The seeds are in testdata/fuzz: the vectors of the format, whole and broken.

// Any bytes may stand in a log. Check must not panic, and what it accepts must be
// a record in every respect.
func FuzzCheck(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte, checksum uint8, dupInfo bool, position int64, blankSize int64) {
		o := CheckOptions{
			Checksum: Checksum(checksum % 4), DupInfo: dupInfo,
			Position: position >= 0, PhysicalOffset: position, BlankSize: blankSize,
		}
		size, kind, err := Check(b, o)
		var both Record
		if again, bothErr := CheckRecord(&both, b, o); again != kind || fmt.Sprint(bothErr) != fmt.Sprint(err) {
			t.Fatalf("checked: %v, %v, with decoding: %v, %v", kind, err, again, bothErr)
		}
		switch kind {
		case KindRecord:
			r, decodeErr := Decode(b)
			if !reflect.DeepEqual(r, both) {
				t.Fatalf("decoded %+v, when checked %+v", r, both)
			}
			if err != nil || decodeErr != nil || size != r.Size || size > len(b) {
				t.Fatalf("accepted %d bytes (%v), decoded %d (%v)", size, err, r.Size, decodeErr)
			}
			if o.Position && r.PhysicalOffset != position {
				t.Fatalf("accepted a record of %d at %d", r.PhysicalOffset, position)
			}
			if o.Checksum == ChecksumBody && len(r.Body) > 0 && Checksum32(r.Body) != r.BodyCRC {
				t.Fatal("accepted a wrong body CRC")
			}
			cut, _, err := Check(b[:size-1], o)
			if err == nil || cut != 0 {
				t.Fatalf("accepted without its last byte: %d, %v", cut, err)
			}
		case KindBlank:
			if !reflect.DeepEqual(both, Record{}) {
				t.Fatalf("a blank was decoded: %+v", both)
			}
			if size != 0 || err != nil {
				t.Fatalf("blank: %d, %v", size, err)
			}
		default:
			if step := stepOf(err); step == 0 || (size != 0) != (step == StepLength) || size < 0 || size > len(b) {
				t.Fatalf("refused: size %d, %v", size, err)
			}
		}
	})
}

// What decodes and may be put encodes to the same bytes, checksum aside.
func FuzzDecode(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Decode(b)
		if err != nil {
			if stepOf(err) == 0 {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		m := r.Message()
		if m.Properties.has(PropertyRecordCRC) {
			return // would be left out
		}
		p, err := Prepare(&m, Limits{})
		if err != nil || p.Version != r.Version || p.SysFlag != r.SysFlag || p.BodyCRC != r.BodyCRC {
			return
		}
		again := make([]byte, p.Size)
		p.Encode(again, &m, r.QueueOffset, r.PhysicalOffset, r.StoreTimestamp)
		got, err := Decode(again)
		if err != nil || got.BornHost != r.BornHost || got.StoreHost != r.StoreHost {
			t.Fatalf("hosts %v %v, want %v %v (%v)", got.BornHost, got.StoreHost, r.BornHost, r.StoreHost, err)
		}
		// The upper half of a port is not kept: put it back before comparing.
		want := bytes.Clone(b[:r.Size])
		clear(want[offBornHost+hostBytes(r.SysFlag, FlagBornHostV6)-4:][:2])
		clear(want[headBytes(r.SysFlag)-behindHostsBytes-4:][:2])
		if !bytes.Equal(again, want) {
			t.Fatalf("\n got %x\nwant %x", again, want)
		}
	})
}

func FuzzProperties(f *testing.F) {
	f.Fuzz(func(t *testing.T, encoded []byte, name, value string) {
		p := Properties(encoded)
		before := string(p)
		model := readAll(p)
		if got, ok := p.Get(name); ok != (model[name] != "") || string(got) != model[name] {
			t.Fatalf("Get(%q) = %q, %v; want %q", name, got, ok, model[name])
		}
		for key := range p.Keys() {
			if len(key) == 0 || bytes.IndexByte(key, ' ') >= 0 {
				t.Fatalf("key %q", key)
			}
		}
		if value == "" {
			delete(model, name)
			p = p.Delete(name)
		} else {
			var err error
			if p, err = p.Set(name, value); err == nil {
				model[name] = value
			}
		}
		if got := readAll(p); len(got) != len(model) || got[name] != model[name] {
			t.Fatalf("%q reads as %v, want %v", p, got, model)
		}
		if string(encoded) != before {
			t.Fatalf("%q was changed to %q", before, encoded)
		}
	})
}

// What parses as a batch is a batch: writing its members gives the same bytes,
// but for the two words that nobody looks at.
func FuzzBatch(f *testing.F) {
	f.Fuzz(func(t *testing.T, body []byte) {
		var members []Member
		want := bytes.Clone(body)
		at := 0
		for m, err := range ParseBatch(body) {
			if err != nil {
				return
			}
			clear(want[at+4 : at+offMemberFlag])
			at += memberHeadBytes + len(m.Body) + propertiesLenBytes + len(m.Properties)
			members = append(members, m)
		}
		got, err := AppendBatch(nil, members...)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%v\n got %x\nwant %x", err, got, want)
		}
	})
}

// What is taken apart as an id is put together again to the same characters, but
// for their case. An IPv4 address in IPv6 form, which Java has no id of, becomes
// short.
func FuzzIDs(f *testing.F) {
	f.Add("0A00000100002A9F0000000000000400")
	f.Add("0a00000100002a9f7fffffffffffffff")
	f.Add("20010DB800000000000000000000000100002A9F8000000000000000")
	f.Add("7F00000112345678ABCD000102030405")
	f.Add("00000000000000000000FFFF7F00000112345678ABCD000102030405")
	f.Add("00000000000000000000FFFF0A00000100002A9F0000000000000400")
	f.Add("7F00000")
	f.Add("")
	f.Fuzz(func(t *testing.T, id string) {
		if host, offset, err := ParseOffsetID(id); err == nil {
			if got := OffsetID(host, offset); !host.Addr().Is4In6() && !strings.EqualFold(got, id) {
				t.Fatalf("%q is record %d at %v, whose id is %q", id, offset, host, got)
			}
		} else if !errors.Is(err, ErrBadID) {
			t.Fatalf("error of another kind: %v", err)
		}
		if u, err := ParseUniqueID(id); err == nil {
			if got := u.String(); !u.Addr.Is4In6() && !strings.EqualFold(got, id) {
				t.Fatalf("%q is %+v, whose characters are %q", id, u, got)
			}
		} else if !errors.Is(err, ErrBadID) {
			t.Fatalf("error of another kind: %v", err)
		}
	})
}

// Whatever a table of delay levels is written as, it is an error, or delays of which none
// is negative.
func FuzzDelayLevels(f *testing.F) {
	for _, s := range []string{DefaultDelayLevels, "1s", "9223372036854775807d", "-1s", "1 s", " ", "s", "１s", "1s  2s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		levels, err := ParseDelayLevels(s)
		if err != nil {
			return
		}
		if len(levels) != strings.Count(s, " ")+1 {
			t.Errorf("%q: %d levels", s, len(levels))
		}
		for i, ms := range levels {
			if ms < 0 {
				t.Errorf("%q: level %d takes %d ms", s, i+1, ms)
			}
		}
	})
}
