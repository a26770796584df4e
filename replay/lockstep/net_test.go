package lockstep

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"squall/internal/plan"
	"squall/internal/port"
	"squall/internal/wire"
	"squall/replay/sides"
)

// talk is one frame of a capture: a segment of a conversation.
type talk struct {
	from     sides.Side
	client   string // address:port
	server   string
	payload  string
	syn, fin bool
	udp      bool
}

// frame builds it, with right checksums.
func (k talk) frame(t testing.TB, n int) []byte {
	t.Helper()
	src, dst := netip.MustParseAddrPort(k.client), netip.MustParseAddrPort(k.server)
	if k.from == sides.Server {
		src, dst = dst, src
	}
	eth := &layers.Ethernet{SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, DstMAC: net.HardwareAddr{2, 0, 0, 0, 0, 2}, EthernetType: layers.EthernetTypeIPv4}
	var ip gopacket.SerializableLayer
	var network gopacket.NetworkLayer
	proto := layers.IPProtocolTCP
	if k.udp {
		proto = layers.IPProtocolUDP
	}
	if src.Addr().Is4() {
		l := &layers.IPv4{Version: 4, TTL: 64, Id: uint16(n), Protocol: proto, SrcIP: src.Addr().AsSlice(), DstIP: dst.Addr().AsSlice()}
		ip, network = l, l
	} else {
		eth.EthernetType = layers.EthernetTypeIPv6
		l := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: proto, SrcIP: src.Addr().AsSlice(), DstIP: dst.Addr().AsSlice()}
		ip, network = l, l
	}
	var upper gopacket.SerializableLayer
	if k.udp {
		l := &layers.UDP{SrcPort: layers.UDPPort(src.Port()), DstPort: layers.UDPPort(dst.Port())}
		l.SetNetworkLayerForChecksum(network)
		upper = l
	} else {
		l := &layers.TCP{SrcPort: layers.TCPPort(src.Port()), DstPort: layers.TCPPort(dst.Port()), Seq: 1000, Ack: 2000, ACK: !k.syn, SYN: k.syn, FIN: k.fin, Window: 1024}
		l.SetNetworkLayerForChecksum(network)
		upper = l
	}
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, eth, ip, upper, gopacket.Payload(k.payload)); err != nil {
		t.Fatal(err)
	}
	return append([]byte(nil), b.Bytes()...)
}

// capture is the plan of frames 1 ms apart.
func capture(t testing.TB, frames ...[]byte) *plan.Plan {
	t.Helper()
	s := &plan.Stream{Name: "capture"}
	var due []int64
	for i, f := range frames {
		s.Heads.Append(f)
		due = append(due, int64(i)*1e6)
	}
	p, err := plan.New(plan.Plan{Streams: []*plan.Stream{s}, Due: due, Pass: uint64(len(frames))})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func frames(t testing.TB, talks ...talk) (all [][]byte) {
	for i, k := range talks {
		all = append(all, k.frame(t, i))
	}
	return all
}

// network is two ports, what stands between them, and a clock that goes on by itself
// a little and by what is waited for.
type network struct {
	now     int64
	latency int64
	// dut says what becomes of the n-th frame from one side: it may change the frame
	// in place, and returns how many copies arrive and how much later.
	dut func(from sides.Side, n int, frame []byte) (copies int, later int64)
	// submit, if not nil, says how many frames a port takes.
	submit func(from sides.Side, n int) (int, error)

	ends  [2]end
	log   []event
	trace bool
}

// event is a frame that left, or arrived.
type event struct {
	sent  bool
	from  sides.Side
	frame string
	at    int64
}

type end struct {
	net   *network
	side  sides.Side
	slots []port.Slot
	sent  int
	// inbox is a ring of frames on their way here.
	inbox  []port.Frame
	memory [][]byte
	first  int
	count  int
	out    []port.Frame
}

const ring = 4096

func newNetwork() *network {
	n := &network{now: 1, latency: 50_000}
	for s := range n.ends {
		e := &n.ends[s]
		*e = end{net: n, side: sides.Side(s), slots: make([]port.Slot, 32), inbox: make([]port.Frame, ring), memory: make([][]byte, ring), out: make([]port.Frame, 0, ring)}
		for i := range e.slots {
			e.slots[i].Data = make([]byte, 2048)
		}
		for i := range e.memory {
			e.memory[i] = make([]byte, 2048)
		}
	}
	return n
}

func (n *network) clock() int64 {
	n.now += 100
	return n.now
}

func (n *network) both() [2]End {
	return [2]End{{W: &n.ends[0], R: &n.ends[0]}, {W: &n.ends[1], R: &n.ends[1]}}
}

// play plays a script over the network.
func (n *network) play(t testing.TB, ctx context.Context, s *Script, o Options) (*Account, error) {
	t.Helper()
	o, err := o.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	p := newPlay(s, n.both(), o, n.clock)
	err = p.run(ctx)
	return p.close(), err
}

func (e *end) BatchSize() int { return len(e.slots) }

func (e *end) Reserve(n int) []port.Slot { return e.slots[:min(n, len(e.slots))] }

func (e *end) Retries() uint64 { return 0 }

func (e *end) Close() error { return nil }

func (e *end) Stats() (port.ReadStats, error) { return port.ReadStats{}, nil }

func (e *end) Submit(_ context.Context, n int) (int, error) {
	var err error
	if e.net.submit != nil {
		n, err = e.net.submit(e.side, n)
	}
	for _, s := range e.slots[:n] {
		e.net.carry(e.side, s.Data[:s.Len])
	}
	return n, err
}

func (n *network) carry(from sides.Side, frame []byte) {
	e := &n.ends[from]
	if n.trace {
		n.log = append(n.log, event{true, from, string(frame), n.now})
	}
	e.sent++
	copies, later := 1, int64(0)
	if n.dut != nil {
		copies, later = n.dut(from, e.sent, frame)
	}
	to := &n.ends[from.Other()]
	for range copies {
		if to.count == ring {
			panic("more frames on the way than a test may have")
		}
		k := (to.first + to.count) % ring
		to.count++
		size := copy(to.memory[k], frame)
		to.inbox[k] = port.Frame{Data: to.memory[k][:size], Len: size, At: n.now + n.latency + later}
	}
}

func (e *end) Receive(wait time.Duration) ([]port.Frame, error) {
	until := e.net.now + int64(wait)
	e.out = e.out[:0]
	for {
		e.take()
		if len(e.out) > 0 || e.net.now >= until {
			return e.out, nil
		}
		e.net.now = min(until, e.soonest())
	}
}

// soonest returns when the next frame arrives here.
func (e *end) soonest() int64 {
	at := int64(math.MaxInt64)
	for k := range e.count {
		at = min(at, e.inbox[(e.first+k)%ring].At)
	}
	return at
}

// take takes what has arrived out of the ring; what is late lets others pass.
func (e *end) take() {
	for range e.count {
		f := e.inbox[e.first]
		if f.At <= e.net.now {
			if e.net.trace {
				e.net.log = append(e.net.log, event{false, e.side.Other(), string(f.Data), f.At})
			}
			e.out = append(e.out, f)
		} else {
			k := (e.first + e.count) % ring
			if e.count == ring {
				panic("ring")
			}
			e.inbox[k], e.memory[k], e.memory[e.first] = f, e.memory[e.first], e.memory[k]
			e.count++
		}
		e.first = (e.first + 1) % ring
		e.count--
	}
}

// sound checks all checksums of a frame.
func sound(f []byte) error {
	l := wire.Parse(f)
	if l.EtherType == wire.EtherTypeIPv4 && wire.Fold(wire.Sum(f[l.L3:l.L4])) != 0xffff {
		return fmt.Errorf("IPv4 header checksum is wrong")
	}
	var pseudo uint64
	if l.EtherType == wire.EtherTypeIPv4 {
		pseudo = wire.Sum(f[l.L3+12 : l.L3+20])
	} else {
		pseudo = wire.Sum(f[l.L3+8 : l.L3+40])
	}
	if l.Proto == wire.ProtoICMP {
		pseudo = 0
	} else {
		pseudo += uint64(l.Proto) + uint64(l.End-l.L4)
	}
	if wire.Fold(pseudo+wire.Sum(f[l.L4:l.End])) != 0xffff {
		return fmt.Errorf("checksum of protocol %d is wrong", l.Proto)
	}
	return nil
}
