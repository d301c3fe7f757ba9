package message

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Kind says what stands at a place in the log.
type Kind int

// The kinds. KindInvalid comes with an error that says why.
const (
	KindInvalid Kind = iota
	KindRecord
	KindBlank // the end of the file: go on with the next one
)

// Checksum selects which checksum Check verifies.
type Checksum int

// The choices.
const (
	// ChecksumBody: the body CRC. Topic and properties stay unprotected.
	ChecksumBody Checksum = iota
	// ChecksumRecord: the record CRC, which must be there and covers the body too.
	ChecksumRecord
	// ChecksumStrongest: the record CRC if the record ends in one, else the body
	// CRC. For a log whose writers have had Limits.AppendCRC on and off.
	ChecksumStrongest
	// ChecksumNone: lengths and positions only.
	ChecksumNone
)

// Note: the Java store without its CRC option keeps a record CRC that came with a
// message, for instance through a retry. ChecksumStrongest would refuse such a
// record, so it is not the default.

// CheckOptions tune Check. The zero value is what recovery of the Java store
// does by default.
type CheckOptions struct {
	Checksum Checksum
	DupInfo  bool // demand a well-formed DUP_INFO property

	// Position: the record must say that it belongs at PhysicalOffset. This is
	// what refuses stale and foreign bytes that are otherwise in order.
	Position       bool
	PhysicalOffset int64

	// BlankSize, if positive, is the size that a blank must state: the number of
	// bytes from here to the end of the file. The Java store does not look.
	BlankSize int64
}

// Step names the test that bytes failed, in the order in which they are made.
type Step int

// The steps.
const (
	StepHeader    Step = iota + 1 // not even size and magic
	StepBounds                    // size reaches beyond the bytes at hand
	StepBlank                     // blank with another size than the rest of the file
	StepUnwritten                 // size and magic are zero: nothing was ever written here
	StepMagic                     // no known magic
	StepField                     // a length inside is negative or reaches too far
	StepPosition                  // belongs to another place in the log
	StepBodyCRC
	StepDupInfo
	StepRecordCRC // missing or different
	StepLength    // the parts do not add up to the size
)

var stepNames = [...]string{
	StepHeader: "header", StepBounds: "bounds", StepBlank: "blank size", StepUnwritten: "unwritten",
	StepMagic: "magic", StepField: "field", StepPosition: "physical offset", StepBodyCRC: "body crc",
	StepDupInfo: "dup info", StepRecordCRC: "record crc", StepLength: "total size",
}

func (s Step) String() string {
	if s > 0 && int(s) < len(stepNames) {
		return stepNames[s]
	}
	return fmt.Sprintf("step %d", int(s))
}

// ErrBadRecord is what every CheckError is, for errors.Is.
var ErrBadRecord = errors.New("bad record")

// CheckError says which test a would-be record failed. Got and Want are in the
// unit of the step: bytes, a magic, a checksum (-1 if there is none), an offset.
// Want is a limit for StepHeader, StepBounds and StepField, and 0 where nothing
// in particular was wanted.
type CheckError struct {
	Step      Step
	Field     string // of StepField
	Got, Want int64
}

func (e *CheckError) Error() string {
	where := e.Step.String()
	if e.Field != "" {
		where = e.Field
	}
	switch e.Step {
	case StepMagic:
		return fmt.Sprintf("bad record: %s %#08x", where, uint32(e.Got))
	case StepUnwritten:
		return "bad record: unwritten (size and magic are zero)"
	case StepDupInfo:
		return "bad record: dup info missing or malformed"
	}
	return fmt.Sprintf("bad record: %s: got %d, want %d", where, e.Got, e.Want)
}

// Unwrap makes a CheckError an ErrBadRecord.
func (e *CheckError) Unwrap() error { return ErrBadRecord }

func bad(step Step, got, want int64) *CheckError {
	return &CheckError{Step: step, Got: got, Want: want}
}

// Check judges the bytes at a place where a record should start. b begins there
// and ends where readable bytes end: the end of the file in recovery, the
// published position otherwise.
//
//	KindRecord   size is that of the record
//	KindBlank    size is 0: the rest of the file is filler
//	KindInvalid  err is a *CheckError. size is 0, except for StepLength, where it
//	             is what the record says (more than 0, at most len(b)), so that a
//	             reader may step over it
//
// The tests are those of the Java store, in an order that gives the same answer,
// but with bounds in 64 bits and two additions: CheckOptions.Position and
// CheckOptions.BlankSize.
func Check(b []byte, o CheckOptions) (size int, kind Kind, err error) {
	var f frame
	return f.check(b, o)
}

// CheckRecord is Check and Decode in one, for who reads many records: of a
// KindRecord it fills in rec, which is left alone otherwise.
func CheckRecord(rec *Record, b []byte, o CheckOptions) (kind Kind, err error) {
	var f frame
	_, kind, err = f.check(b, o)
	if kind == KindRecord {
		f.decode(b, rec)
	}
	return kind, err
}

// check is Check; of a record f tells where its parts are.
func (f *frame) check(b []byte, o CheckOptions) (size int, kind Kind, err error) {
	size, magic, err := RecordSize(b)
	if err != nil {
		return 0, KindInvalid, err
	}
	if magic == MagicBlank {
		if o.BlankSize > 0 && int64(size) != o.BlankSize {
			return 0, KindInvalid, bad(StepBlank, int64(size), o.BlankSize)
		}
		return 0, KindBlank, nil
	}
	var fault *CheckError
	if *f, fault = frameOf(b); fault != nil {
		return 0, KindInvalid, fault
	}
	if fault := f.verify(b, o); fault != nil {
		return 0, KindInvalid, fault
	}
	if f.end != f.size {
		return f.size, KindInvalid, bad(StepLength, int64(f.size), int64(f.end))
	}
	return f.size, KindRecord, nil
}

// RecordSize peeks at the header of whatever starts at b: the stated size and
// the magic. The size of a blank may be any number up to len(b); that of a record
// has passed no test but this one.
//
// Errors are StepHeader and StepBounds.
func RecordSize(b []byte) (size int, magic uint32, err error) {
	if len(b) < BlankBytes {
		return 0, 0, bad(StepHeader, int64(len(b)), BlankBytes)
	}
	size = StatedSize(b)
	if size > len(b) {
		return 0, 0, bad(StepBounds, int64(size), int64(len(b)))
	}
	return size, binary.BigEndian.Uint32(b[offMagic:]), nil
}

// StatedSize is the size in the header of the record that starts at b, untested; 0
// if b is too short to have one. It may be larger than b.
func StatedSize(b []byte) int {
	if len(b) < BlankBytes {
		return 0
	}
	return int(int32(binary.BigEndian.Uint32(b[offSize:])))
}

// verify makes the tests that need the content of a record.
func (f *frame) verify(b []byte, o CheckOptions) *CheckError {
	if o.Position {
		if at := int64(binary.BigEndian.Uint64(b[offPhysicalOffset:])); at != o.PhysicalOffset {
			return bad(StepPosition, at, o.PhysicalOffset)
		}
	}
	properties := Properties(b[f.properties:f.end])
	recorded, found := recordCRC(properties)
	checksum := o.Checksum
	if checksum == ChecksumStrongest {
		checksum = ChecksumBody
		if found {
			checksum = ChecksumRecord
		}
	}
	if checksum == ChecksumBody && f.bodyBytes > 0 {
		want := binary.BigEndian.Uint32(b[offBodyCRC:])
		if got := Checksum32(b[f.body : f.body+f.bodyBytes]); got != want {
			return bad(StepBodyCRC, int64(got), int64(want))
		}
	}
	if o.DupInfo && len(properties) > 0 {
		v, ok := properties.Get(PropertyDupInfo)
		if !ok || bytes.Count(v, []byte{'_'}) != 1 || v[0] == '_' || v[len(v)-1] == '_' {
			return bad(StepDupInfo, 0, 0)
		}
	}
	if checksum == ChecksumRecord {
		if !found || f.end != f.size {
			return bad(StepRecordCRC, -1, 0)
		}
		if got := int64(Checksum32(b[:f.size-crcTailBytes])); got != recorded {
			return bad(StepRecordCRC, got, recorded)
		}
	}
	return nil
}
