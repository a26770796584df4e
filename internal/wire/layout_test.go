package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	whole4 := Layout{EtherType: EtherTypeIPv4, Proto: ProtoUDP, L3: 14, L4: 34, End: 50}
	whole6 := Layout{EtherType: EtherTypeIPv6, Proto: ProtoUDP, L3: 14, L4: 54, End: 70}
	none4 := func(end int) Layout { return Layout{EtherType: EtherTypeIPv4, L3: 14, End: end} }
	none6 := func(end int) Layout { return Layout{EtherType: EtherTypeIPv6, L3: 14, End: end} }
	six := func(next string, length string, rest string) []byte {
		return raw(macs + "86dd 60000000" + length + next + "40" + ip6[20:] + rest)
	}
	tests := []struct {
		name  string
		frame []byte
		want  Layout
	}{
		{"nothing", nil, Layout{}},
		{"13 bytes", udp4[:13], Layout{}},
		{"Ethernet header", udp4[:14], none4(14)},
		{"UDP", udp4, whole4},
		{"UDP, padded", padded(udp4, 60, 0), whole4},
		{"cut in the IP header", udp4[:33], none4(33)},
		{"cut behind the IP header", udp4[:34], Layout{EtherType: EtherTypeIPv4, Proto: ProtoUDP, L3: 14, L4: 34, End: 34}},
		{"cut in the payload", udp4[:45], Layout{EtherType: EtherTypeIPv4, Proto: ProtoUDP, L3: 14, L4: 34, End: 45}},
		{"version 5", changed(udp4, 14, 0x55), none4(50)},
		{"header of 16 bytes", changed(udp4, 14, 0x44), none4(50)},
		{"header of 60 bytes, cut", changed(udp4, 14, 0x4f), none4(50)},
		{"options", changed(udp4, 14, 0x46), Layout{EtherType: EtherTypeIPv4, Proto: ProtoUDP, L3: 14, L4: 38, End: 50}},
		{"total length below the header", changed(udp4, 17, 19), none4(50)},
		{"total length of the header", changed(udp4, 17, 20), Layout{EtherType: EtherTypeIPv4, Proto: ProtoUDP, L3: 14, L4: 34, End: 34}},
		{"total length of 0", changed(udp4, 17, 0), whole4},
		{"total length above the frame", changed(udp4, 16, 0xff), whole4},
		{"first fragment", changed(udp4, 20, 0x20), Layout{EtherType: EtherTypeIPv4, Proto: ProtoUDP, Fragment: true, L3: 14, L4: 34, End: 50}},
		{"later fragment", changed(udp4, 21, 1), Layout{EtherType: EtherTypeIPv4, Proto: ProtoUDP, Fragment: true, L3: 14, L4: 34, End: 50}},
		{"do not fragment", changed(udp4, 20, 0x40), whole4},
		{"VLAN", tagged(udp4, EtherTypeVLAN, 7), Layout{EtherType: EtherTypeIPv4, Proto: ProtoUDP, VLANs: 1, L3: 18, L4: 38, End: 54}},
		{"QinQ", tagged(tagged(udp4, EtherTypeVLAN, 7), EtherTypeQinQ, 8), Layout{EtherType: EtherTypeIPv4, Proto: ProtoUDP, VLANs: 2, L3: 22, L4: 42, End: 58}},
		{"cut in the VLAN tag", tagged(udp4, EtherTypeVLAN, 7)[:17], Layout{EtherType: EtherTypeVLAN, L3: 14, End: 17}},
		{"cut behind the VLAN tag", tagged(udp4, EtherTypeVLAN, 7)[:18], Layout{EtherType: EtherTypeIPv4, VLANs: 1, L3: 18, End: 18}},
		{"ARP", arp, Layout{EtherType: EtherTypeARP, L3: 14, End: 42}},
		{"ARP, padded", padded(arp, 60, 0), Layout{EtherType: EtherTypeARP, L3: 14, End: 60}},
		{"IPv6", udp6, whole6},
		{"IPv6, padded", padded(udp6, 80, 0), whole6},
		{"IPv6, cut in the header", udp6[:53], none6(53)},
		{"IPv6, cut in the payload", udp6[:60], Layout{EtherType: EtherTypeIPv6, Proto: ProtoUDP, L3: 14, L4: 54, End: 60}},
		{"IPv6, version 4", changed(udp6, 14, 0x40), none6(70)},
		{"IPv6, length of 0", changed(udp6, 19, 0), whole6},
		{"IPv6, hop by hop", six("00", "0018", "11 00 010400000000"+udp+eight), Layout{EtherType: EtherTypeIPv6, Proto: ProtoUDP, L3: 14, L4: 62, End: 78}},
		{"IPv6, two extension headers", six("3c", "0028", "2b 01 010c000000000000000000000000 11 00 000000000000"+udp+eight), Layout{EtherType: EtherTypeIPv6, Proto: ProtoUDP, L3: 14, L4: 78, End: 94}},
		{"IPv6, extension header cut", six("3c", "0001", "2b"), none6(55)},
		{"IPv6, extension header longer than the packet", six("3c", "0008", "11 01 000000000000"), none6(62)},
		{"IPv6, padding is no extension header", padded(six("3c", "0008", "11 01 000000000000"), 80, 0), none6(80)},
		{"IPv6, atomic fragment", six("2c", "0018", "11 00 0000 00000001"+udp+eight), Layout{EtherType: EtherTypeIPv6, Proto: ProtoUDP, L3: 14, L4: 62, End: 78}},
		{"IPv6, first fragment", six("2c", "0018", "11 00 0001 00000001"+udp+eight), Layout{EtherType: EtherTypeIPv6, Proto: ProtoUDP, Fragment: true, L3: 14, L4: 62, End: 78}},
		{"IPv6, later fragment of options", six("2c", "0018", "3c 00 0008 00000001"+udp+eight), Layout{EtherType: EtherTypeIPv6, Proto: 60, Fragment: true, L3: 14, L4: 62, End: 78}},
		{"IPv6, fragment header cut", six("2c", "0007", "11 00 0001 000000"), none6(61)},
		{"IPv6, nothing behind the header", six("3b", "0000", ""), Layout{EtherType: EtherTypeIPv6, Proto: 59, L3: 14, L4: 54, End: 54}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Parse(tt.frame)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzParse: no frame makes anything here panic, and layers lie in the frame one
// behind the other.
func FuzzParse(f *testing.F) {
	for _, frame := range [][]byte{nil, udp4, udp6, arp, tagged(udp4, EtherTypeQinQ, 1), udp4[:33], padded(arp, 60, 0), changed(udp4, 14, 0x4f)} {
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		l := Parse(frame)
		if l.End > len(frame) || l.L3 > l.End || l.IP() && (l.L4 <= l.L3 || l.L4 > l.End) {
			t.Fatalf("layers of %d bytes: %+v", len(frame), l)
		}
		if len(frame) >= HeaderLen && l.L3 < HeaderLen {
			t.Fatalf("layers of %d bytes: %+v", len(frame), l)
		}
		FindTag(frame)
		ID(frame, l)
		key, ok := FlowKey(frame, l)
		if ok != l.IP() {
			t.Fatalf("flow key %v of %+v", ok, l)
		}
		if again, _ := FlowKey(frame, l); again != key {
			t.Fatal("flow key changes")
		}
		if Fingerprint(frame) != Fingerprint(append([]byte{}, frame...)) {
			t.Fatal("fingerprint depends on more than the bytes")
		}
		if !l.IP() {
			return
		}
		// What switches do, at most 4 tags and the IP payload as it was.
		want := Fingerprint(frame[:l.End])
		if l.EtherType == EtherTypeIPv4 && u16(frame[l.L3+2:]) != 0 || l.EtherType == EtherTypeIPv6 && u16(frame[l.L3+4:]) != 0 {
			if l.End == l.L3+int(ipLen(frame, l)) && Fingerprint(append(frame[:l.End:l.End], 1, 2, 3)) != want {
				t.Fatal("padding changes the fingerprint")
			}
		}
		if Fingerprint(tagged(frame[:l.End], EtherTypeVLAN, 3)) != want {
			t.Fatal("a VLAN tag changes the fingerprint")
		}
	})
}

func u16(b []byte) uint16 { return uint16(b[0])<<8 | uint16(b[1]) }

// ipLen returns the length that the IP header says.
func ipLen(frame []byte, l Layout) uint32 {
	if l.EtherType == EtherTypeIPv4 {
		return uint32(u16(frame[l.L3+2:]))
	}
	return 40 + uint32(u16(frame[l.L3+4:]))
}

func TestParseDoesNotAllocate(t *testing.T) {
	for _, frame := range [][]byte{udp4, udp6, arp} {
		n := testing.AllocsPerRun(100, func() {
			l := Parse(frame)
			FlowKey(frame, l)
			Fingerprint(frame)
			FindTag(frame)
		})
		if n != 0 {
			t.Errorf("%v allocations, need 0", n)
		}
	}
}

// TestParseCut cuts frames everywhere: layers end where the bytes do, and no cut
// frame has a layer that the whole one has not.
func TestParseCut(t *testing.T) {
	extended := raw(macs + "86dd 60000000 0028 3c 40" + ip6[20:] + "2b 01 010c000000000000000000000000 11 00 0001 00000000" + udp + eight)
	for _, whole := range [][]byte{udp4, udp6, arp, extended, tagged(tagged(udp4, EtherTypeVLAN, 1), EtherTypeQinQ, 2), changed(udp4, 14, 0x47)} {
		full := Parse(whole)
		for n := range whole {
			l := Parse(whole[:n])
			switch {
			case n < HeaderLen:
				if l != (Layout{}) {
					t.Errorf("%d bytes of %x: have %+v, need nothing", n, whole, l)
				}
			case l.End != n:
				t.Errorf("%d bytes of %x: the end is %d", n, whole, l.End)
			case l.IP() != (full.IP() && n >= full.L4):
				t.Errorf("%d bytes of %x: IP is %v", n, whole, l.IP())
			case l.IP() && (l.L4 != full.L4 || l.Proto != full.Proto):
				t.Errorf("%d bytes of %x: have %+v, whole %+v", n, whole, l, full)
			}
		}
	}
}
