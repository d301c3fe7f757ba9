package message

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
)

// # Batch body
//
// A client sends a batch as one message whose body is a sequence of members:
//
//	offset  width  field
//	     0      4  total size        the whole member
//	     4      4  magic             0
//	     8      4  CRC               0
//	    12      4  flag
//	    16      4  body length
//	    20      …  body
//	     …      2  properties length
//	     …      …  properties
const (
	offMemberFlag      = 12
	offMemberBodyBytes = 16
	memberHeadBytes    = 20
)

// Member is one message of a batch; topic, queue and hosts are the batch's.
type Member struct {
	Flag       int32
	Properties Properties
	Body       []byte
}

// AppendBatch adds members in the form of a batch body to dst.
//
// It fails with ErrPropertiesTooLong or ErrIllegal if a member does not fit its
// length fields; dst then comes back as it was.
func AppendBatch(dst []byte, members ...Member) ([]byte, error) {
	be, start := binary.BigEndian, len(dst)
	for i, m := range members {
		if len(m.Properties) > maxPropertiesBytes {
			return dst[:start], fmt.Errorf("batch member %d: %w: %d bytes, at most %d", i, ErrPropertiesTooLong, len(m.Properties), maxPropertiesBytes)
		}
		size := memberHeadBytes + len(m.Body) + propertiesLenBytes + len(m.Properties)
		if size > math.MaxInt32 {
			return dst[:start], fmt.Errorf("batch member %d: %w: %d bytes", i, ErrIllegal, size)
		}
		dst = be.AppendUint32(dst, uint32(size))
		dst = be.AppendUint64(dst, 0)
		dst = be.AppendUint32(dst, uint32(m.Flag))
		dst = be.AppendUint32(dst, uint32(len(m.Body)))
		dst = append(dst, m.Body...)
		dst = be.AppendUint16(dst, uint16(len(m.Properties)))
		dst = append(dst, m.Properties...)
	}
	return dst, nil
}

// ParseBatch iterates over the members of a batch body; their bytes are views
// into it. An error, which wraps ErrIllegal, is the last thing it yields.
func ParseBatch(body []byte) iter.Seq2[Member, error] {
	return func(yield func(Member, error) bool) {
		for at := 0; at < len(body); {
			m, size, err := parseMember(body[at:])
			if err != nil {
				yield(Member{}, fmt.Errorf("%w: batch member at %d: %w", ErrIllegal, at, err))
				return
			}
			if !yield(m, nil) {
				return
			}
			at += size
		}
	}
}

func parseMember(b []byte) (m Member, size int, err error) {
	be := binary.BigEndian
	if len(b) < memberHeadBytes {
		return m, 0, fmt.Errorf("got %d bytes, want %d", len(b), memberHeadBytes)
	}
	m.Flag = int32(be.Uint32(b[offMemberFlag:]))
	bodyBytes := int(int32(be.Uint32(b[offMemberBodyBytes:])))
	if room := len(b) - memberHeadBytes - propertiesLenBytes; bodyBytes < 0 || bodyBytes > room {
		return m, 0, fmt.Errorf("body length: got %d, at most %d", bodyBytes, room)
	}
	n := memberHeadBytes + bodyBytes
	m.Body = b[memberHeadBytes:n:n]
	propertiesBytes := int(int16(be.Uint16(b[n:])))
	n += propertiesLenBytes
	if room := len(b) - n; propertiesBytes < 0 || propertiesBytes > room {
		return m, 0, fmt.Errorf("properties length: got %d, at most %d", propertiesBytes, room)
	}
	size = n + propertiesBytes
	m.Properties = b[n:size:size]
	if total := int(int32(be.Uint32(b))); total != size {
		return m, 0, fmt.Errorf("total size: got %d, want %d", total, size)
	}
	return m, size, nil
}

// ExpandBatch turns a client's batch into the messages that are stored: each
// member with the topic, queue, sys flag, times and hosts of the batch. The outer
// properties are not stored. Bodies and properties are views into batch.Body.
//
// What it refuses: a body that is no batch or an empty one, a transaction, a
// delay level, and bodies of more than Limits.MaxBodyBytes altogether. Errors
// wrap ErrIllegal. Each message still has to pass Prepare.
func ExpandBatch(batch *Message, l Limits) ([]Message, error) {
	if t := TransactionOf(batch.SysFlag); t != TransactionNone {
		return nil, fmt.Errorf("%w: batch in a transaction (%#x)", ErrIllegal, int32(t))
	}
	if _, ok := batch.Properties.Get(PropertyDelay); ok {
		return nil, fmt.Errorf("%w: batch with a delay level", ErrIllegal)
	}
	if limit := l.maxBodyBytes(); len(batch.Body) > limit {
		return nil, fmt.Errorf("%w: batch body of %d bytes, at most %d", ErrIllegal, len(batch.Body), limit)
	}
	var ms []Message
	for member, err := range ParseBatch(batch.Body) {
		if err != nil {
			return nil, err
		}
		m := *batch
		m.Flag, m.Properties, m.Body = member.Flag, member.Properties, member.Body
		m.PreparedOffset = 0
		ms = append(ms, m)
	}
	if len(ms) == 0 {
		return nil, fmt.Errorf("%w: empty batch", ErrIllegal)
	}
	return ms, nil
}
