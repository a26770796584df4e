package rewrite

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
)

func TestCompileRefuses(t *testing.T) {
	tests := []struct {
		name  string
		rules Rules
		says  string
	}{
		{"layer", Rules{Layer: "middle"}, `layer "middle": need outer, inner or all`},
		{"mac", Rules{SrcMAC: "02:00"}, `smac "02:00": no MAC address`},
		{"EUI-64", Rules{DstMAC: "02:00:00:00:00:00:00:01"}, `dmac "02:00`},
		{"group sender", Rules{SrcMAC: "01:00:5e:00:00:01"}, "a group address"},
		{"mac map", Rules{MACMap: []string{"02:00:00:00:00:01"}}, "need OLD=NEW"},
		{"mac map twice", Rules{MACMap: []string{"02:00:00:00:00:01=02:00:00:00:00:02", "02:00:00:00:00:01=02:00:00:00:00:03"}}, "mapped twice"},
		{"map family", Rules{Map: []string{"10.0.0.1=2001:db8::1"}}, "stays of its family"},
		{"map length", Rules{Map: []string{"10.0.0.0/8=10.0.0.0/16"}}, "have /8 and /16, need prefixes of one length"},
		{"map half", Rules{SrcMap: []string{"10.0.0.0/8="}}, `src-map "10.0.0.0/8=": need OLD=NEW`},
		{"map text", Rules{DstMap: []string{"ten=eleven"}}, `dst-map "ten": neither an address nor a prefix`},
		{"map bits", Rules{DstMap: []string{"10.0.0.0/33=1.1.1.1/33"}}, "neither an address nor a prefix"},
		{"map zone", Rules{Map: []string{"fe80::1%eth0=fe80::2"}}, "neither an address nor a prefix"},
		{"map mixed notation", Rules{Map: []string{"::ffff:10.0.0.1=::ffff:10.0.0.2"}}, "write it as IPv4"},
		{"map twice", Rules{Map: []string{"10.0.0.0/8=11.0.0.0/8", "10.1.0.0/8=12.0.0.0/8"}}, `map "10.1.0.0/8=12.0.0.0/8": 10.0.0.0/8 is mapped twice`},
		{"port", Rules{PortMap: []string{"80=65536"}}, `"65536" is no port`},
		{"port order", Rules{PortMap: []string{"90-80=1-11"}}, `"90-80" is no port or range`},
		{"port ranges", Rules{PortMap: []string{"80-90=1-10"}}, "11 ports become 10"},
		{"port twice", Rules{PortMap: []string{"1-10=11-20", "5=6"}}, "port 5 is mapped twice"},
		{"ttl", Rules{TTL: "256"}, `ttl "256": need 0 to 255, or + or - that much`},
		{"ttl sign", Rules{TTL: "+"}, `ttl "+"`},
		{"dscp", Rules{DSCP: "64"}, `dscp "64": need 0 to 63`},
		{"dscp step", Rules{DSCP: "+1"}, `dscp "+1"`},
		{"teid", Rules{TEID: []string{"4294967296"}}, "need 0 to 4294967295"},
		{"teid empty", Rules{TEID: []string{""}}, "need N, +N, -N or OLD=NEW"},
		{"teid mixed", Rules{TEID: []string{"1=2", "+1"}}, "have 2 rules"},
		{"teid pair", Rules{TEID: []string{"1=x"}}, `"x" is not 0 to`},
		{"teid twice", Rules{TEID: []string{"1=2", "0x1=3"}}, "mapped twice"},
		{"shift", Rules{SeqShift: 1 << 32}, "need less than 2^32"},
		{"shift of none", Rules{SeqShiftFrom: []string{"10.0.0.0/8"}}, "need a seq-shift"},
		{"shift from", Rules{SeqShift: 1, SeqShiftFrom: []string{"client"}}, `seq-shift-from "client"`},
		{"copies", Rules{CopyStep: []string{"both"}}, "there are no copies"},
		{"stride", Rules{CopyStride: 2}, "there are no copies"},
		{"step", Rules{Unique: true, CopyStep: []string{"client"}}, `copy-step "client": neither an address nor a prefix; write 10.0.0.1, 10.0.0.0/8 or 2001:db8::/32; or one of both, src, dst`},
		{"vlan-del", Rules{VLANDel: "inner"}, "need outer or all"},
		{"vlan ID", Rules{VLANAdd: []string{"4096"}}, `"4096" is no VLAN ID of 0 to 4095`},
		{"vlan priority", Rules{VLANAdd: []string{"1:8"}}, `"8" is no priority of 0 to 7`},
		{"vlan dei", Rules{VLANSet: []string{"1:1:2"}}, "no drop eligible indicator of 0 to 1"},
		{"vlan type", Rules{VLANAdd: []string{"1/0x0800"}}, `"0x0800" is no type of a VLAN tag`},
		{"vlan without ID", Rules{VLANAdd: []string{":1"}}, "need an ID"},
		{"vlan parts", Rules{VLANSet: []string{"1:2:0:1"}}, "write ID[:PCP[:DEI]][/TPID]"},
		{"vlan nothing", Rules{VLANSet: []string{""}}, "write ID"},
		{"vlan old", Rules{VLANSet: []string{"x=1"}}, `"x" is no VLAN ID`},
		{"vlan twice", Rules{VLANSet: []string{"1=2", "1=3"}}, "changed twice"},
		{"vlan many", Rules{VLANAdd: strings.Split("1 2 3 4 5 6 7 8 9", " ")}, "have 9 tags, at most 8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, err := tt.rules.Compile()
			if err == nil || w != nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want %q", err, tt.says)
			}
		})
	}
}

func TestEmpty(t *testing.T) {
	for _, tt := range []struct {
		r    Rules
		want bool
	}{{Rules{}, true}, {Rules{Layer: All}, true}, {Rules{VLANDel: "all"}, false}, {Rules{TTL: "1"}, false}, {Rules{FixChecksums: true}, false}, {Rules{Unique: true}, false}} {
		if w, err := tt.r.Compile(); err != nil || w.Empty() != tt.want {
			t.Errorf("%+v: empty %v, %v", tt.r, !tt.want, err)
		}
	}
}

func TestStep(t *testing.T) {
	tests := []struct {
		in     string
		stride uint64
		copy   uint64
		want   string
	}{
		{"10.0.0.1", 1, 0, "10.0.0.1"},
		{"10.0.0.254", 1, 1, "10.0.1.1"},
		{"10.0.255.254", 1, 1, "10.1.0.1"},
		{"10.0.0.1", 254, 3, "10.0.3.1"},
		{"126.255.255.254", 1, 1, "128.0.0.1"}, // past loopback
		{"223.255.255.254", 1, 1, "1.0.0.1"},   // around
		{"223.255.255.254", ring4, 1 << 60, "223.255.255.254"},
		{"10.0.0.0", 1, 1, "10.0.0.0"}, {"10.0.0.255", 1, 1, "10.0.0.255"}, {"255.255.255.255", 1, 1, "255.255.255.255"},
		{"224.0.0.5", 1, 1, "224.0.0.5"}, {"127.0.0.1", 1, 1, "127.0.0.1"}, {"0.0.0.0", 1, 1, "0.0.0.0"},
		{"2001:db8::1", 1, 1, "2001:db8::2"},
		{"2001:db8::ffff:ffff:ffff:ffff", 1, 1, "2001:db8::1"}, // around, past 0
		{"2001:db8::2", 1<<64 - 1, 1<<64 - 1, "2001:db8::2"},
		{"ff02::1", 1, 1, "ff02::1"}, {"::1", 1, 1, "::1"}, {"::", 1, 1, "::"}, {"2001:db8::", 1, 1, "2001:db8::"},
	}
	for _, tt := range tests {
		s := step{stride: tt.stride, src: true, dst: true}
		if got := s.apply(netip.MustParseAddr(tt.in), true, tt.copy).String(); got != tt.want {
			t.Errorf("%s by %d, copy %d: %s, want %s", tt.in, tt.stride, tt.copy, got, tt.want)
		}
	}
	only := step{stride: 1, src: true, dst: true, within: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	for in, want := range map[string]string{"10.0.0.1": "10.0.0.6", "11.0.0.1": "11.0.0.1"} {
		if got := only.apply(netip.MustParseAddr(in), false, 5).String(); got != want {
			t.Errorf("within 10/8: %s becomes %s, want %s", in, got, want)
		}
	}
	src := step{stride: 1, src: true}
	if a := netip.MustParseAddr("10.0.0.1"); src.apply(a, false, 5) != a || src.apply(a, true, 5) == a {
		t.Error("src steps the destination or leaves the source")
	}
}

// Whatever the copy, different hosts stay different, one host is another in
// each of two copies, and no host becomes a broadcast, multicast or loopback
// address. Every step is undone by the steps that are left of the ring.
func TestStepIsOneToOne(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		var a, b [4]byte
		binary.BigEndian.PutUint32(a[:], r.Uint32())
		b = a
		b[r.IntN(4)] ^= byte(1 + r.IntN(255))
		stride, k := r.Uint64()>>r.IntN(64), r.Uint64()>>r.IntN(64)
		sa, sb := step4(a, stride, k), step4(b, stride, k)
		if sa == sb {
			t.Fatalf("%v and %v both become %v", a, b, sa)
		}
		if n := netip.AddrFrom4(sa); sa != a && (n.IsMulticast() || n.IsLoopback() || sa[0] == 0 || sa[0] > 223 || sa[3] == 0 || sa[3] == 255) {
			t.Fatalf("%v becomes %v", a, n)
		}
		d := stride % ring4 * (k % ring4) % ring4
		if back := step4(sa, ring4-d, 1); back != a {
			t.Fatalf("%v by %d becomes %v and %v", a, d, sa, back)
		}
		var x, y [16]byte
		binary.BigEndian.PutUint64(x[:], 0x20010db8<<32)
		binary.BigEndian.PutUint64(x[8:], r.Uint64()>>r.IntN(64))
		y = x
		y[8+r.IntN(8)] ^= byte(1 + r.IntN(255))
		sx, sy := step6(x, stride, k), step6(y, stride, k)
		if sx == sy {
			t.Fatalf("%v and %v both become %v", x, y, sx)
		}
		if zero := [8]byte{}; [8]byte(x[8:]) != zero && [8]byte(sx[8:]) == zero {
			t.Fatalf("%v becomes the routers' address", x)
		}
	}
}
