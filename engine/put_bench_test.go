package engine

import (
	"net/netip"
	"testing"

	"commitlab/engine/message"
)

// benchMessage is a message with a 1 KiB body, a key and a tag.
func benchMessage() *message.Message {
	body := make([]byte, 1024)
	for i := range body {
		body[i] = byte(i * 7)
	}
	return &message.Message{
		Topic: "bench", Body: body,
		Properties: message.Properties("KEYS\x01key-1\x02TAGS\x01a\x02"),
		BornHost:   netip.MustParseAddrPort("127.0.0.1:1234"), StoreHost: netip.MustParseAddrPort("127.0.0.1:10911"),
	}
}

func BenchmarkPut(b *testing.B) {
	for _, c := range []struct {
		name string
		opt  Options
	}{
		{"config=tuned", Options{}},
		{"config=populated", Options{Populate: "file"}},
		{"config=sparse", Options{Allocate: "sparse", Populate: "none", Clock: "exact"}},
		{"config=sync", Options{Flush: "sync"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s, err := Open(b.TempDir(), c.opt)
			if err != nil {
				b.Fatal(err)
			}
			m := benchMessage()
			b.SetBytes(int64(len(m.Body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Put(m); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
