package scenarios

import (
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"

	"squall/gen"
	"squall/internal/lab"
	"squall/internal/netns"
)

const (
	xdpDrop = 1
	xdpPass = 2
)

// dropper puts an XDP program on a port that drops the first of every so many
// frames.
func dropper(t *testing.T, e lab.End, first, every int32) {
	t.Helper()
	count, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "GPL", Instructions: asm.Instructions{
		asm.StoreImm(asm.RFP, -4, 0, asm.Word),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.LoadMapPtr(asm.R1, count.FD()),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "pass"),
		asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord),
		asm.Mov.Reg(asm.R2, asm.R1),
		asm.Add.Imm(asm.R2, 1),
		asm.StoreMem(asm.R0, 0, asm.R2, asm.DWord),
		asm.Mod.Imm(asm.R1, every),
		asm.JGE.Imm(asm.R1, first, "pass"),
		asm.Mov.Imm(asm.R0, xdpDrop),
		asm.Return(),
		asm.Mov.Imm(asm.R0, xdpPass).WithSymbol("pass"),
		asm.Return(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	err = e.NS.Do(func() error {
		l, err := netlink.LinkByName(e.Iface)
		if err != nil {
			return err
		}
		x, err := link.AttachXDP(link.XDPOptions{Program: prog, Interface: l.Attrs().Index, Flags: link.XDPDriverMode})
		if err == nil {
			t.Cleanup(func() { x.Close() })
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { prog.Close(); count.Close() })
}

// A program on the way drops on purpose: every loss is found, in its place and
// at its length, and named by the program's port.
func TestDroppedOnPurpose(t *testing.T) {
	tests := []struct {
		name         string
		first, every int32
		lost         uint64
		periods      uint64
		longest      uint64
	}{
		{"every tenth", 1, 10, 400, 400, 1},
		{"bursts of 25", 25, 1000, 100, 4, 25},
		{"all but one in four", 3, 4, 3000, 1000, 3},
		{"none", 0, 10, 0, 0, 0},
	}
	for _, engine := range []string{"packet", "live"} {
		for _, tt := range tests {
			t.Run(engine+", "+tt.name, func(t *testing.T) {
				b, l := newRouter(t, lab.Config{})
				dropper(t, l.In, tt.first, tt.every)
				p := b.with(t, PairConfig{Engine: engine, Namespaces: map[string]*netns.NS{l.R().String(): l.R()}})
				ph := b.phase(t, p, 1, gen.Simple{Name: "s", Size: "64", Flows: 8, Rate: "20kpps"})
				ph.Count = 4000
				r := b.run(t, t.Context(), p, nil, ph)
				x := r.Phases[0]
				if x.Lost != tt.lost || x.LossPeriodCount != tt.periods {
					t.Fatalf("lost %d in %d periods, want %d in %d", x.Lost, x.LossPeriodCount, tt.lost, tt.periods)
				}
				if n := term(r.Ledger, l.In.Label(), "rx_queue_N_xdp_drops"); n != tt.lost {
					t.Errorf("ledger %+v names %d, want %d", r.Ledger, n, tt.lost)
				}
				for i, q := range x.LossPeriods {
					if first := uint64(i) * uint64(tt.every); q.First != first || q.Frames != tt.longest || q.Until.Before(q.At) {
						t.Fatalf("loss period %d: %+v, want %d frames from %d on", i, q, tt.longest, first)
					}
				}
			})
		}
	}
}
