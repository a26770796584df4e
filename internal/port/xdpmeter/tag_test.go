package xdpmeter

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"squall/internal/meter"
	"squall/internal/wire"
)

// shapes are frames of every kind that the tag is looked for in.
func shapes() map[string][]byte {
	ours := wire.Tag{Run: run, Stream: 1, Seq: 0, Sent: 5}
	foreign := ours
	foreign.Run++
	plain, big := udp4(60, ours), udp4(1514, ours)
	pad := make([]byte, 20)
	return map[string][]byte{
		"IPv4":                          plain,
		"IPv4, 1514 bytes":              big,
		"IPv4, 3500 bytes":              udp4(3500, ours),
		"foreign":                       udp4(60, foreign),
		"unknown stream":                udp4(60, wire.Tag{Run: run, Stream: 2}),
		"stream beyond the table":       udp4(60, wire.Tag{Run: run, Stream: 65535}),
		"no magic":                      set(plain, 42, 0),
		"padded":                        append(bytes.Clone(plain), pad...),
		"total length cuts the tag":     set(plain, 17, 45),
		"total length 0":                set(plain, 16, 0, 0),
		"total length 0, padded":        append(set(plain, 16, 0, 0), pad...),
		"total length beyond the frame": set(plain, 16, 1, 0),
		"total length 19":               set(plain, 16, 0, 19),
		"total length 20":               set(plain, 16, 0, 20),
		"IPv4 options":                  set(with(plain, 34, 1, 1, 1, 0), 14, 0x46, 0, 0, 50),
		"header longer than the frame":  set(plain, 14, 0x4f),
		"header too short":              set(plain, 14, 0x44),
		"version 5":                     set(plain, 14, 0x55),
		"cut in the IPv4 header":        plain[:30],
		"only Ethernet":                 plain[:14],
		"VLAN":                          with(plain, 12, 0x81, 0, 0, 7),
		"QinQ":                          with(plain, 12, 0x88, 0xa8, 0, 7, 0x81, 0, 0, 8),
		"three VLAN tags":               with(plain, 12, 0x81, 0, 0, 7, 0x81, 0, 0, 8, 0x81, 0, 0, 9),
		"VLAN, padded":                  append(with(plain, 12, 0x81, 0, 0, 7), pad...),
		"twenty VLAN tags":              with(plain, 12, bytes.Repeat([]byte{0x81, 0, 0, 7}, 20)...),
		"cut in the VLAN tag":           with(plain, 12, 0x81, 0, 0, 7)[:16],
		"nothing but VLAN tags":         bytes.Repeat([]byte{0x81, 0, 0x81, 0}, 40),
		"802.3 length":                  set(plain, 12, 0, 46),
		"802.3 length, no tag":          set(make([]byte, 60), 12, 0, 46),
		"other EtherType":               set(plain, 12, 0x88, 0xcc),
		"other EtherType, odd length":   with(set(plain, 12, 0x88, 0xcc), 20, 9),
		"other EtherType, VLAN":         with(set(plain, 12, 0x88, 0xcc), 12, 0x81, 0, 0, 7),
		"other EtherType, 32 bytes":     append(append(make([]byte, 12), 0x88, 0xcc), plain[42:]...),
		"other EtherType, 31 bytes":     append(append(make([]byte, 11), 0x88, 0xcc), plain[42:]...),
		"IPv6":                          ipv6(wire.ProtoUDP, ours),
		"IPv6, padded":                  append(ipv6(wire.ProtoUDP, ours), pad...),
		"IPv6, payload length 0":        set(ipv6(wire.ProtoUDP, ours), 18, 0, 0),
		"IPv6, payload beyond":          set(ipv6(wire.ProtoUDP, ours), 18, 2, 0),
		"IPv6, payload cuts the tag":    set(ipv6(wire.ProtoUDP, ours), 18, 0, 17),
		"IPv6, version 4":               set(ipv6(wire.ProtoUDP, ours), 14, 0x40),
		"IPv6, cut":                     ipv6(wire.ProtoUDP, ours)[:50],
		"IPv6, VLAN":                    with(ipv6(wire.ProtoUDP, ours), 12, 0x81, 0, 0, 7),
		"hop by hop":                    ipv6(0, ours, 17, 0, 0, 0, 0, 0, 0, 0),
		"hop by hop, longer":            ipv6(0, ours, 17, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
		"hop by hop beyond the payload": append(ipv6(0, ours, 17, 9, 0, 0, 0, 0, 0, 0), pad...),
		"routing, fragment, destination": ipv6(43, ours,
			44, 0, 0, 0, 0, 0, 0, 0, 60, 9, 0, 9, 0, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0, 0),
		"fragment cut":            append(set(ipv6(44, ours), 18, 0, 7), pad...),
		"a hundred destinations":  ipv6(60, ours, bytes.Repeat([]byte{60, 0, 0, 0, 0, 0, 0, 0}, 100)...),
		"a hundred and then none": ipv6(60, ours, append(bytes.Repeat([]byte{60, 0, 0, 0, 0, 0, 0, 0}, 100), 17, 0, 0, 0, 0, 0, 0, 0)...),
		"ARP":                     set(make([]byte, 60), 12, 8, 6),
	}
}

func TestTag(t *testing.T) {
	for _, several := range []bool{false, true} {
		r := newRig(t, several, meter.Config{Stream: 1, Window: 1024}, meter.Config{Stream: 5, Window: 1024})
		for name, frame := range shapes() {
			t.Run(fmt.Sprintf("%s/several buffers %v", name, several), func(t *testing.T) {
				r.arrive(t, frame, 10)
				r.arrive(t, append(bytes.Clone(frame), 1, 2, 3, 4, 5, 6, 7), 10)
				r.compare(t)
				if got, want := r.Stream(1).Live(), r.want[0].Live(); got != want {
					t.Errorf("live counters %+v, want %+v", got, want)
				}
			})
		}
	}
}

// compare compares what is on no account.
func (r *rig) compare(t testing.TB) {
	t.Helper()
	if diff := cmp.Diff(r.receiver.Apart(), r.Apart()); diff != "" {
		t.Errorf("apart (-want +got):\n%s", diff)
	}
}

// TestSeveralBuffers has frames whose tag is not in the first buffer.
func TestSeveralBuffers(t *testing.T) {
	r := newRig(t, true, meter.Config{Stream: 1, Window: 1024})
	seq := uint64(0)
	for _, length := range []int{3500, 3700, 4096, 4110, 9014, 20000, 60000} {
		r.arrive(t, udp4(length, wire.Tag{Run: run, Stream: 1, Seq: seq}), 10)
		seq++
		// Across the bound of two buffers, wherever that is.
		for cut := range 24 {
			f := append(udp4(3500+cut*2, wire.Tag{Run: run, Stream: 1, Seq: seq}), make([]byte, 2000)...)
			r.arrive(t, f, 10)
			seq++
		}
	}
	if l := r.Stream(1).Live(); l.Received != seq || l.Missing != 0 || l != r.want[0].Live() {
		t.Errorf("live counters %+v, want %+v", l, r.want[0].Live())
	}
}

func TestStrays(t *testing.T) {
	r := newRig(t, false, meter.Config{Stream: 1, Window: 1024})
	for i := range 40 { // more kinds than are told apart
		for range i%3 + 1 {
			r.arrive(t, set(make([]byte, 60), 12, byte(8+i/7), byte(i)), 10)
		}
	}
	r.compare(t)
}

// FuzzTag looks for a tag in any bytes.
func FuzzTag(f *testing.F) {
	for _, s := range shapes() {
		f.Add(s)
	}
	r := newRig(f, false, meter.Config{Stream: 1, Window: 1024, Limit: 1 << 20})
	f.Fuzz(func(t *testing.T, frame []byte) {
		if len(frame) < wire.HeaderLen || len(frame) > 3500 {
			return // no XDP program sees shorter ones
		}
		r.reset(t)
		r.arrive(t, frame, 10)
		if got, want := r.streams[0].Live(), r.want[0].Live(); got != want {
			t.Errorf("live counters %+v, want %+v", got, want)
		}
	})
}
