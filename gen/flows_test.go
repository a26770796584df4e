package gen

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"squall/internal/wire"
)

// TestFlowsDiffer: N flows are N different tuples, and tell what they differ in.
func TestFlowsDiffer(t *testing.T) {
	tests := []struct {
		name   string
		layers []Layer
		flows  uint64
		by     []string
	}{
		{"udp", []Layer{{Name: "udp"}}, 1000, []string{"udp.src"}},
		{"udp, all ports", []Layer{{Name: "udp"}}, 64512, []string{"udp.src"}},
		{"udp, more than ports", []Layer{{Name: "udp"}}, 200_000, []string{"udp.src", "ipv4.src"}},
		{"udp6, more than ports", []Layer{{Name: "ipv6"}, {Name: "udp"}}, 130_000, []string{"udp.src", "ipv6.src"}},
		{"tcp", []Layer{{Name: "tcp", Fields: map[string]string{"src": "65535"}}}, 10, []string{"tcp.src"}},
		{"ip", []Layer{{Name: "ipv4"}}, 70_000, []string{"ipv4.src"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := compileOne(t, Spec{Layers: tt.layers, Flows: tt.flows})
			if diff := cmp.Diff(tt.by, src.Streams[0].FlowsBy); diff != "" {
				t.Errorf("flows differ by (-want +got):\n%s", diff)
			}
			s := src.Plan.Streams[0]
			seen := make(map[string]bool)
			for k := range tt.flows {
				b := s.Heads.At(k)
				if l := wire.Parse(b); l.Proto == wire.ProtoUDP || l.Proto == wire.ProtoTCP {
					if binary.BigEndian.Uint16(b[l.L4:]) < 1024 {
						t.Fatalf("flow %d has a well-known source port", k)
					}
				}
				seen[string(b)] = true
			}
			if uint64(len(seen)) != tt.flows {
				t.Errorf("have %d different flows, need %d", len(seen), tt.flows)
			}
		})
	}
}

// TestManyFlows compiles the flow table of a firewall: 1.5 million connections.
func TestManyFlows(t *testing.T) {
	src := compileOne(t, Spec{Flows: 1_500_000, Layers: []Layer{{Name: "vlan"}, {Name: "ipv6"}, {Name: "tcp"}}, Size: "128"})
	if have := src.Plan.Streams[0].Heads.Len(); have != 1_500_000 {
		t.Errorf("have %d heads", have)
	}
	compare(t, "ethernet/vlan/ipv6/tcp", Spec{
		Flows: 1_500_000, Layers: specOf("ethernet/vlan/ipv6/tcp").Layers, Size: "128",
		Vary: []Vary{{Field: "tcp.src", Start: "1024", Count: 64512, Per: "flow"}, {Field: "ipv6.src", Every: 64512, Per: "flow"}},
	}, src, 1_400_000, 100)
}

func TestSimple(t *testing.T) {
	tests := []struct {
		name   string
		simple Simple
		layers string
		check  func(frame []byte) any
		want   any
	}{
		{"zero", Simple{}, "ethernet/ipv4/udp", func(f []byte) any { return f[26:38] }, hexBytes("c6120001 c6120101 c020 0009")},
		{"ports", Simple{SrcPort: 7, DstPort: 8}, "ethernet/ipv4/udp", func(f []byte) any { return f[34:38] }, hexBytes("0007 0008")},
		{"tcp flags", Simple{Proto: "tcp", TCPFlags: "syn+ack", Size: "128"}, "ethernet/ipv4/tcp", func(f []byte) any { return f[47] }, byte(0x12)},
		{"IPv6 by address", Simple{Dst: "2001:2::99"}, "ethernet/ipv6/udp", func(f []byte) any { return f[53] }, byte(0x99)},
		{"IPv6 by flag", Simple{IPv6: true, Proto: "icmp"}, "ethernet/ipv6/icmp", func(f []byte) any { return f[54] }, byte(128)},
		{"VLANs", Simple{VLAN: []uint16{5, 6}}, "ethernet/vlan/vlan/ipv4/udp", func(f []byte) any { return f[12:22] }, hexBytes("8100 0005 8100 0006 0800")},
		{"dscp and ttl", Simple{DSCP: 46, TTL: 3}, "ethernet/ipv4/udp", func(f []byte) any { return []byte{f[15], f[22]} }, []byte{46 << 2, 3}},
		{"arp", Simple{Proto: "arp", Src: "10.0.0.1", Dst: "10.0.0.2"}, "ethernet/arp", func(f []byte) any { return f[38:42] }, hexBytes("0a000002")},
		{"ethernet", Simple{Proto: "ethernet", DstMAC: "02:00:00:00:00:09"}, "ethernet", func(f []byte) any { return f[:6] }, hexBytes("020000000009")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spec, err := tt.simple.Spec()
			if err != nil {
				t.Fatal(err)
			}
			src := compileOne(t, spec)
			if diff := cmp.Diff(tt.layers, src.Streams[0].Layers); diff != "" {
				t.Errorf("layers (-want +got):\n%s", diff)
			}
			buf := make([]byte, src.Plan.MaxLen())
			src.Plan.Write(buf, 0, 0)
			if diff := cmp.Diff(tt.want, tt.check(buf)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for _, s := range []Simple{
		{Src: "198.18.0.1", Dst: "2001:2::1"}, {Src: "host"}, {Proto: "sctp"}, {Proto: "icmp", SrcPort: 5}, {TCPFlags: "syn"},
		{Proto: "arp", Src: "2001:2::1"}, {Proto: "ethernet", Src: "10.0.0.1"}, {Proto: "arp", TTL: 4}, {Proto: "ipv4", IPv6: true},
	} {
		if _, err := s.Spec(); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
}

// TestStreams: in a plan of several streams each counts its own frames, without
// a gap, and what is random in one is not in the other.
func TestStreams(t *testing.T) {
	two := []Vary{{Field: "ipv4.dst", Mode: "random"}}
	src, err := Compile([]Spec{{Weight: 2, Vary: two}, {Weight: 3, Size: "imix", Vary: two}, {Weight: 1, Layers: []Layer{{Name: "arp"}}}}, testTarget)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, src.Plan.MaxLen())
	next := make(map[uint16]uint64)
	seen := make(map[uint32]bool)
	for i := range uint64(600) {
		f := buf[:src.Plan.Write(buf, i, int64(i))]
		tag, ok := wire.FindTag(f)
		want := wire.Tag{Run: testTarget.Run, Stream: tag.Stream, Seq: next[tag.Stream], Sent: int64(i)}
		if diff := cmp.Diff(want, tag); !ok || diff != "" {
			t.Fatalf("frame %d (-want +got):\n%s", i, diff)
		}
		next[tag.Stream]++
		if tag.Stream != 5 {
			seen[u32(f[30:])] = true
		}
	}
	if diff := cmp.Diff(map[uint16]uint64{3: 200, 4: 300, 5: 100}, next); diff != "" {
		t.Errorf("frames of the streams (-want +got):\n%s", diff)
	}
	if len(seen) != 500 {
		t.Errorf("have %d different random addresses, need 500", len(seen))
	}
}

// TestSeed: the same seed gives the same frames, another one others.
func TestSeed(t *testing.T) {
	frames := func(seed uint64) []byte {
		p := compileOne(t, Spec{Seed: seed, Size: "64-1518", Flows: 9, FlowOrder: "random"}).Plan
		var all []byte
		buf := make([]byte, p.MaxLen())
		for i := range uint64(50) {
			all = append(all, buf[:p.Write(buf, i, 0)]...)
		}
		return all
	}
	one, again, two := frames(1), frames(1), frames(2)
	if !bytes.Equal(one, again) {
		t.Error("one seed gives different frames")
	}
	if bytes.Equal(one, two) {
		t.Error("two seeds give the same frames")
	}
}
