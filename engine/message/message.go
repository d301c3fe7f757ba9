package message

import (
	"errors"
	"net/netip"
)

// Message is what a producer hands in: a record without the fields that the
// store assigns (offsets, store timestamp, checksums).
//
// The store reads Body and Properties only during the put and never writes to
// them.
type Message struct {
	Topic          string
	QueueID        int32
	Flag           int32 // opaque, the user's
	SysFlag        int32 // see sysflag.go
	BornTimestamp  int64 // epoch ms at the producer
	BornHost       netip.AddrPort
	StoreHost      netip.AddrPort
	ReconsumeTimes int32
	PreparedOffset int64 // of the prepared record that a commit or rollback belongs to
	Properties     Properties
	Body           []byte // as stored; nil is illegal, empty is not
}

// Note: hosts. The zero AddrPort is stored as 0.0.0.0:0, an IPv4 address in IPv6
// form as IPv4 (Java turns it into one when it reads it), a zone is not stored.

// DefaultMaxBodyBytes is the body limit of a zero Limits.
const DefaultMaxBodyBytes = 4 << 20

// recordHeadroomBytes is how much larger than the body limit a record may be.
const recordHeadroomBytes = 64 << 10

// Limits are the put-time rules that a configuration can change. The zero value
// is the default of release 5.x.
type Limits struct {
	MaxBodyBytes   int  // 0 = DefaultMaxBodyBytes. A record may have 64 KiB more
	MaxRecordBytes int  // 0 = none. Commit log: file size - BlankBytes
	AppendCRC      bool // end the properties with a CRC over the whole record
	V1Only         bool // refuse what needs V2, so that release 4.x can read the log
}

func (l *Limits) maxBodyBytes() int {
	if l.MaxBodyBytes <= 0 {
		return DefaultMaxBodyBytes
	}
	return l.MaxBodyBytes
}

// Errors of Prepare and ExpandBatch, always wrapped with the reason. The message
// is at fault; the same message will fail again.
var (
	// ErrIllegal: the message breaks a rule (MESSAGE_ILLEGAL of the Java store).
	ErrIllegal = errors.New("message illegal")
	// ErrPropertiesTooLong: more than 32767 bytes with all that the store adds
	// (PROPERTIES_SIZE_EXCEEDED of the Java store).
	ErrPropertiesTooLong = errors.New("properties too long")
	// ErrRecordTooLarge: the record does not fit Limits.MaxRecordBytes. The Java
	// store says "ok" here and loses the message.
	ErrRecordTooLarge = errors.New("record too large for a commit log file")
)
