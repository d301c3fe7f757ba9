package message

import (
	"bytes"
	"hash/crc32"
	"testing"
)

func TestChecksumClearsTheTopBit(t *testing.T) {
	for s, want := range map[string]uint32{"123456789": 0x4BF43926, "": 0, "hello": 0x3610A686} {
		if got := Checksum32([]byte(s)); got != want {
			t.Errorf("Checksum32(%q) = %#x, want %#x", s, got, want)
		}
	}
}

func TestRecordCRCDigitsAreLeastSignificantFirst(t *testing.T) {
	for crc, want := range map[uint32]string{
		1015130025: "__CRC32#\x015200315101\x02",
		7:          "__CRC32#\x017000000000\x02",
		0x7FFFFFFF: "__CRC32#\x017463847412\x02",
	} {
		got := make([]byte, crcTailBytes)
		putRecordCRC(got, crc)
		if string(got) != want {
			t.Errorf("%d: %q, want %q", crc, got, want)
		}
		if back, ok := recordCRC(got); !ok || back != int64(crc) {
			t.Errorf("%q reads as %d, %v", got, back, ok)
		}
	}
	for _, s := range []string{
		"", "__CRC32#\x01520031510\x02", "__CRC32#\x0152003151 1\x02", "__CRC32#\x015200315101\x01", "__CRC32!\x015200315101\x02",
	} {
		if crc, ok := recordCRC([]byte(s)); ok {
			t.Errorf("%q reads as %d", s, crc)
		}
	}
}

func TestChecksumOfTwoPartsIsJoinedFromTheirs(t *testing.T) {
	a := []byte("the head of a record")
	for _, n := range []int{0, 1, 2, 127, 4096, 1<<20 + 3} {
		b := bytes.Repeat([]byte("body "), n/5+1)[:n]
		want := crc32.ChecksumIEEE(append(bytes.Clone(a), b...))
		if got := crcMul(crc32.ChecksumIEEE(a), crcShift(n)) ^ crc32.ChecksumIEEE(b); got != want {
			t.Errorf("%d bytes: %#x, want %#x", n, got, want)
		}
		if got := crcShort(crc32.ChecksumIEEE(a), b); got != want {
			t.Errorf("%d bytes, one by one: %#x, want %#x", n, got, want)
		}
	}
}
