package wire

import (
	"encoding/binary"
	"testing"
)

// naive sums 16-bit words one by one and carries at once (RFC 1071 section 1).
func naive(b []byte) uint16 {
	var s uint32
	for i, c := range b {
		if i%2 == 0 {
			s += uint32(c) << 8
		} else {
			s += uint32(c)
		}
		s = s&0xffff + s>>16
	}
	return uint16(s)
}

func TestSum(t *testing.T) {
	tests := []struct {
		name string
		data []byte
		want uint16
	}{
		{"nothing", nil, 0},
		{"RFC 1071 section 3", raw("0001 f203 f4f5 f6f7"), 0xddf2},
		{"odd", raw("0102 03"), 0x0402},
		{"all ones", raw("ffff ffff ffff ffff ff"), 0xff00},
		{"a carry of a carry", raw("ffff 0001 ffff 8000"), 0x8001},
	}
	for _, tt := range tests {
		if got := Fold(Sum(tt.data)); got != tt.want {
			t.Errorf("%s: have %#04x, need %#04x", tt.name, got, tt.want)
		}
		if n := naive(tt.data); n != tt.want {
			t.Errorf("%s: the reference has %#04x, need %#04x", tt.name, n, tt.want)
		}
	}
	for _, s := range []uint64{0, 1, 0xffff, 0x10000, 0x1ffff, 0xffffffff, 1 << 32, 1<<64 - 1, 0xffff0000ffff0001} {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], s)
		if got, want := Fold(s), naive(b[:]); got != want {
			t.Errorf("fold of %#x: have %#04x, need %#04x", s, got, want)
		}
	}
}

// FuzzChecksum: sums are those of the reference, whole, in pieces and from an
// odd offset, and a checksum that is updated is the one taken anew.
func FuzzChecksum(f *testing.F) {
	f.Add([]byte{1}, []byte{2, 3}, uint16(0))
	f.Add([]byte("some bytes and then more"), []byte("others"), uint16(5))
	f.Add([]byte{0, 0, 0xff, 0xff}, []byte{0xff, 0xff}, uint16(0))
	f.Add(make([]byte, 40), []byte{0}, uint16(2))
	f.Fuzz(func(t *testing.T, data, piece []byte, at uint16) {
		if got, want := Fold(Sum(data)), naive(data); got != want {
			t.Fatalf("sum: have %#04x, need %#04x", got, want)
		}
		cut := min(int(at)&^1, len(data)&^1)
		if got, want := Fold(Sum(data[:cut])+Sum(data[cut:])), naive(data); got != want {
			t.Fatalf("sum of two pieces: have %#04x, need %#04x", got, want)
		}
		if len(data) > 0 {
			rest := uint64(data[0])<<8 + uint64(Swap(Fold(Sum(data[1:]))))
			if got, want := Fold(rest), naive(data); got != want {
				t.Fatalf("sum from an odd offset: have %#04x, need %#04x", got, want)
			}
		}
		// Update: piece goes into data at an even place, as whole words. The
		// checksum has a word of its own and one that is never 0, as headers do.
		if len(piece) > len(data) || len(piece)%2 != 0 {
			return
		}
		place := min(int(at)&^1, (len(data)-len(piece))&^1)
		before := append([]byte{0x45, 0}, data...)
		after := append([]byte{}, before...)
		copy(after[2+place:], piece)
		old, now := before[2+place:2+place+len(piece)], after[2+place:2+place+len(piece)]
		got := Adjust(^naive(before), Delta(naive(old), naive(now)))
		if want := ^naive(after); got != want {
			t.Fatalf("checksum updated: have %#04x, need %#04x", got, want)
		}
	})
}

// TestAdjust: the example of RFC 1624 section 4, where RFC 1141 gives 0xffff.
func TestAdjust(t *testing.T) {
	if got := Adjust(0xdd2f, Delta(0x5555, 0x3285)); got != 0 {
		t.Errorf("have %#04x, need 0", got)
	}
}
