package xdpmeter

import (
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"squall/internal/meter"
	"squall/internal/wire"
)

// stepper is a program that raises the low half of the sequence number of the
// frame it is given, a udp4 of 60 bytes, by step and goes on in next. The kernel
// runs it again and again on the same bytes.
func stepper(t testing.TB, next *ebpf.Program, step int64) *ebpf.Program {
	t.Helper()
	jump, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.ProgramArray, KeySize: 4, ValueSize: 4, MaxEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { jump.Close() })
	const seq = 60 - wire.TagLen + 8
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, AttachType: ebpf.AttachXDP, License: "GPL", Instructions: asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.LoadImm(asm.R5, step<<32, asm.DWord),
		asm.LoadMem(asm.R2, asm.R1, 0, asm.Word), // data
		asm.LoadMem(asm.R3, asm.R1, 4, asm.Word), // data_end
		asm.Mov.Reg(asm.R4, asm.R2),
		asm.Add.Imm(asm.R4, 60),
		asm.JGT.Reg(asm.R4, asm.R3, "out"),
		asm.LoadMem(asm.R1, asm.R2, seq, asm.DWord),
		asm.HostTo(asm.BE, asm.R1, asm.DWord),
		asm.Add.Reg(asm.R1, asm.R5),
		asm.HostTo(asm.BE, asm.R1, asm.DWord),
		asm.StoreMem(asm.R2, seq, asm.R1, asm.DWord),
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.LoadMapPtr(asm.R2, jump.FD()),
		asm.Mov.Imm(asm.R3, 0),
		asm.FnTailCall.Call(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
		asm.Return(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	if err := jump.Put(uint32(0), next); err != nil {
		t.Fatal(err)
	}
	return p
}

// repeat has the kernel run p n times on f. A signal, such as the ones by which the
// Go runtime preempts, would end the runs midway and have them begin again, which
// this meter would rightly count as duplicates: none gets through.
func repeat(t testing.TB, p *ebpf.Program, f []byte, n int) time.Duration {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, before unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^uint64(0)
	}
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &all, &before); err != nil {
		t.Error(err)
		return 0
	}
	defer unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
	_, perFrame, err := p.Benchmark(f, n, nil)
	if err != nil {
		t.Error(err)
	}
	return perFrame
}

// TestShared has two CPUs count one stream, even numbers here and odd ones there,
// while its figures are read.
func TestShared(t *testing.T) {
	const each, part = 600_000, 20_000
	r := newRig(t, false, meter.Config{Stream: 1, Window: 1 << 21})
	p := stepper(t, r.objects.SquallMeter, 2)
	// The first number is 0, so that the evens that the stepper makes are 2, 4, ...
	f := udp4(60, wire.Tag{Run: run, Stream: 1, Seq: 0})
	if _, err := r.objects.SquallMeter.Run(&ebpf.RunOptions{Data: f}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for parity := range uint64(2) {
		wg.Go(func() {
			for q := uint64(0); q < each; q += part {
				f := udp4(60, wire.Tag{Run: run, Stream: 1, Seq: parity + 2*q})
				repeat(t, p, f, part)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	s := r.Stream(1)
	var last meter.Live
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		case <-time.After(time.Millisecond):
		}
		l := s.Live()
		if l.Received < last.Received || l.Bytes < last.Bytes {
			t.Fatalf("live counters went from %+v to %+v", last, l)
		}
		last = l
		_ = s.Report()
	}
	// 0, 2, ..., 2*each and 3, 5, ..., 2*each+1: all but 1.
	s.Finish(2*each + 2)
	rep := s.Report()
	if rep.Received != 2*each+1 || rep.Lost != 1 || rep.Duplicated != 0 || rep.Late != 0 {
		t.Errorf("received %d, lost %d, duplicated %d, late %d, want %d, 1, 0, 0", rep.Received, rep.Lost, rep.Duplicated, rep.Late, 2*each+1)
	}
	if rep.Latency.Count+rep.Negative != rep.Received || r.Stuck() != 0 {
		t.Errorf("latencies %d + %d of %d frames, %d stuck", rep.Latency.Count, rep.Negative, rep.Received, r.Stuck())
	}
	if q := r.Queues(); len(q) != 1 || q[0] != 2*each+1 {
		t.Errorf("frames by queue %v, want %d of one", q, 2*each+1)
	}
}

// TestUntold has more loss periods than the ring holds: the totals are right, and
// the report says what is not in the detail.
func TestUntold(t *testing.T) {
	const frames = 400_000
	r := newRig(t, false, meter.Config{Stream: 1, Window: 1024, Noticeable: 2})
	r.mu.Lock() // nobody reads
	repeat(t, stepper(t, r.objects.SquallMeter, 2), udp4(60, wire.Tag{Run: run, Stream: 1, Seq: 0}), frames)
	r.mu.Unlock()
	s := r.Stream(1)
	s.Finish(2*frames + 1)
	got := s.Report()
	// 2, 4, ... arrived: 0 and 1, 3, 5, ... did not.
	l := got.LossPattern
	if got.Received != frames || got.Lost != frames+1 || l.Count != frames || l.Noticeable != frames {
		t.Errorf("received %d, lost %d in %d periods, noticeable %d", got.Received, got.Lost, l.Count, l.Noticeable)
	}
	if l.Untold == 0 || l.Lengths.Count+l.Untold != l.Count {
		t.Errorf("untold %d, lengths of %d, want them to be the %d periods", l.Untold, l.Lengths.Count, l.Count)
	}
	if l.Between.Max != 2 || l.Distance.Max != 2 {
		t.Errorf("distances %+v, between %+v: periods that were not told count into them", l.Distance, l.Between)
	}
}

// TestTotal sums so many streams that times have coarse classes.
func TestTotal(t *testing.T) {
	const n = 100
	var configs []meter.Config
	for i := range n {
		configs = append(configs, meter.Config{Stream: uint16(i * 7), Window: 1024})
	}
	r := newRig(t, false, configs...)
	for i := range uint64(n) {
		for k, seq := range []uint64{0, 2, 2, 1, 4 + i%3} {
			r.arrive(t, udp4(60, wire.Tag{Run: run, Stream: uint16(i * 7), Seq: seq, Sent: 5}), int64(i)*1000+int64(k)*10_000+5)
		}
	}
	for i, s := range r.streams {
		s.Finish(8)
		r.want[i].Finish(8)
	}
	got, want := Total(r.streams...), meter.Total(r.want...)
	want.Density, want.Occupancy, want.Variation = nil, nil, nil
	for _, p := range []struct{ got, want *int64 }{
		{&got.Latency.P50, &want.Latency.P50}, {&got.Latency.P99, &want.Latency.P99}, {&got.Latency.P999, &want.Latency.P999},
	} {
		if d := *p.got - *p.want; d < 0 || d > *p.want/128 {
			t.Errorf("percentile is %d, want %d or up to 0.8 %% more", *p.got, *p.want)
		}
		*p.got = *p.want
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("total (-want +got):\n%s", diff)
	}
	r.compare(t)
}

func TestManyStreams(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: CAP_BPF and CAP_NET_ADMIN")
	}
	var configs []meter.Config
	for i := range 1024 {
		configs = append(configs, meter.Config{Stream: uint16(65535 - i)})
	}
	m, err := load(Config{Run: run, Streams: configs}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for i := range uint64(1024) {
		f := udp4(60, wire.Tag{Run: run, Stream: uint16(65535 - i), Seq: i})
		if _, err := m.objects.SquallMeter.Run(&ebpf.RunOptions{Data: f}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range uint64(1024) {
		s := m.Stream(uint16(65535 - i))
		s.Finish(i + 2)
		if l := s.Live(); l.Received != 1 || l.Missing != i+1 {
			t.Fatalf("stream %d: %+v, want 1 received and %d missing", 65535-i, l, i+1)
		}
	}
	if w := m.Stream(65535).config.Window; w != 4096 {
		t.Errorf("default window %d, want 4096", w)
	}
	if m.Stream(7) != nil {
		t.Error("there is a stream 7")
	}
}

// BenchmarkInOrder reports what the program costs a frame beyond the bare drop of
// the first row: the best of parts of a few milliseconds, since whatever else the
// machine does only adds to it.
func BenchmarkInOrder(b *testing.B) {
	drop, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, AttachType: ebpf.AttachXDP, License: "GPL", Instructions: asm.Instructions{
		asm.Mov.Imm(asm.R0, xdpDrop), asm.Return(),
	}})
	if err != nil {
		b.Fatal(err)
	}
	defer drop.Close()
	tests := []struct {
		name string
		load func(*testing.B) *ebpf.Program
	}{
		{"drop", func(*testing.B) *ebpf.Program { return drop }},
		{"meter", func(b *testing.B) *ebpf.Program { return loaded(b, false) }},
		{"meter without clock", func(b *testing.B) *ebpf.Program { return loaded(b, true) }},
	}
	for _, tt := range tests {
		b.Run(tt.name, func(b *testing.B) {
			p := stepper(b, tt.load(b), 1)
			const part = 20_000
			best := time.Hour
			for q := uint64(0); q < uint64(max(b.N, 10*part)); q += part {
				best = min(best, repeat(b, p, udp4(60, wire.Tag{Run: run, Stream: 1, Seq: q}), part))
			}
			b.ReportMetric(float64(best.Nanoseconds()), "ns/op")
		})
	}
}

func loaded(b *testing.B, held bool) *ebpf.Program {
	m, err := load(Config{Run: run, Streams: []meter.Config{{Stream: 1}}, held: held}, false)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { m.Close() })
	return m.objects.SquallMeter
}
