package survey

import (
	"math"

	"squall/internal/wire"
)

// bounds are the largest sizes of the buckets: those of RMON (RFC 2819,
// etherStatsPkts64Octets and so on), what a VLAN tag adds (IEEE 802.3 section 3.2.7),
// jumbo frames of 9,018, and the rest.
var bounds = [...]struct {
	name string
	upTo int
}{
	{"<64", 63}, {"64", 64}, {"65-127", 127}, {"128-255", 255}, {"256-511", 511}, {"512-1023", 1023},
	{"1024-1518", 1518}, {"1519-1522", 1522}, {"1523-9018", 9018}, {">9018", math.MaxInt},
}

// sizes counts frames by size: with FCS.
type sizes struct {
	frames   uint64
	sum      uint64
	onWire   uint64 // sum of sizes, those below 64 padded as on the wire
	min, max int
	buckets  [len(bounds)]uint64
}

// add counts a frame of length bytes without FCS.
func (s *sizes) add(length int) {
	size := length + wire.FCSLen
	if s.frames == 0 {
		s.min = size
	}
	s.frames++
	s.sum += uint64(size)
	s.onWire += uint64(max(size, wire.MinLen+wire.FCSLen))
	s.min, s.max = min(s.min, size), max(s.max, size)
	i := 0
	for size > bounds[i].upTo {
		i++
	}
	s.buckets[i]++
}
