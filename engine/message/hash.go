package message

import "unicode/utf8"

// text is UTF-8 text in either of its Go forms.
type text interface{ ~string | ~[]byte }

// StringHash is the string hash of Java: h = 31·h + unit over the UTF-16 code
// units of s, in 32 bits. A character outside the basic plane is two units.
//
// A byte that is not valid UTF-8 counts as U+FFFD. Java groups such bytes
// differently, so Prepare refuses to store them.
func StringHash[T text](s T) int32 { return int32(hashUnits(0, s)) }

// KeyHash is the hash of a key in the index: that of "topic#key", made
// non-negative. The smallest int32 has no absolute value; it becomes 0.
func KeyHash[T, K text](topic T, key K) int32 {
	return max(absolute(int32(hashUnits(hashUnits(0, topic)*31+'#', key))), 0)
}

// TagsIndexHash is the hash under which RocketMQ from 5.4 on enters the tags of a
// record into the index beside its keys: that of "topic#T#tags", all tags as one
// word.
func TagsIndexHash[T, K text](topic T, tags K) int32 {
	h := hashUnits(0, topic)
	h = hashUnits(h, "#T#")
	return max(absolute(int32(hashUnits(h, tags))), 0)
}

// absolute leaves the smallest int32 as it is.
func absolute(h int32) int32 {
	if h < 0 {
		return -h
	}
	return h
}

// hashUnits continues a hash over the units of s.
func hashUnits[T text](h uint32, s T) uint32 {
	const p2, p3, p4 = 31 * 31, 31 * 31 * 31, 31 * 31 * 31 * 31
	for i := 0; i < len(s); {
		if i+4 <= len(s) { // four at a time: the multiplications do not wait for each other
			a, b, c, d := s[i], s[i+1], s[i+2], s[i+3]
			if a|b|c|d < utf8.RuneSelf {
				h = p4*h + p3*uint32(a) + p2*uint32(b) + 31*uint32(c) + uint32(d)
				i += 4
				continue
			}
		}
		c := s[i]
		if c < utf8.RuneSelf {
			h = 31*h + uint32(c)
			i++
			continue
		}
		var char [utf8.UTFMax]byte
		n := copy(char[:], s[i:])
		r, size := utf8.DecodeRune(char[:n])
		if r >= 0x10000 {
			r -= 0x10000
			h = 31*h + 0xD800 + uint32(r>>10)
			r = 0xDC00 + r&0x3FF
		}
		h = 31*h + uint32(r)
		i += size
	}
	return h
}
