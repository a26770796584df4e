package wire

import (
	"testing"
)

// TestFingerprint: what a frame loses or gains on its way does not count,
// anything else does.
func TestFingerprint(t *testing.T) {
	tcp := raw(macs + "0800 4500 0028 1234 4000 4006 0000 c6120001 c6120101 c0200050 00000001 00000002 5010 ffff 0000 0000")
	options := raw(macs + "0800 4600 0020 1234 4000 4011 0000 c6120001 c6120101 94040000 c0200009 0008 0000")
	tests := []struct {
		name     string
		frame    []byte
		carriers []int // bytes that may change on the way
	}{
		{"UDP", udp4, span(0, 12, 15, 22, 24, 25)},
		{"TCP", tcp, span(0, 12, 15, 22, 24, 25)},
		{"IPv4 options", options, span(0, 12, 15, 22, 24, 25)},
		{"UDP, IPv6", udp6, append(span(0, 12, 21), 14)},
		{"ARP", arp, span(0, 12)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := Fingerprint(tt.frame)
			ways := map[string][]byte{
				"padded":            padded(tt.frame, 60, 0),
				"VLAN":              tagged(tt.frame, EtherTypeVLAN, 7),
				"VLAN, padded":      padded(tagged(tt.frame, EtherTypeVLAN, 7), 60, 0),
				"padded, then VLAN": tagged(padded(tt.frame, 60, 0), EtherTypeVLAN, 7),
				"QinQ":              tagged(tagged(padded(tt.frame, 60, 0), EtherTypeVLAN, 7), EtherTypeQinQ, 9),
			}
			for name, f := range ways {
				if Fingerprint(f) != want {
					t.Errorf("%s: another fingerprint", name)
				}
			}
			may := make(map[int]bool)
			for _, off := range tt.carriers {
				may[off] = true
			}
			seen := map[uint64]int{want: -1}
			for off := range tt.frame {
				for bit := range 8 {
					got := Fingerprint(changed(tt.frame, off, tt.frame[off]^1<<bit))
					switch {
					case tt.name == "UDP, IPv6" && (off == 14 || off == 15 && bit >= 4):
						// The version is 6 or it is no IPv6; the rest is the traffic class.
						if off == 14 && bit >= 4 {
							continue
						}
						if got != want {
							t.Errorf("byte %d bit %d: another fingerprint", off, bit)
						}
					case may[off]:
						if got != want {
							t.Errorf("byte %d bit %d: another fingerprint", off, bit)
						}
					case got == want:
						t.Errorf("byte %d bit %d: the same fingerprint", off, bit)
					default:
						if at, twice := seen[got]; twice {
							t.Errorf("byte %d bit %d: the fingerprint of byte %d", off, bit, at)
						}
						seen[got] = off
					}
				}
			}
		})
	}
}

// span returns the first range as all its numbers, then the others.
func span(from, to int, others ...int) []int {
	for i := from; i < to; i++ {
		others = append(others, i)
	}
	return others
}

// TestFingerprintWithoutIP: a frame too long to be padded counts to its last
// byte, with VLAN tags and without.
func TestFingerprintWithoutIP(t *testing.T) {
	for n := 15; n < 80; n++ {
		frame := padded(raw(macs+"88b5 01"), n, 0)
		for tags, f := 1, tagged(frame, EtherTypeVLAN, 1); tags < 4; tags, f = tags+1, tagged(f, EtherTypeQinQ, 1) {
			if Fingerprint(f) != Fingerprint(frame) {
				t.Errorf("%d bytes: another fingerprint with %d tags", n, tags)
			}
		}
		longer := padded(frame, n+1, 0)
		if same := Fingerprint(longer) == Fingerprint(frame); same != (n+1 <= 60) {
			t.Errorf("%d and %d bytes: same fingerprint %v", n, n+1, same)
		}
	}
	for _, f := range [][]byte{nil, {1}, udp4[:13]} {
		if Fingerprint(f) == Fingerprint(append([]byte{9}, f...)) {
			t.Errorf("%d bytes: the fingerprint of another frame", len(f))
		}
	}
}

func TestFlowKey(t *testing.T) {
	key := func(f []byte) uint64 {
		k, ok := FlowKey(f, Parse(f))
		if !ok {
			t.Fatalf("no key of %x", f)
		}
		return k
	}
	for _, frame := range [][]byte{udp4, udp6} {
		l := Parse(frame)
		want := key(frame)
		same := map[string][]byte{
			"VLAN": tagged(frame, EtherTypeVLAN, 7), "MAC": changed(frame, 3, 9), "payload": changed(frame, l.L4+9, 99),
			"padding": padded(frame, 90, 7), "UDP length": changed(frame, l.L4+5, 1),
		}
		for name, f := range same {
			if key(f) != want {
				t.Errorf("%s changes the key", name)
			}
		}
		addr := l.L3 + 12
		if l.EtherType == EtherTypeIPv6 {
			addr = l.L3 + 8
		}
		for off := addr; off < l.L4+4; off++ {
			if key(changed(frame, off, frame[off]^1)) == want {
				t.Errorf("byte %d does not change the key", off)
			}
		}
		cut := frame[:l.L4+3] // no room for the ports
		if key(cut) == want || key(cut) != key(changed(cut, l.L4, 9)) {
			t.Error("ports that are cut count")
		}
	}
	fragment := changed(udp4, 21, 1)
	if key(fragment) != key(changed(fragment, 34, 99)) {
		t.Error("the payload of a later fragment counts as ports")
	}
	for _, f := range [][]byte{nil, arp, udp4[:20]} {
		if _, ok := FlowKey(f, Parse(f)); ok {
			t.Errorf("a key of %x", f)
		}
	}
}

func TestID(t *testing.T) {
	tests := []struct {
		name  string
		frame []byte
		id    uint16
		ok    bool
	}{
		{"IPv4", udp4, 0x1234, true},
		{"VLAN", tagged(udp4, EtherTypeVLAN, 1), 0x1234, true},
		{"IPv6", udp6, 0, false},
		{"ARP", arp, 0, false},
		{"cut", udp4[:30], 0, false},
	}
	for _, tt := range tests {
		if id, ok := ID(tt.frame, Parse(tt.frame)); id != tt.id || ok != tt.ok {
			t.Errorf("%s: have %#x, %v, need %#x, %v", tt.name, id, ok, tt.id, tt.ok)
		}
	}
}
