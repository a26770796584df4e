package wire

import "encoding/binary"

// TagLen is the length of a tag in bytes.
const TagLen = 18

// tagMagic is "Sq": what every squall tag begins with, whatever the run.
const tagMagic = 0x5371

// MaxSeq is the largest sequence number a tag can hold: 48 bits, 650 days at 5
// Mpps.
const MaxSeq = 1<<48 - 1

// Tag is what a frame carries so that its receiver can count it.
type Tag struct {
	Run    uint16 // derived from the run's random key: other runs' frames are foreign
	Stream uint16
	Seq    uint64 // 48 bits are kept
	Sent   int64  // CLOCK_MONOTONIC ns; 48 bits are kept
}

// Put writes the tag into the first 18 bytes of b.
func (t Tag) Put(b []byte) {
	_ = b[TagLen-1]
	binary.BigEndian.PutUint64(b, tagMagic<<48|uint64(t.Run)<<32|uint64(t.Stream)<<16|t.Seq>>32&0xffff)
	binary.BigEndian.PutUint64(b[8:], t.Seq<<32|uint64(t.Sent)>>16&0xffffffff)
	binary.BigEndian.PutUint16(b[16:], uint16(t.Sent))
}

// ReadTag reads the tag in the first 18 bytes of b. It reports false where b is
// shorter or holds no squall tag. Of Sent only 48 bits are there: see Latency.
func ReadTag(b []byte) (Tag, bool) {
	if len(b) < TagLen || binary.BigEndian.Uint16(b) != tagMagic {
		return Tag{}, false
	}
	return Tag{
		Run:    binary.BigEndian.Uint16(b[2:]),
		Stream: binary.BigEndian.Uint16(b[4:]),
		Seq:    uint64(binary.BigEndian.Uint16(b[6:]))<<32 | uint64(binary.BigEndian.Uint32(b[8:])),
		Sent:   int64(binary.BigEndian.Uint32(b[12:]))<<16 | int64(binary.BigEndian.Uint16(b[16:])),
	}, true
}

// TagOffset returns where the tag of a frame with this layout stands, and
// false where the frame has no room for one: the last 18 bytes of the IP
// payload, behind the headers that headers (the offset of the first byte after
// the innermost header) says; for a frame without IP, its last 18 bytes.
func (l Layout) TagOffset(headers int) (int, bool) {
	off := l.End - TagLen
	return off, off >= headers && off >= HeaderLen
}

// FindTag returns the tag of a received frame. It reports false for a frame
// that carries none.
func FindTag(frame []byte) (Tag, bool) {
	l := Parse(frame)
	off := l.End - TagLen
	if off < HeaderLen {
		return Tag{}, false
	}
	return ReadTag(frame[off:l.End])
}

// Latency returns how long a frame was under way, from the send time of its tag
// to at (CLOCK_MONOTONIC ns): exact between -39 and +39 hours.
func Latency(sent, at int64) int64 {
	return (at - sent) << 16 >> 16
}
