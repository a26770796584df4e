package wire

import (
	"bytes"
	"fmt"
	"testing"
)

// gtp is udp4 with a GTP-U header and an IPv4 packet of 24 bytes in place of
// its content, checksums left out.
var gtp = raw(macs + "0800 4500 0044 1234 4000 4011 0000 c6120001 c6120101 0868 0868 0030 0000 " +
	"34ff 0020 00000007 0000 00 85 01 10 09 00 4500 0018 0001 0000 4006 0000 0a000001 0a000002 1f90 0050")

func TestStackHeads(t *testing.T) {
	name := []string{"", "eth", "arp", "ip4", "ip6", "tcp", "udp", "nd", "gtpu"}
	tests := []struct {
		name  string
		frame []byte
		want  string // kind level:from-to
	}{
		{"nothing", nil, ""},
		{"IPv4", udp4, "eth0:0-50 ip40:14-50 udp0:34-50"},
		{"padded", padded(udp4, 60, 1), "eth0:0-60 ip40:14-50 udp0:34-50"},
		{"IPv6 with a tag", tagged(udp6, EtherTypeQinQ, 1), "eth0:0-74 ip60:18-74 udp0:58-74"},
		{"ARP", arp, "eth0:0-42 arp0:14-42"},
		{"no headers of such a length", changed(udp4, 14, 0x44), "eth0:0-50"},
		{"longer than the frame", changed(udp4, 17, 0x30), "eth0:0-50 ip40:14-50 udp0:34-50"},
		{"a later fragment", changed(udp4, 21, 1), "eth0:0-50 ip40:14-50"},
		{"GTP-U", gtp, "eth0:0-82 ip40:14-82 udp0:34-82 gtpu0:42-82 ip41:58-82 tcp1:78-82"},
		{"GTP-U that ends early", changed(gtp, 45, 0x1f), "eth0:0-82 ip40:14-82 udp0:34-82 gtpu0:42-81 ip41:58-81"},
		{"GTP-U with an extension of no length", changed(gtp, 54, 0), "eth0:0-82 ip40:14-82 udp0:34-82 gtpu0:42-82"},
		{"cut in the inner header", gtp[:70], "eth0:0-70 ip40:14-70 udp0:34-70 gtpu0:42-70"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s Stack
			s.Walk(tt.frame)
			got := ""
			for _, h := range s.Heads() {
				got += fmt.Sprintf("%s%d:%d-%d ", name[h.Kind], h.Level, h.At, h.End)
			}
			if got != tt.want && got != tt.want+" " {
				t.Errorf("have %s, want %s", got, tt.want)
			}
		})
	}
}

// Too many IP headers within each other are payload, not trouble.
func TestStackDepth(t *testing.T) {
	frame := append([]byte{}, raw(macs+"0800")...)
	for n := range 12 {
		left := 20 * (12 - n)
		frame = append(frame, raw(fmt.Sprintf("4500 %04x 0000 0000 4004 0000 0a000001 0a000002", left))...)
	}
	var s Stack
	s.Walk(frame)
	if n := len(s.Heads()); n != 1+MaxLevels {
		t.Errorf("%d headers, want Ethernet and %d", n, MaxLevels)
	}
}

func TestStackDoesNotAllocate(t *testing.T) {
	frame := bytes.Clone(gtp)
	var b byte
	if n := testing.AllocsPerRun(100, func() {
		var s Stack
		s.Walk(frame)
		b++
		s.Put(58+12, []byte{b})
		s.Settle(true)
	}); n > 0 {
		t.Errorf("%v allocations a frame", n)
	}
}

// FuzzStack: the headers of any bytes are within them and in order; a change
// keeps right checksums right; taken back, it leaves the frame as it was; and
// Settle alone changes nothing.
func FuzzStack(f *testing.F) {
	for _, frame := range [][]byte{nil, udp4, udp6, arp, gtp, tagged(udp4, EtherTypeQinQ, 1), udp4[:33], padded(arp, 60, 0)} {
		f.Add(frame, uint16(30), []byte{1, 2})
	}
	f.Fuzz(func(t *testing.T, frame []byte, at uint16, with []byte) {
		frame = bytes.Clone(frame)
		var s Stack
		s.Walk(frame)
		for i, h := range s.Heads() {
			if h.At < 0 || h.End > len(frame) || h.At >= h.End || h.Level >= MaxLevels || i > 0 && h.At <= s.Heads()[i-1].At {
				t.Fatalf("header %d of %d bytes: %+v", i, len(frame), h)
			}
		}
		was := bytes.Clone(frame)
		if s.Settle(false); !bytes.Equal(was, frame) {
			t.Fatal("nothing was changed, and Settle changed something")
		}
		s.Settle(true)
		s.Walk(frame)
		if s.Settle(true) {
			t.Fatal("computed anew, a checksum is not right")
		}
		// A TTL, which no header's place depends on.
		for _, h := range s.Heads() {
			if len(with) == 0 || h.Kind != KindIPv4 {
				continue
			}
			s.Put(h.At+8, with[:1])
			s.Settle(false)
			s.Walk(bytes.Clone(frame))
			if s.Settle(true) {
				t.Fatal("after a change, a checksum is not right")
			}
			s.Walk(frame)
		}
	})
}
