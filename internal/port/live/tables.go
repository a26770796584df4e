package live

import (
	"encoding/binary"
	"fmt"

	"squall/internal/plan"
	"squall/internal/port/bpf"
	"squall/internal/wire"
)

// What the program has room for; see bpf/live.h.
const (
	// MaxLen is the longest frame, without FCS, that fits into a page.
	MaxLen = 3408

	maxLengths = 8
	maxPatches = 64
	chunkLen   = 1 << 20
	// smallImage is up to which length a frame is prebuilt whole: it is then
	// copied word by word, which is cheaper than any call.
	smallImage = 128
)

// tables is a plan as the program reads it, but for the heads and captured
// frames, which are large and go straight into the kernel's memory.
type tables struct {
	streams []bpf.LiveStream
	sizes   []bpf.LiveSize
	patches []bpf.LivePatch
	lists   []uint64
	bodies  [][]byte
	places  []uint64
	order   []uint32

	heads    int // entries
	headSize int // bytes of one, a multiple of 8
	chunks   int // of captured frames
	// base is the length of a page when the program gets it. What follows is
	// filled up with zeros when it grows; what comes before is always written.
	base int
}

// tabulate makes the tables of a plan. It returns an error where the program has
// no room for it.
func tabulate(p *plan.Plan) (*tables, error) {
	t := &tables{headSize: 8, base: MaxLen}
	if n := p.MaxLen(); n > MaxLen {
		return nil, fmt.Errorf("frame size %d: at most %d fits into a page", n+wire.FCSLen, MaxLen+wire.FCSLen)
	}
	for _, s := range p.Streams {
		add := t.generated
		if s.Sizes.Fixed() {
			add = t.captured
		}
		if err := add(s); err != nil {
			return nil, fmt.Errorf("stream %q: %w", s.Name, err)
		}
	}
	for _, k := range p.Order {
		t.order = append(t.order, uint32(k))
	}
	return t, nil
}

// program returns the name of the program that is made for such a plan.
func (t *tables) program() string {
	s := &t.streams[0]
	switch {
	case len(t.streams) > 1:
		return bpf.LiveProgLiveAny
	case s.Captured != 0:
		return bpf.LiveProgLiveReplay
	case s.Sizes == 1 && s.Patches == 0 && s.Image <= smallImage:
		return bpf.LiveProgLivePlain
	}
	return bpf.LiveProgLiveVaried
}

// stamped returns how many of the newest frames' times the program keeps: those of
// frames that carry none.
func (t *tables) stamped() int {
	if t.program() == bpf.LiveProgLiveReplay {
		return 1 << 20
	}
	return 0
}

// commonest returns the length that most entries have: those need no change of
// length.
func commonest(h *plan.Table) int {
	count := make(map[int]int)
	best := 0
	for k := range h.Len() {
		n := len(h.At(uint64(k)))
		if count[n]++; count[n] > count[best] {
			best = n
		}
	}
	return best
}

// captured adds a stream of whole frames. They lie in chunks, none across the
// border of two, and none in a chunk's last MaxLen bytes but the one that begins
// before them.
func (t *tables) captured(s *plan.Stream) error {
	h := &s.Heads
	if h.Len() == 0 {
		return fmt.Errorf("no frames")
	}
	to := bpf.LiveStream{Captured: 1, Flows: uint32(h.Len()), Head: uint32(len(t.places))}
	off := chunkLen
	for k := range h.Len() {
		n := len(h.At(uint64(k)))
		if n < wire.HeaderLen {
			return fmt.Errorf("frame %d has %d bytes, an Ethernet header needs %d", k, n, wire.HeaderLen)
		}
		if off > chunkLen-MaxLen {
			t.chunks++
			off = 0
		}
		t.places = append(t.places, uint64(t.chunks-1)<<32|uint64(off)<<12|uint64(n))
		off += n
	}
	t.base = min(t.base, commonest(h))
	t.streams = append(t.streams, to)
	return nil
}

// generated adds a stream of heads, body and patches.
func (t *tables) generated(s *plan.Stream) error {
	switch {
	case len(s.Lengths) > maxLengths:
		return fmt.Errorf("length fields: have %d, at most %d fit", len(s.Lengths), maxLengths)
	case len(s.Patches) > maxPatches:
		return fmt.Errorf("fields that vary: have %d, at most %d fit", len(s.Patches), maxPatches)
	}
	c := newCut(s)
	if c.image < wire.HeaderLen {
		return fmt.Errorf("smallest frame has %d bytes, an Ethernet header needs %d", c.image, wire.HeaderLen)
	}
	var tag [wire.TagLen]byte
	wire.Tag{Run: s.Run, Stream: s.ID}.Put(tag[:])
	to := bpf.LiveStream{
		Seed: s.Seed, SizeSeed: s.Seed ^ plan.SizeSalt,
		Tag:   binary.BigEndian.Uint64(tag[:]),
		Words: wire.Sum(tag[:]),
		Run:   s.FlowRun,
		Turn:  s.Turn(),
		Flows: uint32(s.Heads.Len()), Head: uint32(t.heads),
		Size: uint32(len(t.sizes)), Sizes: 1,
		Patch: uint32(len(t.patches)), Patches: uint32(len(s.Patches)),
		Body:  uint32(len(t.bodies)),
		Len:   uint16(s.Sizes.Lens[c.class]),
		Image: uint16(c.image), Pad: uint16(s.Pad), Id: uint16(s.IDOff),
		RandomFlows: flag(s.FlowRandom),
		Place:       uint8(s.Tag), Covering: c.squeeze(c.tagged),
	}
	if s.Heads.Len() == 1 {
		to.RandomFlows = 0
	}
	if !c.single {
		t.addSizes(s, &to)
		to.Lengths = uint8(len(s.Lengths))
		for i, l := range s.Lengths {
			to.Length[i].Off, to.Length[i].Minus = uint16(l.Off), uint16(l.Minus)
		}
	}
	for k := range s.Sums {
		if c.active&(1<<k) == 0 {
			continue
		}
		q := &s.Sums[k]
		if q.Off+2 > c.image {
			return fmt.Errorf("checksum at offset %d lies behind the headers", q.Off)
		}
		to.Sum[to.Sums].Off, to.Sum[to.Sums].Outer, to.Sum[to.Sums].Ones = uint16(q.Off), c.squeeze(q.Outer()), flag(q.ZeroIsOnes)
		// Only a sum further on can still take it into account.
		to.Sum[to.Sums].Outer &^= 1<<(to.Sums+1) - 1
		to.Sums++
	}
	for k := range s.Patches {
		t.addPatch(s, &s.Patches[k], c)
	}
	if body := c.body(); body != nil {
		t.bodies = append(t.bodies, body)
		to.HasBody = 1
	}
	t.heads += s.Heads.Len()
	t.base = min(t.base, c.base)
	t.headSize = max(t.headSize, (c.image+7)&^7)
	t.streams = append(t.streams, to)
	return nil
}

// addSizes adds the cycle of sizes, or the classes that they are drawn from.
func (t *tables) addSizes(s *plan.Stream, to *bpf.LiveStream) {
	z := &s.Sizes
	cycle := z.Cycle
	if len(cycle) == 0 {
		to.RandomSizes = 1
		for c := range z.Lens {
			cycle = append(cycle, uint16(c))
		}
	}
	for _, c := range cycle {
		e := bpf.LiveSize{Len: uint16(z.Lens[c])}
		for k := range s.Sums {
			e.Sum[k] = s.Sums[k].BySize(int(c))
		}
		t.sizes = append(t.sizes, e)
	}
	to.Sizes = uint32(len(cycle))
}

func (t *tables) addPatch(s *plan.Stream, f *plan.Patch, c *cut) {
	e := bpf.LivePatch{
		Mask: f.Mask, Start: f.Start, Step: f.Step, Count: f.Count, Every: max(f.Every, 1),
		Seed: s.Seed ^ f.Salt,
		Off:  uint16(f.Off), Width: uint8(f.Width), Shift: uint8(f.Shift), Mode: uint8(f.Mode),
		Sums: c.squeeze(f.Covering()),
	}
	switch f.Mode {
	case plan.List:
		e.List, e.Wrap = uint32(len(t.lists)), uint64(len(f.List))
		t.lists = append(t.lists, f.List...)
	case plan.Step:
		e.Wrap = f.Count
	}
	t.patches = append(t.patches, e)
}

func flag(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}
