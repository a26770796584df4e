package meter

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnwrap(t *testing.T) {
	tests := []struct {
		name string
		next uint64
		low  uint16
		want uint64
	}{
		{"first", 0, 0, 0},
		{"first lost", 0, 5, 5},
		{"never below 0", 0, 0xffff, 0xffff},
		{"never below 0, a little later", 10, 0xfff0, 0xfff0},
		{"one back", 10, 9, 9},
		{"all the way back", 10, 0, 0},
		{"over the wrap", 0xffff, 2, 0x10002},
		{"back over the wrap", 0x10001, 0xfffe, 0xfffe},
		{"farthest ahead", 0x20000, 0x7fff, 0x27fff},
		{"farthest back", 0x20000, 0x8000, 0x18000},
		{"beyond 32 bits", 1<<32 - 1, 3, 1<<32 + 3},
		{"near the end of 48 bits", 1<<48 - 3, 0xfffe, 1<<48 - 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := unwrap(tt.next, tt.low); got != tt.want {
				t.Errorf("unwrap(%#x, %#x) = %#x, want %#x", tt.next, tt.low, got, tt.want)
			}
		})
	}
}

func FuzzUnwrap(f *testing.F) {
	f.Add(uint64(0), uint16(0xffff))
	f.Add(uint64(1<<47+3), uint16(9))
	f.Fuzz(func(t *testing.T, next uint64, low uint16) {
		next &= 1<<48 - 1
		got := unwrap(next, low)
		if uint16(got) != low {
			t.Fatalf("unwrap(%#x, %#x) = %#x: ends differently", next, low, got)
		}
		// The nearest of the three numbers around next, the smaller on a tie.
		want, best := uint64(0), uint64(1<<63)
		for _, block := range []int64{-1, 0, 1} {
			q := int64(next>>16)<<16 + block<<16 + int64(low)
			if q < 0 {
				continue
			}
			if d := uint64(max(q-int64(next), int64(next)-q)); d < best {
				want, best = uint64(q), d
			}
		}
		if got != want {
			t.Fatalf("unwrap(%#x, %#x) = %#x, want %#x", next, low, got, want)
		}
	})
}

// TestIDMatcher runs three flows of one stream over several wraps of their
// identifications, with losses and swaps, into an account.
func TestIDMatcher(t *testing.T) {
	const flows, perFlow = 3, 150_000
	m := NewIDMatcher(Interleaved(flows))
	for f := range uint32(flows) {
		if err := m.Add(udp4(uint16(1000+f), 0, nil), 5, f); err != nil {
			t.Fatal(err)
		}
	}
	s := newTestStream(t, Config{Stream: 5})
	var held []byte // is overtaken by one frame
	lost := uint64(0)
	give := func(frame []byte) {
		a, match := m.Match(frame, 9)
		if match != Ours || a.HasSent || a.Size != 64 || a.Stream != 5 {
			t.Fatalf("match %d, arrival %+v", match, a)
		}
		s.Add(a)
	}
	for n := range uint64(perFlow) {
		for f := range uint64(flows) {
			frame := udp4(uint16(1000+f), uint16(n), nil)
			switch {
			case f == 0 && n >= 70_000 && n < 100_000: // almost half a wrap
				lost++
			case f == 1 && n%1000 == 0:
				held = frame
			default:
				give(frame)
				if held != nil {
					give(held)
					held = nil
				}
			}
		}
	}
	s.Finish(flows * perFlow)
	r := s.Report()
	got := [...]uint64{r.Received, r.Lost, r.Duplicated, r.Reordered, r.Late, r.Beyond}
	want := [...]uint64{flows*perFlow - lost, lost, 0, perFlow / 1000, 0, 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("received, lost, duplicated, reordered, late, beyond (-want +got):\n%s", diff)
	}
}

// TestIDMatcherLate checks that a late frame does not turn the flow back.
func TestIDMatcherLate(t *testing.T) {
	m := NewIDMatcher(Interleaved(1))
	if err := m.Add(udp4(1000, 0, nil), 0, 0); err != nil {
		t.Fatal(err)
	}
	want := []uint64{30_000, 60_000, 30_001, 92_000, 92_001}
	var got []uint64
	for _, n := range want {
		a, _ := m.Match(udp4(1000, uint16(n), nil), 0)
		got = append(got, a.Seq)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sequence numbers (-want +got):\n%s", diff)
	}
}

func TestIDMatcherStrays(t *testing.T) {
	m := NewIDMatcher(Interleaved(1))
	if err := m.Add(udp4(1000, 0, nil), 1, 0); err != nil {
		t.Fatal(err)
	}
	for name, frame := range map[string][]byte{
		"other flow": udp4(1001, 0, nil),
		"ARP":        other(0x0806),
		"empty":      nil,
	} {
		if a, match := m.Match(frame, 0); match != Stray {
			t.Errorf("%s: match %d, arrival %+v, want a stray", name, match, a)
		}
	}

	err := m.Add(udp4(1000, 7, []byte("x")), 2, 4)
	if err == nil || !strings.Contains(err.Error(), "stream 2, flow 4") || !strings.Contains(err.Error(), "those of stream 1, flow 0") {
		t.Errorf("same tuple twice: error %v", err)
	}
	err = m.Add(other(0x86dd), 2, 5)
	if err == nil || !strings.Contains(err.Error(), "0x86dd, need IPv4") {
		t.Errorf("no IPv4: error %v", err)
	}
}
