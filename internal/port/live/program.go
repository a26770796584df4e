package live

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"squall/internal/netns"
	"squall/internal/plan"
	"squall/internal/port"
	"squall/internal/port/bpf"
)

// program is the BPF program with one plan's tables, attached to its anchor.
type program struct {
	plan   *plan.Plan
	tables *tables
	dues   int // captured due times that it has room for

	objects  objects
	anchor   *anchor
	bss      memory
	cursors  memory
	patches  memory
	segments memory
	due      memory
	state    *bpf.LiveState
	attr     runAttr
}

// objects are the program and its maps. The kernel keeps global variables in a map
// that has the name of their section.
type objects struct {
	bpf.LiveMaps
	BSS  *ebpf.Map     `ebpf:".bss"`
	Live *ebpf.Program `ebpf:"live"`
}

func (o *objects) close() error {
	if o.Live == nil {
		return nil
	}
	return errors.Join(o.Live.Close(), o.BSS.Close(), o.LiveMaps.Close())
}

// newProgram loads the program for a plan. dues is how many due times of captured
// frames it is to have room for.
func newProgram(p *plan.Plan, dues int) (_ *program, err error) {
	t, err := tabulate(p)
	if err != nil {
		return nil, err
	}
	g := &program{plan: p, tables: t, dues: max(dues, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.close())
		}
	}()
	spec, err := g.spec()
	if err != nil {
		return nil, err
	}
	if err := spec.LoadAndAssign(&g.objects, nil); err != nil {
		var v *ebpf.VerifierError
		if errors.As(err, &v) {
			return nil, fmt.Errorf("program: %w\n%+v", err, v)
		}
		return nil, fmt.Errorf("program: %w", err)
	}
	if err := g.fill(); err != nil {
		return nil, err
	}
	return g, nil
}

// load loads the program for a plan and has it send to a port.
func load(p *plan.Plan, to *port.Port, dues int) (*program, error) {
	g, err := newProgram(p, dues)
	if err != nil {
		return nil, err
	}
	// The kernel looks the device up in the namespace of the caller.
	err = to.NS.Do(func() error { return g.objects.Port.Put(uint32(0), uint32(to.Index)) })
	if err != nil {
		return nil, errors.Join(fmt.Errorf("device map: %w", err), g.close())
	}
	if g.anchor, err = newAnchor(g.objects.Live); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

// spec sizes the maps and sets the constants.
func (g *program) spec() (*ebpf.CollectionSpec, error) {
	spec, err := bpf.LoadLive()
	if err != nil {
		return nil, err
	}
	t := g.tables
	for name, n := range map[string]int{
		bpf.LiveMapHeads: t.heads, bpf.LiveMapBodies: len(t.bodies), bpf.LiveMapFrames: t.chunks,
		bpf.LiveMapSizes: len(t.sizes), bpf.LiveMapPatches: len(t.patches), bpf.LiveMapLists: len(t.lists),
		bpf.LiveMapPlaces: len(t.places), bpf.LiveMapOrder: len(t.order),
		bpf.LiveMapStreams: len(t.streams), bpf.LiveMapCursors: len(t.streams),
		bpf.LiveMapSegments: segments, bpf.LiveMapDues: g.dues, bpf.LiveMapStamps: t.stamped() + 1,
	} {
		spec.Maps[name].MaxEntries = uint32(max(n, 1))
	}
	spec.Maps[bpf.LiveMapHeads].ValueSize = uint32(t.headSize)
	for name, v := range map[string]any{
		bpf.LiveVarOnly: t.streams[0],
		bpf.LiveVarBase: uint32(t.base), bpf.LiveVarHeadSize: uint32(t.headSize), bpf.LiveVarSlots: uint32(len(t.order)),
		bpf.LiveVarStamped: uint32(t.stamped()),
	} {
		if err := spec.Variables[name].Set(v); err != nil {
			return nil, fmt.Errorf("constant %s: %w", name, err)
		}
	}
	spec.Programs["live"] = spec.Programs[t.program()]
	return spec, nil
}

// fill writes the tables into the maps.
func (g *program) fill() error {
	t, o := g.tables, &g.objects
	var err error
	for _, keep := range []struct {
		m   *ebpf.Map
		mem *memory
	}{{o.BSS, &g.bss}, {o.Cursors, &g.cursors}, {o.Patches, &g.patches}, {o.Segments, &g.segments}, {o.Dues, &g.due}} {
		if *keep.mem, err = mapMemory(keep.m); err != nil {
			return err
		}
	}
	g.state = g.bss.state()
	copy(entries[bpf.LivePatch](g.patches), t.patches)
	return errors.Join(
		write(o.Heads, g.drawHeads),
		write(o.Frames, g.copyFrames),
		write(o.Bodies, func(m memory) {
			for k, b := range t.bodies {
				copy(m[k*MaxLen:], b)
			}
		}),
		write(o.Sizes, func(m memory) { copy(entries[bpf.LiveSize](m), t.sizes) }),
		write(o.Lists, func(m memory) { copy(entries[uint64](m), t.lists) }),
		write(o.Places, func(m memory) { copy(entries[uint64](m), t.places) }),
		write(o.Streams, func(m memory) { copy(entries[bpf.LiveStream](m), t.streams) }),
		write(o.Order, func(m memory) {
			for i, k := range t.order { // an entry has 8 bytes, its value 4
				binary.NativeEndian.PutUint32(m[8*i:], k)
			}
		}),
	)
}

// write maps a map, has it filled and unmaps it.
func write(m *ebpf.Map, fill func(memory)) error {
	mem, err := mapMemory(m)
	if err != nil {
		return err
	}
	fill(mem)
	return mem.unmap()
}

func (g *program) drawHeads(m memory) {
	t := g.tables
	frame := make([]byte, g.plan.MaxLen())
	off := 0
	for i, s := range g.plan.Streams {
		if t.streams[i].Captured != 0 {
			continue
		}
		c := newCut(s)
		for flow := range s.Heads.Len() {
			c.draw(m[off:off+c.image], frame, uint64(flow))
			off += t.headSize
		}
	}
}

func (g *program) copyFrames(m memory) {
	for i, s := range g.plan.Streams {
		if g.tables.streams[i].Captured == 0 {
			continue
		}
		for k := range s.Heads.Len() {
			at := g.tables.places[int(g.tables.streams[i].Head)+k]
			copy(m[int(at>>32)*chunkLen+int(at>>12&(chunkLen-1)):], s.Heads.At(uint64(k)))
		}
	}
}

// seek sets the program to a frame of the plan, and everything else to where a
// job begins.
func (g *program) seek(first uint64) {
	*g.state = bpf.LiveState{}
	if n := len(g.tables.order); n > 0 {
		g.state.Slot = uint32(first % uint64(n))
	}
	patches := entries[bpf.LivePatch](g.patches)
	cursors := entries[bpf.LiveCursor](g.cursors)
	for k, s := range g.plan.Streams {
		to := &g.tables.streams[k]
		j := g.plan.Sent(k, first)
		cursors[k] = cursor(s, to, j)
		if k == 0 {
			g.state.First = j
		}
		for i := range patches[to.Patch : to.Patch+to.Patches] {
			f := &patches[int(to.Patch)+i]
			f.Turn, f.N = j%f.Every, j/f.Every
			if f.Wrap > 0 {
				f.N %= f.Wrap
			}
		}
	}
	only, c := &cursors[0], &g.state.Cursor
	c.Seq, c.Run, c.Round, c.Draw, c.Turn, c.Flow, c.Size = only.Seq, only.Run, only.Round, only.Draw, only.Turn, only.Flow, only.Size
}

// cursor returns where a stream stands before its frame j.
func cursor(s *plan.Stream, to *bpf.LiveStream, j uint64) bpf.LiveCursor {
	flows := uint64(to.Flows)
	if to.Captured != 0 {
		return bpf.LiveCursor{Seq: j, Flow: uint32(j % flows)}
	}
	c := bpf.LiveCursor{Seq: j, Run: j % to.Run, Draw: j / to.Run}
	c.Flow = uint32(c.Draw % flows)
	c.Round = c.Draw / flows * to.Run
	if to.Sizes > 1 && to.RandomSizes == 0 {
		c.Size = uint32((j + j/to.Turn) % uint64(to.Sizes))
		c.Turn = j % to.Turn
	}
	return c
}

func (g *program) close() error {
	var errs []error
	if g.anchor != nil {
		errs = append(errs, g.anchor.close())
	}
	for _, m := range []*memory{&g.bss, &g.cursors, &g.patches, &g.segments, &g.due} {
		errs = append(errs, m.unmap())
	}
	g.state = nil
	errs = append(errs, g.objects.close())
	return errors.Join(errs...)
}

// anchor keeps the program attached to something. Without, each run has the
// kernel put the program into its dispatcher and take it out again, and wait for
// all cores twice: some 27 ms (bpf_prog_test_run_xdp, bpf_dispatcher_change_prog).
//
// What it is attached to is the loopback interface of a namespace that nothing
// else knows, which ends with the process however that ends.
type anchor struct {
	ns   *netns.NS
	link link.Link
}

func newAnchor(p *ebpf.Program) (*anchor, error) {
	ns, err := netns.New("anchor")
	if err != nil {
		return nil, err
	}
	a := &anchor{ns: ns}
	err = ns.Do(func() (err error) {
		a.link, err = link.AttachXDP(link.XDPOptions{Program: p, Interface: 1, Flags: link.XDPGenericMode})
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("anchor of the program: %w", err), ns.Close())
	}
	return a, nil
}

func (a *anchor) close() error { return errors.Join(a.link.Close(), a.ns.Close()) }
