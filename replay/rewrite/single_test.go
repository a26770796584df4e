package rewrite_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"squall/internal/wire"
	"squall/replay/fit"
	"squall/replay/rewrite"
)

func TestVLAN(t *testing.T) {
	const macs, rest = "020000000002020000000001", "0800" + "45000014"
	tests := []struct {
		name     string
		rules    rewrite.Rules
		in, want string // between the addresses and the EtherType
	}{
		{"add", rewrite.Rules{VLANAdd: []string{"100"}}, "", "81000064"},
		{"add to a tag", rewrite.Rules{VLANAdd: []string{"5:7:1/0x88a8"}}, "81000064", "88a8f00581000064"},
		{"add two", rewrite.Rules{VLANAdd: []string{"200:1/0x88a8", "0x64"}}, "", "88a820c881000064"},
		{"delete", rewrite.Rules{VLANDel: "outer"}, "88a820c881000064", "81000064"},
		{"delete of three", rewrite.Rules{VLANDel: "all"}, "910000018100000281000003", ""},
		{"delete of none", rewrite.Rules{VLANDel: "all"}, "", ""},
		{"replace", rewrite.Rules{VLANDel: "outer", VLANAdd: []string{"7"}}, "8100e064", "81000007"},
		{"set ID", rewrite.Rules{VLANSet: []string{"7"}}, "8100f064", "8100f007"},
		{"set priority", rewrite.Rules{VLANSet: []string{":2"}}, "8100f064", "81005064"},
		{"set drop eligible", rewrite.Rules{VLANSet: []string{"::0"}}, "8100f064", "8100e064"},
		{"set type", rewrite.Rules{VLANSet: []string{"/0x88a8"}}, "8100f064", "88a8f064"},
		{"set second", rewrite.Rules{VLANSet: []string{":", "9"}}, "88a820c8810000640800", "88a820c8810000090800"},
		{"set by ID", rewrite.Rules{VLANSet: []string{"100=101:5", "200=100"}}, "88a820c881000064", "88a820648100a065"},
		{"set none", rewrite.Rules{VLANSet: []string{"100=101", "3"}}, "", ""},
		{"delete outer, set what is left, add", rewrite.Rules{VLANDel: "outer", VLANSet: []string{"8"}, VLANAdd: []string{"1", "2"}}, "88a820c881000064", "810000018100000281000008"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in, _ := hex.DecodeString(macs + tt.in + rest)
			got, by, err := compile(t, tt.rules).Rewrite([]byte("before"), in, 0)
			if err != nil {
				t.Fatal(err)
			}
			if want := "before" + string(must(hex.DecodeString(macs+tt.want+rest))); string(got) != want {
				t.Errorf("have %x, want %x", got, want)
			}
			if changed := by == rewrite.ChangedVLAN; changed != (tt.in != tt.want) || by&^rewrite.ChangedVLAN != 0 {
				t.Errorf("reported %b", by)
			}
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// What was wrong stays wrong by the same difference, at every layer, unless it
// is asked to be mended; a UDP checksum of 0 stays none.
func TestWrongChecksums(t *testing.T) {
	r := rewrite.Rules{Layer: rewrite.All, Map: []string{"10.0.0.0/8=11.0.0.0/8", "2001:db8::/32=2001:db9::/32"}, PortMap: []string{"443=4433"}, TTL: "-1"}
	for _, stack := range stacks {
		if stack == "ip4 udp pad" {
			continue // the padding is a story of its own
		}
		t.Run(stack, func(t *testing.T) {
			frame := build(t, stack, example())
			right := apply(t, r, frame, 0)
			fix := r
			fix.FixChecksums = true
			// Each 16-bit word that a rewriting with mending puts back is a checksum.
			found := 0
			for at := 14; at+2 <= len(frame); at += 2 {
				bad := bytes.Clone(frame)
				binary.BigEndian.PutUint16(bad[at:], binary.BigEndian.Uint16(bad[at:])^0x0100)
				mended, by, err := compile(t, rewrite.Rules{FixChecksums: true}).Rewrite(nil, bad, 0)
				if err != nil || !bytes.Equal(mended, frame) {
					continue
				}
				if by != rewrite.ChangedChecksum {
					t.Errorf("byte %d: reported %b, want a checksum", at, by)
				}
				found++
				got := apply(t, r, bad, 0)
				was, is := binary.BigEndian.Uint16(right[at:]), binary.BigEndian.Uint16(got[at:])
				if d := int(is) - int(was); (d-0x100)%65535 != 0 && (d+0x100)%65535 != 0 {
					t.Errorf("checksum at byte %d: wrong by 0x100 before, by %d after", at, d)
				}
				same(t, "mended", right, apply(t, fix, bad, 0))
			}
			if strings.Contains(stack, "ip4") && found == 0 {
				t.Error("found no checksum")
			}
		})
	}
}

// A change in a datagram's fragments is a change in the datagram: rewriting
// before and after fragmentation gives the same, and so the same reassembled.
func TestFragments(t *testing.T) {
	rules := []rewrite.Rules{
		{Layer: rewrite.All, Map: []string{"10.1.2.3=99.1.1.1", "172.16.0.0/16=1.2.0.0/16", "2001:db8::/32=2001:db9::/32"}, TTL: "3", DSCP: "5"},
		{Layer: rewrite.All, PortMap: []string{"80=8080", "40000=1"}, SeqShift: 12345, TEID: []string{"+7"}},
		{Unique: true, SrcMAC: "02:01:01:01:01:01"},
	}
	m := example()
	m.payload = strings.Repeat("0123456789abcde", 90)
	for _, stack := range []string{"ip4 udp", "vlan ip4 tcp", "ip4 icmp", "ip4 gtpu ip4 tcp", "ip4 gre-ck ip6 udp", "ip6 udp", "qinq vlan ip6 tcp", "ip6 vxlan eth ip4 udp"} {
		for i, r := range rules {
			frame := build(t, stack, m)
			limit := fit.Limit{MTU: 300, IgnoreDF: true}
			var whole, parts fit.Frames
			if err := limit.Fragment(&whole, apply(t, r, frame, 5)); err != nil {
				t.Fatal(err)
			}
			if err := limit.Fragment(&parts, frame); err != nil {
				t.Fatal(err)
			}
			if whole.Len() != parts.Len() || parts.Len() < 5 {
				t.Fatalf("%d fragments and %d", whole.Len(), parts.Len())
			}
			for k := range parts.Len() {
				want, got := whole.At(k), apply(t, r, parts.At(k), 5)
				if at := wire.Parse(want); at.EtherType == wire.EtherTypeIPv6 {
					copy(want[at.L4-4:at.L4], got[at.L4-4:]) // identification: of the datagram's content
				}
				same(t, stack, want, got)
			}
			if i > 0 && stack == "ip4 udp" {
				if got := apply(t, r, parts.At(1), 5); i == 1 && !bytes.Equal(got, parts.At(1)) {
					t.Error("a later fragment was changed though it has neither ports nor addresses to change")
				}
			}
		}
	}
}

// A first fragment so short that its checksum is in the next.
func TestApart(t *testing.T) {
	frame := build(t, "ip4 tcp", example())
	frame[14+6] = 0x20 // more fragments
	binary.BigEndian.PutUint16(frame[14+2:], 20+16)
	w := compile(t, rewrite.Rules{Map: []string{"10.0.0.0/8=11.0.0.0/8"}})
	if _, by, _ := w.Rewrite(nil, frame[:14+36], 0); by != rewrite.ChangedAddress|rewrite.Apart {
		t.Errorf("reported %b", by)
	}
	w = compile(t, rewrite.Rules{TTL: "9"})
	if _, by, _ := w.Rewrite(nil, frame[:14+36], 0); by != rewrite.ChangedTTL {
		t.Errorf("TTL only: reported %b", by)
	}
}

// A frame that the snap length cut is the whole one, rewritten and then cut: its
// checksum still is that of all that was on the wire.
func TestCut(t *testing.T) {
	r := rewrite.Rules{Map: []string{"10.1.2.3=99.1.1.1", "2001:db8::/32=2001:db9::/32"}, PortMap: []string{"80=8080"}, TTL: "3", DSCP: "5", SeqShift: 99, FixChecksums: true}
	for _, stack := range []string{"ip4 udp", "vlan ip4 tcp", "ip4 icmp", "ip6 tcp", "qinq vlan ip6 udp", "arp"} {
		frame := build(t, stack, example())
		full := apply(t, r, frame, 0)
		at := wire.Parse(frame)
		head := at.L3 + 28
		switch at.Proto {
		case wire.ProtoTCP:
			head = at.L4 + 32
		case wire.ProtoUDP, wire.ProtoICMP:
			head = at.L4 + 8
		}
		for n := head; n < len(frame); n++ {
			same(t, stack, full[:n], apply(t, r, frame[:n], 0))
		}
	}
	// Cut anywhere, nothing but what is there is touched.
	all := r
	all.Layer, all.Unique, all.VLANAdd, all.TEID = rewrite.All, true, []string{"1"}, []string{"+1"}
	w := compile(t, all)
	for _, stack := range stacks {
		frame := build(t, stack, example())
		for n := range frame {
			out, err := w.Apply(nil, bytes.Clone(frame[:n:n]), 3)
			if (err != nil) != (n < 14) || err == nil && len(out) != n+4 {
				t.Fatalf("%s cut to %d: %d bytes, %v", stack, n, len(out), err)
			}
		}
	}
}

// What an ICMP error quotes was sent by the one it goes to: the map of sources
// goes over the quoted source.
func TestQuoted(t *testing.T) {
	frame := build(t, "ip4 error4 ip4 udp", example()) // 10.1.2.3 tells 172.16.0.9
	got := apply(t, rewrite.Rules{SrcMap: []string{"172.16.0.9=1.1.1.1"}, TTL: "9"}, frame, 0)
	quoted := got[14+20+8:]
	if string(got[14+16:14+20]) != "\xac\x10\x00\x09" || string(quoted[12:16]) != "\x01\x01\x01\x01" {
		t.Errorf("destination % x, quoted source % x", got[14+16:14+20], quoted[12:16])
	}
	if quoted[8] != 1 || got[14+8] != 9 {
		t.Errorf("TTL %d, quoted %d: what was quoted died with 1", got[14+8], quoted[8])
	}
	same(t, "checksums", got, apply(t, rewrite.Rules{FixChecksums: true}, got, 0))
}

func TestSequenceOfOneSide(t *testing.T) {
	r := rewrite.Rules{SeqShift: 1000, SeqShiftFrom: []string{"10.0.0.0/8,2001:db8::/48"}, Map: []string{"10.1.2.3=99.1.1.1"}}
	for _, stack := range []string{"ip4 tcp", "ip6 tcp"} {
		m := example()
		frame := build(t, stack, m)
		want := m
		want.level[0].seq += 1000
		if stack == "ip4 tcp" {
			want.level[0].src4 = "99.1.1.1"
		}
		same(t, "from the side", build(t, stack, want), apply(t, r, frame, 0))

		back := m
		e := &back.level[0]
		e.src4, e.dst4, e.src6, e.dst6 = e.dst4, e.src4, e.dst6, e.src6
		frame = build(t, stack, back)
		e.ack, e.sack = e.ack+1000, e.sack+1000
		if stack == "ip4 tcp" {
			e.dst4 = "99.1.1.1"
		}
		same(t, "to the side", build(t, stack, back), apply(t, r, frame, 0))
	}
	// Without an acknowledgement there is none to shift.
	frame := build(t, "ip4 tcp", example())
	frame[14+20+13] = 0x02
	got := apply(t, rewrite.Rules{SeqShift: 1}, frame, 0)
	if binary.BigEndian.Uint32(got[14+20+8:]) != example().level[0].ack {
		t.Error("the acknowledgement number of a SYN was shifted")
	}
}

// The addresses of a source route's end count in the checksum, not those that
// the header has under way.
func TestRoutes(t *testing.T) {
	frame := build(t, "ip6 udp", example())
	at := 14 + 40
	route := append([]byte{17, 2, 0, 1, 0, 0, 0, 0}, frame[14+24:14+40]...) // to the destination, by
	for _, kind := range []byte{0, 4} {
		route[2] = kind
		routed := append(append(bytes.Clone(frame[:at]), route...), frame[at:]...)
		copy(routed[14+24:], netip.MustParseAddr("2001:db8:77::1").AsSlice()) // this hop
		routed[14+6] = 43
		binary.BigEndian.PutUint16(routed[14+4:], uint16(len(routed)-14-40))
		same(t, "right as it is", routed, apply(t, rewrite.Rules{FixChecksums: true}, routed, 0))
		got := apply(t, rewrite.Rules{DstMap: []string{"2001:db8:77::/48=2001:db8:78::/48"}}, routed, 0)
		same(t, "checksum", routed[at+24:], got[at+24:])
	}
}

func TestNeighbor(t *testing.T) {
	m := example()
	frame := build(t, "nd", m)
	m.smac, m.level[0].src6 = "02:11:11:11:11:11", "2001:db8::77"
	same(t, "advertisement", build(t, "nd", m), apply(t, rewrite.Rules{SrcMAC: m.smac, SrcMap: []string{"2001:db8::a=2001:db8::77"}}, frame, 0))
}

func TestCounts(t *testing.T) {
	w := compile(t, rewrite.Rules{TTL: "64", PortMap: []string{"80=81"}, SrcMAC: "02:00:00:00:00:01"})
	var c rewrite.Counts
	for _, stack := range []string{"ip4 udp", "ip6 tcp", "arp"} {
		_, by, err := w.Rewrite(nil, build(t, stack, example()), 0)
		if err != nil {
			t.Fatal(err)
		}
		c.Add(by)
	}
	got := map[string]uint64{}
	c.Each(func(rule string, n uint64) { got[rule] = n })
	if diff := cmp.Diff(map[string]uint64{"port": 2}, got); diff != "" || c.Frames != 3 || c.Changed != 2 {
		t.Errorf("%d frames, %d changed, by rule (-want +got):\n%s", c.Frames, c.Changed, diff)
	}
}

func TestDoesNotAllocate(t *testing.T) {
	w := compile(t, rewrite.Rules{
		SrcMAC: "02:00:00:00:00:09", MACMap: []string{"02:00:00:00:00:02=02:00:00:00:00:08"}, VLANAdd: []string{"5"}, VLANSet: []string{"9"},
		Map: []string{"10.0.0.0/8=11.0.0.0/8", "2001:db8::/32=2001:db9::/32"}, PortMap: []string{"80=81"}, TTL: "-1", DSCP: "1", TEID: []string{"1=2"}, SeqShift: 1,
		SeqShiftFrom: []string{"10.0.0.0/8"}, Unique: true, Layer: rewrite.All, FixChecksums: true,
	})
	buf := make([]byte, 0, 2000)
	for _, stack := range stacks {
		frame := build(t, stack, example())
		if n := testing.AllocsPerRun(20, func() {
			if _, err := w.Apply(buf, frame, 9); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations a frame", stack, n)
		}
	}
}

func BenchmarkApply(b *testing.B) {
	w := compile(b, rewrite.Rules{SrcMAC: "02:00:00:00:00:09", Map: []string{"10.0.0.0/8=11.0.0.0/8"}, Unique: true, Layer: rewrite.All})
	for _, stack := range []string{"ip4 udp", "ip4 gtpu ip4 udp"} {
		b.Run(stack, func(b *testing.B) {
			frame, buf := build(b, stack, example()), make([]byte, 0, 2000)
			for i := range b.N {
				if _, err := w.Apply(buf, frame, uint64(i)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
