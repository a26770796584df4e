package lockstep

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"squall/internal/wire"
	"squall/replay/sides"
)

// nat is a box that translates: it refuses what a real one would.
type nat struct {
	outside, inside map[tuple]tuple // by what comes in on the client's and the server's side
	// translate makes the addresses and ports of a new connection.
	translate func(tuple) tuple
	dropped   int
	bad       error
}

func (b *nat) pass(from sides.Side, _ int, f []byte) (int, int64) {
	if err := sound(f); err != nil && b.bad == nil {
		b.bad = fmt.Errorf("from %v: %w", from, err)
	}
	l := wire.Parse(f)
	t, ok := tupleOf(f, l)
	if !ok {
		return 1, 0
	}
	known := b.outside
	if from == s {
		known = b.inside
	}
	to, ok := known[t]
	if !ok {
		if from == s { // nobody asked
			b.dropped++
			return 0, 0
		}
		to = b.translate(t)
		b.outside[t], b.inside[to.reply()] = to, t.reply()
	}
	readdress(f, to)
	f[l.L3+8]-- // TTL
	if l.EtherType == wire.EtherTypeIPv4 {
		adjust(f[l.L3+10:], wire.Delta(0x100, 0))
		// Some give frames an identification of their own.
		old := wire.Sum(f[l.L3+4 : l.L3+6])
		f[l.L3+5]++
		adjust(f[l.L3+10:], wire.Delta(wire.Fold(old), wire.Fold(wire.Sum(f[l.L3+4:l.L3+6]))))
	}
	return 1, 0
}

// masquerade translates all clients to one address, with ports that count up.
func masquerade() *nat {
	port := uint16(60000)
	public := netip.MustParseAddr("203.0.113.1")
	b := &nat{outside: map[tuple]tuple{}, inside: map[tuple]tuple{}}
	b.translate = func(t tuple) tuple {
		port--
		to := t
		to.src = netip.AddrPortFrom(public, port)
		if t.proto != wire.ProtoTCP && t.proto != wire.ProtoUDP {
			to.dst = netip.AddrPortFrom(t.dst.Addr(), port) // the identifier of an echo
		}
		return to
	}
	return b
}

// forward translates all servers to one inside.
func forward() *nat {
	b := &nat{outside: map[tuple]tuple{}, inside: map[tuple]tuple{}}
	b.translate = func(t tuple) tuple {
		t.dst = netip.AddrPortFrom(netip.MustParseAddr("172.16.0.9"), t.dst.Port()+8000)
		return t
	}
	return b
}

func TestLearn(t *testing.T) {
	// A hundred copies of one conversation: alike but for the client's address.
	var copies []talk
	for i := range 4 {
		for k := range 100 {
			x := talk{client: fmt.Sprintf("10.0.0.%d:1025", 1+k), server: "192.0.2.1:80", payload: fmt.Sprint(i)}
			x.syn, x.from = i < 2, sides.Side(i%2)
			copies = append(copies, x)
		}
	}
	for _, row := range []struct {
		name  string
		box   *nat
		talks []talk
		want  Account
	}{
		{"masquerade", masquerade(), chat(20, 30, 4), Account{Conversations: 20, Complete: 20, Translated: 20, Frames: 600, Arrived: 600}},
		{"port forwarding", forward(), chat(20, 30, 4), Account{Conversations: 20, Complete: 20, Translated: 20, Frames: 600, Arrived: 600}},
		{"copies", masquerade(), copies, Account{Conversations: 100, Complete: 100, Translated: 100, Frames: 400, Arrived: 400}},
	} {
		t.Run(row.name, func(t *testing.T) {
			all := frames(t, row.talks...)
			n := newNetwork()
			n.dut = row.box.pass
			a, err := n.play(t, t.Context(), compile(t, true, all...), Options{})
			if err != nil {
				t.Fatal(err)
			}
			counts(t, row.want, a)
			if row.box.dropped != 0 || row.box.bad != nil {
				t.Errorf("the box dropped %d frames, and saw %v", row.box.dropped, row.box.bad)
			}
		})
	}
}

// Without --learn nothing that is translated is known again.
func TestNotLearned(t *testing.T) {
	n := newNetwork()
	n.dut = masquerade().pass
	a, err := n.play(t, t.Context(), compile(t, false, frames(t, chat(3, 10, 4)...)...), Options{})
	if err != nil {
		t.Fatal(err)
	}
	counts(t, Account{Conversations: 3, Abandoned: 3, Frames: 30, GivenUp: 3, Unsent: 27, Retries: 9}, a)
}

// With --learn what is not translated passes as well, with losses too.
func TestLearnPlain(t *testing.T) {
	n := newNetwork()
	n.dut = func(_ sides.Side, i int, _ []byte) (int, int64) { return min(i%9, 1), 0 }
	a, err := n.play(t, t.Context(), compile(t, true, frames(t, chat(9, 30, 4)...)...), Options{Retries: 9})
	if err != nil {
		t.Fatal(err)
	}
	drops := uint64(n.ends[0].sent/9 + n.ends[1].sent/9)
	counts(t, Account{Conversations: 9, Complete: 9, Frames: 270, Arrived: 270, Retries: drops}, a)
}

func ping(t testing.TB, reply bool, id, seq uint16) []byte {
	t.Helper()
	src, dst, kind := "10.0.0.1", "192.0.2.1", layers.CreateICMPv4TypeCode(8, 0)
	if reply {
		src, dst, kind = dst, src, layers.CreateICMPv4TypeCode(0, 0)
	}
	return build(t, src, dst, layers.IPProtocolICMPv4, &layers.ICMPv4{TypeCode: kind, Id: id, Seq: seq}, gopacket.Payload("ping"))
}

func build(t testing.TB, src, dst string, proto layers.IPProtocol, upper ...gopacket.SerializableLayer) []byte {
	t.Helper()
	all := append([]gopacket.SerializableLayer{
		&layers.Ethernet{SrcMAC: []byte{2, 0, 0, 0, 0, 1}, DstMAC: []byte{2, 0, 0, 0, 0, 2}, EthernetType: layers.EthernetTypeIPv4},
		&layers.IPv4{Version: 4, TTL: 64, Protocol: proto, SrcIP: netip.MustParseAddr(src).AsSlice(), DstIP: netip.MustParseAddr(dst).AsSlice()},
	}, upper...)
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, all...); err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(b.Bytes())
}

// The identifier of an echo is followed like a port; ICMP errors and fragments are
// left out.
func TestLearnOthers(t *testing.T) {
	oops := build(t, "192.0.2.1", "10.0.0.1", layers.IPProtocolICMPv4, &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(3, 1)}, gopacket.Payload(make([]byte, 28)))
	piece := build(t, "10.0.0.1", "192.0.2.1", layers.IPProtocolUDP, gopacket.Payload(make([]byte, 32)))
	piece[14+6] = 0x20 // more fragments
	arp := make([]byte, 60)
	arp[12], arp[13] = 0x08, 0x06
	n := newNetwork()
	box := masquerade()
	n.dut = box.pass
	script := compile(t, true, arp, ping(t, false, 7, 1), ping(t, true, 7, 1), oops, piece, ping(t, false, 7, 2), ping(t, true, 7, 2))
	a, err := n.play(t, t.Context(), script, Options{})
	if err != nil {
		t.Fatal(err)
	}
	counts(t, Account{Conversations: 1, Complete: 1, Translated: 1, Frames: 4, Arrived: 4}, a)
	if want := (LeftOut{NoIP: 1, Fragments: 1, ICMPErrors: 1}); script.Left != want {
		t.Errorf("left out %+v, want %+v", script.Left, want)
	}
	if box.bad != nil {
		t.Error(box.bad)
	}
}

func TestNothingToPlay(t *testing.T) {
	arp := make([]byte, 60)
	arp[12], arp[13] = 0x08, 0x06
	if _, err := Compile(capture(t, arp, arp), sides.Options{}, false); err == nil {
		t.Error("a capture without IP was taken")
	}
}

// Whatever the frame, new addresses change nothing else, a right checksum stays right
// and a wrong one as wrong as it was, and back again gives the frame that was.
func FuzzReaddress(f *testing.F) {
	for _, k := range []talk{
		{client: "10.0.0.1:1025", server: "10.0.1.1:80", payload: "odd"},
		{client: "10.0.0.1:1025", server: "10.0.1.1:80", payload: "even", udp: true},
		{client: "[2001:db8::1]:1025", server: "[2001:db8::2]:80", payload: "six"},
		{client: "[2001:db8::1]:1025", server: "[2001:db8::2]:80", payload: "six", udp: true},
	} {
		f.Add(k.frame(f, 1), []byte("another address and its port"))
	}
	f.Add(ping(f, false, 7, 1), make([]byte, 36))
	f.Fuzz(func(t *testing.T, frame, to []byte) {
		l := wire.Parse(frame)
		was, ok := tupleOf(frame, l)
		if !ok || len(to) < 36 {
			return
		}
		next := tuple{proto: l.Proto}
		if was.src.Addr().Is4() {
			next.src, next.dst = netip.AddrPortFrom(netip.AddrFrom4([4]byte(to)), uint16(to[32])), netip.AddrPortFrom(netip.AddrFrom4([4]byte(to[16:])), uint16(to[34])<<8)
		} else {
			next.src, next.dst = netip.AddrPortFrom(netip.AddrFrom16([16]byte(to)), uint16(to[32])), netip.AddrPortFrom(netip.AddrFrom16([16]byte(to[16:])), uint16(to[34])<<8)
		}
		if was.src.Port() == was.dst.Port() {
			next.dst = netip.AddrPortFrom(next.dst.Addr(), next.src.Port())
		}
		if _, has := portsOf(frame, l); !has {
			next.src, next.dst = netip.AddrPortFrom(next.src.Addr(), 0), netip.AddrPortFrom(next.dst.Addr(), 0)
		}
		right := sound(frame) == nil
		got := bytes.Clone(frame)
		readdress(got, next)
		if now, _ := tupleOf(got, l); now != next {
			t.Fatalf("addresses %v, want %v", now, next)
		}
		if content(got, l) != content(frame, l) {
			t.Error("content changed")
		}
		if _, has := portsOf(frame, l); right && has {
			if err := sound(got); err != nil {
				t.Error(err)
			}
			readdress(got, was)
			if !bytes.Equal(got, frame) {
				t.Errorf("there and back:\n%x\n%x", frame, got)
			}
		}
	})
}
