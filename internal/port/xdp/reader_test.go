package xdp_test

import (
	"errors"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/google/go-cmp/cmp"
	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"

	"squall/internal/lab"
	"squall/internal/pace"
	"squall/internal/port"
	"squall/internal/port/packet"
	"squall/internal/port/porttest"
	"squall/internal/port/xdp"
)

// What does not fit is counted once, and nothing else is missing. A veth counts
// the same among its own drops where the program runs in the driver, and not
// where it runs before the stack.
func TestReaderCountsDrops(t *testing.T) {
	const count, room = 3000, 512
	tests := []struct {
		name    string
		lab     lab.Config
		mode    string
		dropped uint64 // by the port
	}{
		{"native", lab.Config{}, "copy, native", count - room},
		{"two queues", lab.Config{Queues: 2}, "copy, native", 2 * (count - room)},
		{"generic", lab.Config{MTU: 3600}, "copy, generic", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pair := newPair(t, tt.lab)
			r := openReader(t, pair.B, xdp.ReaderConfig{Frames: room})
			if r.Mode() != tt.mode {
				t.Errorf("mode %q, want %q", r.Mode(), tt.mode)
			}
			var sent, all uint64
			var w *xdp.Writer
			for q := range max(1, tt.lab.Queues) {
				w = openWriter(t, pair.A, xdp.Config{Queue: q})
				sent += send(t, w, porttest.Plan(60), count).Frames
				all += room
			}
			next := map[uint64]int{}
			received := receive(t, r, sent, func(f port.Frame) { next[tagOf(t, f).Seq]++ })
			// The first come are those that found room, once from each queue.
			for seq := range uint64(room) {
				if next[seq] != len(r.Info().Queues) {
					t.Errorf("frame %d came %d times, want %d", seq, next[seq], len(r.Info().Queues))
				}
			}
			stats, err := r.Stats()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(port.ReadStats{Frames: all, Drops: sent - all}, stats); diff != "" || received != all {
				t.Errorf("received %d, want %d; account (-want +got):\n%s", received, all, diff)
			}
			if got := link(t, pair.B).Statistics.RxDropped; got != tt.dropped {
				t.Errorf("port counted %d dropped, want %d", got, tt.dropped)
			}
			// There is room again.
			send(t, w, porttest.Plan(60), room)
			if n := receive(t, r, 0, func(port.Frame) {}); n != room {
				t.Errorf("then received %d frames, want %d", n, room)
			}
		})
	}
}

// As long as a reader is open its port is promiscuous and has an XDP program;
// then it is as it was.
func TestReaderPutsBack(t *testing.T) {
	pair := newPair(t, lab.Config{})
	p := open(t, pair.B)
	type state struct {
		Promisc  int
		XDP      netlink.LinkXdp
		Features map[string]bool
		MaxMTU   uint32
	}
	look := func() (s state) {
		l := link(t, pair.B)
		s.Promisc, s.XDP = l.Promisc, *l.Xdp
		s.XDP.ProgId, s.XDP.Fd = 0, 0
		err := pair.B.NS.Do(func() error {
			et, err := ethtool.NewEthtool()
			if err != nil {
				return err
			}
			defer et.Close()
			s.Features, err = et.Features(pair.B.Iface)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	before := look()
	for range 2 {
		r, err := xdp.OpenReader(p, xdp.ReaderConfig{})
		if err != nil {
			t.Fatal(err)
		}
		if s := look(); s.Promisc != 1 || !s.XDP.Attached {
			t.Errorf("while open: promiscuity %d, XDP %+v, want 1, attached", s.Promisc, s.XDP)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, look()); diff != "" {
			t.Errorf("after close (-before +after):\n%s", diff)
		}
	}
}

// A writer changes nothing of its port.
func TestWriterAttachesNothing(t *testing.T) {
	pair := newPair(t, lab.Config{})
	w := openWriter(t, pair.A, xdp.Config{})
	if l := link(t, pair.A); l.Xdp.Attached || l.Promisc != 0 {
		t.Errorf("XDP %+v, promiscuity %d, want none", l.Xdp, l.Promisc)
	}
	if w.Mode() != "copy" {
		t.Errorf("mode %q, want copy", w.Mode())
	}
}

func TestReaderSeesNothingOfItsOwnPort(t *testing.T) {
	pair := newPair(t, lab.Config{})
	w, r, err := xdp.OpenBoth(open(t, pair.A), xdp.Config{}, xdp.ReaderConfig{})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, w)
	closeAfter(t, r)
	send(t, w, porttest.Plan(60), 100)
	if n := receive(t, r, 0, func(port.Frame) {}); n != 0 {
		t.Errorf("received %d frames that the port sent, want none", n)
	}
}

// Frames that an XDP program on the other end redirects, as live frames are, never
// were packets of the stack.
func TestReaderTakesLiveFrames(t *testing.T) {
	pair := newPair(t, lab.Config{})
	r := openReader(t, pair.B, xdp.ReaderConfig{})
	redirect, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "GPL", Instructions: asm.Instructions{
		asm.Mov.Imm(asm.R1, int32(link(t, pair.A).Index)), asm.Mov.Imm(asm.R2, 0), asm.FnRedirect.Call(), asm.Return(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer redirect.Close()
	const count, liveFrames = 1000, 2 // BPF_F_TEST_XDP_LIVE_FRAMES
	frame := vlanFrame(60)
	start := pace.Now()
	err = pair.A.NS.Do(func() error {
		_, err := redirect.Run(&ebpf.RunOptions{Data: frame, Repeat: count, Flags: liveFrames})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	end := pace.Now()
	n := receive(t, r, count, func(f port.Frame) {
		if diff := cmp.Diff(frame, f.Data); diff != "" {
			t.Fatalf("frame (-want +got):\n%s", diff)
		}
		if f.At < start || f.At > end {
			t.Errorf("arrived %d ns after the start, %d ns before the end, want neither negative", f.At-start, end-f.At)
		}
		start = f.At
	})
	if n != count {
		t.Errorf("received %d frames, want %d", n, count)
	}
}

func TestReaderWaits(t *testing.T) {
	for _, queues := range []int{1, 2} {
		r := openReader(t, newPair(t, lab.Config{Queues: queues}).B, xdp.ReaderConfig{})
		for _, wait := range []time.Duration{0, time.Microsecond, 30 * time.Millisecond} {
			start := time.Now()
			frames, err := r.Receive(wait)
			if err != nil || len(frames) > 0 {
				t.Fatalf("received %d frames, error %v, want neither", len(frames), err)
			}
			if took := time.Since(start); took < wait {
				t.Errorf("waited %v, want %v", took, wait)
			}
		}
	}
}

func TestReaderEndsWithThePort(t *testing.T) {
	tests := []struct {
		name string
		do   func(testing.TB, lab.End)
		want error
	}{
		{"down", down, port.ErrLink},
		{"deleted", func(t testing.TB, e lab.End) { change(t, e, netlink.LinkDel) }, port.ErrGone},
	}
	for _, tt := range tests {
		for _, queues := range []int{1, 2} {
			t.Run(tt.name, func(t *testing.T) {
				pair := newPair(t, lab.Config{Queues: queues})
				r := openReader(t, pair.B, xdp.ReaderConfig{})
				w := openWriter(t, pair.A, xdp.Config{})
				const count = 300
				send(t, w, porttest.Plan(60), count)
				received, ended := 0, time.Time{}
				for {
					if received == count && ended.IsZero() {
						ended = time.Now()
						go func() {
							time.Sleep(20 * time.Millisecond) // the reader waits by now
							tt.do(t, pair.B)
						}()
					}
					frames, err := r.Receive(10 * time.Second)
					received += len(frames)
					if errors.Is(err, tt.want) {
						break
					}
					if err != nil || len(frames) == 0 {
						t.Fatalf("received %d frames, then error %v, want %v", received, err, tt.want)
					}
				}
				if received != count {
					t.Errorf("received %d frames before the error, want %d", received, count)
				}
				if took := time.Since(ended); took > 5*time.Second {
					t.Errorf("error came after %v", took)
				}
				if _, err := r.Receive(0); !errors.Is(err, tt.want) {
					t.Errorf("error of the next call %v, want %v", err, tt.want)
				}
			})
		}
	}
}

func TestReaderTakesWhatCameBeforeTheEnd(t *testing.T) {
	for _, queues := range []int{1, 2} {
		pair := newPair(t, lab.Config{Queues: queues})
		r := openReader(t, pair.B, xdp.ReaderConfig{})
		const count = 1000
		send(t, openWriter(t, pair.A, xdp.Config{}), porttest.Plan(60), count)
		change(t, pair.B, netlink.LinkDel)
		received := 0
		for {
			frames, err := r.Receive(10 * time.Second)
			received += len(frames)
			if errors.Is(err, port.ErrGone) {
				break
			}
			if err != nil || len(frames) == 0 {
				t.Fatalf("received %d frames, then error %v, want %v", received, err, port.ErrGone)
			}
		}
		if received != count {
			t.Errorf("received %d frames, want %d", received, count)
		}
	}
}

func TestReaderOnAPortThatIsDown(t *testing.T) {
	pair := newPair(t, lab.Config{})
	down(t, pair.B)
	r := openReader(t, pair.B, xdp.ReaderConfig{})
	if _, err := r.Receive(10 * time.Second); !errors.Is(err, port.ErrLink) {
		t.Errorf("error %v, want %v", err, port.ErrLink)
	}
}

func TestReaderRefusesFramesTooLong(t *testing.T) {
	p := open(t, newPair(t, lab.Config{MTU: 9000}).B)
	if r, err := xdp.OpenReader(p, xdp.ReaderConfig{}); err == nil {
		r.Close()
		t.Error("MTU 9000: no error")
	}
}

func TestReaderDoesNotAllocate(t *testing.T) {
	for _, queues := range []int{1, 2} {
		pair := newPair(t, lab.Config{Queues: queues})
		r := openReader(t, pair.B, xdp.ReaderConfig{})
		w := openWriter(t, pair.A, xdp.Config{})
		const runs = 10
		send(t, w, porttest.Plan(60), 256*(runs+1))
		allocs := testing.AllocsPerRun(runs, func() {
			frames, err := r.Receive(time.Second)
			if err != nil || len(frames) == 0 {
				t.Fatalf("received %d frames, error %v", len(frames), err)
			}
		})
		if allocs != 0 {
			t.Errorf("%v allocations a call, want none", allocs)
		}
		if allocs := testing.AllocsPerRun(runs, func() { _, _ = r.Receive(time.Microsecond) }); allocs != 0 {
			t.Errorf("%v allocations a call without frames, want none", allocs)
		}
	}
}

// BenchmarkXDPReceive receives 64-byte frames that were sent before, to measure
// the reader alone.
func BenchmarkXDPReceive(b *testing.B) {
	const room = 8192
	pair := newPair(b, lab.Config{})
	r := openReader(b, pair.B, xdp.ReaderConfig{Frames: room})
	w, err := packet.Open(open(b, pair.A), packet.Config{})
	if err != nil {
		b.Fatal(err)
	}
	closeAfter(b, w)
	p := porttest.Plan(60)
	b.ReportAllocs()
	for n := 0; n < b.N; {
		b.StopTimer()
		round := uint64(min(room/2, b.N-n)) // some are withheld from before
		send(b, w, p, round)
		b.StartTimer()
		for got := 0; got < int(round); {
			frames, err := r.Receive(time.Second)
			if err != nil || len(frames) == 0 {
				b.Fatal(len(frames), err)
			}
			got += len(frames)
		}
		n += int(round)
	}
}
