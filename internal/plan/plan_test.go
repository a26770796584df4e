package plan

import (
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// bare returns a stream of n flows, whose heads are 14 bytes and say which flow
// they are.
func bare(t testing.TB, id uint16, flows int, s Stream) *Stream {
	t.Helper()
	heads := make([]byte, 14*flows)
	for k := range flows {
		heads[14*k], heads[14*k+1] = byte(k>>8), byte(k)
	}
	s.ID, s.Heads = id, NewTable(heads, 14)
	if s.Sizes.Fixed() {
		s.Sizes = Sizes{Lens: []int{60}, Cycle: []uint16{0}}
	}
	s.Body = make([]byte, s.Sizes.Max())
	if err := s.Build(); err != nil {
		t.Fatal(err)
	}
	return &s
}

// TestEntry walks plans frame by frame and counts by hand what Entry and Sent
// work out.
func TestEntry(t *testing.T) {
	tests := []struct {
		name    string
		streams int
		order   []uint16
	}{
		{"one stream, no order", 1, nil},
		{"one stream", 1, []uint16{0}},
		{"in turn", 3, []uint16{0, 1, 2}},
		{"weights", 3, []uint16{0, 1, 0, 2, 0, 1, 0}},
		{"blocks", 2, []uint16{1, 1, 1, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p Plan
			for k := range tt.streams {
				p.Streams = append(p.Streams, bare(t, uint16(10+k), 1, Stream{}))
			}
			p.Order = tt.order
			made, err := New(p)
			if err != nil {
				t.Fatal(err)
			}
			count := make([]uint64, tt.streams)
			for i := range uint64(50) {
				for k, n := range count {
					if have := made.Sent(k, i); have != n {
						t.Fatalf("stream %d sent %d of %d frames, need %d", k, have, i, n)
					}
				}
				k := 0
				if tt.order != nil {
					k = int(tt.order[i%uint64(len(tt.order))])
				}
				s, j := made.Entry(i)
				if s != p.Streams[k] || j != count[k] {
					t.Fatalf("frame %d: have stream %d frame %d, need stream %d frame %d", i, s.ID, j, p.Streams[k].ID, count[k])
				}
				count[k]++
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	a, b := bare(t, 1, 1, Stream{}), bare(t, 2, 1, Stream{})
	tests := []struct {
		name string
		plan Plan
		want string
	}{
		{"nothing", Plan{}, "without streams"},
		{"no order", Plan{Streams: []*Stream{a, b}}, "without an order"},
		{"same ID", Plan{Streams: []*Stream{a, bare(t, 1, 1, Stream{})}, Order: []uint16{0, 1}}, "ID 1 is used twice"},
		{"no such stream", Plan{Streams: []*Stream{a, b}, Order: []uint16{0, 1, 2}}, "slot 2 of the order names stream 2 of 2"},
		{"left out", Plan{Streams: []*Stream{a, b}, Order: []uint16{0}}, "stream 2 has no slot"},
		{"order too long", Plan{Streams: []*Stream{a}, Order: make([]uint16, MaxOrder+1)}, "at most 1048576 fit"},
		{"due times of another pass", Plan{Streams: []*Stream{a}, Due: []int64{1}, Pass: 2}, "have 1, need one for each of 2"},
		{"due times fall", Plan{Streams: []*Stream{a}, Due: []int64{2, 1}, Pass: 2}, "frame 1 is before"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := New(tt.plan); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("have %v, need %q", err, tt.want)
			}
		})
	}
}

func TestMean(t *testing.T) {
	imix := Sizes{Lens: []int{60, 590, 1514}, Cycle: []uint16{0, 1, 0, 0, 1, 0, 2, 1, 0, 0, 1, 0}}
	captured := &Stream{ID: 5}
	captured.Heads.Append(make([]byte, 60))
	captured.Heads.Append(make([]byte, 101))
	tests := []struct {
		name string
		plan Plan
		want *big.Rat
	}{
		{"one size", Plan{Streams: []*Stream{bare(t, 1, 1, Stream{})}}, big.NewRat(60, 1)},
		{"imix", Plan{Streams: []*Stream{bare(t, 1, 1, Stream{Sizes: imix})}}, big.NewRat(7*60+4*590+1514, 12)},
		{"two streams", Plan{Streams: []*Stream{bare(t, 1, 1, Stream{Sizes: imix}), bare(t, 2, 1, Stream{})}, Order: []uint16{1, 0, 1}},
			big.NewRat(7*60+4*590+1514+24*60, 36)},
		{"random sizes", Plan{Streams: []*Stream{bare(t, 1, 1, Stream{Sizes: Sizes{Lens: []int{60, 61, 70}}})}}, big.NewRat(191, 3)},
		{"captured", Plan{Streams: []*Stream{captured}}, big.NewRat(161, 2)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := New(tt.plan)
			if err != nil {
				t.Fatal(err)
			}
			bytes, n := p.Mean()
			if got := big.NewRat(int64(bytes), int64(n)); got.Cmp(tt.want) != 0 {
				t.Errorf("have %v, need %v", got, tt.want)
			}
		})
	}
}

// TestMeanOfManyCycles: cycles whose lengths are primes have a common one
// beyond 64 bits.
func TestMeanOfManyCycles(t *testing.T) {
	var p Plan
	want := 0.0
	for k, prime := range []int{1453, 1451, 1447, 1439, 1433, 1429, 1427, 1423} {
		z := Sizes{}
		for i := range prime {
			z.Lens = append(z.Lens, 60+i)
		}
		p.Streams = append(p.Streams, bare(t, uint16(k), 1, Stream{Sizes: z}))
		p.Order = append(p.Order, uint16(k))
		want += (60 + float64(prime-1)/2) / 8
	}
	made, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	bytes, n := made.Mean()
	if got := float64(bytes) / float64(n); got < want*(1-1e-9) || got > want*(1+1e-9) {
		t.Errorf("have a mean of %v bytes, need %v", got, want)
	}
}

// TestCaptured: a stream of whole frames gives them in turn, as they are.
func TestCaptured(t *testing.T) {
	s := &Stream{ID: 1}
	frames := [][]byte{[]byte("first frame"), []byte("second"), []byte(strings.Repeat("x", 100))}
	for _, f := range frames {
		s.Heads.Append(f)
	}
	p, err := New(Plan{Streams: []*Stream{s}, Due: []int64{0, 5, 5}, Pass: 3})
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, p.MaxLen())
	for i := range uint64(7) {
		if diff := cmp.Diff(frames[i%3], buf[:p.Write(buf, i, 9)]); diff != "" {
			t.Errorf("frame %d (-want +got):\n%s", i, diff)
		}
	}
	if s.Heads.Bytes() != 117 || s.Heads.Len() != 3 {
		t.Errorf("table: have %d bytes and %d entries, need 117 and 3", s.Heads.Bytes(), s.Heads.Len())
	}
}
