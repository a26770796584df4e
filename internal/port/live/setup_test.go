package live_test

import (
	"os"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"

	"squall/internal/lab"
	"squall/internal/plan"
	"squall/internal/port"
	"squall/internal/port/live"
)

// XDP actions (include/uapi/linux/bpf.h).
const (
	xdpDrop = 1
	xdpPass = 2
)

func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: CAP_BPF, CAP_NET_ADMIN and CAP_SYS_ADMIN")
	}
}

// newPair makes two ends of a cable; the far one receives by NAPI if gro is set.
func newPair(t testing.TB, cfg lab.Config) *lab.Pair {
	t.Helper()
	needRoot(t)
	p, err := lab.NewPair(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func openPort(t testing.TB, e lab.End) *port.Port {
	t.Helper()
	p, err := port.OpenIn(e.NS, e.Iface)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func openSender(t testing.TB, e lab.End, c live.Config) *live.Sender {
	t.Helper()
	p := openPort(t, e)
	s, err := live.Open(t.Context(), p, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// napi has the far end receive by NAPI.
func napi(t testing.TB, pair *lab.Pair) {
	t.Helper()
	restore, err := live.PreparePeer(openPort(t, pair.A), pair.B.NS)
	if err != nil {
		t.Fatal(err)
	}
	if restore == nil {
		t.Fatal("nothing to do for the other end")
	}
	t.Cleanup(func() {
		if err := restore(); err != nil {
			t.Error(err)
		}
	})
}

// attach puts an XDP program on an end, natively.
func attach(t testing.TB, e lab.End, code asm.Instructions) {
	t.Helper()
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "receiver", Type: ebpf.XDP, License: "GPL", Instructions: code})
	if err != nil {
		t.Fatalf("%+v", err)
	}
	t.Cleanup(func() { prog.Close() })
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
}

func always(action int32) asm.Instructions {
	return asm.Instructions{asm.Mov.Imm(asm.R0, action), asm.Return()}
}

// counters returns the statistics of an end.
func counters(t testing.TB, e lab.End) netlink.LinkStatistics {
	t.Helper()
	var s netlink.LinkStatistics
	err := e.NS.Do(func() error {
		l, err := netlink.LinkByName(e.Iface)
		if err == nil {
			s = *l.Attrs().Statistics
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newPlan makes a plan of streams that are ready.
func newPlan(t testing.TB, p plan.Plan) *plan.Plan {
	t.Helper()
	for _, s := range p.Streams {
		if !s.Sizes.Fixed() {
			if err := s.Build(); err != nil {
				t.Fatal(err)
			}
		}
	}
	made, err := plan.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return made
}
