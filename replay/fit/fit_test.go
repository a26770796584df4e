package fit_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/ip4defrag"
	"github.com/google/gopacket/layers"

	"squall/internal/wire"
	"squall/replay/fit"
)

func TestFragment(t *testing.T) {
	for _, words := range []string{"ip4 udp", "ip4-opt udp", "vlan ip4 tcp", "qinq vlan ip4 icmp", "ip4 gtpu ip4 udp", "ip6 udp", "ip6-ext udp", "vlan ip6 tcp", "qinq ip6-ext tcp"} {
		for _, n := range []int{1400, 3000, 9001} {
			for _, mtu := range []int{1500, 576, 333} {
				frame := build(t, words, n)
				limit := fit.Limit{MTU: mtu}
				if limit.Fits(frame, len(frame)) {
					continue
				}
				frame = append(frame, "padding"...) // belongs to no fragment
				var got fit.Frames
				must(t, limit.Fragment(&got, frame))
				same(t, words, frame[:len(frame)-7], reassembled(t, limit, frames(&got)))
				// Fragments of fragments are fragments of the datagram.
				var twice fit.Frames
				small := fit.Limit{MTU: mtu / 2}
				for _, f := range frames(&got) {
					must(t, small.Apply(fit.Fragment, &twice, f))
				}
				same(t, words+", twice", frame[:len(frame)-7], reassembled(t, small, frames(&twice)))
			}
		}
	}
}

// reassembled puts fragments together: IPv4 with gopacket's ip4defrag, IPv6 as
// RFC 8200 section 4.5 says.
func reassembled(t *testing.T, l fit.Limit, list [][]byte) []byte {
	t.Helper()
	var (
		defrag = ip4defrag.NewIPv4Defragmenter()
		whole  []byte
		id     []byte
	)
	for i, f := range list {
		right(t, l, f)
		at := wire.Parse(f)
		if at.EtherType == wire.EtherTypeIPv6 {
			next, frag := at.L3+6, at.L3+40
			for f[next] != 44 {
				next, frag = frag, frag+8+int(f[frag+1])*8
			}
			part := binary.BigEndian.Uint16(f[frag+2:])
			if i == 0 {
				whole = bytes.Clone(f[:frag])
				id = bytes.Clone(f[frag+4 : frag+8])
				whole[next] = f[frag] // the header in front takes the type of what was fragmented
			}
			if !bytes.Equal(f[frag+4:frag+8], id) {
				t.Error("fragments with different identifications")
			}
			if have := len(whole) - frag; have != int(part>>3)*8 || part&1 == 0 != (i == len(list)-1) {
				t.Errorf("fragment %d: offset and flag %#x behind %d bytes", i, part, have)
			}
			whole = append(whole, f[frag+8:]...)
			binary.BigEndian.PutUint16(whole[at.L3+4:], uint16(len(whole)-at.L3-40))
			continue
		}
		if at.L4-at.L3 > 20 || len(whole) > 0 && whole[at.L3] != 0x45 {
			// ip4defrag takes every header for one of 20 bytes.
			part := binary.BigEndian.Uint16(f[at.L3+6:])
			if i == 0 {
				whole = bytes.Clone(f[:at.L4])
			} else if got := hex.EncodeToString(f[at.L3+20 : at.L4]); got != "9404000088040102" {
				t.Errorf("fragment %d has the options %s", i, got)
			}
			head := at.L3 + int(whole[at.L3]&15)*4
			if have := len(whole) - head; i > 0 && have != int(part&0x1fff)*8 || part&0x2000 == 0 != (i == len(list)-1) {
				t.Errorf("fragment %d: offset and flags %#x behind %d bytes", i, part, have)
			}
			whole = append(whole, f[at.L4:]...)
			mend(whole[at.L3:], head-at.L3)
			continue
		}
		p := gopacket.NewPacket(f, layers.LayerTypeEthernet, gopacket.Default)
		ip, err := defrag.DefragIPv4(p.Layer(layers.LayerTypeIPv4).(*layers.IPv4))
		must(t, err)
		if (ip != nil) != (i == len(list)-1) {
			t.Fatalf("after fragment %d of %d: whole is %v", i, len(list), ip != nil)
		}
		if i == 0 {
			whole = bytes.Clone(f[:at.L4])
		}
		if ip != nil {
			whole = append(whole, ip.Payload...)
			mend(whole[at.L3:], 20)
		}
	}
	return whole
}

// mend makes the header of a fragment that of all that follows it.
func mend(ip []byte, header int) {
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	ip[6] &^= 0x20
	ip[10], ip[11] = 0, 0
	binary.BigEndian.PutUint16(ip[10:], ^wire.Fold(wire.Sum(ip[:header])))
}

func TestRefuses(t *testing.T) {
	change := func(f []byte, at int, to ...byte) []byte {
		f = bytes.Clone(f)
		copy(f[at:], to)
		return f
	}
	udp, tcp, tcp6 := build(t, "ip4 udp", 3000), build(t, "ip4 tcp", 3000), build(t, "ip6 tcp", 3000)
	tests := []struct {
		name   string
		policy fit.Policy
		limit  fit.Limit
		frame  []byte
		want   error
	}{
		{"skip", fit.Skip, fit.Limit{MTU: 1500}, udp, fit.ErrSkipped},
		{"fragment of no IP", fit.Fragment, fit.Limit{MTU: 1500}, build(t, "raw", 3000), fit.ErrNotIP},
		{"don't fragment", fit.Fragment, fit.Limit{MTU: 1500}, build(t, "ip4-df udp", 3000), fit.ErrDontFragment},
		{"forced", fit.Fragment, fit.Limit{MTU: 1500, IgnoreDF: true}, build(t, "ip4-df udp", 3000), nil},
		{"padding", fit.Fragment, fit.Limit{MTU: 1500}, append(build(t, "ip4-df udp", 1400), make([]byte, 200)...), nil},
		{"padding", fit.Segment, fit.Limit{MTU: 1500}, append(build(t, "ip4 tcp", 1400), make([]byte, 200)...), nil},
		{"cut", fit.Fragment, fit.Limit{MTU: 1500}, udp[:2000], fit.ErrCut},
		{"cut IPv6", fit.Segment, fit.Limit{MTU: 1500}, tcp6[:2000], fit.ErrCut},
		{"no room", fit.Fragment, fit.Limit{MTU: 27}, udp, fit.ErrNoRoom},
		{"just room", fit.Fragment, fit.Limit{MTU: 28}, udp, nil},
		{"offset past the end", fit.Fragment, fit.Limit{MTU: 1500}, change(udp, 14+6, 0x1f, 0xff), fit.ErrTooLong},
		{"UDP", fit.Segment, fit.Limit{MTU: 1500}, udp, fit.ErrNotTCP},
		{"fragment of TCP", fit.Segment, fit.Limit{MTU: 1500}, change(tcp, 14+6, 0x20), fit.ErrNotTCP},
		{"TCP offset", fit.Segment, fit.Limit{MTU: 1500}, change(tcp, 14+20+12, 0x40), fit.ErrNotTCP},
		{"SYN", fit.Segment, fit.Limit{MTU: 1500}, change(tcp, 14+20+13, 0x02), fit.ErrFlags},
		{"no room for content", fit.Segment, fit.Limit{MTU: 47}, tcp, fit.ErrNoRoom},
		{"truncated header", fit.Truncate, fit.Limit{MTU: 19}, udp, fit.ErrNoRoom},
		{"truncated tag", fit.Truncate, fit.Limit{MTU: 3}, build(t, "qinq ip4 udp", 100), fit.ErrNoRoom},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got fit.Frames
			must(t, fit.Limit{}.Apply(fit.Skip, &got, []byte("one that is there")))
			if err := tt.limit.Apply(tt.policy, &got, tt.frame); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if (got.Len() > 1) != (tt.want == nil) {
				t.Errorf("%d frames", got.Len()-1)
			}
			for _, f := range frames(&got)[1:] {
				right(t, tt.limit, f)
			}
			if string(got.At(0)) != "one that is there" {
				t.Error("what was there has changed")
			}
		})
	}
}

func TestSegment(t *testing.T) {
	for _, words := range []string{"ip4 tcp", "ip4-df tcp-ts", "ip4-opt tcp", "vlan ip4 tcp-ts", "qinq vlan ip6 tcp", "ip6-ext tcp-ts"} {
		for _, n := range []int{1461, 2920, 17_376, 64_000} {
			for _, tso := range []bool{false, true} {
				frame := build(t, words, n)
				at := wire.Parse(frame)
				if tso { // as captured before the card: no length, the checksum is that of the pseudo-header
					if at.EtherType == wire.EtherTypeIPv4 {
						frame[at.L3+2], frame[at.L3+3] = 0, 0
					}
					frame[at.L4+16] ^= 0x5a
				}
				limit := fit.Limit{MTU: 1500}
				var got fit.Frames
				must(t, limit.Segment(&got, frame))
				data := at.L4 + int(frame[at.L4+12]>>4)*4
				var all []byte
				for i, f := range frames(&got) {
					right(t, limit, f)
					last := i == got.Len()-1
					if !last && len(f) != limit.Longest(f) {
						t.Errorf("%s: segment %d has %d bytes, %d fit", words, i, len(f), limit.Longest(f))
					}
					if seq := binary.BigEndian.Uint32(f[at.L4+4:]); seq != 0xffffff00+uint32(len(all)) {
						t.Errorf("%s: segment %d begins at %d", words, i, seq)
					}
					want := byte(0x10)
					if i == 0 {
						want |= 0x80
					}
					if last {
						want |= 0x09
					}
					if f[at.L4+13] != want {
						t.Errorf("%s: segment %d has flags %#x, want %#x", words, i, f[at.L4+13], want)
					}
					if id := binary.BigEndian.Uint16(f[at.L3+4:]); at.EtherType == wire.EtherTypeIPv4 && id != 0xfffe+uint16(i) {
						t.Errorf("%s: segment %d has ID %#x", words, i, id)
					}
					same(t, "options", frame[at.L4+20:data], f[at.L4+20:data])
					all = append(all, f[data:]...)
				}
				same(t, words, content(n), all)
			}
		}
	}
}

func TestTruncate(t *testing.T) {
	for _, words := range []string{"ip4 udp", "ip4 udp0", "ip4-opt tcp-ts", "vlan ip4 icmp", "qinq ip6 udp", "ip6-ext tcp", "ip4 gtpu ip4 udp", "ip6 gtpu ip6 udp", "raw"} {
		frame := build(t, words, 2000)
		if words == "ip4 udp0" {
			frame[14+20+6], frame[14+20+7] = 0, 0
		}
		at := wire.Parse(frame)
		for mtu := 200; mtu < 2000; mtu += 101 {
			limit := fit.Limit{MTU: mtu}
			var got fit.Frames
			must(t, limit.Truncate(&got, frame))
			f := got.At(0)
			right(t, limit, f)
			if got.Len() != 1 || len(f) != limit.Longest(f) {
				t.Errorf("%s: %d frames of %d bytes", words, got.Len(), len(f))
			}
			if at.Proto == wire.ProtoUDP {
				if n := int(binary.BigEndian.Uint16(f[at.L4+4:])); n != len(f)-at.L4 {
					t.Errorf("%s: UDP claims %d bytes and has %d", words, n, len(f)-at.L4)
				}
				if none := binary.BigEndian.Uint16(f[at.L4+6:]) == 0; none != (words == "ip4 udp0") {
					t.Errorf("%s: UDP checksum is none: %v", words, none)
				}
			}
			if strings.Contains(words, "gtpu") {
				var s wire.Stack
				s.Walk(f)
				if heads := s.Heads(); len(heads) != 6 || heads[5].End != len(f) {
					t.Errorf("%s: headers %+v of a frame of %d", words, heads, len(f))
				} else if p := f[heads[5].At:]; int(binary.BigEndian.Uint16(p[4:])) != len(p) || int(binary.BigEndian.Uint16(f[heads[3].At+2:])) != len(f)-heads[3].At-8 {
					t.Errorf("%s: inner lengths", words)
				}
			}
			tail := frame[len(frame)-2000:]
			kept := len(f) - (len(frame) - 2000)
			same(t, words, tail[:kept], f[len(f)-kept:])
		}
	}
	// A fragment that others follow keeps a multiple of 8 bytes, and the length of
	// the datagram in its UDP header.
	frame := build(t, "ip4 udp", 2000)
	frame[14+6] = 0x20
	limit := fit.Limit{MTU: 1007}
	var got fit.Frames
	must(t, limit.Truncate(&got, frame))
	f := got.At(0)
	right(t, limit, f)
	if len(f) != 14+20+984 || binary.BigEndian.Uint16(f[14+24:]) != 2008 {
		t.Errorf("fragment of %d bytes, UDP length %d", len(f), binary.BigEndian.Uint16(f[14+24:]))
	}
	// An IEEE 802.3 length.
	frame = build(t, "raw", 1400)
	binary.BigEndian.PutUint16(frame[12:], 1400)
	got.Reset()
	must(t, fit.Limit{MTU: 1000}.Truncate(&got, frame))
	if f := got.At(0); len(f) != 1014 || binary.BigEndian.Uint16(f[12:]) != 1000 {
		t.Errorf("802.3 frame of %d bytes says %d", len(f), binary.BigEndian.Uint16(f[12:]))
	}
}

// Another program puts the fragments and segments together and finds no bad
// checksum.
func TestTshark(t *testing.T) {
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("tshark is not installed: apt-get install tshark")
	}
	limit := fit.Limit{MTU: 1500}
	for _, tt := range []struct {
		words, field string
		policy       fit.Policy
	}{
		{"ip4-opt udp", "udp.payload", fit.Fragment}, {"vlan ip6-ext udp", "udp.payload", fit.Fragment},
		{"ip4 tcp-ts", "tcp.payload", fit.Segment}, {"ip6 tcp", "tcp.payload", fit.Segment},
		{"ip4 udp", "udp.payload", fit.Truncate},
	} {
		var got fit.Frames
		const n = 20_000
		must(t, limit.Apply(tt.policy, &got, build(t, tt.words, n)))
		path := save(t, frames(&got))
		shark := func(args ...string) string {
			args = append([]string{"-n", "-r", path, "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-d", "tcp.port==4000,data", "-d", "udp.port==4000,data"}, args...)
			out, err := exec.Command("tshark", args...).Output()
			must(t, err)
			return string(out)
		}
		if bad := shark("-Y", `ip.checksum.status=="Bad" || udp.checksum.status=="Bad" || tcp.checksum.status=="Bad" || _ws.malformed || ip.fragment.error || ipv6.fragment.error`); bad != "" {
			t.Errorf("%s: tshark finds fault:\n%s", tt.words, bad)
		}
		all := shark("-T", "fields", "-e", tt.field)
		want := content(n)
		if tt.policy == fit.Truncate {
			want = want[:1472]
		}
		b, err := hex.DecodeString(strings.NewReplacer("\n", "", ":", "", ",", "").Replace(all))
		must(t, err)
		same(t, "what tshark reassembled of "+tt.words, want, b)
	}
}

func TestParsePolicy(t *testing.T) {
	for _, name := range []string{"skip", "fragment", "segment", "truncate"} {
		if p, err := fit.ParsePolicy(name); err != nil || p.String() != name {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
	if _, err := fit.ParsePolicy("drop"); err == nil {
		t.Error("drop is a policy")
	}
}

func TestDoesNotAllocate(t *testing.T) {
	var got fit.Frames
	limit := fit.Limit{MTU: 1500, IgnoreDF: true}
	for _, words := range []string{"ip4-opt tcp-ts", "vlan ip6-ext tcp"} {
		frame := build(t, words, 20_000)
		for _, p := range []fit.Policy{fit.Fragment, fit.Segment, fit.Truncate} {
			if n := testing.AllocsPerRun(10, func() {
				got.Reset()
				if err := limit.Apply(p, &got, frame); err != nil {
					t.Fatal(err)
				}
			}); n > 0 {
				t.Errorf("%s, %v: %v allocations", words, p, n)
			}
		}
	}
}

// FuzzApply: whatever the bytes, what comes out fits; where the IP header is
// sound it claims what it has, and checksums that are computed are right.
func FuzzApply(f *testing.F) {
	for _, words := range []string{"ip4-opt udp", "vlan ip6-ext udp", "ip4 tcp-ts", "ip6 tcp", "ip4 gtpu ip4 udp", "qinq vlan ip4 icmp", "raw"} {
		for p := range uint8(4) {
			f.Add(build(f, words, 700), uint16(300), p)
		}
	}
	for p := range uint8(4) { // too long by its padding
		f.Add(append(build(f, "ip4 tcp", 100), make([]byte, 300)...), uint16(300), p)
	}
	f.Fuzz(func(t *testing.T, frame []byte, mtu uint16, p uint8) {
		limit := fit.Limit{MTU: int(mtu), IgnoreDF: true}
		policy := fit.Policy(p % 4)
		before := bytes.Clone(frame)
		var got fit.Frames
		err := limit.Apply(policy, &got, frame)
		if !bytes.Equal(frame, before) {
			t.Fatal("the input was changed")
		}
		if (err == nil) == (got.Len() == 0) && len(frame) > 0 {
			t.Fatalf("%d frames and error %v", got.Len(), err)
		}
		for i := range got.Len() {
			out := got.At(i)
			if !limit.Fits(out, len(out)) {
				t.Fatalf("%v: %d bytes do not fit", policy, len(out))
			}
			at := wire.Parse(out)
			if bytes.Equal(out, before) || !at.IP() {
				continue // fits as it is
			}
			n, end := int(binary.BigEndian.Uint16(out[at.L3+2:])), len(out)-at.L3
			if at.EtherType == wire.EtherTypeIPv6 {
				n = int(binary.BigEndian.Uint16(out[at.L3+4:])) + 40
			}
			if n > end {
				t.Fatalf("%v: IP claims %d bytes of %d", policy, n, end)
			}
			if policy != fit.Fragment {
				var s wire.Stack
				s.Walk(out)
				if s.Settle(true) {
					t.Fatalf("%v: a checksum is wrong", policy)
				}
			}
		}
	})
}
