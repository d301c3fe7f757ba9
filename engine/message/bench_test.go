package message

import (
	"bytes"
	"fmt"
	"testing"
)

// benchMessage has a body of 1 KiB and the properties that a client sends.
func benchMessage() *Message {
	m := vectorMessage()
	m.Topic = "TopicTest"
	m.Properties = Properties("KEYS\x01order-4711\x02TAGS\x01TagA\x02UNIQ_KEY\x010A0000091234CAFEBABE0000000F0007\x02WAIT\x01true\x02")
	m.Body = bytes.Repeat([]byte("0123456789abcdef"), 64)
	return m
}

func eachCRC(b *testing.B, run func(b *testing.B, l Limits)) {
	for _, on := range []bool{false, true} {
		b.Run(fmt.Sprintf("crc=%v", on), func(b *testing.B) { run(b, Limits{AppendCRC: on}) })
	}
}

// Prepare is paid by each producer on its own, Encode under the append lock.
func BenchmarkPrepare(b *testing.B) {
	eachCRC(b, func(b *testing.B, l Limits) {
		m := benchMessage()
		b.ReportAllocs()
		b.SetBytes(int64(len(m.Body)))
		for b.Loop() {
			if _, err := Prepare(m, l); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// The destination moves on, as in a log.
func BenchmarkEncode(b *testing.B) {
	eachCRC(b, func(b *testing.B, l Limits) {
		m := benchMessage()
		p, err := Prepare(m, l)
		if err != nil {
			b.Fatal(err)
		}
		file := make([]byte, 4<<20)
		b.ReportAllocs()
		b.SetBytes(int64(p.Size))
		at := 0
		for b.Loop() {
			if at+p.Size > len(file) {
				at = 0
			}
			at += p.Encode(file[at:], m, 1, int64(at), vectorStoreMs)
		}
	})
}

// The floor of Encode: one copy of as many bytes.
func BenchmarkBaselineCopy(b *testing.B) {
	m := benchMessage()
	p, err := Prepare(m, Limits{})
	if err != nil {
		b.Fatal(err)
	}
	record, file := make([]byte, p.Size), make([]byte, 4<<20)
	b.SetBytes(int64(p.Size))
	at := 0
	for b.Loop() {
		if at+p.Size > len(file) {
			at = 0
		}
		at += copy(file[at:], record)
	}
}

func BenchmarkCheck(b *testing.B) {
	eachCRC(b, func(b *testing.B, l Limits) {
		record := mustEncode(b, benchMessage(), l, 1, 2, 3)
		o := CheckOptions{Position: true, PhysicalOffset: 2}
		if l.AppendCRC {
			o.Checksum = ChecksumRecord
		}
		b.ReportAllocs()
		b.SetBytes(int64(len(record)))
		for b.Loop() {
			if _, _, err := Check(record, o); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	record := mustEncode(b, benchMessage(), Limits{}, 1, 2, 3)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(record); err != nil {
			b.Fatal(err)
		}
	}
}

func TestPrepareAndEncodeAllocateNothing(t *testing.T) {
	for name, properties := range map[string]string{
		"plain":                 "KEYS\x01k\x02",
		"carrying a record CRC": "KEYS\x01k\x02__CRC32#\x010000000000\x02",
	} {
		for _, appendCRC := range []bool{false, true} {
			m := benchMessage()
			m.Properties = Properties(properties)
			dst := make([]byte, 2048)
			var p Plan
			prepare := testing.AllocsPerRun(100, func() {
				var err error
				if p, err = Prepare(m, Limits{AppendCRC: appendCRC}); err != nil {
					t.Error(err)
				}
			})
			encode := testing.AllocsPerRun(100, func() { p.Encode(dst, m, 1, 2, 3) })
			if encode != 0 || (prepare != 0 && !p.dropCRC) {
				t.Errorf("%s, CRC %v: Prepare %v, Encode %v allocations", name, appendCRC, prepare, encode)
			}
		}
	}
}
