package rewrite_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"squall/replay/rewrite"
)

func compile(t testing.TB, r rewrite.Rules) *rewrite.Rewriter {
	t.Helper()
	w, err := r.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func apply(t testing.TB, r rewrite.Rules, frame []byte, copy uint64) []byte {
	t.Helper()
	was := bytes.Clone(frame)
	out, err := compile(t, r).Apply(nil, frame, copy)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(was, frame) {
		t.Fatal("the frame handed in was changed")
	}
	return out
}

func same(t testing.TB, what string, want, got []byte) {
	t.Helper()
	if !bytes.Equal(want, got) {
		t.Errorf("%s (-want +got):\n%s", what, cmp.Diff(dump(want), dump(got)))
	}
}

func dump(b []byte) []string {
	var s []string
	for i := 0; i < len(b); i += 16 {
		s = append(s, fmt.Sprintf("%04x  % x", i, b[i:min(i+16, len(b))]))
	}
	return s
}

// each calls f for the levels that a layer names.
func (m *made) each(layer string, f func(*ends)) {
	if layer != rewrite.Inner {
		f(&m.level[0])
	}
	if layer == rewrite.Inner || layer == rewrite.All {
		f(&m.level[1])
	}
}

// A frame made with the values that the rules ask for is the frame made with
// the old ones, rewritten: byte for byte, lengths and checksums of all layers
// included. gopacket makes both.
func TestRules(t *testing.T) {
	ports := func(e *ends) {
		for _, p := range []*uint16{&e.sport, &e.dport} {
			switch *p {
			case 80:
				*p = 8080
			case 443:
				*p = 80
			case 1234:
				*p = 2234
			}
		}
	}
	tests := []struct {
		name  string
		rules rewrite.Rules
		copy  uint64
		want  func(layer string, m *made)
	}{
		{"nothing", rewrite.Rules{}, 3, func(string, *made) {}},
		{"fix of nothing", rewrite.Rules{FixChecksums: true}, 0, func(string, *made) {}},
		{"macs", rewrite.Rules{SrcMAC: "02:11:11:11:11:11", DstMAC: "02:22:22:22:22:22"}, 0, func(_ string, m *made) {
			m.smac, m.dmac = "02:11:11:11:11:11", "02:22:22:22:22:22"
		}},
		{"mac map", rewrite.Rules{MACMap: []string{"02:00:00:00:00:01=02:33:00:00:00:00"}}, 0, func(_ string, m *made) { m.smac = "02:33:00:00:00:00" }},
		{"prefixes", rewrite.Rules{Map: []string{"10.0.0.0/8=192.168.0.0/8", "10.1.0.0/17=198.51.128.0/17", "192.0.2.200=1.1.1.1", "2001:db8::/36=2001:db9:f000::/36"}}, 0, func(l string, m *made) {
			m.each(l, func(e *ends) {
				e.src4 = map[string]string{"10.1.2.3": "198.51.130.3", "10.99.0.1": "192.99.0.1"}[e.src4]
				if e.dst4 == "192.0.2.200" {
					e.dst4 = "1.1.1.1"
				}
				to := map[string]string{"2001:db8::a": "2001:db9:f000::a", "2001:db8:1::b": "2001:db9:f001::b", "2001:db8:aa::1": "2001:db9:f0aa::1", "fd00::2": "fd00::2"}
				e.src6, e.dst6 = to[e.src6], to[e.dst6]
			})
		}},
		{"ports", rewrite.Rules{PortMap: []string{"80=8080", "443=80", "1230-1239=2230-2239"}}, 0, func(l string, m *made) { m.each(l, ports) }},
		{"ttl", rewrite.Rules{TTL: "7"}, 0, func(l string, m *made) { m.each(l, func(e *ends) { e.ttl = 7 }) }},
		{"ttl up", rewrite.Rules{TTL: "+200"}, 0, func(l string, m *made) { m.each(l, func(e *ends) { e.ttl = 255 }) }},
		{"ttl down", rewrite.Rules{TTL: "-63"}, 0, func(l string, m *made) { m.each(l, func(e *ends) { e.ttl = 1 }) }},
		{"dscp", rewrite.Rules{DSCP: "46"}, 0, func(l string, m *made) { m.each(l, func(e *ends) { e.dscp = 46 }) }},
		{"teid", rewrite.Rules{TEID: []string{"0xdeadbeef"}}, 0, func(_ string, m *made) { m.teid = 0xdeadbeef }},
		{"teid step", rewrite.Rules{TEID: []string{"-0x1235"}}, 0, func(_ string, m *made) { m.teid = 0xffffffff }},
		{"teid map", rewrite.Rules{TEID: []string{"1=2", "0x1234=9"}}, 0, func(_ string, m *made) { m.teid = 9 }},
		{"sequence", rewrite.Rules{SeqShift: 1 << 20}, 0, func(l string, m *made) {
			m.each(l, func(e *ends) { e.seq += 1 << 20; e.ack += 1 << 20; e.sack += 1 << 20 })
		}},
		{"copy", rewrite.Rules{Unique: true}, 300, func(l string, m *made) {
			to := map[string]string{"10.1.2.3": "10.1.3.49", "172.16.0.9": "172.16.1.55", "10.99.0.1": "10.99.1.47", "192.0.2.200": "192.0.3.246",
				"2001:db8::a": "2001:db8::136", "2001:db8:1::b": "2001:db8:1::137", "2001:db8:aa::1": "2001:db8:aa::12d", "fd00::2": "fd00::12e"}
			m.each(l, func(e *ends) { e.src4, e.dst4, e.src6, e.dst6 = to[e.src4], to[e.dst4], to[e.src6], to[e.dst6] })
		}},
		{"everything", rewrite.Rules{
			SrcMAC: "02:11:11:11:11:11", MACMap: []string{"02:00:00:00:00:02=02:33:00:00:00:00"}, Map: []string{"172.16.0.0/12=10.16.0.0/12", "fd00::/8=fc00::/8"},
			SrcMap: []string{"10.1.2.3=9.9.9.9"}, PortMap: []string{"80=8080", "443=80", "1234=2234"}, TTL: "-1", DSCP: "63", TEID: []string{"+1"}, SeqShift: -1, Unique: true, CopyStride: 2,
		}, 1, func(l string, m *made) {
			m.smac, m.dmac = "02:11:11:11:11:11", "02:33:00:00:00:00"
			m.teid++
			m.each(l, ports)
			to := map[string]string{"10.1.2.3": "9.9.9.11", "172.16.0.9": "10.16.0.11", "10.99.0.1": "10.99.0.3", "192.0.2.200": "192.0.2.202",
				"2001:db8::a": "2001:db8::c", "2001:db8:1::b": "2001:db8:1::d", "2001:db8:aa::1": "2001:db8:aa::3", "fd00::2": "fc00::4"}
			m.each(l, func(e *ends) {
				e.src4, e.dst4, e.src6, e.dst6 = to[e.src4], to[e.dst4], to[e.src6], to[e.dst6]
				e.ttl--
				e.dscp = 63
				e.seq--
				e.ack--
				e.sack--
			})
		}},
	}
	for _, tt := range tests {
		for _, layer := range []string{"", rewrite.Outer, rewrite.Inner, rewrite.All} {
			for _, stack := range stacks {
				if strings.Contains(stack, "error") && (tt.rules.SrcMap != nil || tt.name == "prefixes") {
					continue // what is quoted has its ends the other way round: TestQuoted
				}
				t.Run(tt.name+"/"+layer+"/"+stack, func(t *testing.T) {
					m := example()
					frame := build(t, stack, m)
					tt.want(layer, &m)
					r := tt.rules
					r.Layer = layer
					want := build(t, stack, m)
					same(t, "rewritten", want, apply(t, r, frame, tt.copy))
					r.FixChecksums = true
					same(t, "with checksums computed anew", want, apply(t, r, frame, tt.copy))
				})
			}
		}
	}
}
