package survey

import (
	"bytes"
	"encoding/binary"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"squall/internal/convo"
	"squall/pcaps"
)

var (
	macA = net.HardwareAddr{2, 0, 0, 0, 0, 1}
	macB = net.HardwareAddr{2, 0, 0, 0, 0, 2}
	a4   = net.IP{10, 0, 0, 1}
	b4   = net.IP{10, 0, 0, 2}
	a6   = net.ParseIP("2001:db8::1")
	b6   = net.ParseIP("2001:db8::2")
)

type layer = gopacket.SerializableLayer

// join serialises layers, with lengths and header checksums.
func join(t testing.TB, ls ...layer) []byte {
	t.Helper()
	b := gopacket.NewSerializeBuffer()
	for _, l := range ls {
		if u, ok := l.(*layers.UDP); ok {
			u.SetNetworkLayerForChecksum(&layers.IPv4{SrcIP: a4, DstIP: b4})
		}
		if u, ok := l.(*layers.TCP); ok {
			u.SetNetworkLayerForChecksum(&layers.IPv4{SrcIP: a4, DstIP: b4})
		}
	}
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, ls...); err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(b.Bytes())
}

func eth(et layers.EthernetType) *layers.Ethernet {
	return &layers.Ethernet{SrcMAC: macA, DstMAC: macB, EthernetType: et}
}

func v4(p layers.IPProtocol) *layers.IPv4 {
	return &layers.IPv4{Version: 4, TTL: 64, SrcIP: a4, DstIP: b4, Protocol: p}
}

func udp(to layers.UDPPort) *layers.UDP { return &layers.UDP{SrcPort: 4000, DstPort: to} }

func tcp() *layers.TCP { return &layers.TCP{SrcPort: 5000, DstPort: 80, ACK: true} }

const ip = layers.EthernetTypeIPv4

// frames has one of everything, by the path of protocols it is to be counted under.
func frames(t testing.TB) (list [][]byte, paths []string) {
	add := func(path string, b []byte) { list, paths = append(list, b), append(paths, path) }
	text := gopacket.Payload("0123456789abcdefghijklmnopqrstuvwxyz")
	inside := join(t, v4(layers.IPProtocolTCP), tcp(), text)
	whole := join(t, eth(ip), v4(layers.IPProtocolUDP), udp(53), text)
	gtpu := binary.BigEndian.AppendUint16([]byte{0x30, 0xff}, uint16(len(inside)))
	gtpu = append(append(gtpu, 0, 0, 0, 7), inside...)
	first, later := v4(layers.IPProtocolUDP), v4(layers.IPProtocolUDP)
	first.Flags, later.FragOffset = layers.IPv4MoreFragments, 50
	hop := append([]byte{58, 0, 1, 4, 0, 0, 0, 0}, 128, 0, 0, 0, 0, 0, 0, 0) // options, echo request

	add("Ethernet/IPv4/TCP", join(t, eth(ip), v4(layers.IPProtocolTCP), tcp(), text))
	add("Ethernet/IPv4/UDP", whole)
	add("Ethernet/ARP", join(t, eth(layers.EthernetTypeARP), gopacket.Payload(make([]byte, 46))))
	add("Ethernet/EtherType 0x1234", join(t, eth(0x1234), gopacket.Payload(make([]byte, 46))))
	add("Ethernet/LLC (802.3)", append(append(append([]byte{}, macB...), macA...), 0, 3, 0x42, 0x42, 3))
	add("Ethernet/VLAN (802.1Q)/IPv4/UDP", join(t, eth(layers.EthernetTypeDot1Q), &layers.Dot1Q{VLANIdentifier: 5, Type: ip}, v4(layers.IPProtocolUDP), udp(53)))
	add("Ethernet/VLAN (802.1ad)/VLAN (802.1Q)/IPv4/ICMP", join(t, eth(layers.EthernetTypeQinQ), &layers.Dot1Q{VLANIdentifier: 9, Type: layers.EthernetTypeDot1Q},
		&layers.Dot1Q{VLANIdentifier: 5, Type: ip}, v4(layers.IPProtocolICMPv4), &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(8, 0)}))
	add("Ethernet/IPv6/ICMPv6", join(t, eth(layers.EthernetTypeIPv6), &layers.IPv6{Version: 6, SrcIP: a6, DstIP: b6, NextHeader: 0}, gopacket.Payload(hop)))
	add("Ethernet/IPv4/fragments/UDP", join(t, eth(ip), first, udp(53), text))
	add("Ethernet/IPv4/fragments/UDP", join(t, eth(ip), later, text))
	add("Ethernet/IPv4/UDP/GTP-U/IPv4/TCP", join(t, eth(ip), v4(layers.IPProtocolUDP), udp(2152), gopacket.Payload(gtpu)))
	add("Ethernet/IPv4/UDP/VXLAN/Ethernet/IPv4/UDP", join(t, eth(ip), v4(layers.IPProtocolUDP), udp(4789), gopacket.Payload(append([]byte{8, 0, 0, 0, 0, 0, 7, 0}, whole...))))
	add("Ethernet/IPv4/GRE/IPv4/TCP", join(t, eth(ip), v4(layers.IPProtocolGRE), gopacket.Payload(append([]byte{0, 0, 8, 0}, inside...))))
	add("Ethernet/IPv4/IPv4 in IP/IPv4/TCP", join(t, eth(ip), v4(layers.IPProtocolIPv4), gopacket.Payload(inside)))
	add("Ethernet/cut off or not sound", whole[:10])
	add("Ethernet/IPv4/cut off or not sound", whole[:20])
	return list, paths
}

// flat lists a tree's leaves and what is counted at each node itself, by path.
func flat(list []Protocol, above string, into map[string]uint64) {
	for _, p := range list {
		own := p.Frames
		for _, w := range p.Within {
			own -= w.Frames
		}
		path := strings.TrimPrefix(above+"/"+p.Name, "/")
		if own > 0 {
			into[path] += own
		}
		flat(p.Within, path, into)
	}
}

func TestProtocols(t *testing.T) {
	list, paths := frames(t)
	s, want, got := New(Options{}), map[string]uint64{}, map[string]uint64{}
	for i, f := range list {
		s.Add(&pcaps.Record{Data: f, Len: len(f), LinkType: pcaps.Ethernet, Time: int64(i) * 1e6})
		want[paths[i]]++
	}
	r := s.Report()
	flat(r.Protocols, "", got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("protocols (-want +got):\n%s", diff)
	}
	if r.BadChecksums != 0 {
		t.Errorf("%d wrong header checksums, want none", r.BadChecksums)
	}
	addsUp(t, r)
}

// addsUp checks that every frame is in each part of a report once.
func addsUp(t *testing.T, r *Report) {
	t.Helper()
	var links, protocols, sized, bytes uint64
	for _, l := range r.LinkTypes {
		links += l.Frames
	}
	for _, p := range r.Protocols {
		protocols += p.Frames
		bytes += p.Bytes
	}
	if r.Sizes != nil {
		for _, b := range r.Sizes.Buckets {
			sized += b.Frames
		}
	}
	f := r.Replay
	if links != r.Frames || protocols != r.Frames || bytes != r.Bytes || sized+f.LinkType != r.Frames || f.Sent+f.Truncated+f.Oversize+f.Short+f.LinkType != r.Frames {
		t.Errorf("%d frames, %d bytes; by link type %d, by protocol %d (%d bytes), by size %d, by fate %+v", r.Frames, r.Bytes, links, protocols, bytes, sized, f)
	}
}

// whole is a sound Ethernet record of n bytes.
func whole(n int, at int64) pcaps.Record {
	return pcaps.Record{Data: make([]byte, n), Len: n, Time: at, LinkType: pcaps.Ethernet}
}

func TestFates(t *testing.T) {
	tagged := func(n int, et uint16) pcaps.Record {
		r := whole(n, 0)
		binary.BigEndian.PutUint16(r.Data[12:], et)
		return r
	}
	cut := func(have, n int) pcaps.Record { r := whole(have, 0); r.Len = n; return r }
	for _, tt := range []struct {
		name string
		rec  pcaps.Record
		mtu  int
		want Replay
	}{
		{"full", whole(1514, 0), 0, Replay{MTU: 1500, Sent: 1}},
		{"one byte too long", whole(1515, 0), 0, Replay{MTU: 1500, Oversize: 1}},
		{"a tag more", tagged(1518, 0x8100), 0, Replay{MTU: 1500, Sent: 1}},
		{"a tag and one byte more", tagged(1519, 0x8100), 0, Replay{MTU: 1500, Oversize: 1}},
		{"a tag more of a type that is not granted", tagged(1518, 0x88a8), 0, Replay{MTU: 1500, Oversize: 1}},
		{"jumbo", whole(9014, 0), 9000, Replay{MTU: 9000, Sent: 1}},
		{"cut", cut(96, 100), 0, Replay{MTU: 1500, Truncated: 1}},
		{"cut and too long", cut(96, 2000), 0, Replay{MTU: 1500, Truncated: 1}},
		{"cut and short", cut(5, 13), 0, Replay{MTU: 1500, Short: 1}},
		{"short", whole(13, 0), 0, Replay{MTU: 1500, Short: 1}},
		{"no Ethernet", pcaps.Record{Data: make([]byte, 20), Len: 20, LinkType: 182}, 0, Replay{MTU: 1500, LinkType: 1}},
	} {
		s := New(Options{MTU: tt.mtu})
		s.Add(&tt.rec)
		r := s.Report()
		if diff := cmp.Diff(tt.want, r.Replay); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		addsUp(t, r)
	}
}

func TestTimes(t *testing.T) {
	s := New(Options{})
	for _, r := range []pcaps.Record{
		whole(60, 1e9), whole(60, 3e9), whole(60, 2e9), whole(60, 25e8), whole(60, 1e8),
		{Data: make([]byte, 60), Len: 60, LinkType: pcaps.Ethernet, Clock: pcaps.ClockNone},
		{Data: make([]byte, 60), Len: 60, LinkType: pcaps.Ethernet, Clock: pcaps.ClockInvalid, Time: 7e9},
	} {
		s.Add(&r)
	}
	want := Times{First: "1970-01-01T00:00:00.100000000Z", Last: "1970-01-01T00:00:03.000000000Z", Duration: 29e8,
		Backwards: 2, LargestBack: 24e8, LargestGap: 2e9, None: 1, Invalid: 1}
	if diff := cmp.Diff(want, s.Report().Times); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
}

// 1,000 frames of 64 bytes a ms apart: 999 ms from the first to the last.
func TestRatesAndSizes(t *testing.T) {
	s := New(Options{})
	f := join(t, eth(ip), v4(layers.IPProtocolUDP), udp(53), gopacket.Payload(make([]byte, 18)))
	for i := range 1000 {
		s.Add(&pcaps.Record{Data: f, Len: len(f), Time: 1e9 + int64(i)*1e6, LinkType: pcaps.Ethernet})
	}
	r := s.Report()
	want := Rates{Frames: 1000 / 0.999, L1: 1000 * 84 * 8 / 0.999, L2: 1000 * 64 * 8 / 0.999, L3: 1000 * 46 * 8 / 0.999}
	if diff := cmp.Diff(&want, r.Rates, cmp.Comparer(func(a, b float64) bool { return a/b > 1-1e-12 && a/b < 1+1e-12 })); diff != "" {
		t.Errorf("rates (-want +got):\n%s", diff)
	}
	sizes := map[string]uint64{}
	s = New(Options{})
	for _, size := range []int{20, 63, 64, 65, 127, 128, 255, 256, 511, 512, 1023, 1024, 1518, 1519, 1522, 1523, 9018, 9019} {
		rec := whole(size-4, 0)
		s.Add(&rec)
	}
	r = s.Report()
	for _, b := range r.Sizes.Buckets {
		sizes[b.Size] = b.Frames
	}
	if diff := cmp.Diff(map[string]uint64{"<64": 2, "64": 1, "65-127": 2, "128-255": 2, "256-511": 2, "512-1023": 2, "1024-1518": 2, "1519-1522": 2, "1523-9018": 2, ">9018": 1}, sizes); diff != "" {
		t.Errorf("sizes (-want +got):\n%s", diff)
	}
	if r.Sizes.Min != 20 || r.Sizes.Max != 9019 {
		t.Errorf("sizes from %d to %d, want 20 to 9019", r.Sizes.Min, r.Sizes.Max)
	}
}

func TestBadChecksum(t *testing.T) {
	f := join(t, eth(ip), v4(layers.IPProtocolTCP), tcp())
	f[24] ^= 1
	s := New(Options{})
	s.Add(&pcaps.Record{Data: f, Len: len(f), LinkType: pcaps.Ethernet})
	if n := s.Report().BadChecksums; n != 1 {
		t.Errorf("%d wrong header checksums, want 1", n)
	}
}

// The tree has a bound: what is beyond it is counted, under another name.
func TestTreeIsBounded(t *testing.T) {
	s := New(Options{})
	for et := 0x600; et < 0x600+2*maxNodes; et++ {
		rec := whole(60, 0)
		binary.BigEndian.PutUint16(rec.Data[12:], uint16(et))
		s.Add(&rec)
	}
	if n := len(s.tree.nodes); n > maxNodes+1 {
		t.Errorf("%d nodes, want at most %d and one for the rest", n, maxNodes)
	}
	addsUp(t, s.Report())
}

// Of some conversations those with the most bytes are listed, wherever they come.
func TestTop(t *testing.T) {
	s := New(Options{Top: 3})
	for port, n := range []int{200, 900, 100, 500, 900, 300} {
		u := udp(53)
		u.SrcPort = layers.UDPPort(5000 + port)
		f := join(t, eth(ip), v4(layers.IPProtocolUDP), u)
		s.Add(&pcaps.Record{Data: f, Len: n, LinkType: pcaps.Ethernet})
	}
	var got []int
	for _, c := range s.Report().Conversations.Top {
		got = append(got, c.ID)
	}
	if diff := cmp.Diff([]int{1, 4, 3}, got); diff != "" {
		t.Errorf("conversations (-want +got):\n%s", diff)
	}
}

// Conversations beyond those kept are counted apart.
func TestUntracked(t *testing.T) {
	s := New(Options{Top: 1, Convo: convo.Options{Max: 1}})
	for port := range 3 {
		u := udp(53)
		u.SrcPort = layers.UDPPort(5000 + port)
		f := join(t, eth(ip), v4(layers.IPProtocolUDP), u)
		s.Add(&pcaps.Record{Data: f, Len: len(f), LinkType: pcaps.Ethernet})
	}
	if c := s.Report().Conversations; c.Total != 1 || c.Untracked != 2 || len(c.Top) != 1 || c.Top[0].Client != "10.0.0.1:5000" {
		t.Errorf("%+v, want one conversation, and 2 frames of others", c)
	}
}

func TestNoAllocations(t *testing.T) {
	list, _ := frames(t)
	s := New(Options{})
	add := func() {
		for _, f := range list {
			s.Add(&pcaps.Record{Data: f, Len: len(f), LinkType: pcaps.Ethernet})
		}
	}
	add()
	// The first of several fragments is remembered in a map, which has its place by now.
	if n := testing.AllocsPerRun(100, add); n > 0 {
		t.Errorf("%v allocations for %d frames", n, len(list))
	}
}

func TestMixture(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mixed.pcap")
	n, talks := mixture(t, path, 0, 1<<20)
	f, r, err := Read(t.Context(), path, Options{Top: 5})
	if err != nil {
		t.Fatal(err)
	}
	if r.Frames != uint64(n) || r.Conversations.Total != talks || r.BadChecksums > 0 || f.Format != "pcap" || f.Resolution != "ns" || len(r.Conversations.Top) != 5 {
		t.Errorf("%+v, %+v; want %d frames, %d conversations", f, r, n, talks)
	}
	addsUp(t, r)
	for i, c := range r.Conversations.Top[1:] {
		if before := r.Conversations.Top[i]; c.ClientBytes+c.ServerBytes > before.ClientBytes+before.ServerBytes {
			t.Errorf("conversation %d is larger than %d in front of it", c.ID, before.ID)
		}
	}
}

func FuzzAdd(f *testing.F) {
	list, _ := frames(f)
	for _, b := range list {
		f.Add(b, len(b), uint16(pcaps.Ethernet))
	}
	f.Add(list[0][14:], 100, uint16(pcaps.Raw))
	f.Fuzz(func(t *testing.T, b []byte, length int, link uint16) {
		s := New(Options{Top: 1})
		s.Add(&pcaps.Record{Data: b, Len: max(length&0xffff, len(b)), LinkType: pcaps.LinkType(link)})
		addsUp(t, s.Report())
	})
}
