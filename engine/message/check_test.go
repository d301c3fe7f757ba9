package message

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
)

// Positions in the record of the vectors: 115 bytes, IPv4 hosts, 5 bytes of body.
const (
	vectorBodyLen  = 84
	vectorBody     = 88
	vectorTopicLen = 93
	vectorPropsLen = 95
	vectorProps    = 97
)

func TestCheckNamesTheStepThatFails(t *testing.T) {
	be := binary.BigEndian
	for _, c := range []struct {
		name    string
		change  func(b []byte) []byte
		options CheckOptions
		step    Step // 0: passes
		size    int
	}{
		{"intact", func(b []byte) []byte { return b }, CheckOptions{}, 0, 115},
		{"nothing", func(b []byte) []byte { return nil }, CheckOptions{}, StepHeader, 0},
		{"4 bytes", func(b []byte) []byte { return b[:4] }, CheckOptions{}, StepHeader, 0},
		{"size without magic", func(b []byte) []byte { return b[:7] }, CheckOptions{}, StepHeader, 0},
		{"cut by one byte", func(b []byte) []byte { return b[:114] }, CheckOptions{}, StepBounds, 0},
		{"huge size", func(b []byte) []byte { be.PutUint32(b, math.MaxInt32); return b }, CheckOptions{}, StepBounds, 0},
		{"negative size", func(b []byte) []byte { be.PutUint32(b, 0x80000000); return b }, CheckOptions{}, StepField, 0},
		{"size 0 with magic", func(b []byte) []byte { be.PutUint32(b, 0); return b }, CheckOptions{}, StepField, 0},
		{"size 0 with magic and no body", func(b []byte) []byte { be.PutUint32(b, 0); clear(b[vectorBodyLen:]); return b }, CheckOptions{}, StepField, 0},
		{"zeros", func(b []byte) []byte { clear(b); return b }, CheckOptions{}, StepUnwritten, 0},
		{"magic", func(b []byte) []byte { b[7]++; return b }, CheckOptions{}, StepMagic, 0},
		{"header only", func(b []byte) []byte { be.PutUint32(b, 40); return b[:40] }, CheckOptions{}, StepField, 0},
		{"head cut by host flags", func(b []byte) []byte { be.PutUint32(b, 90); b[39] = 0x30; return b[:90] }, CheckOptions{}, StepField, 0},
		{"body CRC field", func(b []byte) []byte { b[8] ^= 1; return b }, CheckOptions{}, StepBodyCRC, 0},
		{"body byte", func(b []byte) []byte { b[vectorBody] ^= 1; return b }, CheckOptions{}, StepBodyCRC, 0},
		{"body byte, not asked", func(b []byte) []byte { b[vectorBody] ^= 1; return b }, CheckOptions{Checksum: ChecksumNone}, 0, 115},
		{"negative body length", func(b []byte) []byte { be.PutUint32(b[vectorBodyLen:], 0xFFFFFFFF); return b }, CheckOptions{}, StepField, 0},
		{"body length over the end", func(b []byte) []byte { be.PutUint32(b[vectorBodyLen:], 100); return b }, CheckOptions{}, StepField, 0},
		{"body length up to the end", func(b []byte) []byte { be.PutUint32(b[vectorBodyLen:], 27); return b }, CheckOptions{}, StepField, 0},
		{"negative topic length", func(b []byte) []byte { b[vectorTopicLen] = 0x80; return b }, CheckOptions{}, StepField, 0},
		{"topic length over the end", func(b []byte) []byte { b[vectorTopicLen] = 127; return b }, CheckOptions{}, StepField, 0},
		{"topic length up to the end", func(b []byte) []byte { b[vectorTopicLen] = 20; return b }, CheckOptions{}, StepField, 0},
		{"negative properties length", func(b []byte) []byte { b[vectorPropsLen] = 0xFF; return b }, CheckOptions{}, StepField, 0},
		{"properties length over the end", func(b []byte) []byte { b[vectorPropsLen+1]++; return b }, CheckOptions{}, StepField, 0},
		{"properties length short", func(b []byte) []byte { b[vectorPropsLen+1]--; return b }, CheckOptions{}, StepLength, 115},
		{"size larger than the parts", func(b []byte) []byte { be.PutUint32(b, 118); return append(b, 1, 2, 3) }, CheckOptions{}, StepLength, 118},
		{"size smaller than the parts", func(b []byte) []byte { be.PutUint32(b, 100); return b }, CheckOptions{}, StepLength, 100},
		{"bytes behind", func(b []byte) []byte { return append(b, 1, 2, 3) }, CheckOptions{}, 0, 115},
		{"position", func(b []byte) []byte { return b }, CheckOptions{Position: true, PhysicalOffset: 0}, 0, 115},
		{"another position", func(b []byte) []byte { return b }, CheckOptions{Position: true, PhysicalOffset: 1 << 40}, StepPosition, 0},
		{"no dup info", func(b []byte) []byte { return b }, CheckOptions{DupInfo: true}, StepDupInfo, 0},
		{"no record CRC", func(b []byte) []byte { return b }, CheckOptions{Checksum: ChecksumRecord}, StepRecordCRC, 0},
	} {
		b := c.change(fromHex(t, vectorV1))
		size, kind, err := Check(b, c.options)
		if size != c.size || stepOf(err) != c.step || (kind == KindRecord) != (c.step == 0) {
			t.Errorf("%s: Check = %d, %d, %v; want %d, step %v", c.name, size, kind, err, c.size, c.step)
		}
		if (c.step == 0) != (err == nil) || (err != nil && !errors.Is(err, ErrBadRecord)) {
			t.Errorf("%s: error %v", c.name, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "bad record: ") {
			t.Errorf("%s: message %q", c.name, err)
		}
	}
}

func TestDupInfoMustHaveTwoParts(t *testing.T) {
	for info, ok := range map[string]bool{"a_b": true, "a": false, "a_b_c": false, "_b": false, "a_": false, "_": false} {
		m := vectorMessage()
		m.Properties = Properties("DUP_INFO\x01" + info + "\x02")
		_, _, err := Check(mustEncode(t, m, Limits{}, 0, 0, 0), CheckOptions{DupInfo: true})
		if (err == nil) != ok {
			t.Errorf("%s: %v, want ok = %v", info, err, ok)
		}
	}
	m := vectorMessage()
	m.Properties = nil
	if _, _, err := Check(mustEncode(t, m, Limits{}, 0, 0, 0), CheckOptions{DupInfo: true}); err != nil {
		t.Errorf("without properties it is not looked for: %v", err)
	}
}

func TestBlankEndsAFile(t *testing.T) {
	rest := bytes.Repeat([]byte{0x5A}, 1000) // the filler may be anything
	PutBlank(rest, len(rest))
	for _, o := range []CheckOptions{{}, {BlankSize: 1000}, {Position: true, PhysicalOffset: 5, Checksum: ChecksumRecord}} {
		if size, kind, err := Check(rest, o); size != 0 || kind != KindBlank || err != nil {
			t.Errorf("%+v: Check = %d, %d, %v", o, size, kind, err)
		}
	}
	if size, magic, err := RecordSize(rest); size != 1000 || magic != MagicBlank || err != nil {
		t.Errorf("RecordSize = %d, %#x, %v", size, magic, err)
	}
	if _, _, err := Check(rest, CheckOptions{BlankSize: 999}); stepOf(err) != StepBlank {
		t.Errorf("a blank that does not fill the file: %v", err)
	}
	if _, _, err := Check(rest[:999], CheckOptions{}); stepOf(err) != StepBounds {
		t.Errorf("a blank that reaches over the end: %v", err)
	}
	if _, err := Decode(rest); stepOf(err) != StepMagic {
		t.Errorf("a blank decoded as a record: %v", err)
	}
	if _, kind, err := Check(rest[:BlankBytes], CheckOptions{}); kind != KindInvalid || err == nil {
		t.Errorf("a blank of 1000 bytes in 8: %v, %v", kind, err)
	}
	PutBlank(rest[:BlankBytes], BlankBytes)
	if _, kind, err := Check(rest[:BlankBytes], CheckOptions{BlankSize: BlankBytes}); kind != KindBlank || err != nil {
		t.Errorf("the smallest blank: %v, %v", kind, err)
	}
}

// A log may hold records of both kinds when the option was switched.
func TestStrongestChecksumTakesWhatIsThere(t *testing.T) {
	for _, c := range []struct {
		appendCRC bool
		damaged   int // byte of the record; -1: none
		step      Step
	}{
		{false, -1, 0},
		{false, vectorBody, StepBodyCRC},
		{false, vectorProps, 0},
		{true, -1, 0},
		{true, vectorBody, StepRecordCRC},
		{true, vectorProps, StepRecordCRC},
	} {
		b := mustEncode(t, vectorMessage(), Limits{AppendCRC: c.appendCRC}, 7, 0, vectorStoreMs)
		if c.damaged >= 0 {
			b[c.damaged] ^= 1
		}
		if _, _, err := Check(b, CheckOptions{Checksum: ChecksumStrongest}); stepOf(err) != c.step {
			t.Errorf("record CRC %v, byte %d damaged: %v, want step %v", c.appendCRC, c.damaged, err, c.step)
		}
	}
}

// B-33: a bad tail record was passed over and a later one took its place.
func TestB33_FlippedBodyBitOffersNoSizeToStepOver(t *testing.T) {
	intact := fromHex(t, vectorV1)
	for i := vectorBody; i < vectorBody+5; i++ {
		for bit := range 8 {
			b := bytes.Clone(intact)
			b[i] ^= 1 << bit
			size, kind, err := Check(append(b, intact...), CheckOptions{})
			if size != 0 || kind != KindInvalid || stepOf(err) != StepBodyCRC {
				t.Errorf("byte %d bit %d: Check = %d, %d, %v", i, bit, size, kind, err)
			}
		}
	}
}

// B-37: old bytes passed magic and checksum, and were replayed.
func TestB37_RecordFromAnotherPlaceIsRefused(t *testing.T) {
	const home = 3*65536 + 96
	b := mustEncode(t, vectorMessage(), Limits{AppendCRC: true}, 7, home, vectorStoreMs)
	for _, checksum := range []Checksum{ChecksumBody, ChecksumRecord, ChecksumNone} {
		at := func(offset int64) error {
			_, _, err := Check(b, CheckOptions{Checksum: checksum, Position: true, PhysicalOffset: offset})
			return err
		}
		if err := at(home); err != nil {
			t.Errorf("checksum %d, at home: %v", checksum, err)
		}
		for _, offset := range []int64{0, home - 1, home + 65536, home + 1<<32, -home} {
			if err := at(offset); stepOf(err) != StepPosition {
				t.Errorf("checksum %d, at %d: %v, want %v", checksum, offset, err, StepPosition)
			}
		}
	}
}

// B-84: a half-written last record in a zero-filled file stopped start-up. Any
// subset of its sectors may be on disk, the rest is zero.
func TestB84_TornRecordIsRefusedWithoutPanic(t *testing.T) {
	const sector = 512
	for start := 0; start < sector; start += 7 { // where in a sector the record begins
		m := vectorMessage()
		m.Body = bytes.Repeat([]byte("payload "), 65)
		m.Properties = Properties("KEYS\x01" + strings.Repeat("key ", 20) + "\x02TAGS\x01TAG1\x02")
		file := make([]byte, 4*sector)
		p, err := Prepare(m, Limits{AppendCRC: true})
		if err != nil {
			t.Fatal(err)
		}
		n := p.Encode(file[start:], m, 7, int64(start), vectorStoreMs)
		sectors := (start + n + sector - 1) / sector
		for kept := range 1<<sectors - 1 { // all but "everything"
			torn := make([]byte, len(file))
			for s := range sectors {
				if kept&(1<<s) != 0 {
					copy(torn[s*sector:(s+1)*sector], file[s*sector:])
				}
			}
			if bytes.Equal(torn, file) {
				continue // what was lost was zero anyway
			}
			_, kind, err := Check(torn[start:], CheckOptions{Checksum: ChecksumRecord, Position: true, PhysicalOffset: int64(start)})
			if kind != KindInvalid || err == nil {
				t.Errorf("record at %d, sectors %b of %d: accepted", start, kept, sectors)
			}
			// The body CRC alone covers what matters as long as the body is torn.
			_, _, err = Check(torn[start:], CheckOptions{})
			r, intact := Decode(torn[start:])
			if err == nil && (intact != nil || !bytes.Equal(r.Body, m.Body)) {
				t.Errorf("record at %d, sectors %b of %d: torn body accepted", start, kept, sectors)
			}
		}
	}
}

func TestCheckAndDecodeAllocateNothing(t *testing.T) {
	b := mustEncode(t, vectorMessage(), Limits{AppendCRC: true}, 7, 0, vectorStoreMs)
	n := testing.AllocsPerRun(100, func() {
		if _, _, err := Check(b, CheckOptions{Checksum: ChecksumRecord}); err != nil {
			t.Error(err)
		}
		r, err := Decode(b)
		if err != nil || r.TagsCode(nil) != 2567159 {
			t.Error(err)
		}
		for range r.Properties.Keys() {
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
