package plan

import (
	"errors"
	"fmt"

	"squall/internal/wire"
)

// TagPlace says where the frames of a stream carry their sequence number.
type TagPlace uint8

const (
	// TagNone: nowhere; receivers know the frames by their content.
	TagNone TagPlace = iota
	// TagEnd: a wire.Tag in the last 18 bytes of the payload.
	TagEnd
	// TagID: the low 16 bits of the flow's sequence number in the IPv4
	// identification, for frames with no room for a tag.
	TagID
)

// Stream is one compiled source of frames.
type Stream struct {
	ID   uint16 // what the tag says
	Name string
	Run  uint16 // run ID of the tag
	Seed uint64

	// Heads has the prebuilt beginning of every flow's frames, as of the first
	// size class, checksums right (or wrong on purpose) with an empty tag. In a
	// captured stream it has the whole frames.
	Heads Table
	// FlowRun is how many frames of one flow follow each other, at least 1.
	FlowRun uint64
	// FlowRandom draws each frame's flow from the seed instead of in turn.
	FlowRandom bool

	// Body follows the head, cut to the frame's length.
	Body []byte
	// Pad is how many zero bytes follow the payload in every frame: Ethernet
	// padding that no length field counts.
	Pad   int
	Sizes Sizes

	Lengths []Length
	Patches []Patch
	// Sums are the checksums to keep, innermost first.
	Sums []Sum

	Tag TagPlace
	// IDOff is where the IPv4 identification stands, for TagID.
	IDOff int

	idSums uint8  // sums that cover the identification
	turn   uint64 // frames after which the cycle of sizes is turned by one
}

// Length is a 16-bit length field: it holds the frame's length without padding
// less Minus.
type Length struct {
	Off   int
	Minus int
}

// MaxSums bounds the checksums of a stream: two IP headers and two transports.
const MaxSums = 4

// Build checks a stream of patches and makes its checksum tables. Captured
// streams need none of it.
func (s *Stream) Build() error {
	if s.Heads.Len() == 0 {
		return errors.New("stream without flows")
	}
	if len(s.Sums) > MaxSums {
		return fmt.Errorf("checksums: have %d, at most %d fit", len(s.Sums), MaxSums)
	}
	if s.FlowRun == 0 {
		s.FlowRun = 1
	}
	if s.Tag == TagID && s.FlowRandom {
		return errors.New("frames too small for a tag are counted by the sequence of their flow, which random flows do not have: use flows in turn or a larger size")
	}
	head, least := s.Heads.Max(), s.Sizes.Min()
	if least-s.Pad < head {
		return fmt.Errorf("size %d is below the %d bytes that the headers need", least+wire.FCSLen, head+wire.FCSLen)
	}
	if s.Tag == TagEnd && least-s.Pad-wire.TagLen < head {
		return fmt.Errorf("size %d leaves no room for the 18-byte tag behind %d bytes of headers", least+wire.FCSLen, head)
	}
	if need := s.Sizes.Max() - s.Pad - head; len(s.Body) < need {
		return fmt.Errorf("body: have %d bytes, need %d", len(s.Body), need)
	}
	for k := range s.Patches {
		if err := s.Patches[k].check(s); err != nil {
			return err
		}
	}
	if s.Tag == TagID {
		s.idSums = s.covering(s.IDOff, 2)
	}
	for k := range s.Sums {
		s.Sums[k].outer = s.covering(s.Sums[k].Off, 2) &^ (1 << k)
	}
	s.sizeDeltas()
	return nil
}

// covering returns which sums count the n bytes at off.
func (s *Stream) covering(off, n int) uint8 {
	var m uint8
	for k := range s.Sums {
		if s.Sums[k].covers(off, n) {
			m |= 1 << k
		}
	}
	return m
}

// MaxLen returns the length of the stream's longest frame, without FCS.
func (s *Stream) MaxLen() int {
	if s.Sizes.Fixed() {
		return s.Heads.Max()
	}
	return s.Sizes.Max()
}

// mean returns the mean length of a frame: bytes of n frames.
func (s *Stream) mean() (bytes, n uint64) {
	if s.Sizes.Fixed() {
		return uint64(s.Heads.Bytes()), uint64(s.Heads.Len())
	}
	return s.Sizes.Mean()
}

// Flow returns the flow of the stream's frame j.
func (s *Stream) Flow(j uint64) uint64 {
	n := uint64(s.Heads.Len())
	if n == 1 {
		return 0
	}
	if s.FlowRun > 1 {
		j /= s.FlowRun
	}
	if s.FlowRandom {
		j = Random(s.Seed, j)
	}
	if n&(n-1) == 0 { // a division costs as much as a quarter of a frame
		return j & (n - 1)
	}
	return j % n
}

// FlowSeq returns which of its flow's frames the stream's frame j is. Flows
// must go in turn.
func (s *Stream) FlowSeq(j uint64) uint64 {
	round := uint64(s.Heads.Len()) * s.FlowRun
	return j/round*s.FlowRun + j%s.FlowRun
}

// Seq is the inverse of Flow and FlowSeq: the stream's sequence number of the
// n-th frame of a flow.
func (s *Stream) Seq(flow, n uint64) uint64 {
	round := uint64(s.Heads.Len()) * s.FlowRun
	return n/s.FlowRun*round + flow*s.FlowRun + n%s.FlowRun
}

// Random returns 64 bits that depend on the seed and the index alone
// (splitmix64's finalizer: a few instructions in a BPF program too).
func Random(seed, i uint64) uint64 {
	z := seed + (i+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
