package message

import (
	"encoding/binary"
	"net/netip"
)

// Record is a parsed record. Topic, Body and Properties are views into the bytes
// it was decoded from and live as long as those; their capacity ends with them.
type Record struct {
	Size           int
	Version        Version
	BodyCRC        uint32 // as stored, not verified
	QueueID        int32
	Flag           int32
	QueueOffset    int64
	PhysicalOffset int64
	SysFlag        int32
	BornTimestamp  int64 // epoch ms
	BornHost       netip.AddrPort
	StoreTimestamp int64 // epoch ms
	StoreHost      netip.AddrPort
	ReconsumeTimes int32
	PreparedOffset int64
	Topic          []byte
	Body           []byte
	Properties     Properties
}

// Decode parses the record that b starts with; b may be longer. It verifies no
// checksum and no position: that is Check. It allocates nothing unless it fails.
//
// The error is a *CheckError. A blank is not a record (StepMagic).
func Decode(b []byte) (r Record, err error) {
	err = DecodeInto(&r, b)
	return r, err
}

// DecodeInto is Decode into a record of the caller's, which is left alone if it
// fails. A Record is a few cache lines long; who reads one after the other in a hot
// loop need not have it copied from function to function.
func DecodeInto(r *Record, b []byte) error {
	if _, _, err := RecordSize(b); err != nil {
		return err
	}
	f, fault := frameOf(b)
	if fault != nil {
		return fault
	}
	if f.end != f.size {
		return bad(StepLength, int64(f.size), int64(f.end))
	}
	f.decode(b, r)
	return nil
}

// decode fills in the record whose parts f names.
func (f *frame) decode(b []byte, r *Record) {
	be := binary.BigEndian
	r.Size = f.size
	r.Version = f.version
	r.BodyCRC = be.Uint32(b[offBodyCRC:])
	r.QueueID = int32(be.Uint32(b[offQueueID:]))
	r.Flag = int32(be.Uint32(b[offFlag:]))
	r.QueueOffset = int64(be.Uint64(b[offQueueOffset:]))
	r.PhysicalOffset = int64(be.Uint64(b[offPhysicalOffset:]))
	r.SysFlag = f.sysFlag
	r.BornTimestamp = int64(be.Uint64(b[offBornTimestamp:]))
	n := offBornHost
	r.BornHost, n = readHost(b, n, f.sysFlag&FlagBornHostV6 != 0)
	r.StoreTimestamp = int64(be.Uint64(b[n:]))
	r.StoreHost, n = readHost(b, n+8, f.sysFlag&FlagStoreHostV6 != 0)
	r.ReconsumeTimes = int32(be.Uint32(b[n:]))
	r.PreparedOffset = int64(be.Uint64(b[n+4:]))
	r.Body = b[f.body : f.body+f.bodyBytes : f.body+f.bodyBytes]
	r.Topic = b[f.topic : f.topic+f.topicBytes : f.topic+f.topicBytes]
	r.Properties = b[f.properties:f.end:f.end]
}

// Message returns the message that the record was made from. Body and Properties
// stay views; the topic is copied.
func (r *Record) Message() Message {
	return Message{
		Topic:          string(r.Topic),
		QueueID:        r.QueueID,
		Flag:           r.Flag,
		SysFlag:        r.SysFlag,
		BornTimestamp:  r.BornTimestamp,
		BornHost:       r.BornHost,
		StoreHost:      r.StoreHost,
		ReconsumeTimes: r.ReconsumeTimes,
		PreparedOffset: r.PreparedOffset,
		Properties:     r.Properties,
		Body:           r.Body,
	}
}

// OffsetID is the id under which clients know this record; see the function of
// that name.
func (r *Record) OffsetID() string { return OffsetID(r.StoreHost, r.PhysicalOffset) }

// readHost reads a host at b[n:] and returns the offset behind it. A port is 4
// bytes wide on disk; only the low 16 bits of it mean anything.
func readHost(b []byte, n int, v6 bool) (netip.AddrPort, int) {
	var addr netip.Addr
	if v6 {
		addr = netip.AddrFrom16([16]byte(b[n : n+16]))
		n += 16
	} else {
		addr = netip.AddrFrom4([4]byte(b[n : n+4]))
		n += 4
	}
	return netip.AddrPortFrom(addr, uint16(binary.BigEndian.Uint32(b[n:]))), n + 4
}

// frame is where the parts of a record lie, as its length fields say. All
// offsets are inside the bytes it was taken from, but end need not equal size.
type frame struct {
	version           Version
	sysFlag           int32
	size              int // as stated
	body, bodyBytes   int
	topic, topicBytes int
	properties, end   int
}

// frameOf follows the length fields of a record whose header RecordSize has
// accepted.
func frameOf(b []byte) (f frame, fault *CheckError) {
	be := binary.BigEndian
	f.size = int(int32(be.Uint32(b[offSize:])))
	magic := be.Uint32(b[offMagic:])
	var known bool
	if f.version, known = versionOf(magic); !known {
		if magic == 0 && f.size == 0 {
			return f, bad(StepUnwritten, 0, 0)
		}
		return f, bad(StepMagic, int64(magic), int64(MagicV1))
	}
	// From here on every part must lie in b, as the Java store demands, and each
	// length must not exceed the size.
	if len(b) < offBornHost {
		return f, badField("head", len(b), offBornHost)
	}
	f.sysFlag = int32(be.Uint32(b[offSysFlag:]))
	f.body = headBytes(f.sysFlag)
	if len(b) < f.body {
		return f, badField("head", len(b), f.body)
	}
	if f.size < f.body {
		return f, badField("total size", f.size, f.body)
	}
	f.bodyBytes = int(int32(be.Uint32(b[f.body-4:])))
	if room := min(len(b)-f.body, f.size); f.bodyBytes < 0 || f.bodyBytes > room {
		return f, badField("body length", f.bodyBytes, room)
	}

	n := f.body + f.bodyBytes
	width := f.version.topicLenBytes()
	if len(b)-n < width {
		return f, badField("topic length", len(b)-n, width)
	}
	if f.version == V2 {
		f.topicBytes = int(int16(be.Uint16(b[n:])))
	} else {
		f.topicBytes = int(int8(b[n]))
	}
	f.topic = n + width
	if room := len(b) - f.topic; f.topicBytes < 0 || f.topicBytes > room {
		return f, badField("topic length", f.topicBytes, room)
	}

	n = f.topic + f.topicBytes
	if len(b)-n < propertiesLenBytes {
		return f, badField("properties length", len(b)-n, propertiesLenBytes)
	}
	propertiesBytes := int(int16(be.Uint16(b[n:])))
	f.properties = n + propertiesLenBytes
	if room := len(b) - f.properties; propertiesBytes < 0 || propertiesBytes > room {
		return f, badField("properties length", propertiesBytes, room)
	}
	f.end = f.properties + propertiesBytes
	return f, nil
}

func badField(field string, got, want int) *CheckError {
	return &CheckError{Step: StepField, Field: field, Got: int64(got), Want: int64(want)}
}
