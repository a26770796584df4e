package plan

import (
	"encoding/binary"
	"runtime"

	"squall/internal/wire"
)

// Write makes the stream's frame j in dst and returns its length: the one
// frame writer of all engines that work in user space, and the reference for
// those that do not.
func (s *Stream) Write(dst []byte, j uint64, now int64) int {
	if s.Sizes.Fixed() {
		n := copy(dst, s.Heads.At(j%uint64(s.Heads.Len())))
		runtime.KeepAlive(s.Heads.mapped) // until here the memory is not given back
		return n
	}
	flow, class := s.Flow(j), s.class(j)
	n := s.Sizes.Lens[class]
	frame := dst[:n]
	s.fill(frame, flow)

	var acc [MaxSums]uint64
	for k := range s.Sums {
		acc[k] = uint64(s.Sums[k].bySize[class])
	}
	for k := range s.Patches {
		f := &s.Patches[k]
		add(&acc, f.sums, f.apply(frame, f.Value(s.Seed, j)))
	}
	switch s.Tag {
	case TagEnd:
		s.tag(frame, j, now, &acc)
	case TagID:
		id := frame[s.IDOff : s.IDOff+2]
		old := binary.BigEndian.Uint16(id)
		seq := uint16(s.FlowSeq(j))
		binary.BigEndian.PutUint16(id, seq)
		add(&acc, s.idSums, wire.Delta(old, seq))
	}
	s.settle(frame, &acc)
	return n
}

func (s *Stream) tag(frame []byte, j uint64, now int64, acc *[MaxSums]uint64) {
	off := len(frame) - s.Pad - wire.TagLen
	b := frame[off : off+wire.TagLen]
	wire.Tag{Run: s.Run, Stream: s.ID, Seq: j, Sent: now}.Put(b)
	sum := wire.Fold(wire.Sum(b))
	if off%2 != 0 {
		sum = wire.Swap(sum)
	}
	for k := range s.Sums {
		if s.Sums[k].To == 0 {
			acc[k] += uint64(sum)
		}
	}
}

// fill writes what depends on the flow and the length alone: head, body,
// padding and length fields.
func (s *Stream) fill(frame []byte, flow uint64) {
	head := s.Heads.At(flow)
	n := copy(frame, head)
	copy(frame[n:], s.Body)
	clear(frame[len(frame)-s.Pad:])
	for _, l := range s.Lengths {
		binary.BigEndian.PutUint16(frame[l.Off:], uint16(len(frame)-s.Pad-l.Minus))
	}
}
