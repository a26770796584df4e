package gen

import (
	"errors"
	"fmt"
	"strconv"

	"squall/internal/plan"
	"squall/internal/wire"
)

const (
	// MaxFlows bounds the flows of a stream: each has its own prebuilt head.
	MaxFlows = 1 << 24
	// maxRun bounds the frames of one flow in a row, so that a common multiple
	// of runs, flows and sizes fits in 64 bits.
	maxRun = 1 << 20
)

// Compile makes a plan of the streams. Errors name the stream, or where it was
// read from a file, the line and column.
func Compile(specs []Spec, t Target) (*Source, error) {
	if len(specs) == 0 {
		return nil, errors.New("no streams")
	}
	if len(specs) > 1<<16-int(t.FirstStream) {
		return nil, fmt.Errorf("streams: have %d from ID %d, need IDs up to 65535", len(specs), t.FirstStream)
	}
	src := &Source{}
	p := plan.Plan{}
	names := make(map[string]bool)
	for k := range specs {
		spec := specs[k]
		if spec.Name == "" {
			spec.Name = strconv.Itoa(k + 1)
		}
		if names[spec.Name] {
			return nil, spec.errorf("name", "the name %q is used twice", spec.Name)
		}
		names[spec.Name] = true
		s, info, err := compile(&spec, t.FirstStream+uint16(k), t)
		if err != nil {
			return nil, err
		}
		p.Streams = append(p.Streams, s)
		src.Streams = append(src.Streams, info)
	}
	var err error
	if p.Order, err = src.order(specs, p.Streams, t.LinkBits); err != nil {
		return nil, err
	}
	if src.Plan, err = plan.New(p); err != nil {
		return nil, err
	}
	if p.Script, err = src.impair(specs, src.Plan, t); err != nil || p.Script == nil {
		return src, err
	}
	src.Plan, err = plan.New(p)
	return src, err
}

// compile makes one stream.
func compile(spec *Spec, id uint16, t Target) (*plan.Stream, Info, error) {
	info := Info{ID: id, Name: spec.Name, Flows: max(spec.Flows, 1)}
	st, err := newStack(spec, t)
	if err != nil {
		return nil, info, err
	}
	info.Layers = st.String()
	s := &plan.Stream{ID: id, Name: spec.Name, Run: t.Run, Seed: plan.Random(spec.Seed, uint64(id-t.FirstStream)), FlowRun: spec.FlowRun}
	switch spec.FlowOrder {
	case "", "turn":
	case "random":
		s.FlowRandom = true
	default:
		return nil, info, spec.errorf("flow_order", "unknown flow_order %q: need turn or random", spec.FlowOrder)
	}
	if info.Flows > MaxFlows {
		return nil, info, spec.errorf("flows", "flows: have %d, at most %d fit", info.Flows, MaxFlows)
	}
	if spec.FlowRun > maxRun {
		return nil, info, spec.errorf("flow_run", "flow_run: have %d, at most %d fit", spec.FlowRun, maxRun)
	}
	if err := spec.lay(s, st, t.MTU); err != nil {
		return nil, info, err
	}
	info.Tag, info.Sizes = s.Tag, spec.Size
	if spec.Size == "" {
		info.Sizes = strconv.Itoa(s.Sizes.Min() + wire.FCSLen)
	}
	s.Lengths = st.lengths()
	flow, by, err := spec.patches(s, st, info.Flows)
	if err != nil {
		return nil, info, err
	}
	info.FlowsBy = by
	if err := spec.build(s, st, flow, info.Flows); err != nil {
		return nil, info, err
	}
	info.Bytes = s.Heads.Bytes()
	return s, info, nil
}

// patches sets the stream's patches and returns those that set flows apart,
// and the names of their fields.
func (s *Spec) patches(to *plan.Stream, st *stack, flows uint64) (flow []plan.Patch, by []string, err error) {
	limit := to.Sizes.Min() - to.Pad
	if to.Tag == plan.TagEnd {
		limit -= wire.TagLen
	}
	vary := s.Vary
	apart := false
	for i, v := range vary {
		switch v.Per {
		case "":
			apart = apart || flows > 1
		case "flow":
			if flows < 2 {
				return nil, nil, s.errorf(fmt.Sprintf("vary[%d].per", i), "per: flow needs flows: 2 or more")
			}
			apart = true
		case "frame":
		default:
			return nil, nil, s.errorf(fmt.Sprintf("vary[%d].per", i), "unknown per %q: need flow or frame", v.Per)
		}
	}
	if !apart {
		more := st.spread(flows)
		if len(more) == 0 && flows > 1 {
			return nil, nil, s.errorf("flows", "flows: nothing sets the flows of %s apart: name a field under vary, per: flow", st)
		}
		vary = append(vary[:len(vary):len(vary)], more...)
	}
	var places []place
	for i, v := range vary {
		f, p, err := s.patch(i, v, st, limit)
		if err != nil {
			return nil, nil, err
		}
		for k, q := range places {
			if p.bit < q.bit+q.bits && q.bit < p.bit+p.bits {
				return nil, nil, s.errorf(fmt.Sprintf("vary[%d].field", min(i, len(s.Vary)-1)),
					"fields %q and %q vary the same bits: let flows differ in a field of their own, per: flow", vary[k].Field, v.Field)
			}
		}
		if to.Tag == plan.TagID && p.bit < 8*(to.IDOff+2) && 8*to.IDOff < p.bit+p.bits {
			return nil, nil, s.errorf(fmt.Sprintf("vary[%d].field", i), "field %q carries the sequence number: use tag: none or a size with room for the tag", v.Field)
		}
		places = append(places, p)
		if v.Per == "flow" || v.Per == "" && flows > 1 {
			flow = append(flow, f)
			by = append(by, v.Field)
			continue
		}
		to.Patches = append(to.Patches, f)
	}
	return flow, by, nil
}

// build makes the heads, of the first size class, and the body.
func (s *Spec) build(to *plan.Stream, st *stack, flow []plan.Patch, flows uint64) error {
	stride := st.len
	for _, f := range flow {
		stride = max(stride, f.Off+f.Width)
	}
	first := st.payload.bytes(to.Sizes.Lens[0] - to.Pad - st.len)
	if to.Tag == plan.TagEnd {
		clear(first[len(first)-wire.TagLen:])
	}
	frame, err := st.serialize(first)
	if err != nil {
		return s.errorf("layers", "%w", err)
	}
	if to.Sums, err = s.sums(frame, st); err != nil {
		return err
	}
	to.Body = st.payload.bytes(to.Sizes.Max() - to.Pad - st.len)[stride-st.len:]
	heads := make([]byte, int(flows)*stride)
	for n := copy(heads, frame[:stride]); n < len(heads); n *= 2 {
		copy(heads[n:], heads[:n])
	}
	to.Heads = plan.NewTable(heads, stride)
	if err := to.Build(); err != nil {
		return s.errorf("size", "%w", err)
	}
	if st.ip == nil && to.Tag == plan.TagEnd && wire.Parse(frame).IP() {
		return s.errorf("layers[0]", "raw bytes carry an IP packet with a length of its own: a tag at the end of the frame would not be found, use tag: none")
	}
	for k := range flow {
		for i := range flows {
			flow[k].Apply(to, heads[int(i)*stride:int(i+1)*stride], i)
		}
	}
	return nil
}
