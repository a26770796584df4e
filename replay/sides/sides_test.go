package sides

import (
	"net"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"squall/internal/plan"
)

var (
	hostA = net.HardwareAddr{2, 0, 0, 0, 0, 0xa}
	hostB = net.HardwareAddr{2, 0, 0, 0, 0, 0xb}
	all   = net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
)

func frame(t *testing.T, l ...gopacket.SerializableLayer) []byte {
	t.Helper()
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true}, l...); err != nil {
		t.Fatal(err)
	}
	return append([]byte(nil), b.Bytes()...)
}

// segment is a TCP segment from one of two hosts.
func segment(t *testing.T, src, dst string, syn, ack bool) []byte {
	t.Helper()
	a, b := netip.MustParseAddrPort(src), netip.MustParseAddrPort(dst)
	mac, to := hostA, hostB
	if a.Addr() == netip.MustParseAddr("10.0.0.2") {
		mac, to = hostB, hostA
	}
	return frame(t,
		&layers.Ethernet{SrcMAC: mac, DstMAC: to, EthernetType: layers.EthernetTypeIPv4},
		&layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolTCP, SrcIP: a.Addr().AsSlice(), DstIP: b.Addr().AsSlice()},
		&layers.TCP{SrcPort: layers.TCPPort(a.Port()), DstPort: layers.TCPPort(b.Port()), SYN: syn, ACK: ack})
}

func arp(t *testing.T, src net.HardwareAddr) []byte {
	t.Helper()
	return frame(t, &layers.Ethernet{SrcMAC: src, DstMAC: all, EthernetType: layers.EthernetTypeARP}, gopacket.Payload(make([]byte, 46)))
}

func TestSides(t *testing.T) {
	const a, b = "10.0.0.1:5000", "10.0.0.2:80"
	for _, row := range []struct {
		name   string
		net    string
		frames [][]byte
		want   []Side
	}{
		{"the SYN says it", "", [][]byte{segment(t, b, a, true, false), segment(t, a, b, true, true)}, []Side{Client, Server}},
		{"the SYN-ACK says it", "", [][]byte{segment(t, a, b, true, true), segment(t, b, a, false, true)}, []Side{Server, Client}},
		{"the lower port is the server's", "", [][]byte{segment(t, b, a, false, true), segment(t, a, b, false, true)}, []Side{Server, Client}},
		{"the first seen is the client", "", [][]byte{segment(t, "10.0.0.1:80", "10.0.0.2:80", false, true)}, []Side{Client}},
		{"the user says it", "10.0.0.2/32", [][]byte{segment(t, a, b, true, false), segment(t, b, a, true, true)}, []Side{Server, Client}},
		{"no IP: by sender", "", [][]byte{arp(t, hostB), segment(t, a, b, true, false), segment(t, b, a, true, true), arp(t, hostB), arp(t, hostA)},
			[]Side{Client, Client, Server, Server, Client}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var nets []netip.Prefix
			if row.net != "" {
				nets = append(nets, netip.MustParsePrefix(row.net))
			}
			s := NewSorter(nets)
			var got []Side
			for _, f := range row.frames {
				got = append(got, s.Sort(f).Side)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("sides (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSplit(t *testing.T) {
	const a, b = "10.0.0.1:5000", "10.0.0.2:80"
	frames := [][]byte{arp(t, hostA), segment(t, a, b, true, false), segment(t, b, a, true, true), segment(t, a, b, false, true), segment(t, b, a, false, true)}
	stream := &plan.Stream{Name: "capture"}
	for _, f := range frames {
		stream.Heads.Append(f)
	}
	whole, err := plan.New(plan.Plan{Streams: []*plan.Stream{stream}, Due: []int64{0, 10, 20, 30, 45}, Pass: 5})
	if err != nil {
		t.Fatal(err)
	}
	mac := func(last byte) net.HardwareAddr { return net.HardwareAddr{6, 0, 0, 0, 0, last} }
	x, err := Split(whole, Options{MACs: [2]MACs{{Src: mac(1), Dst: mac(2)}, {Src: mac(3)}}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([2][]uint32{{0, 1, 3}, {2, 4}}, x.Index); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([2][]int64{{0, 10, 30}, {20, 45}}, [2][]int64{x.Plans[0].Due, x.Plans[1].Due}); diff != "" {
		t.Errorf("due times (-want +got):\n%s", diff)
	}
	if x.Conversations != 1 || x.Without != 1 {
		t.Errorf("%d conversations, %d frames without IP, want 1 and 1", x.Conversations, x.Without)
	}
	want := []struct {
		side     Side
		dst, src net.HardwareAddr
	}{{Client, all, mac(1)}, {Client, mac(2), mac(1)}, {Server, hostA, mac(3)}, {Client, mac(2), mac(1)}, {Server, hostA, mac(3)}}
	n := [2]uint64{}
	for i, w := range want {
		got := make([]byte, x.Plans[w.side].MaxLen())
		got = got[:x.Plans[w.side].Write(got, n[w.side], 0)]
		n[w.side]++
		f := append(append(append([]byte(nil), w.dst...), w.src...), frames[i][12:]...)
		if diff := cmp.Diff(f, got); diff != "" {
			t.Errorf("frame %d (-want +got):\n%s", i, diff)
		}
	}
	if x, err = Split(whole, Options{IPOnly: true}); err != nil || x.Without != 1 || x.Plans[Client].Pass != 2 || x.Plans[Client].Due[0] != 10 {
		t.Errorf("IP only: %+v, %v, want two frames of the client's, the first after 10 ns", x, err)
	}
	if _, err := Split(&plan.Plan{}, Options{}); err == nil {
		t.Error("a plan that is no capture's was split")
	}
}

func TestSorterAllocations(t *testing.T) {
	s := NewSorter(nil)
	frames := [][]byte{segment(t, "10.0.0.1:5000", "10.0.0.2:80", true, false), segment(t, "10.0.0.2:80", "10.0.0.1:5000", true, true), arp(t, hostB)}
	if n := testing.AllocsPerRun(100, func() {
		for _, f := range frames {
			s.Sort(f)
		}
	}); n != 0 {
		t.Errorf("%g allocations, want none", n)
	}
}
