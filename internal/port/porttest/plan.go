package porttest

import (
	"squall/internal/plan"
	"squall/internal/wire"
)

// EtherType is that of the frames of Plan: for local experiments (IEEE 802), so
// that no stack answers them.
const EtherType = 0x88b5

// Plan returns a plan of broadcast frames with the given lengths in turn, without
// FCS. Frame i carries a tag with sequence number i; see wire.FindTag.
func Plan(lens ...int) *plan.Plan {
	head := []byte{
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0x02, 0, 0, 0, 0, 0x01,
		EtherType >> 8, EtherType & 0xff,
	}
	s := &plan.Stream{
		Name:  "numbered",
		Heads: plan.NewTable(head, len(head)),
		Sizes: plan.Sizes{Lens: lens},
		Tag:   plan.TagEnd,
	}
	longest := 0
	for i, n := range lens {
		s.Sizes.Cycle = append(s.Sizes.Cycle, uint16(i))
		longest = max(longest, n)
	}
	s.Body = make([]byte, longest-wire.HeaderLen)
	for i := range s.Body {
		s.Body[i] = byte(i * 7)
	}
	if err := s.Build(); err != nil {
		panic(err)
	}
	p, err := plan.New(plan.Plan{Streams: []*plan.Stream{s}})
	if err != nil {
		panic(err)
	}
	return p
}
