package workload

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"commitlab/engine/message"
)

// What ends a name and a value in the encoded form of message.Properties. Its
// own Append takes the value as a string; a value that is put together here
// goes straight into the buffer.
const (
	nameEnd  = 0x01
	valueEnd = 0x02
)

// appendProperties appends the encoded properties of a message in the order in
// which clients write them: unique key, keys, tag.
func (w *Workload) appendProperties(dst []byte, d *draw) []byte {
	if w.spec.UniqueKeys {
		dst = appendName(dst, message.PropertyUniqueKey)
		dst = appendUniqueKey(dst, d.hash)
		dst = append(dst, valueEnd)
	}
	if w.spec.Keys > 0 {
		dst = appendName(dst, message.PropertyKeys)
		for i := range w.spec.KeysPerMessage {
			if i > 0 {
				dst = append(dst, ' ')
			}
			dst = append(dst, "key-"...)
			dst = strconv.AppendUint(dst, w.keyNumber(d.hash, i), 10)
		}
		dst = append(dst, valueEnd)
	}
	if len(w.tags) > 0 {
		dst = appendName(dst, message.PropertyTags)
		dst = append(dst, w.tags[d.tag]...)
		dst = append(dst, valueEnd)
	}
	return dst
}

func appendName(dst []byte, name string) []byte {
	return append(append(dst, name...), nameEnd)
}

// appendUniqueKey appends 32 hex digits, the length of a client's unique key
// for an IPv4 host. The store takes it for an opaque word, so it is drawn
// instead of made from process and clock.
func appendUniqueKey(dst []byte, hash uint64) []byte {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], hash)
	binary.BigEndian.PutUint64(raw[8:], mix(hash^0xff))
	at := len(dst)
	dst = hex.AppendEncode(dst, raw[:])
	for i := at; i < len(dst); i++ {
		if dst[i] >= 'a' {
			dst[i] -= 'a' - 'A'
		}
	}
	return dst
}
