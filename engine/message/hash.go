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
	const p8 = 31 * 31 * 31 * 31 * 31 * 31 * 31 * 31 % (1 << 32)
	for i := 0; i < len(s); {
		if i+8 <= len(s) { // eight at a time: what is one load
			word := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
				uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
			if word&0x8080808080808080 == 0 {
				h = p8*h + hashASCII(word)
				i += 8
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

// hashASCII is the hash of eight characters below 0x80, the first one in the lowest
// byte. Halves are joined in all lanes of the word at once; none overflows into the
// next one.
//
//	a b c d e f g h          of 8 bits
//	31·a+b 31·c+d …          of 16: below 2¹²
//	31²·(31·a+b)+31·c+d …    of 32: below 2²²
func hashASCII(word uint64) uint32 {
	const bytes, pairs, p2, p4 = 0x00FF00FF00FF00FF, 0x0000FFFF0000FFFF, 31 * 31, 31 * 31 * 31 * 31
	word = word&bytes*31 + word>>8&bytes
	word = word&pairs*p2 + word>>16&pairs
	return uint32(word)*p4 + uint32(word>>32)
}
