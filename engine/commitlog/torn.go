package commitlog

import (
	"bytes"
	"errors"

	"commitlab/engine/message"
)

// errTorn is what is wrong with a record that torn found.
var errTorn = errors.New("a sector of topic or properties was never written")

// whole reports whether a record is sound by a checksum over all of it. In a file
// that was another before, a sector that was never written shows older bytes, and
// nothing else tells them from those of the record.
func whole(record []byte) bool {
	_, kind, _ := message.Check(record, message.CheckOptions{Checksum: message.ChecksumRecord})
	return kind == message.KindRecord
}

// sectorBytes is what a power cut leaves whole.
const sectorBytes = 512

// torn reports whether a sector's share of the topic or the properties of a
// record is all zeros: those no checksum protects, unless the record has one of
// its own, and a power cut may have taken them alone. end is the position of the
// record's end within its file.
func torn(rec *message.Record, end int64) bool {
	properties := end - int64(len(rec.Properties))
	const lengthBytes = 2
	topic := properties - lengthBytes - int64(len(rec.Topic))
	return emptySector(rec.Topic, topic) || emptySector(rec.Properties, properties)
}

// emptySector reports whether b, which stands at pos, has only zeros in one of
// the sectors that it touches.
func emptySector(b []byte, pos int64) bool {
	for len(b) > 0 {
		n := min(sectorBytes-pos%sectorBytes, int64(len(b)))
		if len(bytes.TrimLeft(b[:n], "\x00")) == 0 {
			return true
		}
		b, pos = b[n:], pos+n
	}
	return false
}
