package wire

import "encoding/binary"

// Sum returns the one's complement sum of b as 16-bit big-endian words, not
// folded: sums of several pieces may be added before Fold as long as every
// piece but the last has an even length (RFC 1071 section 1). An odd last byte
// is padded with a zero byte on its right.
func Sum(b []byte) uint64 {
	var s uint64
	for len(b) >= 8 {
		v := binary.BigEndian.Uint64(b)
		s += v>>48 + v>>32&0xffff + v>>16&0xffff + v&0xffff
		b = b[8:]
	}
	for len(b) >= 2 {
		s += uint64(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		s += uint64(b[0]) << 8
	}
	return s
}

// Fold reduces an unfolded sum to 16 bits with end-around carry.
func Fold(s uint64) uint16 {
	s = s&0xffffffff + s>>32
	s = s&0xffff + s>>16
	s = s&0xffff + s>>16
	s = s&0xffff + s>>16
	return uint16(s)
}

// Swap returns the sum as it counts when the piece it was taken over begins at
// an odd offset: its bytes change places (RFC 1071 section 2(B)).
func Swap(sum uint16) uint16 { return sum<<8 | sum>>8 }

// Delta returns what must be added to a one's complement sum when a piece
// whose sum was old now has the sum now: now + ~old (RFC 1624 equation 3,
// which unlike RFC 1141 never turns a valid checksum of 0x0000 into 0xffff).
func Delta(old, now uint16) uint64 { return uint64(now) + uint64(^old) }

// Adjust returns the checksum field after delta was added to the sum that it
// is the complement of: HC' = ~(~HC + delta) (RFC 1624 equation 3).
func Adjust(checksum uint16, delta uint64) uint16 {
	return ^Fold(uint64(^checksum) + delta)
}
