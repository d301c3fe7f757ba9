package message

import "hash/crc32"

// crcMask clears the top bit: the format stores checksums as non-negative i32.
const crcMask = 0x7FFFFFFF

// Checksum32 is the checksum of the format: CRC-32 (IEEE) with the top bit
// cleared; 0 for no bytes.
func Checksum32(b []byte) uint32 { return crc32.ChecksumIEEE(b) & crcMask }

// The record CRC is a property of fixed width at the very end of a record:
//
//	"__CRC32#" 0x01 dddddddddd 0x02
//
// The ten digits are the checksum in decimal, least significant digit first. It
// covers all bytes of the record in front of these 20.
const (
	crcDigits     = 10
	crcNameBytes  = len(PropertyRecordCRC) + 1
	crcTailBytes  = crcNameBytes + crcDigits + 1
	crcTailPrefix = PropertyRecordCRC + "\x01"
)

// putRecordCRC writes the tail property to dst[0:crcTailBytes].
func putRecordCRC(dst []byte, crc uint32) {
	dst = dst[:crcTailBytes]
	copy(dst, crcTailPrefix)
	for i := crcNameBytes; i < crcNameBytes+crcDigits; i++ {
		dst[i] = '0' + byte(crc%10)
		crc /= 10
	}
	dst[crcTailBytes-1] = propertySeparator
}

// recordCRC reads the tail property that b ends with.
func recordCRC(b []byte) (crc int64, ok bool) {
	if len(b) < crcTailBytes {
		return 0, false
	}
	tail := b[len(b)-crcTailBytes:]
	if string(tail[:crcNameBytes]) != crcTailPrefix || tail[crcTailBytes-1] != propertySeparator {
		return 0, false
	}
	for i := crcNameBytes + crcDigits - 1; i >= crcNameBytes; i-- {
		if tail[i] < '0' || tail[i] > '9' {
			return 0, false
		}
		crc = crc*10 + int64(tail[i]-'0')
	}
	return crc, true
}

// # Joining checksums
//
// A CRC is the remainder of a polynomial division, so the checksum of AB is
// crc(A)·x^(8·len(B)) + crc(B). With crc(B) and the power known beforehand, the
// append lock has to cover only the checksum of the head, not of the body.
// Bit 31 of a word is the coefficient of x^0.

const (
	crcX0 uint32 = 1 << 31 // the polynomial 1
	crcX8 uint32 = 1 << 23 // the polynomial x^8
)

// crcPowers[i] is x^(8·2^i); immutable after init.
var crcPowers = func() (powers [31]uint32) {
	power := crcX8
	for i := range powers {
		powers[i] = power
		power = crcMul(power, power)
	}
	return powers
}()

// crcMul multiplies two polynomials modulo the CRC polynomial.
func crcMul(a, b uint32) (product uint32) {
	for ; a != 0; a <<= 1 {
		product ^= b & -(a >> 31)
		b = b>>1 ^ crc32.IEEE&-(b&1)
	}
	return product
}

// crcShift returns x^(8n), for n below 2^31: the factor that moves a checksum over
// n bytes.
func crcShift(n int) uint32 {
	product := crcX0
	for i := 0; n > 0; i, n = i+1, n>>1 {
		if n&1 != 0 {
			product = crcMul(product, crcPowers[i])
		}
	}
	return product
}

// crcShort continues a checksum over a few bytes. It does what crc32.Update does,
// but s may stay on the stack.
func crcShort(crc uint32, s []byte) uint32 {
	crc = ^crc
	for _, c := range s {
		crc = crc32.IEEETable[byte(crc)^c] ^ crc>>8
	}
	return ^crc
}
