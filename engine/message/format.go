package message

import "math"

// Version selects the width of the topic length.
type Version int

// The two record versions. Release 4.x knows only V1; V2 came with 5.1.
const (
	V1 Version = 1 // topic length is 1 signed byte: at most 127 bytes of topic
	V2 Version = 2 // topic length is 2 signed bytes
)

// Magic words: the second word of a record says what it is.
const (
	MagicV1    uint32 = 0xDAA320A7
	MagicV2    uint32 = 0xDAA320AB
	MagicBlank uint32 = 0xCBD43194
)

// BlankBytes is what PutBlank writes, and the room that must stay free behind
// the last record of a file, in bytes.
const BlankBytes = 8

// Offsets of the fields in front of the hosts; they are the same in every
// record. See the drawing in the package comment.
const (
	offSize           = 0
	offMagic          = offSize + 4
	offBodyCRC        = offMagic + 4
	offQueueID        = offBodyCRC + 4
	offFlag           = offQueueID + 4
	offQueueOffset    = offFlag + 4
	offPhysicalOffset = offQueueOffset + 8
	offSysFlag        = offPhysicalOffset + 8
	offBornTimestamp  = offSysFlag + 4
	offBornHost       = offBornTimestamp + 8
)

// Widths of the fields behind, and what they add up to.
const (
	hostBytes4 = 4 + 4  // IPv4 address, port
	hostBytes6 = 16 + 4 // IPv6 address, port

	// from the end of the store host to the body: reconsume times, prepared
	// offset, body length
	behindHostsBytes = 4 + 8 + 4

	propertiesLenBytes = 2
)

// Limits of single fields, in bytes.
const (
	maxTopicBytesV1    = math.MaxInt8
	maxTopicBytes      = 255
	maxPropertiesBytes = math.MaxInt16
)

// topicLenBytes is the width of the topic length field.
func (v Version) topicLenBytes() int {
	if v == V2 {
		return 2
	}
	return 1
}

func (v Version) magic() uint32 {
	if v == V2 {
		return MagicV2
	}
	return MagicV1
}

// versionOf returns the version that a magic word stands for.
func versionOf(magic uint32) (Version, bool) {
	switch magic {
	case MagicV1:
		return V1, true
	case MagicV2:
		return V2, true
	}
	return 0, false
}

// hostBytes is the width of a host field, given its sys flag bit.
func hostBytes(sysFlag, bit int32) int {
	if sysFlag&bit != 0 {
		return hostBytes6
	}
	return hostBytes4
}

// headBytes is the length of everything in front of the body.
func headBytes(sysFlag int32) int {
	return offBornHost + hostBytes(sysFlag, FlagBornHostV6) + 8 + hostBytes(sysFlag, FlagStoreHostV6) + behindHostsBytes
}
