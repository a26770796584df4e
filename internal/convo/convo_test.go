package convo

import (
	"encoding/binary"
	"net"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

var (
	low  = net.IP{10, 0, 0, 1}
	high = net.IP{10, 0, 0, 2}
	six  = net.ParseIP("2001:db8::1")
	six2 = net.ParseIP("2001:db8::2")
)

func end(ip net.IP, port uint16) Endpoint {
	a, _ := netip.AddrFromSlice(ip)
	return Endpoint{a.Unmap(), port}
}

// frame serialises layers behind Ethernet.
func frame(t testing.TB, ls ...gopacket.SerializableLayer) []byte {
	t.Helper()
	b := gopacket.NewSerializeBuffer()
	eth := &layers.Ethernet{SrcMAC: make(net.HardwareAddr, 6), DstMAC: make(net.HardwareAddr, 6), EthernetType: layers.EthernetTypeIPv4}
	switch l := ls[0].(type) {
	case *layers.IPv6:
		eth.EthernetType = layers.EthernetTypeIPv6
	case *layers.Dot1Q:
		eth.EthernetType = layers.EthernetTypeDot1Q
	case *layers.ARP:
		eth.EthernetType = layers.EthernetTypeARP
	default:
		_ = l
	}
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true}, append([]gopacket.SerializableLayer{eth}, ls...)...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func ip4(src, dst net.IP, proto layers.IPProtocol) *layers.IPv4 {
	return &layers.IPv4{Version: 4, TTL: 64, SrcIP: src, DstIP: dst, Protocol: proto, Id: 7}
}

func tcp(t testing.TB, src, dst net.IP, from, to uint16, seq, ack uint32, flags uint8, payload int) []byte {
	h := &layers.TCP{SrcPort: layers.TCPPort(from), DstPort: layers.TCPPort(to), Seq: seq, Ack: ack, Window: 9,
		FIN: flags&FIN != 0, SYN: flags&SYN != 0, RST: flags&RST != 0, ACK: flags&ACK != 0}
	return frame(t, ip4(src, dst, layers.IPProtocolTCP), h, gopacket.Payload(make([]byte, payload)))
}

// fragmentOfUDP makes part of a datagram.
func fragmentOfUDP(t testing.TB, off int, more bool) []byte {
	h := ip4(low, high, layers.IPProtocolUDP)
	h.FragOffset = uint16(off / 8)
	if more {
		h.Flags = layers.IPv4MoreFragments
	}
	if off > 0 {
		return frame(t, h, gopacket.Payload(make([]byte, 64)))
	}
	return frame(t, h, &layers.UDP{SrcPort: 5000, DstPort: 53}, gopacket.Payload(make([]byte, 56)))
}

func TestDecode(t *testing.T) {
	tests := []struct {
		name     string
		frame    []byte
		want     Packet
		src, dst Endpoint
		payload  int
	}{
		{"TCP", tcp(t, low, high, 1000, 80, 5, 6, SYN|ACK, 10),
			Packet{EtherType: 0x800, L3: 14, L4: 34, Payload: 54, End: 64, Len: 50, Proto: 6, ID: 7, Transport: true, Seq: 5, Ack: 6, Flags: SYN | ACK, Window: 9},
			end(low, 1000), end(high, 80), 10},
		{"UDP behind a VLAN tag", frame(t, &layers.Dot1Q{Type: layers.EthernetTypeIPv4}, ip4(high, low, layers.IPProtocolUDP), &layers.UDP{SrcPort: 1, DstPort: 2}, gopacket.Payload("abc")),
			Packet{EtherType: 0x800, VLANs: 1, L3: 18, L4: 38, Payload: 46, End: 49, Len: 31, Proto: 17, ID: 7, Transport: true}, end(high, 1), end(low, 2), 3},
		{"IPv6 with padding", append(frame(t, &layers.IPv6{Version: 6, SrcIP: six, DstIP: six2, NextHeader: layers.IPProtocolUDP}, &layers.UDP{SrcPort: 9, DstPort: 8}, gopacket.Payload("x")), 0, 0, 0),
			Packet{EtherType: 0x86dd, L3: 14, L4: 54, Payload: 62, End: 63, Len: 49, Six: true, Proto: 17, Transport: true}, end(six, 9), end(six2, 8), 1},
		{"cut", tcp(t, low, high, 1000, 80, 5, 6, ACK, 100)[:60],
			Packet{EtherType: 0x800, L3: 14, L4: 34, Payload: 54, End: 60, Len: 140, Proto: 6, ID: 7, Transport: true, Seq: 5, Ack: 6, Flags: ACK, Window: 9}, end(low, 1000), end(high, 80), 100},
		{"cut within TCP", tcp(t, low, high, 1000, 80, 5, 6, ACK, 100)[:50],
			Packet{EtherType: 0x800, L3: 14, L4: 34, Payload: 34, End: 50, Len: 140, Proto: 6, ID: 7}, end(low, 0), end(high, 0), 120},
		{"second fragment", fragmentOfUDP(t, 64, true),
			Packet{EtherType: 0x800, L3: 14, L4: 34, Payload: 34, End: 98, Len: 84, Proto: 17, ID: 7, Fragment: true, Offset: 64}, end(low, 0), end(high, 0), 64},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p Packet
			if !p.Decode(tt.frame) {
				t.Fatal("no packet")
			}
			if p.Src() != tt.src || p.Dst() != tt.dst || p.PayloadLen() != tt.payload {
				t.Errorf("%v -> %v, %d bytes, want %v -> %v, %d", p.Src(), p.Dst(), p.PayloadLen(), tt.src, tt.dst, tt.payload)
			}
			p.key, p.backward = key{}, false
			if diff := cmp.Diff(tt.want, p, cmp.AllowUnexported(Packet{}, key{})); diff != "" {
				t.Errorf("packet (-want +got):\n%s", diff)
			}
		})
	}
	for name, b := range map[string][]byte{"nothing": nil, "no type": make([]byte, 13), "ARP": frame(t, &layers.ARP{HwAddressSize: 6, ProtAddressSize: 4,
		SourceHwAddress: make([]byte, 6), DstHwAddress: make([]byte, 6), SourceProtAddress: low, DstProtAddress: high})} {
		if new(Packet).Decode(b) {
			t.Errorf("%s is a packet", name)
		}
	}
}

// found is what Find says of a frame.
type found struct {
	ID     int
	Client bool
}

func TestFind(t *testing.T) {
	c := func(from, to uint16, seq, ack uint32, flags uint8) []byte {
		return tcp(t, low, high, from, to, seq, ack, flags, 0)
	}
	s := func(from, to uint16, seq, ack uint32, flags uint8) []byte {
		return tcp(t, high, low, from, to, seq, ack, flags, 0)
	}
	icmp := func(src, dst net.IP) []byte {
		return frame(t, ip4(src, dst, layers.IPProtocolICMPv4), &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(8, 0), Id: 5})
	}
	tests := []struct {
		name   string
		o      Options
		frames [][]byte
		want   []found
	}{
		{"a SYN's sender is the client, whatever the ports", Options{}, [][]byte{c(80, 5000, 1, 0, SYN), s(5000, 80, 9, 2, SYN|ACK), c(80, 5000, 2, 10, ACK)},
			[]found{{0, true}, {0, false}, {0, true}}},
		{"a SYN-ACK seen first", Options{}, [][]byte{s(5000, 80, 9, 2, SYN|ACK), c(80, 5000, 1, 0, SYN), c(80, 5000, 2, 10, ACK)}, []found{{0, false}, {0, true}, {0, true}}},
		{"the lower port is the server's", Options{}, [][]byte{s(80, 5000, 9, 2, ACK), c(5000, 80, 1, 0, ACK)}, []found{{0, false}, {0, true}}},
		{"equal ports: first seen", Options{}, [][]byte{s(179, 179, 9, 2, ACK), c(179, 179, 1, 0, ACK)}, []found{{0, true}, {0, false}}},
		{"a network of clients", Options{ClientNet: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/32")}}, [][]byte{c(5000, 80, 1, 0, SYN), s(80, 5000, 1, 2, SYN|ACK)}, []found{{0, false}, {0, true}}},
		{"a SYN again", Options{}, [][]byte{c(5000, 80, 1, 0, SYN), c(5000, 80, 1, 0, SYN), s(80, 5000, 4, 2, SYN|ACK), c(5000, 80, 1, 0, SYN)}, []found{{0, true}, {0, true}, {0, false}, {0, true}}},
		{"a port used again", Options{}, [][]byte{c(5000, 80, 1, 0, SYN), c(5000, 80, 2, 1, FIN|ACK), c(5000, 80, 77, 0, SYN), c(5000, 80, 78, 1, ACK)}, []found{{0, true}, {0, true}, {1, true}, {1, true}}},
		{"closed, and the same sequence number again", Options{}, [][]byte{c(5000, 80, 1, 0, SYN), c(5000, 80, 2, 1, FIN|ACK), c(5000, 80, 1, 0, SYN), s(80, 5000, 9, 2, FIN|ACK), c(5000, 80, 1, 0, SYN)},
			[]found{{0, true}, {0, true}, {0, true}, {0, false}, {1, true}}},
		{"reset, and the same sequence number again", Options{}, [][]byte{c(5000, 80, 1, 0, SYN), s(80, 5000, 0, 2, RST|ACK), c(5000, 80, 1, 0, SYN)}, []found{{0, true}, {0, false}, {1, true}}},
		{"a SYN after a beginning in the middle", Options{}, [][]byte{c(5000, 80, 2, 1, ACK), c(5000, 80, 77, 0, SYN)}, []found{{0, true}, {1, true}}},
		{"both open", Options{}, [][]byte{c(5000, 80, 1, 0, SYN), s(80, 5000, 4, 0, SYN)}, []found{{0, true}, {0, false}}},
		{"the other protocol is another conversation", Options{}, [][]byte{c(5000, 80, 1, 0, SYN),
			frame(t, ip4(low, high, layers.IPProtocolUDP), &layers.UDP{SrcPort: 5000, DstPort: 80})}, []found{{0, true}, {1, true}}},
		{"ICMP belongs to the addresses", Options{}, [][]byte{icmp(low, high), icmp(high, low)}, []found{{0, true}, {0, false}}},
		{"fragments", Options{}, [][]byte{fragmentOfUDP(t, 0, true), fragmentOfUDP(t, 64, true), fragmentOfUDP(t, 128, false)}, []found{{0, true}, {0, true}, {0, true}}},
		{"a fragment without its first", Options{}, [][]byte{fragmentOfUDP(t, 64, true), fragmentOfUDP(t, 0, true), fragmentOfUDP(t, 128, false)}, []found{{0, true}, {1, true}, {1, true}}},
		{"no more than Max", Options{Max: 1}, [][]byte{c(1, 2, 1, 0, SYN), c(3, 4, 1, 0, SYN), s(2, 1, 3, 2, ACK)}, []found{{0, true}, {-1, false}, {0, false}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := NewTable(tt.o)
			var got []found
			for _, f := range tt.frames {
				var p Packet
				if !p.Decode(f) {
					t.Fatal("no packet")
				}
				f := found{ID: -1}
				if c, client := table.Find(&p); c != nil {
					f = found{c.ID, client}
					if from := p.Src(); client && from.Addr != c.Client.Addr {
						t.Errorf("frame from %v is the client's, which is %v", from, c.Client)
					}
				}
				got = append(got, f)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("conversations (-want +got):\n%s", diff)
			}
			if n := table.Untracked; (n > 0) != (tt.o.Max > 0) {
				t.Errorf("%d frames untracked", n)
			}
		})
	}
}

// Many conversations are told apart as a map tells them.
func TestMany(t *testing.T) {
	table := NewTable(Options{})
	f := tcp(t, low, high, 1, 2, 5, 6, ACK, 0)
	ids := map[[8]byte]int{}
	var p Packet
	for i := range 200_000 {
		binary.BigEndian.PutUint32(f[26:], uint32(i)*2654435761%5000)
		binary.BigEndian.PutUint16(f[34:], uint16(i%97))
		p.Decode(f)
		c, _ := table.Find(&p)
		k := [8]byte(append(append([]byte{}, f[26:30]...), f[34:38]...))
		if id, ok := ids[k]; ok && id != c.ID {
			t.Fatalf("frame %d belongs to %d, before to %d", i, c.ID, id)
		}
		ids[k] = c.ID
	}
	if len(ids) != len(table.Conversations()) {
		t.Errorf("%d conversations, want %d", len(table.Conversations()), len(ids))
	}
}

func TestNoAllocations(t *testing.T) {
	table, f := NewTable(Options{}), tcp(t, low, high, 1, 2, 5, 6, ACK, 0)
	var p Packet
	if n := testing.AllocsPerRun(100, func() { p.Decode(f); table.Find(&p) }); n > 0 {
		t.Errorf("%v allocations a frame", n)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(tcp(f, low, high, 1, 2, 5, 6, ACK, 3))
	f.Add(fragmentOfUDP(f, 64, true))
	f.Add(frame(f, &layers.IPv6{Version: 6, SrcIP: six, DstIP: six2, NextHeader: 44}, gopacket.Payload([]byte{17, 0, 0, 1, 0, 0, 0, 5, 0, 1, 0, 2, 0, 8, 0, 0})))
	f.Fuzz(func(t *testing.T, b []byte) {
		var p Packet
		table := NewTable(Options{})
		if !p.Decode(b) {
			return
		}
		if !(14 <= p.L3 && p.L3 <= p.L4 && p.L4 <= p.Payload && p.Payload <= p.End && p.End <= len(b)) {
			t.Errorf("offsets %+v of %d bytes", p, len(b))
		}
		if c, _ := table.Find(&p); c == nil {
			t.Error("a packet without a conversation")
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	f := tcp(b, low, high, 1, 2, 5, 6, ACK, 0)
	var p Packet
	for b.Loop() {
		p.Decode(f)
	}
}

// BenchmarkFind goes round 65,536 conversations: each is far from the caches.
func BenchmarkFind(b *testing.B) {
	table, f := NewTable(Options{}), tcp(b, low, high, 1, 2, 5, 6, ACK, 0)
	var p Packet
	i := 0
	for b.Loop() {
		i++
		f[29], f[35] = byte(i), byte(i>>8)
		p.Decode(f)
		table.Find(&p)
	}
}
