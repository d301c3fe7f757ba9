package message

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Plan is what one record will look like: the result of Prepare and the input of
// Encode. It is a plain value that points to nothing.
type Plan struct {
	Size    int     // bytes of the record
	Version Version // chosen by the length of the topic
	BodyCRC uint32  // masked
	SysFlag int32   // of the message, with the two host bits as they must be
	Delayed bool    // the message has a DELAY property
	NoWait  bool    // the message has WAIT=false: the producer does not wait for the disk

	propertiesBytes int32 // value of the properties length field
	dropCRC         bool  // the message carries a record CRC that must go

	appendCRC bool
	separator bool   // put one between properties and record CRC
	crcHead   uint32 // over size and magic
	crcRest   uint32 // over body, topic, properties and separator
	crcMove   uint32 // moves a checksum over the bytes of crcRest
}

// Prepare returns the plan of a message; see Plan.Prepare.
func Prepare(m *Message, l Limits) (Plan, error) {
	var p Plan
	if err := p.Prepare(m, &l); err != nil {
		return Plan{}, err
	}
	return p, nil
}

// Prepare checks a message and lays out its record in p. It does all work that
// needs neither offsets nor the store timestamp, so that no lock has to be held.
// It fills p in place, because to copy a plan that was just written costs a
// tenth of an append.
//
// Errors wrap ErrIllegal, ErrPropertiesTooLong or ErrRecordTooLarge; p is then of
// no use.
func (p *Plan) Prepare(m *Message, l *Limits) error {
	*p = Plan{}
	if err := checkMessage(m, l); err != nil {
		return err
	}
	p.Version, p.appendCRC = V1, l.AppendCRC
	if len(m.Topic) > maxTopicBytesV1 {
		p.Version = V2
	}
	p.SysFlag = m.SysFlag &^ (FlagBornHostV6 | FlagStoreHostV6)
	if isV6(m.BornHost) {
		p.SysFlag |= FlagBornHostV6
	}
	if isV6(m.StoreHost) {
		p.SysFlag |= FlagStoreHostV6
	}

	properties := m.Properties
	found := properties.special()
	if found.innerNum {
		return fmt.Errorf("%w: inner batch", ErrIllegal)
	}
	p.Delayed, p.NoWait = found.delay, found.noWait
	if p.dropCRC = found.recordCRC; p.dropCRC {
		properties = properties.Delete(PropertyRecordCRC)
	}
	propertiesBytes := len(properties)
	if l.AppendCRC {
		if p.separator = properties.openEnded(); p.separator {
			propertiesBytes++
		}
		propertiesBytes += crcTailBytes
	}
	if propertiesBytes > maxPropertiesBytes {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrPropertiesTooLong, propertiesBytes, maxPropertiesBytes)
	}
	p.propertiesBytes = int32(propertiesBytes)

	head := headBytes(p.SysFlag)
	p.Size = head + len(m.Body) + p.Version.topicLenBytes() + len(m.Topic) + propertiesLenBytes + propertiesBytes
	if limit := min(l.maxBodyBytes()+recordHeadroomBytes, math.MaxInt32); p.Size > limit {
		return fmt.Errorf("%w: record of %d bytes, at most %d", ErrIllegal, p.Size, limit)
	}
	if l.MaxRecordBytes > 0 && p.Size > l.MaxRecordBytes {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrRecordTooLarge, p.Size, l.MaxRecordBytes)
	}

	bodyCRC := crc32.ChecksumIEEE(m.Body)
	p.BodyCRC = bodyCRC & crcMask
	if l.AppendCRC {
		p.prepareCRC(bodyCRC, m.Topic, properties)
		p.crcMove = crcShift(p.Size - crcTailBytes - head)
	}
	return nil
}

// prepareCRC takes the checksums of everything but the middle of the head.
func (p *Plan) prepareCRC(bodyCRC uint32, topic string, properties Properties) {
	var scratch [2 + maxTopicBytes + propertiesLenBytes]byte
	n := putTopic(scratch[:], p.Version, topic)
	binary.BigEndian.PutUint16(scratch[n:], uint16(p.propertiesBytes))
	crc := crcShort(bodyCRC, scratch[:n+propertiesLenBytes])
	crc = crc32.Update(crc, crc32.IEEETable, properties)
	if p.separator {
		scratch[0] = propertySeparator
		crc = crcShort(crc, scratch[:1])
	}
	p.crcRest = crc

	binary.BigEndian.PutUint32(scratch[offSize:], uint32(p.Size))
	binary.BigEndian.PutUint32(scratch[offMagic:], p.Version.magic())
	p.crcHead = crcShort(0, scratch[:offBodyCRC])
}

// Encode writes the record to dst[0:p.Size] and returns p.Size. The message must
// be as it was at Prepare; dst must have room, and should be zero if a process
// that dies half-way is to leave no trace of the record.
//
// Records that are not queued (see Transaction.Queued) are stored with queue
// offset 0; that is up to the caller.
//
// This is what the append lock covers: a copy of the bytes and two dozen stores.
func (p *Plan) Encode(dst []byte, m *Message, queueOffset, physicalOffset, storeTimestampMs int64) int {
	dst = dst[:p.Size:p.Size]
	be := binary.BigEndian
	be.PutUint32(dst[offBodyCRC:], p.BodyCRC)
	be.PutUint32(dst[offQueueID:], uint32(m.QueueID))
	be.PutUint32(dst[offFlag:], uint32(m.Flag))
	be.PutUint64(dst[offQueueOffset:], uint64(queueOffset))
	be.PutUint64(dst[offPhysicalOffset:], uint64(physicalOffset))
	be.PutUint32(dst[offSysFlag:], uint32(p.SysFlag))
	be.PutUint64(dst[offBornTimestamp:], uint64(m.BornTimestamp))
	n := offBornHost
	n += putHost(dst[n:], m.BornHost)
	be.PutUint64(dst[n:], uint64(storeTimestampMs))
	n += 8
	n += putHost(dst[n:], m.StoreHost)
	behind := dst[n : n+behindHostsBytes]
	be.PutUint32(behind, uint32(m.ReconsumeTimes))
	be.PutUint64(behind[4:], uint64(m.PreparedOffset))
	be.PutUint32(behind[12:], uint32(len(m.Body)))
	n += behindHostsBytes
	head := n

	n += copy(dst[n:], m.Body)
	n += putTopic(dst[n:], p.Version, m.Topic)
	be.PutUint16(dst[n:], uint16(p.propertiesBytes))
	n += propertiesLenBytes
	if p.dropCRC {
		n += m.Properties.copyWithout(dst[n:], PropertyRecordCRC)
	} else {
		n += copy(dst[n:], m.Properties)
	}
	if p.appendCRC {
		if p.separator {
			dst[n] = propertySeparator
			n++
		}
		crc := crc32.Update(p.crcHead, crc32.IEEETable, dst[offBodyCRC:head])
		putRecordCRC(dst[n:], (crcMul(crc, p.crcMove)^p.crcRest)&crcMask)
		n += crcTailBytes
	}
	if n != p.Size {
		panic("message: Encode of a message that was changed after Prepare")
	}
	be.PutUint32(dst[offMagic:], p.Version.magic())
	be.PutUint32(dst[offSize:], uint32(p.Size))
	return n
}

// PutBlank closes a file: it writes the header of a blank record, BlankBytes
// long, to dst. size is the number of bytes from there to the end of the file.
func PutBlank(dst []byte, size int) {
	dst = dst[:BlankBytes]
	binary.BigEndian.PutUint32(dst[offMagic:], MagicBlank)
	binary.BigEndian.PutUint32(dst[offSize:], uint32(size))
}

func putTopic(dst []byte, v Version, topic string) int {
	if v == V2 {
		binary.BigEndian.PutUint16(dst, uint16(len(topic)))
		return 2 + copy(dst[2:], topic)
	}
	dst[0] = byte(len(topic))
	return 1 + copy(dst[1:], topic)
}

// isV6 reports whether a host takes 20 bytes. An IPv4 address in IPv6 form and
// the zero host take 8.
func isV6(a netip.AddrPort) bool { return a.Addr().Is6() && !a.Addr().Is4In6() }

// putHost stores an address and its port; the zero host as 0.0.0.0.
func putHost(dst []byte, a netip.AddrPort) int {
	be := binary.BigEndian
	if isV6(a) {
		dst = dst[:hostBytes6]
		ip := a.Addr().As16()
		copy(dst, ip[:])
		be.PutUint32(dst[16:], uint32(a.Port()))
		return hostBytes6
	}
	dst = dst[:hostBytes4]
	var ip [4]byte
	if a.Addr().IsValid() {
		ip = a.Addr().As4()
	}
	copy(dst, ip[:])
	be.PutUint32(dst[4:], uint32(a.Port()))
	return hostBytes4
}

// checkMessage holds the put rules of release 5.x and those that keep every
// stored record readable.
func checkMessage(m *Message, l *Limits) error {
	if m.Body == nil {
		return fmt.Errorf("%w: no body", ErrIllegal)
	}
	if limit := l.maxBodyBytes(); len(m.Body) > limit {
		return fmt.Errorf("%w: body of %d bytes, at most %d", ErrIllegal, len(m.Body), limit)
	}
	if m.QueueID < 0 {
		return fmt.Errorf("%w: queue id %d", ErrIllegal, m.QueueID)
	}
	if err := checkTopic(m.Topic, l); err != nil {
		return err
	}
	if !utf8.Valid(m.Properties) {
		return fmt.Errorf("%w: properties are not valid UTF-8", ErrIllegal)
	}
	return checkNumbers(m)
}

func checkTopic(topic string, l *Limits) error {
	longest := maxTopicBytesV1
	if !l.V1Only && strings.HasPrefix(topic, RetryTopicPrefix) {
		longest = maxTopicBytes
	}
	if len(topic) > longest {
		return fmt.Errorf("%w: topic of %d bytes, at most %d", ErrIllegal, len(topic), longest)
	}
	usable := topic != "" && topic != "." && topic != ".."
	var all byte
	for i := range len(topic) { // one pass: this runs for every put
		c := topic[i]
		all |= c
		usable = usable && c != '/' && c != 0
	}
	if !usable {
		return fmt.Errorf("%w: topic %q cannot name a directory", ErrIllegal, topic)
	}
	if all >= utf8.RuneSelf && !utf8.ValidString(topic) {
		return fmt.Errorf("%w: topic %q is not valid UTF-8", ErrIllegal, topic)
	}
	return nil
}

// checkNumbers refuses what the Java store would fail on when it dispatches or
// recovers the record, and inner batches, which need a kind of queue that this
// store does not have.
func checkNumbers(m *Message) error {
	if m.SysFlag&FlagInnerBatch != 0 {
		return fmt.Errorf("%w: inner batch", ErrIllegal)
	}
	if m.Topic == ScheduleTopic {
		if v, ok := m.Properties.Get(PropertyDelay); ok {
			if _, err := strconv.ParseInt(string(v), 10, 32); err != nil {
				return fmt.Errorf("%w: delay level %q is not a number", ErrIllegal, v)
			}
		}
	}
	return nil
}
