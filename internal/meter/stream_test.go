package meter

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"squall/internal/wire"
)

// arrive makes arrivals of these sequence numbers: number q is sent at q us and
// each arrival comes 1 us after the one before it.
func arrive(seqs ...uint64) []Arrival {
	var as []Arrival
	for i, q := range seqs {
		as = append(as, Arrival{
			Seq: q, Size: 64,
			Sent: int64(q) * 1000, HasSent: true,
			At: 1_000_000 + int64(i)*1000,
		})
	}
	return as
}

// from1 shifts the numbers of RFC examples, which begin at 1.
func from1(seqs ...uint64) []uint64 {
	for i := range seqs {
		seqs[i]--
	}
	return seqs
}

// upTo returns from, ..., to-1.
func upTo(from, to uint64) []uint64 {
	var s []uint64
	for q := from; q < to; q++ {
		s = append(s, q)
	}
	return s
}

func TestStream(t *testing.T) {
	type figures struct {
		Received, Lost, Duplicated, Reordered, Late, Beyond uint64
		Periods                                             uint64  // loss periods
		Extents                                             []int64 // min and max
		Runs                                                map[int]uint64
		RD                                                  map[int]uint64 // by displacement
		RBD                                                 map[int]uint64 // by occupancy
		Distance                                            []int64        // min and max
	}
	tests := []struct {
		name      string
		seqs      []uint64
		sent      uint64
		threshold int
		want      figures
	}{
		{
			name: "nothing sent",
			want: figures{},
		},
		{
			name: "nothing arrived",
			sent: 5,
			want: figures{Lost: 5, Periods: 1, Distance: []int64{1, 1}},
		},
		{
			name: "in order",
			seqs: upTo(0, 3000), sent: 3000,
			want: figures{Received: 3000, RD: map[int]uint64{0: 3000}, RBD: map[int]uint64{0: 3000}},
		},
		{
			name: "first and last lost",
			seqs: upTo(1, 9), sent: 10, threshold: 3,
			// The buffer holds 1, 2, 3 and gives 0 up at 4.
			want: figures{Received: 8, Lost: 2, Periods: 2, Distance: []int64{9, 9},
				RD: map[int]uint64{0: 8}, RBD: map[int]uint64{0: 5, 1: 1, 2: 1, 3: 1}},
		},
		{
			name: "duplicates, one of a reordered frame",
			seqs: []uint64{0, 1, 1, 3, 2, 2, 3, 4}, sent: 5,
			want: figures{Received: 5, Duplicated: 3, Reordered: 1, Extents: []int64{1, 1},
				Runs: map[int]uint64{1: 1}, RD: map[int]uint64{0: 3, -1: 1, 1: 1}, RBD: map[int]uint64{0: 4, 1: 1}},
		},
		{
			name: "late by 500",
			seqs: slices.Concat(upTo(0, 100), upTo(101, 601), []uint64{100}, upTo(601, 700)), sent: 700,
			// Too late for RD and RBD, which give 100 up.
			want: figures{Received: 700, Reordered: 1, Extents: []int64{500, 500}, Runs: map[int]uint64{64: 1},
				RD: map[int]uint64{0: 699}, RBD: map[int]uint64{0: 691, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1, 7: 1, 8: 1}},
		},
		{
			name: "the oldest number of the window fills its gap",
			seqs: slices.Concat(upTo(1, 1024), []uint64{0}), sent: 1024, threshold: 1,
			want: figures{Received: 1024, Reordered: 1, Extents: []int64{1023, 1023}, Runs: map[int]uint64{64: 1},
				RD: map[int]uint64{0: 1023}, RBD: map[int]uint64{0: 1022, 1: 1}},
		},
		{
			name: "one number beyond the window",
			seqs: slices.Concat(upTo(1, 1025), []uint64{0, 0}), sent: 1025, threshold: 1,
			want: figures{Received: 1024, Lost: 1, Late: 2, Periods: 1,
				RD: map[int]uint64{0: 1024}, RBD: map[int]uint64{0: 1023, 1: 1}},
		},
		{
			name: "a gap of many windows",
			seqs: slices.Concat(upTo(0, 10), upTo(100_000, 100_010)), sent: 100_010, threshold: 2,
			want: figures{Received: 20, Lost: 99_990, Periods: 1, Distance: []int64{1, 1},
				RD: map[int]uint64{0: 20}, RBD: map[int]uint64{0: 18, 1: 1, 2: 1}},
		},
		{
			name: "a reordered frame splits a gap",
			seqs: []uint64{0, 6, 3, 7}, sent: 8,
			want: figures{Received: 4, Lost: 4, Reordered: 1, Periods: 2, Extents: []int64{1, 1}, Distance: []int64{1, 2},
				Runs: map[int]uint64{1: 1}, RD: map[int]uint64{0: 2, -3: 1, 3: 1}, RBD: map[int]uint64{0: 1, 1: 1, 2: 1, 3: 1}},
		},
		{
			name: "more arrived than was sent",
			seqs: upTo(0, 10), sent: 8,
			want: figures{Received: 10, Beyond: 2, RD: map[int]uint64{0: 10}, RBD: map[int]uint64{0: 10}},
		},
		{
			name: "block overtaken: one run of duplicate ACKs, not many",
			seqs: slices.Concat(upTo(0, 10), upTo(20, 40), upTo(10, 20)), sent: 40,
			want: figures{Received: 40, Reordered: 10, Extents: []int64{20, 29}, Runs: map[int]uint64{20: 1, 0: 9},
				RD:  map[int]uint64{0: 30},
				RBD: map[int]uint64{0: 22, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1, 7: 1, 8: 1}},
		},
		{
			name: "RFC 4737 section 7, packet 4 reordered",
			seqs: from1(1, 2, 3, 5, 6, 7, 8, 4, 9, 10), sent: 10,
			want: figures{Received: 10, Reordered: 1, Extents: []int64{4, 4}, Runs: map[int]uint64{4: 1},
				RD: map[int]uint64{0: 5, -1: 4, 4: 1}, RBD: map[int]uint64{0: 6, 1: 1, 2: 1, 3: 1, 4: 1}},
		},
		{
			name: "RFC 4737 section 7, packets 5 and 6 reordered",
			seqs: from1(1, 2, 3, 4, 7, 5, 6, 8, 9, 10), sent: 10,
			want: figures{Received: 10, Reordered: 2, Extents: []int64{1, 2}, Runs: map[int]uint64{1: 1, 0: 1},
				RD: map[int]uint64{0: 7, -2: 1, 1: 2}, RBD: map[int]uint64{0: 8, 1: 2}},
		},
		{
			name: "RFC 4737 section 7, packets 4, 5 and 6 reordered",
			seqs: from1(1, 2, 3, 7, 8, 9, 10, 4, 5, 6, 11), sent: 11,
			want: figures{Received: 11, Reordered: 3, Extents: []int64{4, 6}, Runs: map[int]uint64{4: 1, 0: 2},
				RD: map[int]uint64{0: 4, -3: 4, 4: 3}, RBD: map[int]uint64{0: 5, 1: 1, 2: 1, 3: 1, 4: 3}},
		},
		{
			name: "RFC 5236, no loss",
			seqs: from1(1, 4, 2, 5, 3, 6, 7, 8), sent: 8, threshold: 4,
			want: figures{Received: 8, Reordered: 2, Extents: []int64{1, 3}, Runs: map[int]uint64{1: 2},
				RD: map[int]uint64{-2: 1, -1: 1, 0: 4, 1: 1, 2: 1}, RBD: map[int]uint64{0: 5, 1: 2, 2: 1}},
		},
		{
			name: "RFC 5236, packet 3 lost",
			seqs: from1(1, 2, 4, 5, 6, 7), sent: 7, threshold: 3,
			want: figures{Received: 6, Lost: 1, Periods: 1,
				RD: map[int]uint64{0: 6}, RBD: map[int]uint64{0: 3, 1: 1, 2: 1, 3: 1}},
		},
		{
			name: "RFC 5236, packet 3 duplicated",
			seqs: from1(1, 3, 2, 3, 4, 5), sent: 5, threshold: 2,
			want: figures{Received: 5, Duplicated: 1, Reordered: 1, Extents: []int64{1, 1}, Runs: map[int]uint64{1: 1},
				RD: map[int]uint64{-1: 1, 0: 3, 1: 1}, RBD: map[int]uint64{0: 4, 1: 1}},
		},
		{
			name: "RFC 3357 section 5, ten packets of which five are lost",
			seqs: from1(1, 3, 4, 6, 8), sent: 10, threshold: 1,
			// Distances 3, 2, 2, 1; four periods, the last of two.
			want: figures{Received: 5, Lost: 5, Periods: 4, Distance: []int64{1, 3},
				RD: map[int]uint64{0: 5}, RBD: map[int]uint64{0: 2, 1: 3}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Config{Stream: 7, Window: 1024, Threshold: tt.threshold}.withDefaults()
			if err != nil {
				t.Fatal(err)
			}
			got := run(t, c, arrive(tt.seqs...), tt.sent)

			pair := func(s Summary) []int64 {
				if s.Count == 0 {
					return nil
				}
				return []int64{s.Min, s.Max}
			}
			sparse := func(counts []uint64, zero int) map[int]uint64 {
				var m map[int]uint64
				for i, n := range counts {
					if n != 0 {
						if m == nil {
							m = map[int]uint64{}
						}
						m[i-zero] = n
					}
				}
				return m
			}
			figs := figures{
				Received: got.Received, Lost: got.Lost, Duplicated: got.Duplicated,
				Reordered: got.Reordered, Late: got.Late, Beyond: got.Beyond,
				Periods:  got.LossPattern.Count,
				Extents:  pair(got.Reordering.Extent),
				Runs:     sparse(got.DupAcks.Runs[:], 0),
				RD:       sparse(got.Density.Frequency, c.Threshold),
				RBD:      sparse(got.Occupancy.Frequency, 0),
				Distance: pair(got.LossPattern.Distance),
			}
			if diff := gocmp.Diff(tt.want, figs); diff != "" {
				t.Errorf("figures (-want +got):\n%s", diff)
			}
		})
	}
}

// run feeds a stream and the reference, compares all they say, and returns the
// stream's report.
func run(t *testing.T, c Config, arrivals []Arrival, sent uint64) Report {
	t.Helper()
	if c.Limit == 0 {
		c.Limit = wire.MaxSeq + 1
	}
	var told []LossPeriod
	c.OnLoss = func(p LossPeriod) { told = append(told, p) }
	s := newStream(c)
	for i, a := range arrivals {
		s.Add(a)
		if i != len(arrivals)/2 {
			continue
		}
		half := s.Report()
		if half.Received+half.Lost+half.Missing != s.next {
			t.Errorf("half-way: received %d + lost %d + missing %d, want %d", half.Received, half.Lost, half.Missing, s.next)
		}
		if live := s.Live(); live.Missing != half.Lost+half.Missing {
			t.Errorf("half-way: live missing %d, want lost %d + missing %d", live.Missing, half.Lost, half.Missing)
		}
	}
	s.Finish(sent)
	got := s.Report()
	if diff := gocmp.Diff(reference(c, arrivals, sent), got); diff != "" {
		t.Errorf("report (-reference +stream):\n%s", diff)
	}
	if got.Received+got.Lost != sent+got.Beyond {
		t.Errorf("received %d + lost %d, want sent %d + beyond %d", got.Received, got.Lost, sent, got.Beyond)
	}
	live := Live{
		Received: got.Received, Bytes: got.Bytes, Missing: got.Lost,
		Duplicated: got.Duplicated, Reordered: got.Reordered, Late: got.Late,
	}
	if diff := gocmp.Diff(live, s.Live()); diff != "" {
		t.Errorf("live counters (-want +got):\n%s", diff)
	}
	if uint64(len(told)) != got.LossPattern.Count {
		t.Errorf("OnLoss was called %d times, want %d", len(told), got.LossPattern.Count)
	}
	if kept := got.LossPattern.Periods; len(kept) != min(len(told), c.Periods) || !slices.Equal(kept, told[:len(kept)]) {
		t.Errorf("loss periods kept %v, told %v", kept, told)
	}
	total := Total(s)
	slices.SortFunc(total.LossPattern.Periods, func(a, b LossPeriod) int { return cmp.Compare(a.First, b.First) })
	if diff := gocmp.Diff(got, total); diff != "" {
		t.Errorf("total of one stream (-report +total):\n%s", diff)
	}
	return got
}

func TestTimes(t *testing.T) {
	c, err := Config{Window: 1024}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	// Number 2 is lost, 5 overtakes 4, and the send clock wraps its 48 bits
	// between 3 and 4.
	wrap := int64(1) << 48
	got := run(t, c, []Arrival{
		{Seq: 0, Sent: wrap - 400, HasSent: true, At: wrap - 300, Size: 64},
		{Seq: 1, Sent: wrap - 300, HasSent: true, At: wrap - 180, Size: 1518},
		{Seq: 3, Sent: wrap - 100, HasSent: true, At: wrap - 10, Size: 64},
		{Seq: 5, Sent: 100, HasSent: true, At: wrap + 150, Size: 64},
		{Seq: 4, Sent: 0, HasSent: true, At: wrap + 180, Size: 64},
		{Seq: 6, At: wrap + 200, Size: 64},
		{Seq: 7, Sent: wrap + 400, HasSent: true, At: wrap + 399, Size: 64},
	}, 9)
	want := Report{
		Sent: 9, Received: 7, Bytes: 6*64 + 1518, Lost: 2, Reordered: 1,
		LossPattern: LossReport{
			Count:      2,
			Lengths:    Summary{Count: 2, Min: 1, Mean: 1, P50: 1, P99: 1, P999: 1, Max: 1},
			Between:    Summary{Count: 1, Min: 6, Mean: 6, P50: 6, P99: 6, P999: 6, Max: 6},
			Distance:   Summary{Count: 1, Min: 6, Mean: 6, P50: 6, P99: 6, P999: 6, Max: 6},
			Noticeable: 1, Delta: 99,
			Periods: []LossPeriod{
				{At: wrap - 180, Until: wrap - 10, First: 2, Frames: 1},
				{At: wrap + 399, Until: wrap + 399, First: 8, Frames: 1},
			},
		},
		Reordering: ReorderingReport{
			Extent:   Summary{Count: 1, Min: 1, Mean: 1, P50: 1, P99: 1, P999: 1, Max: 1},
			LateTime: Summary{Count: 1, Min: 30, Mean: 30, P50: 30, P99: 30, P999: 30, Max: 30},
		},
		// 100, 120, 90, 50, 180; 7 came before it was sent.
		Latency:  Summary{Count: 5, Min: 50, Mean: 108, P50: 100, P99: 180, P999: 180, Max: 180},
		Negative: 1,
		// 0-1: +20, 3-4: +90, 4-5: -130.
		Variation: &VariationReport{
			Absolute: Summary{Count: 3, Min: 20, Mean: 80, P50: 90, P99: 130, P999: 130, Max: 130},
			Min:      -130, Max: 90,
		},
	}
	got.DupAcks, got.Density, got.Occupancy = DupAckReport{}, nil, nil
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestAfterFinish(t *testing.T) {
	s, err := NewStream(Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range arrive(0, 1, 3) {
		s.Add(a)
	}
	s.Finish(5)
	want := s.Report()
	want.Late = 2
	s.Add(Arrival{Seq: 2, Size: 64})
	s.Add(Arrival{Seq: 9, Size: 64})
	s.Finish(100)
	if diff := gocmp.Diff(want, s.Report()); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

// TestWild has numbers that no sender can have sent.
func TestWild(t *testing.T) {
	tests := []struct {
		name  string
		limit uint64
		wild  uint64 // a number that is not counted
	}{
		{"one past the limit", 4, 4},
		{"a bit flipped", 4, 1<<47 + 2},
		{"more than a tag holds, no limit", 0, wire.MaxSeq + 1},
		{"the largest of all, limit too high", 1 << 63, 1<<64 - 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newTestStream(t, Config{Limit: tt.limit})
			for _, a := range arrive(0, 1, tt.wild, 3) {
				s.Add(a)
			}
			s.Finish(4)
			r := s.Report()
			if r.Wild != 1 || r.Received != 3 || r.Lost != 1 || r.Late != 0 || r.Beyond != 0 {
				t.Errorf("wild %d, received %d, lost %d, late %d, beyond %d, want 1, 3, 1, 0, 0", r.Wild, r.Received, r.Lost, r.Late, r.Beyond)
			}
		})
	}
}

func TestTotal(t *testing.T) {
	a := newTestStream(t, Config{Stream: 1})
	b := newTestStream(t, Config{Stream: 2})
	for _, x := range arrive(0, 1, 3, 2, 5, 5) {
		a.Add(x)
	}
	for _, x := range arrive(1, 2, 3) {
		x.At -= 500_000
		b.Add(x)
	}
	a.Finish(7)
	b.Finish(4)
	got := Total(b, a)
	if got.Sent != 11 || got.Received != 8 || got.Lost != 3 || got.Duplicated != 1 || got.Reordered != 1 || got.Bytes != 8*64 {
		t.Errorf("counters of the total: %+v", got)
	}
	var order []uint16
	for _, p := range got.LossPattern.Periods {
		order = append(order, p.Stream)
	}
	if diff := gocmp.Diff([]uint16{2, 1, 1}, order); diff != "" {
		t.Errorf("loss periods in order of time, by stream (-want +got):\n%s", diff)
	}
	// In us: 1000, 1000, 999, 1001 and 999 of a; 499 three times of b.
	want := Summary{Count: 8, Min: 499_000, Mean: 6_496_000 / 8.0, P50: classEnd(999_000), P99: 1_001_000, P999: 1_001_000, Max: 1_001_000}
	if diff := gocmp.Diff(want, got.Latency); diff != "" {
		t.Errorf("latency (-want +got):\n%s", diff)
	}
	if v := got.Variation; v.Absolute.Count != 5 || v.Min != -2000 || v.Max != 1000 {
		t.Errorf("delay variation: %+v, want 5 from -2000 to 1000", v)
	}
	if diff := gocmp.Diff(Report{}, Total()); diff != "" {
		t.Errorf("total of nothing (-want +got):\n%s", diff)
	}
}

// classEnd is the end of the class of a number below 2^20 in a histogram of
// three digits.
func classEnd(v int64) int64 { return (v>>9+1)<<9 - 1 }

func newTestStream(t testing.TB, c Config) *Stream {
	t.Helper()
	s, err := NewStream(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConfig(t *testing.T) {
	tests := []struct {
		name string
		c    Config
		err  string // part of it; empty: none
	}{
		{"defaults", Config{}, ""},
		{"smallest window", Config{Window: 1024}, ""},
		{"window too small", Config{Window: 512}, "have 512, need a power of two of at least 1024"},
		{"window not a power of two", Config{Window: 5000}, "have 5000"},
		{"negative window", Config{Window: -1024}, "have -1024"},
		{"threshold too large", Config{Threshold: 65}, "threshold: have 65, need 1 to 64"},
		{"threshold negative", Config{Threshold: -1}, "have -1"},
		{"periods negative", Config{Periods: -1}, "have -1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewStream(tt.c)
			switch {
			case tt.err == "" && err != nil:
				t.Errorf("error %q, want none", err)
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
}

func TestReportJSON(t *testing.T) {
	s := newTestStream(t, Config{})
	for _, a := range arrive(0, 2, 1, 4) {
		s.Add(a)
	}
	s.Finish(6)
	want := s.Report()
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Report
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("report after a round trip through JSON (-want +got):\n%s", diff)
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(b, &keys); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"sent", "received", "lost", "duplicated", "reordered", "latency_ns", "loss_pattern"} {
		if _, ok := keys[k]; !ok {
			t.Errorf("no key %q in %s", k, b)
		}
	}
}

// TestAddAllocates has every kind of arrival in one stream.
func TestAddAllocates(t *testing.T) {
	s := newTestStream(t, Config{Window: 1024, Periods: 16, OnLoss: func(LossPeriod) {}})
	var q uint64
	at := int64(0)
	add := func(seq uint64) {
		at += 100
		s.Add(Arrival{Seq: seq, Size: 64, Sent: at - 50, HasSent: true, At: at})
	}
	got := testing.AllocsPerRun(2000, func() {
		add(q)      // in order
		add(q + 3)  // a gap
		add(q + 1)  // reordered
		add(q + 1)  // duplicate
		add(q + 40) // lost
		add(q - min(q, 2000))
		q += 41
	})
	if got != 0 {
		t.Errorf("Add allocates %v times, want 0", got)
	}
	if r := s.Report(); r.LossPattern.Count <= 16 || r.Late == 0 || r.Reordered == 0 || r.Duplicated == 0 {
		t.Errorf("the arrivals were not of every kind: %+v", r)
	}
}

// TestLive reads the counters while they change, for the race detector.
func TestLive(t *testing.T) {
	s := newTestStream(t, Config{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for q := range uint64(20_000) {
			if q%10 != 0 {
				s.Add(Arrival{Seq: q, Size: 64})
			}
		}
	}()
	var last Live
	for last.Received < 18_000 {
		l := s.Live()
		if l.Received < last.Received || l.Bytes < last.Bytes || l.Missing > 2000 {
			t.Fatalf("live counters went from %+v to %+v", last, l)
		}
		last = l
	}
	<-done
	if l := s.Live(); l.Missing != 2000 || l.Bytes != 18_000*64 {
		t.Errorf("live counters at the end: %+v", l)
	}
}

// FuzzStream lets the stream and the reference count the same arrivals.
func FuzzStream(f *testing.F) {
	f.Add([]byte{}, uint16(0))
	f.Add([]byte{0, 0, 0, 0, 0, 0}, uint16(3))
	f.Add([]byte{0x13, 0, 0x20, 1, 0x81, 5, 0x82, 7, 0x85, 1, 0x20, 0}, uint16(20))
	f.Add([]byte{0xff, 3, 0x7f, 255, 0x90, 2, 0x81, 4, 0xff, 0, 0x82, 0, 0x9f, 9}, uint16(500))
	f.Add([]byte("\x07\x00\x04\x00\x86\x01\x86\x02\x85\x03\x00\x00\x00\x00\x01\x00\x82\x00\x81\x00\x0a\x00\x8a\x00\x89\x00"), uint16(64))
	f.Add([]byte("\xff\x20\xff\x50\x00\x01\x81\x02\xff\xff\x83\x00\x00\x00"), uint16(1<<12))
	f.Fuzz(func(t *testing.T, script []byte, extra uint16) {
		if len(script) > 2000 {
			return
		}
		c := Config{Stream: 3, Window: 16 << (extra & 3), Threshold: 1 + int(extra>>2&7), Noticeable: 1 + uint64(extra>>5&7), Periods: 3}
		if extra>>12&1 == 1 {
			c.Limit = 300
		}
		var arrivals []Arrival
		next, at := uint64(0), int64(1<<47) // the send clock wraps soon
		for i := 0; i+1 < len(script); i += 2 {
			step, arg := script[i], script[i+1]
			seq := next
			switch {
			case step >= 0xf0: // far ahead
				seq += uint64(arg) * 3
			case step >= 0x80: // back, also out of the window
				seq -= min(seq, uint64(step&0x7f))
			default: // ahead
				seq += uint64(step & 0x0f)
			}
			if seq < c.Limit || c.Limit == 0 {
				next = max(next, seq+1)
			}
			at += int64(arg&0x3f)*997 - 500
			arrivals = append(arrivals, Arrival{
				Seq: seq, Size: 64 + int(arg),
				Sent: (at - int64(arg)*int64(step)*31 + 900) & wire.MaxSeq, HasSent: arg&0x80 == 0 || step&1 == 0,
				At: at,
			})
		}
		run(t, c, arrivals, next-min(next, 5)+uint64(extra>>8&15))
	})
}

func BenchmarkAddInOrder(b *testing.B) {
	s := newTestStream(b, Config{})
	b.ReportAllocs()
	q := uint64(0)
	for b.Loop() {
		at := int64(q) * 200
		s.Add(Arrival{Seq: q, Size: 64, Sent: at, HasSent: true, At: at + 5000 + int64(q&1023)})
		q++
	}
}
