package xdp_test

import (
	"encoding/binary"
	"os"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"squall/internal/lab"
	"squall/internal/pace"
	"squall/internal/plan"
	"squall/internal/port"
	"squall/internal/port/porttest"
	"squall/internal/port/xdp"
	"squall/internal/wire"
)

// newPair makes a veth pair, each end in a namespace of its own.
func newPair(t testing.TB, c lab.Config) *lab.Pair {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: CAP_SYS_ADMIN, CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF")
	}
	p, err := lab.NewPair(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// change does something to an interface.
func change(t testing.TB, e lab.End, fn func(netlink.Link) error) {
	t.Helper()
	err := e.NS.Do(func() error {
		l, err := netlink.LinkByName(e.Iface)
		if err != nil {
			return err
		}
		return fn(l)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func down(t testing.TB, e lab.End) { t.Helper(); change(t, e, netlink.LinkSetDown) }

// link reads an interface's attributes.
func link(t testing.TB, e lab.End) (a netlink.LinkAttrs) {
	t.Helper()
	change(t, e, func(l netlink.Link) error {
		a = *l.Attrs()
		return nil
	})
	return a
}

func open(t testing.TB, e lab.End) *port.Port {
	t.Helper()
	p, err := port.OpenIn(e.NS, e.Iface)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func openWriter(t testing.TB, e lab.End, c xdp.Config) *xdp.Writer {
	t.Helper()
	w, err := xdp.Open(open(t, e), c)
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, w)
	return w
}

func openReader(t testing.TB, e lab.End, c xdp.ReaderConfig) *xdp.Reader {
	t.Helper()
	r, err := xdp.OpenReader(open(t, e), c)
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, r)
	return r
}

func closeAfter(t testing.TB, c interface{ Close() error }) {
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// send sends count frames as fast as can be.
func send(t testing.TB, s port.Sender, p *plan.Plan, count uint64) port.Sent {
	t.Helper()
	sent, err := s.Send(t.Context(), port.Job{Plan: p, Schedule: pace.Max{}, Count: count})
	if err != nil {
		t.Fatal(err)
	}
	return sent
}

// receive takes what comes until want frames have come or been dropped and then
// no more, and calls see with each.
func receive(t testing.TB, r port.BatchReader, want uint64, see func(port.Frame)) (n uint64) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		frames, err := r.Receive(20 * time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range frames {
			n++
			see(f)
		}
		if stats, err := r.Stats(); err != nil || len(frames) == 0 && n+stats.Drops >= want {
			return n
		}
	}
	return n
}

// captured returns a plan of the given frames.
func captured(t testing.TB, frames ...[]byte) *plan.Plan {
	t.Helper()
	s := &plan.Stream{}
	for _, f := range frames {
		s.Heads.Append(f)
	}
	p, err := plan.New(plan.Plan{Streams: []*plan.Stream{s}, Pass: uint64(len(frames))})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// vlanFrame returns a frame of n bytes with the given tags, each TPID and TCI.
func vlanFrame(n int, tags ...uint32) []byte {
	f := []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}
	for _, tag := range tags {
		f = binary.BigEndian.AppendUint32(f, tag)
	}
	f = binary.BigEndian.AppendUint16(f, porttest.EtherType)
	for i := len(f); i < n; i++ {
		f = append(f, byte(i*11))
	}
	return f
}

func vlanFrames() [][]byte {
	return [][]byte{
		vlanFrame(60),
		vlanFrame(60, 0x81000007),
		vlanFrame(64, 0x8100e123), // priority and drop eligible
		vlanFrame(1518, 0x81000fff),
		vlanFrame(100, 0x88a80005),
		vlanFrame(1514, 0x88a80005, 0x81000006), // QinQ
		vlanFrame(200, 0x81000000),
	}
}

// tagOf reads a numbered frame's tag.
func tagOf(t testing.TB, f port.Frame) wire.Tag {
	t.Helper()
	tag, ok := wire.FindTag(f.Data)
	if !ok {
		t.Fatalf("frame without a tag: % x", f.Data)
	}
	return tag
}
