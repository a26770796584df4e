package plan

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"squall/internal/wire"
)

// TestFlowInTurn: Flow and FlowSeq are what counting flow by flow gives, Seq
// finds the way back, and the frame has the head of its flow.
func TestFlowInTurn(t *testing.T) {
	for _, flows := range []int{1, 2, 3, 7} {
		for _, run := range []uint64{1, 2, 5} {
			t.Run(fmt.Sprintf("%d flows in runs of %d", flows, run), func(t *testing.T) {
				s := bare(t, 1, flows, Stream{FlowRun: run})
				come := make([]uint64, flows)
				var flow, left uint64 = 0, run
				buf := make([]byte, s.MaxLen())
				for j := range uint64(200) {
					got := []uint64{s.Flow(j), s.FlowSeq(j), s.Seq(flow, come[flow])}
					if diff := cmp.Diff([]uint64{flow, come[flow], j}, got); diff != "" {
						t.Fatalf("frame %d: flow, flow's frame, way back (-want +got):\n%s", j, diff)
					}
					s.Write(buf, j, 0)
					if head := uint64(binary.BigEndian.Uint16(buf)); head != flow {
						t.Fatalf("frame %d has the head of flow %d, need %d", j, head, flow)
					}
					come[flow]++
					if left--; left == 0 {
						flow, left = (flow+1)%uint64(flows), run
					}
				}
			})
		}
	}
}

// TestSizeMix: every span of a common multiple of sizes and flows has the exact
// mix, and over as many spans as the cycle has frames each flow gets it too.
func TestSizeMix(t *testing.T) {
	imix := Sizes{Lens: []int{60, 590, 1514}, Cycle: []uint16{0, 1, 0, 0, 1, 0, 2, 1, 0, 0, 1, 0}}
	weight := []uint64{7, 4, 1}
	for _, flows := range []int{1, 2, 5, 6, 12, 24, 35} {
		for _, run := range []uint64{1, 3, 4} {
			t.Run(fmt.Sprintf("%d flows in runs of %d", flows, run), func(t *testing.T) {
				s := bare(t, 1, flows, Stream{Sizes: imix, FlowRun: run})
				span := uint64(flows) * run
				for span%12 != 0 {
					span += uint64(flows) * run
				}
				perFlow := make([][3]uint64, flows)
				buf := make([]byte, s.MaxLen())
				for k := range uint64(12) {
					var mix [3]uint64
					for j := k * span; j < (k+1)*span; j++ {
						c := 0
						for n := s.Write(buf, j, 0); imix.Lens[c] != n; c++ {
						}
						mix[c]++
						perFlow[s.Flow(j)][c]++
					}
					for c, n := range mix {
						if n*12 != span*weight[c] {
							t.Fatalf("span %d: class %d comes %d times of %d, need %d", k, c, n, span, span*weight[c]/12)
						}
					}
				}
				for f, mix := range perFlow {
					for c, n := range mix {
						if n != span/uint64(flows)*weight[c] {
							t.Fatalf("flow %d: class %d comes %d times in 12 spans, need %d", f, c, n, span/uint64(flows)*weight[c])
						}
					}
				}
			})
		}
	}
}

// TestRandom: the reference outputs of splitmix64 (Vigna) for the seed 1234567,
// and an even spread over flows, sizes and bits for seeds that are close.
func TestRandom(t *testing.T) {
	want := []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821}
	var got []uint64
	for i := range uint64(5) {
		got = append(got, Random(1234567, i))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for seed := range uint64(4) {
		s := bare(t, 1, 100, Stream{FlowRandom: true, Seed: seed, Sizes: Sizes{Lens: []int{60, 61, 62, 63, 64, 65, 66, 67, 68, 69}}})
		const draws = 100_000
		flows, sizes, both := make([]int, 100), make([]int, 10), make([]int, 1000)
		for j := range uint64(draws) {
			f, c := s.Flow(j), s.class(j)
			flows[f]++
			sizes[c]++
			both[f*10+c]++
		}
		for _, x := range []struct {
			name  string
			count []int
		}{{"flows", flows}, {"sizes", sizes}, {"flows with sizes", both}} {
			mean := float64(draws) / float64(len(x.count))
			chi := 0.0
			for _, n := range x.count {
				chi += (float64(n) - mean) * (float64(n) - mean) / mean
			}
			// The mean of chi-squared is its degrees of freedom, the deviation the
			// root of twice that: 5 deviations, for one seed and not by chance.
			free := float64(len(x.count) - 1)
			if d := (chi - free) * (chi - free); d > 25*2*free {
				t.Errorf("seed %d: %s: chi squared is %.0f of %.0f", seed, x.name, chi, free)
			}
		}
	}
}

func TestFlowRandomInRuns(t *testing.T) {
	s := bare(t, 1, 50, Stream{FlowRandom: true, FlowRun: 4, Seed: 9})
	changes := 0
	for j := uint64(0); j < 4000; j += 4 {
		for k := range uint64(4) {
			if s.Flow(j+k) != s.Flow(j) {
				t.Fatalf("flow changes within the run of frame %d", j)
			}
		}
		if s.Flow(j) != s.Flow(j+4) {
			changes++
		}
	}
	if changes < 900 {
		t.Errorf("flow changes after %d of 1000 runs, need about 980", changes)
	}
}

func TestBuildRefuses(t *testing.T) {
	sizes := func(n ...int) Sizes { return Sizes{Lens: n, Cycle: []uint16{0}} }
	patch := func(f Patch) []Patch { return []Patch{f} }
	tests := []struct {
		name   string
		heads  int
		stream Stream
		want   string
	}{
		{"no flows", 0, Stream{Sizes: sizes(60)}, "without flows"},
		{"sums", 1, Stream{Sizes: sizes(60), Sums: make([]Sum, 5)}, "have 5, at most 4"},
		{"below the headers", 1, Stream{Sizes: sizes(100, 40)}, "size 44 is below the 54 bytes that the headers need"},
		{"padding in the headers", 1, Stream{Sizes: sizes(60), Pad: 12}, "size 64 is below"},
		{"no room for a tag", 1, Stream{Sizes: sizes(60), Tag: TagEnd}, "size 64 leaves no room for the 18-byte tag behind 50 bytes"},
		{"short body", 1, Stream{Sizes: sizes(200)}, "have 100 bytes, need 150"},
		{"random flows counted by ID", 1, Stream{Sizes: sizes(60), Tag: TagID, FlowRandom: true}, "random flows"},
		{"patch at an odd offset", 1, Stream{Sizes: sizes(60), Patches: patch(Patch{Off: 1, Width: 2, Mask: 1})}, "window of 2 bytes at offset 1"},
		{"patch of three bytes", 1, Stream{Sizes: sizes(60), Patches: patch(Patch{Width: 3, Mask: 1})}, "window of 3 bytes"},
		{"patch without values", 1, Stream{Sizes: sizes(60), Patches: patch(Patch{Width: 2, Mask: 1, Mode: List})}, "empty list"},
		{"patch behind the frame", 1, Stream{Sizes: sizes(90, 60), Patches: patch(Patch{Off: 58, Width: 4, Mask: 1})}, "smallest frame, size 64"},
		{"patch in the tag", 1, Stream{Sizes: sizes(80), Tag: TagEnd, Patches: patch(Patch{Off: 62, Width: 2, Mask: 1})}, "smallest frame, size 84"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tt.stream
			s.Heads = NewTable(make([]byte, 50*tt.heads), 50)
			s.Body = make([]byte, 100)
			if err := s.Build(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("have %v, need %q", err, tt.want)
			}
		})
	}
}

func TestPatchValue(t *testing.T) {
	tests := []struct {
		name  string
		patch Patch
		want  []uint64 // of indices 0, 1, 2...
	}{
		{"up", Patch{Mask: 0xff, Start: 3, Step: 2}, []uint64{3, 5, 7, 9}},
		{"up over the end", Patch{Mask: 0xf, Start: 14, Step: 1}, []uint64{14, 15, 0, 1}},
		{"up, round", Patch{Mask: 0xff, Start: 1, Step: 1, Count: 3}, []uint64{1, 2, 3, 1, 2, 3, 1}},
		{"down", Patch{Mask: 0xff, Start: 1, Step: ^uint64(0)}, []uint64{1, 0, 255, 254}},
		{"down, round", Patch{Mask: 0xff, Start: 9, Step: ^uint64(1), Count: 2}, []uint64{9, 7, 9, 7}},
		{"every", Patch{Mask: 0xff, Step: 1, Every: 2}, []uint64{0, 0, 1, 1, 2}},
		{"list", Patch{Mode: List, Mask: 0xff, List: []uint64{7, 300, 5}}, []uint64{7, 44, 5, 7}},
		{"whole range of 64 bits", Patch{Mask: ^uint64(0), Start: ^uint64(0), Step: 1}, []uint64{^uint64(0), 0, 1}},
		{"one drawn", Patch{Mode: Draw, Mask: 0xff, Start: 5, Count: 1}, []uint64{5, 5, 5}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []uint64
			for n := range tt.want {
				got = append(got, tt.patch.Value(1, uint64(n)))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	draw := Patch{Mode: Draw, Mask: 0xffff, Start: 1000, Count: 64, Salt: 3}
	other := draw
	other.Salt = 4
	var hit [64]int
	same := 0
	for n := range uint64(64_000) {
		v := draw.Value(7, n)
		if v < 1000 || v > 1063 {
			t.Fatalf("draw %d: have %d, need 1000 to 1063", n, v)
		}
		hit[v-1000]++
		if v == other.Value(7, n) {
			same++
		}
	}
	for v, n := range hit {
		if n < 800 || n > 1200 {
			t.Errorf("%d is drawn %d times of 64,000, need about 1,000", 1000+v, n)
		}
	}
	if same > 1200 {
		t.Errorf("two fields have the same value %d times of 64,000, need about 1,000", same)
	}
}

func TestPatchSpan(t *testing.T) {
	tests := []struct {
		patch  Patch
		off, n int
	}{
		{Patch{Off: 4, Width: 2, Mask: 0xffff}, 4, 2},
		{Patch{Off: 4, Width: 2, Mask: 0xff, Shift: 8}, 4, 1},
		{Patch{Off: 4, Width: 2, Mask: 0xff}, 5, 1},
		{Patch{Off: 6, Width: 8, Mask: 1<<48 - 1, Shift: 16}, 6, 6},
		{Patch{Off: 14, Width: 2, Mask: 0xfff}, 14, 2},
		{Patch{Off: 14, Width: 2, Mask: 7, Shift: 13}, 14, 1},
		{Patch{Off: 0, Width: 4, Mask: 0xfffff}, 1, 3},
		{Patch{Off: 8, Width: 8, Mask: ^uint64(0)}, 8, 8},
	}
	for _, tt := range tests {
		if off, n := tt.patch.span(); off != tt.off || n != tt.n {
			t.Errorf("%+v: have %d bytes at %d, need %d at %d", tt.patch, n, off, tt.n, tt.off)
		}
	}
}

// FuzzSums builds streams of random bytes with up to four checksums over random
// pieces, in one another as in a tunnel, and compares each frame's checksums to
// sums taken over the whole of it.
func FuzzSums(f *testing.F) {
	f.Add([]byte{1}, uint64(5), uint8(0))
	f.Add([]byte("a tunnel within a tunnel, and more of it to come"), uint64(1<<40), uint8(3))
	f.Add([]byte{0, 0, 0, 0, 255, 255, 255, 255, 7, 9, 200, 13, 77}, uint64(3), uint8(9))
	f.Fuzz(func(t *testing.T, data []byte, j uint64, flags uint8) {
		next := func(n int) int {
			if len(data) == 0 {
				return 0
			}
			v := int(data[0]) % n
			data = data[1:]
			return v
		}
		j &= wire.MaxSeq
		const head = 80
		s := &Stream{Seed: j ^ 77, Tag: []TagPlace{TagNone, TagEnd, TagID}[int(flags)%3], Pad: int(flags>>2) % 4, IDOff: 2, FlowRun: uint64(1 + next(3))}
		least := head + 8 + s.Pad + wire.TagLen
		s.Sizes = Sizes{Lens: []int{least + next(50), least + next(50), least + next(50)}, Cycle: []uint16{0, 2, 1, 1}}
		// Nested pieces: from 8, 24, 40, 56 on; every other one ends with the
		// header, as that of IPv4 does.
		for k := 3 - next(4); k >= 0; k-- {
			q := Sum{From: 8 + 16*(3-k), Off: 8 + 16*(3-k) + 2*next(4), ZeroIsOnes: next(2) == 1}
			if next(2) == 1 {
				q.To = q.From + 10 + 2*next(2)
			} else if next(2) == 1 {
				q.Addr, q.AddrLen = 0, 8
			}
			s.Sums = append([]Sum{q}, s.Sums...)
		}
		s.Lengths = []Length{{Off: 68, Minus: 30}, {Off: 76, Minus: 70}}
		heads := make([]byte, 3*head)
		for i := range heads[:head] {
			heads[i] = byte(next(256))
		}
		for k := range 4 {
			heads[8+16*k+8] = 0x45 // what is all zeros needs ZeroIsOnes
		}
		s.Body = make([]byte, s.Sizes.Max())
		for i := range s.Body {
			s.Body[i] = byte(next(256))
		}
		s.Heads = NewTable(heads, head)
		// Fields between the checksums and behind the headers.
		at := []int{4, 20, 36, 52, 70, 72, 80, 84}
		for range next(4) {
			k := next(len(at))
			p := Patch{Off: at[k], Width: 4, Mask: 1<<uint(1+next(32)) - 1, Mode: Mode(next(3)), Start: uint64(next(256)), Step: uint64(next(256)), List: []uint64{uint64(next(256)), 3}}
			p.Shift = uint(next(33 - bits.Len64(p.Mask)))
			if at[k] == 70 || at[k] == 4 && s.Tag == TagID {
				p.Width, p.Mask, p.Shift = 2, 0xff, 0
			}
			at = append(at[:k:k], at[k+1:]...)
			s.Patches = append(s.Patches, p)
		}
		first := make([]byte, s.Sizes.Lens[0])
		copy(first, heads[:head])
		copy(first[head:], s.Body)
		clear(first[len(first)-s.Pad:])
		for _, l := range s.Lengths {
			binary.BigEndian.PutUint16(first[l.Off:], uint16(len(first)-s.Pad-l.Minus))
		}
		if s.Tag == TagEnd {
			clear(first[len(first)-s.Pad-wire.TagLen : len(first)-s.Pad])
		}
		naive(s, first)
		for k := range 3 {
			copy(heads[k*head:], first[:head])
		}
		if err := s.Build(); err != nil {
			t.Fatal(err)
		}
		flow := Patch{Off: 0, Width: 2, Mask: 0xffff, Step: uint64(next(256))<<8 | 1}
		for k := range uint64(3) {
			flow.Apply(s, heads[k*head:(k+1)*head], k)
		}
		frame := make([]byte, s.MaxLen())
		for range 8 {
			got := frame[:s.Write(frame, j, int64(j)*3)]
			want := append([]byte{}, got...)
			naive(s, want)
			if !bytes.Equal(want, got) {
				t.Fatalf("%+v\nframe %d (-want +got):\n%s", s.Sums, j, cmp.Diff(want, got))
			}
			j = (j + 1) & wire.MaxSeq
		}
	})
}

// naive sets the checksums of frame by summing byte for byte, innermost first.
func naive(s *Stream, frame []byte) {
	for _, q := range s.Sums {
		end := len(frame) - s.Pad
		to := q.To
		if to == 0 {
			to = end
		}
		frame[q.Off], frame[q.Off+1] = 0, 0
		var sum uint64
		count := func(b []byte) {
			for i, c := range b {
				if i%2 == 0 {
					sum += uint64(c) << 8
				} else {
					sum += uint64(c)
				}
			}
		}
		count(frame[q.From:to])
		if q.AddrLen > 0 {
			count(frame[q.Addr : q.Addr+q.AddrLen])
			sum += uint64(end - q.From)
		}
		for sum > 0xffff {
			sum = sum>>16 + sum&0xffff
		}
		c := ^uint16(sum)
		if c == 0 && q.ZeroIsOnes {
			c = 0xffff
		}
		binary.BigEndian.PutUint16(frame[q.Off:], c)
	}
}
