package wire

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestTagFormat holds the bytes that doc.go draws.
func TestTagFormat(t *testing.T) {
	b := make([]byte, 20)
	Tag{Run: 0x0102, Stream: 0x0304, Seq: 0x05060708090a, Sent: 0x0b0c0d0e0f10}.Put(b)
	want := raw("5371 0102 0304 05060708090a 0b0c0d0e0f10 0000")
	if diff := cmp.Diff(want, b); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzTag(f *testing.F) {
	f.Add(uint16(0), uint16(0), uint64(0), int64(0))
	f.Add(uint16(65535), uint16(1), uint64(MaxSeq), int64(1<<48-1))
	f.Add(uint16(7), uint16(65535), uint64(1<<63+5), int64(1<<62+9))
	f.Fuzz(func(t *testing.T, run, stream uint16, seq uint64, sent int64) {
		var b [TagLen]byte
		Tag{Run: run, Stream: stream, Seq: seq, Sent: sent}.Put(b[:])
		want := Tag{Run: run, Stream: stream, Seq: seq & MaxSeq, Sent: sent & (1<<48 - 1)}
		got, ok := ReadTag(b[:])
		if !ok || got != want {
			t.Fatalf("have %+v, %v, need %+v", got, ok, want)
		}
		if l := Latency(got.Sent, sent+1234); l != 1234 {
			t.Fatalf("latency %d, need 1234", l)
		}
	})
}

func TestReadTagRefuses(t *testing.T) {
	var b [TagLen]byte
	Tag{Seq: 5}.Put(b[:])
	if _, ok := ReadTag(b[:17]); ok {
		t.Error("17 bytes are a tag")
	}
	b[1] ^= 1
	if _, ok := ReadTag(b[:]); ok {
		t.Error("another magic is a tag")
	}
}

func TestFindTag(t *testing.T) {
	tag := Tag{Run: 1, Stream: 2, Seq: 3, Sent: 4}
	b := make([]byte, TagLen)
	tag.Put(b)
	with := func(frame []byte, length int) []byte { // behind the 8 bytes of payload
		f := append(append([]byte{}, frame...), b...)
		if length >= 0 {
			f[length] += TagLen
		}
		return f
	}
	udp4, udp6, arp := with(udp4, 17), with(udp6, 19), with(arp, -1)
	tests := []struct {
		name  string
		frame []byte
		ok    bool
	}{
		{"UDP", udp4, true},
		{"padded", padded(udp4, 100, 9), true},
		{"VLAN pushed", tagged(udp4, EtherTypeVLAN, 7), true},
		{"IPv6", udp6, true},
		{"IPv6, padded", padded(udp6, 120, 0), true},
		{"without IP", arp, true},
		{"without IP, VLAN", tagged(arp, EtherTypeVLAN, 7), true},
		{"without IP, padded", padded(arp, 64, 0), false},
		{"cut", udp4[:len(udp4)-1], false},
		{"cut to a tag", b, false},
		{"nothing", nil, false},
		{"a tag behind the IP payload", append(append([]byte{}, wireOnly(udp4)...), b...), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := FindTag(tt.frame)
			want := tag
			if !tt.ok {
				want = Tag{}
			}
			if diff := cmp.Diff(want, got); ok != tt.ok || diff != "" {
				t.Errorf("found %v, need %v (-want +got):\n%s", ok, tt.ok, diff)
			}
		})
	}
	l := Parse(udp4)
	for _, tt := range []struct {
		headers int
		ok      bool
	}{{42, true}, {50, true}, {51, false}} {
		if off, ok := l.TagOffset(tt.headers); off != 50 || ok != tt.ok {
			t.Errorf("tag behind %d bytes of headers: at %d, %v, need 50, %v", tt.headers, off, ok, tt.ok)
		}
	}
	if !bytes.Equal(udp4[50:], b) {
		t.Error("the tag is not where it was put")
	}
}

// wireOnly blanks the tag of a frame.
func wireOnly(frame []byte) []byte {
	f := append([]byte{}, frame...)
	clear(f[len(f)-TagLen:])
	return f
}

// TestLatency: exact over the wrap of 48 bits, in both directions.
func TestLatency(t *testing.T) {
	const wrap = 1 << 48
	hours := int64(39 * time.Hour)
	for _, sent := range []int64{0, 1, wrap - 1, wrap, wrap + 5, 3*wrap - 2, 1 << 62} {
		for _, d := range []int64{0, 1, -1, 1500, hours, -hours} {
			if got := Latency(sent&(wrap-1), sent+d); got != d {
				t.Errorf("sent at %d, %d later: have %d", sent, d, got)
			}
		}
	}
}
