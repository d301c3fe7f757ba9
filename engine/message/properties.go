package message

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"strings"
)

// Names of the properties that the store itself reads or writes, and those that
// it must carry through a delay unharmed.
const (
	PropertyKeys      = "KEYS"     // index keys, separated by one space
	PropertyTags      = "TAGS"     // its hash is the tags code
	PropertyUniqueKey = "UNIQ_KEY" // unique id made by the client, indexed
	PropertyWait      = "WAIT"     // "false": do not wait for flush
	PropertyDelay     = "DELAY"    // delay level, decimal
	PropertyRealTopic = "REAL_TOPIC"
	PropertyRealQueue = "REAL_QID"
	PropertyInnerNum  = "INNER_NUM"
	PropertyInnerBase = "INNER_BASE"
	PropertyDupInfo   = "DUP_INFO"
	PropertyRecordCRC = "__CRC32#"
)

const (
	nameSeparator     = 0x01 // between name and value
	propertySeparator = 0x02 // behind a value
)

// ErrProperty: a name or value cannot be part of a property string.
var ErrProperty = errors.New("bad property")

// Properties is the property string of a record in its encoded form:
//
//	name 0x01 value 0x02 name 0x01 value 0x02 …
//
// Releases 4.9.1 to 5.1.4 leave out the last 0x02; both forms are read. Pieces
// without a name, without 0x01 or with an empty value do not exist for a reader.
// If a name occurs twice, the later value counts.
//
// Methods that return Properties work like append: they never change bytes that
// the receiver can see, but may use the capacity behind them.
type Properties []byte

// Get returns the value of a name: a view into p, never empty if ok.
func (p Properties) Get(name string) (value []byte, ok bool) {
	if name == "" || strings.IndexByte(name, nameSeparator) >= 0 { // with the other separator it matches no piece
		return nil, false
	}
	for rest := []byte(p); len(rest) > len(name)+1; { // name, separator, a byte of value
		var piece []byte
		piece, rest = cutPiece(rest)
		if named(piece, name) && len(piece) > len(name)+1 {
			value, ok = piece[len(name)+1:], true
		}
	}
	return value, ok
}

// All iterates over names and values in stored order. A name that occurs twice
// is yielded twice. The slices are views into p.
func (p Properties) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for rest := []byte(p); len(rest) > 0; {
			var piece []byte
			piece, rest = cutPiece(rest)
			name, value, ok := splitPiece(piece)
			if ok && !yield(name, value) {
				return
			}
		}
	}
}

// Keys iterates over the index keys of the message, without empty ones. The same
// word may come twice.
func (p Properties) Keys() iter.Seq[[]byte] {
	return func(yield func(key []byte) bool) {
		keys, _ := p.Get(PropertyKeys)
		for len(keys) > 0 {
			var key []byte
			key, keys, _ = bytes.Cut(keys, []byte{' '})
			if len(key) > 0 && !yield(key) {
				return
			}
		}
	}
}

// Append adds a property at the end, without looking for an earlier one of that
// name.
//
// It fails with ErrProperty if name or value is empty or contains 0x01 or 0x02:
// no reader would see what was meant.
func (p Properties) Append(name, value string) (Properties, error) {
	if err := checkProperty(name, value); err != nil {
		return p, err
	}
	if p.openEnded() {
		p = append(p, propertySeparator)
	}
	p = append(p, name...)
	p = append(p, nameSeparator)
	p = append(p, value...)
	return append(p, propertySeparator), nil
}

// Set gives name this value and no other. Errors are those of Append.
func (p Properties) Set(name, value string) (Properties, error) {
	if err := checkProperty(name, value); err != nil {
		return p, err
	}
	return p.Delete(name).Append(name, value)
}

// Delete removes every property of that name. It returns p itself if there is
// none, else a copy.
func (p Properties) Delete(name string) Properties {
	if strings.ContainsAny(name, separators) || !p.has(name) { // no property has such a name
		return p
	}
	kept := make(Properties, len(p))
	return kept[:p.copyWithout(kept, name)]
}

// copyWithout copies p to dst, leaving out every property of that name.
func (p Properties) copyWithout(dst []byte, name string) (n int) {
	for rest := []byte(p); len(rest) > 0; {
		piece, next := cutPiece(rest)
		if !named(piece, name) {
			n += copy(dst[n:], rest[:len(rest)-len(next)])
		}
		rest = next
	}
	return n
}

// has says whether Delete would remove something: it also sees properties with
// an empty value.
func (p Properties) has(name string) bool {
	for rest := []byte(p); ; {
		if named(rest, name) {
			return true
		}
		i := bytes.IndexByte(rest, propertySeparator)
		if i < 0 {
			return false
		}
		rest = rest[i+1:]
	}
}

// special says which properties with a meaning for the put are there. It is one
// pass that looks at the first byte of each piece, since every put asks.
func (p Properties) special() (found struct{ innerNum, recordCRC, delay, noWait bool }) {
	for rest := []byte(p); len(rest) > 0; {
		switch rest[0] {
		case PropertyInnerNum[0]:
			found.innerNum = found.innerNum || named(rest, PropertyInnerNum)
		case PropertyRecordCRC[0]:
			found.recordCRC = found.recordCRC || named(rest, PropertyRecordCRC)
		case PropertyDelay[0]:
			found.delay = found.delay || named(rest, PropertyDelay)
		case PropertyWait[0]:
			if named(rest, PropertyWait) {
				piece, _ := cutPiece(rest[len(PropertyWait)+1:])
				found.noWait = string(piece) == "false"
			}
		}
		i := bytes.IndexByte(rest, propertySeparator)
		if i < 0 {
			break
		}
		rest = rest[i+1:]
	}
	return found
}

// openEnded says whether the last separator is missing.
func (p Properties) openEnded() bool { return len(p) > 0 && p[len(p)-1] != propertySeparator }

// cutPiece splits off what stands before the first separator.
func cutPiece(b []byte) (piece, rest []byte) {
	if i := bytes.IndexByte(b, propertySeparator); i >= 0 {
		return b[:i:i], b[i+1:]
	}
	return b, nil
}

func splitPiece(piece []byte) (name, value []byte, ok bool) {
	i := bytes.IndexByte(piece, nameSeparator)
	if i <= 0 || i == len(piece)-1 {
		return nil, nil, false
	}
	return piece[:i:i], piece[i+1:], true
}

func named(piece []byte, name string) bool {
	return len(piece) > len(name) && piece[len(name)] == nameSeparator && string(piece[:len(name)]) == name
}

// separators are the bytes that neither a name nor a value can hold.
const separators = string(rune(nameSeparator)) + string(rune(propertySeparator))

func checkProperty(name, value string) error {
	if name == "" || strings.ContainsAny(name, separators) {
		return fmt.Errorf("%w: name %q is empty or holds a separator", ErrProperty, name)
	}
	if value == "" || strings.ContainsAny(value, separators) {
		return fmt.Errorf("%w: value %q of %s is empty or holds a separator", ErrProperty, value, name)
	}
	return nil
}
