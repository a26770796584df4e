package replay_test

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"squall/internal/impair"
	"squall/pcaps"
	"squall/replay"
	"squall/replay/fit"
	"squall/replay/rewrite"
)

// ip returns an Ethernet frame of n bytes with a sound IPv4 and UDP header.
func ip(n int, seed byte) []byte {
	f := frame(n, 0x0800, seed)
	f[0], f[6] = 2, 2 // locally administered, for one
	copy(f[14:], []byte{0x45, 0, byte((n - 14) >> 8), byte(n - 14), 0, seed, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2})
	copy(f[34:], []byte{0x12, 0x34, 0, 9, byte((n - 34) >> 8), byte(n - 34), 0, 0})
	return f
}

// The fate of each kind of frame under each policy, and its counter.
func TestFates(t *testing.T) {
	cut := pcaps.Record{Data: ip(60, 1), Len: 100, LinkType: pcaps.Ethernet}
	long := whole(0, ip(1714, 2))
	bare := pcaps.Record{Data: ip(60, 3)[14:], Len: 46, LinkType: 101}
	wifi := pcaps.Record{Data: ip(60, 4), Len: 60, LinkType: 105}
	tests := []struct {
		name string
		r    pcaps.Record
		o    replay.Options
		want replay.Summary // but Records
		lens []int
	}{
		{"cut", cut, replay.Options{}, replay.Summary{Cut: 1}, nil},
		{"cut, padded", cut, replay.Options{Truncated: replay.TruncatedPad}, replay.Summary{Padded: 1}, []int{100}},
		{"cut, claiming gigabytes", pcaps.Record{Data: ip(60, 1), Len: 1<<32 - 1, LinkType: pcaps.Ethernet}, replay.Options{Truncated: replay.TruncatedPad}, replay.Summary{Long: 1}, nil},
		{"cut, too long when padded", pcaps.Record{Data: ip(60, 1), Len: 1515, LinkType: pcaps.Ethernet}, replay.Options{Truncated: replay.TruncatedPad, MTU: 1500}, replay.Summary{Long: 1}, nil},
		{"cut, sent", cut, replay.Options{Truncated: replay.TruncatedSend}, replay.Summary{SentCut: 1}, []int{60}},
		{"long", long, replay.Options{MTU: 1500}, replay.Summary{Long: 1}, nil},
		{"long, fragmented", long, replay.Options{MTU: 1500, Oversize: fit.Fragment}, replay.Summary{Fragmented: 1}, []int{1514, 234}},
		{"long, not TCP", long, replay.Options{MTU: 1500, Oversize: fit.Segment}, replay.Summary{Long: 1}, nil},
		{"long, truncated", long, replay.Options{MTU: 1500, Oversize: fit.Truncate}, replay.Summary{Truncated: 1}, []int{1514}},
		{"long enough for this port", long, replay.Options{MTU: 9000}, replay.Summary{}, []int{1714}},
		{"without a header", bare, replay.Options{}, replay.Summary{Reframed: 1}, []int{60}},
		{"no Ethernet at all", wifi, replay.Options{}, replay.Summary{Unfit: map[pcaps.LinkType]uint64{105: 1}}, nil},
		{"too short", whole(0, frame(13, 0, 0)), replay.Options{}, replay.Summary{Short: 1}, nil},
		{"too short, cut", pcaps.Record{Data: make([]byte, 9), Len: 60, LinkType: pcaps.Ethernet}, replay.Options{Truncated: replay.TruncatedSend}, replay.Summary{Cut: 1}, nil},
		{"three copies", whole(0, ip(60, 5)), replay.Options{Copies: 3}, replay.Summary{}, []int{60, 60, 60}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := records{tt.r, whole(5, frame(64, 0x0800, 9))} // one that always goes
			p, sum, err := replay.CompileFrom(&in, "x", tt.o)
			must(t, err)
			var lens []int
			for _, f := range frames(p) {
				if len(f) != 64 {
					lens = append(lens, len(f))
				}
			}
			if diff := cmp.Diff(tt.lens, lens); diff != "" {
				t.Errorf("lengths (-want +got):\n%s", diff)
			}
			tt.want.Records = 2
			if diff := cmp.Diff(tt.want, sum, cmpopts.IgnoreFields(replay.Summary{}, "Rewritten", "Frames", "Bytes", "First", "Duration", "Passes")); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTimes(t *testing.T) {
	const second, day = int64(time.Second), 24 * int64(time.Hour)
	stamps := func(at ...int64) (in records) {
		for _, t := range at {
			r := whole(t, frame(60, 0x0800, 1))
			if t < 0 {
				r.Time, r.Clock = 0, pcaps.ClockInvalid
			}
			in = append(in, r)
		}
		return in
	}
	tests := []struct {
		name string
		in   records
		o    replay.Options
		due  []int64
		want replay.Summary
	}{
		{"rising", stamps(100, 105, 105, 110), replay.Options{}, []int64{0, 5, 5, 10}, replay.Summary{}},
		{"two out of order", stamps(100, 120, 110, 130), replay.Options{}, []int64{0, 20, 20, 30}, replay.Summary{Backwards: 1}},
		{"the clock was set back", stamps(100*second, 102*second, 10*second, 11*second, 12*second), replay.Options{},
			[]int64{0, 2 * second, 2 * second, 3 * second, 4 * second}, replay.Summary{Backwards: 1}},
		{"the clock jumped", stamps(0, second, 400*day, 400*day+second), replay.Options{}, []int64{0, second, second, 2 * second}, replay.Summary{Jumps: 1}},
		{"no time", stamps(10, -1, 30), replay.Options{}, []int64{0, 0, 20}, replay.Summary{NoTime: 1}},
		{"no time at first", stamps(-1, 10, 30), replay.Options{}, []int64{0, 0, 20}, replay.Summary{NoTime: 1}},
		{"out of order are left out", stamps(100, 120, 110, 130), replay.Options{Times: pcaps.TimeSkip}, []int64{0, 20, 30}, replay.Summary{OutOfTime: 1}},
		{"what follows a jump is not", stamps(0, second, 400*day, 400*day+second), replay.Options{Times: pcaps.TimeSkip}, []int64{0, second, 2 * second}, replay.Summary{OutOfTime: 1}},
		{"nor what follows a clock set back", stamps(100*second, 102*second, 10*second, 11*second), replay.Options{Times: pcaps.TimeSkip},
			[]int64{0, 2 * second, 3 * second}, replay.Summary{OutOfTime: 1}},
		{"long gaps", stamps(0, 10, 1000, 1010, 5000), replay.Options{MaxGap: 100}, []int64{0, 10, 110, 120, 220}, replay.Summary{Shortened: 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := uint64(len(tt.in))
			p, sum, err := replay.CompileFrom(&tt.in, "x", tt.o)
			must(t, err)
			if diff := cmp.Diff(tt.due, p.Due); diff != "" {
				t.Errorf("due times (-want +got):\n%s", diff)
			}
			tt.want.Records = n
			if diff := cmp.Diff(tt.want, sum, cmpopts.IgnoreFields(replay.Summary{}, "Rewritten", "Frames", "Bytes", "First", "Duration", "Passes")); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
		})
	}
	in := stamps(5, -1)
	if _, _, err := replay.CompileFrom(&in, "x", replay.Options{Times: pcaps.TimeStop}); !errors.Is(err, replay.ErrTime) {
		t.Errorf("no time, to stop: %v", err)
	}
}

// firsts are the first bytes of a plan's frames, and their due times.
func firsts(t *testing.T, o replay.Options, paths ...string) (of []byte, due []int64) {
	t.Helper()
	p, _, err := replay.CompileAll(paths, o)
	must(t, err)
	for _, f := range frames(p) {
		of = append(of, f[0])
	}
	return of, p.Due
}

func TestFiles(t *testing.T) {
	one, two := capture(t, 1000, 1010, 1020), capture(t, 1005, 1010, 2000)
	of, due := firsts(t, replay.Options{}, one, two)
	if !cmp.Equal(of, []byte{0, 1, 2, 0, 1, 2}) || !cmp.Equal(due, []int64{0, 10, 20, 30, 35, 1025}) {
		t.Errorf("in turn: frames %v due %v", of, due)
	}
	of, due = firsts(t, replay.Options{Merge: true}, one, two)
	if !cmp.Equal(of, []byte{0, 0, 1, 1, 2, 2}) || !cmp.Equal(due, []int64{0, 5, 10, 10, 20, 1000}) {
		t.Errorf("merged: frames %v due %v", of, due)
	}
	of, due = firsts(t, replay.Options{Passes: 3, PassGap: 7}, one)
	if !cmp.Equal(of, []byte{0, 1, 2, 0, 1, 2, 0, 1, 2}) || !cmp.Equal(due, []int64{0, 10, 20, 37, 47, 57, 74, 84, 94}) {
		t.Errorf("three passes: frames %v due %v", of, due)
	}
	if _, _, err := replay.CompileAll([]string{one, filepath.Join(t.TempDir(), "no.pcap")}, replay.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("one of two is not there: %v", err)
	}
	if _, _, err := replay.CompileAll([]string{"-"}, replay.Options{Passes: 2}); err == nil {
		t.Error("standard input is read twice")
	}
}

// Each pass and each copy has addresses of its own.
func TestUniqueFlows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.pcap")
	w, err := pcaps.Create(path)
	must(t, err)
	must(t, w.Write(ip(60, 1), 1000))
	must(t, w.Write(ip(60, 1), 2000))
	must(t, w.Close())
	r, err := rewrite.Rules{Unique: true}.Compile()
	must(t, err)
	p, sum, err := replay.CompileAll([]string{path}, replay.Options{Rewrite: r, Copies: 2, Passes: 3})
	must(t, err)
	var hosts []byte
	for _, f := range frames(p) {
		hosts = append(hosts, f[29])
	}
	if want := []byte{1, 2, 1, 2, 3, 4, 3, 4, 5, 6, 5, 6}; !cmp.Equal(hosts, want) {
		t.Errorf("source addresses end in %v, want %v", hosts, want)
	}
	if sum.Records != 2 || sum.Passes != 3 || sum.Duration != 1000 {
		t.Errorf("summary %+v, want that of one pass", sum)
	}
}

// Where to is asked once, and only if a frame needs it.
func TestNextHop(t *testing.T) {
	bare := pcaps.Record{Data: ip(60, 3)[14:], Len: 46, LinkType: 101}
	asked := 0
	o := replay.Options{NextHop: func() (net.HardwareAddr, error) { asked++; return net.HardwareAddr{2, 0, 0, 0, 0, 9}, nil }}
	in := records{whole(0, ip(60, 1))}
	if _, _, err := replay.CompileFrom(&in, "x", o); err != nil || asked != 0 {
		t.Errorf("asked %d times for an Ethernet capture, %v", asked, err)
	}
	in = records{bare, bare}
	p, _, err := replay.CompileFrom(&in, "x", o)
	must(t, err)
	if f := frames(p)[1]; asked != 1 || !cmp.Equal(f[:6], []byte{2, 0, 0, 0, 0, 9}) {
		t.Errorf("asked %d times, frames go to % x", asked, f[:6])
	}
	o.Header, o.NextHop = nil, func() (net.HardwareAddr, error) { return nil, os.ErrNotExist }
	in = records{bare}
	if _, _, err := replay.CompileFrom(&in, "x", o); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nobody knows where to: %v", err)
	}
}

// As many passes of their own as fit, at least one.
func TestFewPasses(t *testing.T) {
	path := capture(t, 0, 10) // 2 * (60 + 16) bytes
	for limit, passes := range map[uint64]uint64{1: 1, 152: 1, 303: 1, 304: 2, 1 << 20: 256} {
		p, sum, err := replay.CompileAll([]string{path}, replay.Options{Passes: 256, FewPasses: true, Limit: limit, Dir: t.TempDir()})
		must(t, err)
		if sum.Passes != passes || p.Pass != 2*passes {
			t.Errorf("limit %d: %d passes, %d frames, want %d passes", limit, sum.Passes, p.Pass, passes)
		}
	}
}

// What does not fit in memory goes to a file and is the same.
func TestSpooled(t *testing.T) {
	make := func(limit uint64) (frames_ [][]byte, sum replay.Summary, stop func()) {
		var in records
		for i := range 1000 {
			in = append(in, whole(int64(i)*1000, frame(60+i, 0x0800, byte(i))))
		}
		p, sum, err := replay.CompileFrom(&in, "x", replay.Options{Limit: limit, Dir: t.TempDir()})
		must(t, err)
		return frames(p), sum, replay.ReadAhead(p, func() uint64 { return 500 })
	}
	want, sum, stop := make(0)
	stop()
	if sum.Spooled {
		t.Fatal("spooled without need")
	}
	for _, limit := range []uint64{1, 1000, 300_000} {
		got, sum, stop := make(limit)
		if !sum.Spooled {
			t.Errorf("limit %d: in memory", limit)
		}
		if !slices.EqualFunc(want, got, bytes.Equal) {
			t.Errorf("limit %d: frames differ", limit)
		}
		stop()
	}
	// Exactly at the limit it fits.
	in := records{whole(0, frame(1000, 0, 0)), whole(0, frame(1000, 0, 0))}
	if _, sum, err := replay.CompileFrom(&in, "x", replay.Options{Limit: 2 * 1016}); err != nil || sum.Spooled {
		t.Errorf("two frames in the memory of two: %+v, %v", sum, err)
	}
}

// Impaired frames leave in another order and keep their numbers.
func TestImpaired(t *testing.T) {
	rules, err := impair.Parse("drop at 2", "swap at 3")
	must(t, err)
	p, sum, err := replay.CompileAll([]string{capture(t, 0, 10, 20, 30, 40)}, replay.Options{Impair: rules})
	must(t, err)
	var of []byte
	for _, f := range frames(p) {
		of = append(of, f[0])
	}
	if p.Pass != 4 || sum.Frames != 5 || len(of) != 4 || of[0] != 0 {
		t.Errorf("frames %v of %+v, want 4 of 5", of, sum)
	}
}
