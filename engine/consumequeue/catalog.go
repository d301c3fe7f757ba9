package consumequeue

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"commitlab/engine/fsutil"
)

// The catalog is a file with the ends of all queues, as a clean end left them. Of a
// queue that nobody has touched since, LoadTable then asks one stamp or two, instead of
// the eight system calls that it takes to list its directory and to read its file.
//
// It is a cache and never a source: with it or without, each queue comes out the
// same. An entry counts as long as the stamp of the queue's last file is what it was (no
// unit was written), and, if there are others or another could follow, that of its
// directory (no file was made or removed). So whoever else has used the store, nothing
// is believed of what they changed. Only a file that somebody lays beside the only one
// of a queue, which has room for the next unit, goes unseen: no store does that, and the
// queue cannot go on to a file of that name until it is gone.
//
// That holds while stamps tell, see [fsutil.StampsTell], and as long as the system has
// not gone down with the store open: a power cut may keep units that were written and
// lose the time when. An unclean start therefore wants the catalog to be of the same
// run of the system.
//
//	 0   8  magic
//	 8   8  bytes of a queue's file
//	16  40  boot id, filled up with zeros
//	56   8  number of entries
//	        entries, by topic and queue id:
//	          2  length of the topic, and so many bytes of it
//	        112  see end.numbers
//	         40  the first and the last unit that stand for a message
//	     4  CRC-32 of everything before
//
// All numbers are big-endian.
const (
	catalogMagic     = 0x636c_6162_7161_7401
	catalogBootBytes = 40
	catalogHeadBytes = 8 + 8 + catalogBootBytes + 8
	catalogSumBytes  = 4
)

// An end is what the catalog knows of one queue.
type end struct {
	topic string
	id    int32

	base, files int64 // byte of the queue where its first file starts, and number of files
	max         int64 // queue offset
	first, last message

	dir, file fsutil.Stamp // of the directory, and of the last file in it
}

const endNumbers = 14

// numbers are the fields of an end that are numbers, in the order of the file.
func (e *end) numbers() [endNumbers]int64 {
	return [...]int64{
		int64(e.id), e.base, e.files, e.max, e.first.offset, e.last.offset,
		int64(e.dir.Inode), e.dir.Size, e.dir.ModifyNs, e.dir.ChangeNs,
		int64(e.file.Inode), e.file.Size, e.file.ModifyNs, e.file.ChangeNs,
	}
}

func (e *end) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(len(e.topic)))
	b = append(b, e.topic...)
	for _, n := range e.numbers() {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	for _, m := range [...]*message{&e.first, &e.last} {
		b = append(b, make([]byte, UnitBytes)...)
		EncodeUnit(b[len(b)-UnitBytes:], m.unit)
	}
	return b
}

// decodeEnd reads the end at the start of b and returns what follows it; ok is false
// if it is none. The topic of the end before saves making it again.
func decodeEnd(b []byte, before string) (e end, rest []byte, ok bool) {
	if len(b) < 2 {
		return end{}, nil, false
	}
	n := int(binary.BigEndian.Uint16(b))
	b = b[2:]
	if len(b) < n+endNumbers*8+2*UnitBytes {
		return end{}, nil, false
	}
	if e.topic = before; string(b[:n]) != before { // queues of one topic follow one another
		e.topic = string(b[:n])
	}
	b = b[n:]
	var numbers [endNumbers]int64
	for i := range numbers {
		numbers[i] = int64(binary.BigEndian.Uint64(b[8*i:]))
	}
	b = b[endNumbers*8:]
	if numbers[0] < 0 || numbers[0] > math.MaxInt32 {
		return end{}, nil, false
	}
	e.id, e.base, e.files, e.max = int32(numbers[0]), numbers[1], numbers[2], numbers[3]
	e.first = message{offset: numbers[4], unit: DecodeUnit(b)}
	e.last = message{offset: numbers[5], unit: DecodeUnit(b[UnitBytes:])}
	e.dir = fsutil.Stamp{Inode: uint64(numbers[6]), Size: numbers[7], ModifyNs: numbers[8], ChangeNs: numbers[9]}
	e.file = fsutil.Stamp{Inode: uint64(numbers[10]), Size: numbers[11], ModifyNs: numbers[12], ChangeNs: numbers[13]}
	return e, b[2*UnitBytes:], true
}

// oneFile reports whether the last file alone shows whether the queue is at rest: it is
// the only one, and has room for the next unit.
func (e *end) oneFile() bool { return e.base == 0 && e.files == 1 && e.max*UnitBytes < e.file.Size }

// sound reports whether there can be such a queue, with files of so many bytes.
func (e *end) sound(fileBytes int64) bool {
	perFile := fileBytes / UnitBytes
	low := e.base / UnitBytes
	return e.base >= 0 && e.base%fileBytes == 0 && e.files > 0 && e.files < math.MaxInt32 && e.first.ok() && e.last.ok() &&
		low <= e.first.offset && e.first.offset <= e.last.offset && e.last.offset < e.max && e.max <= low+e.files*perFile
}

// A catalog is what LoadTable knows beforehand. The zero catalog knows nothing.
type catalog struct {
	ends []end // by topic and id
}

// of returns what is known of a queue, or nil.
func (c *catalog) of(topic string, id int32) *end {
	i, found := slices.BinarySearchFunc(c.ends, 0, func(e end, _ int) int {
		return cmp.Or(cmp.Compare(e.topic, topic), cmp.Compare(e.id, id))
	})
	if !found {
		return nil
	}
	return &c.ends[i]
}

// decodeCatalog reads the content of a catalog.
func decodeCatalog(b []byte) (boot string, fileBytes int64, c catalog, err error) {
	if len(b) < catalogHeadBytes+catalogSumBytes || binary.BigEndian.Uint64(b) != catalogMagic {
		return "", 0, c, fmt.Errorf("%d bytes are none", len(b))
	}
	b, sum := b[:len(b)-catalogSumBytes], binary.BigEndian.Uint32(b[len(b)-catalogSumBytes:])
	if got := crc32.ChecksumIEEE(b); got != sum {
		return "", 0, c, fmt.Errorf("CRC is %08x, expected %08x", got, sum)
	}
	fileBytes = int64(binary.BigEndian.Uint64(b[8:]))
	boot = string(bytes.TrimRight(b[16:16+catalogBootBytes], "\x00"))
	count := binary.BigEndian.Uint64(b[catalogHeadBytes-8:])
	rest := b[catalogHeadBytes:]
	c.ends = make([]end, 0, min(count, uint64(len(rest))/(endNumbers*8)))
	topic := ""
	for i := range count {
		e, behind, ok := decodeEnd(rest, topic)
		if !ok || fileBytes <= 0 || fileBytes%UnitBytes != 0 || !e.sound(fileBytes) {
			return "", 0, catalog{}, fmt.Errorf("entry %d of %d makes no sense", i, count)
		}
		c.ends, rest, topic = append(c.ends, e), behind, e.topic
	}
	if len(rest) > 0 {
		return "", 0, catalog{}, fmt.Errorf("%d bytes behind %d entries", len(rest), count)
	}
	return boot, fileBytes, c, nil
}

// encode is what decodeCatalog reads.
func (c *catalog) encode(boot string, fileBytes int64) []byte {
	b := binary.BigEndian.AppendUint64(nil, catalogMagic)
	b = binary.BigEndian.AppendUint64(b, uint64(fileBytes))
	b = append(b, make([]byte, catalogBootBytes)...)
	copy(b[len(b)-catalogBootBytes:], boot)
	b = binary.BigEndian.AppendUint64(b, uint64(len(c.ends)))
	for i := range c.ends {
		b = c.ends[i].append(b)
	}
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}
