package sides

import (
	"errors"
	"fmt"

	"squall/internal/pace"
	"squall/internal/plan"
)

// Parts are the two halves of a plan.
type Parts struct {
	// Plans are what leaves from each side; nil where nothing does. Their due
	// times count from the first frame of the whole.
	Plans [2]*plan.Plan
	// Index is, of each frame of a half, its number in the whole.
	Index [2][]uint32
	// Conversations is how many there are, Without how many frames had no IP: they
	// went by their source MAC address, or were left out.
	Conversations int
	Without       uint64
}

// Split parts the plan of a capture (one stream, whole frames) into what leaves
// from the client's and what leaves from the server's port. Together the halves
// take as much memory as the whole.
func Split(p *plan.Plan, o Options) (Parts, error) {
	if len(p.Streams) != 1 || p.Pass == 0 {
		return Parts{}, errors.New("two sides: need the plan of a capture")
	}
	var (
		x      Parts
		heads  [2]plan.Table
		due    [2][]int64
		seen   = make(map[int]struct{})
		sorter = NewSorter(o.ClientNet)
		frame  = make([]byte, p.MaxLen())
	)
	for i := range p.Pass {
		f := frame[:p.Write(frame, i, 0)]
		at := sorter.Sort(f)
		if at.Conversation != nil {
			seen[at.Conversation.ID] = struct{}{}
		} else {
			x.Without++
			if o.IPOnly {
				continue
			}
		}
		o.MACs[at.Side].Put(f)
		heads[at.Side].Append(f)
		x.Index[at.Side] = append(x.Index[at.Side], uint32(i))
		if p.Due != nil {
			due[at.Side] = append(due[at.Side], p.Due[i])
		}
	}
	x.Conversations = len(seen)
	for s := range x.Plans {
		n := len(x.Index[s])
		if n == 0 {
			continue
		}
		stream := *p.Streams[0]
		stream.Heads = heads[s]
		stream.Name = fmt.Sprintf("%s (%v)", stream.Name, Side(s))
		half, err := plan.New(plan.Plan{Streams: []*plan.Stream{&stream}, Due: due[s], Pass: uint64(n)})
		if err != nil {
			return Parts{}, fmt.Errorf("%v side: %w", Side(s), err)
		}
		x.Plans[s] = half
	}
	return x, nil
}

// Schedule returns when the frames of one half go, where those of the whole plan go
// by a schedule: as captured, at a rate or as fast as possible. Both halves begin at
// one time, and their passes do.
func (x *Parts) Schedule(of Side, whole *plan.Plan, s pace.Schedule) pace.Schedule {
	switch s := s.(type) {
	case pace.Max:
		return s
	case pace.Captured:
		s.Times = x.Plans[of].Due
		return s
	}
	// Of frames at a rate each half has its share, at the times of the whole.
	c := pace.Captured{Num: 1, Den: 1, Period: s.Due(whole.Pass)}
	for _, i := range x.Index[of] {
		c.Times = append(c.Times, s.Due(uint64(i)))
	}
	return c
}
