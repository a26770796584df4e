package live_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"squall/gen"
	"squall/internal/lab"
	"squall/internal/pace"
	"squall/internal/plan"
	"squall/internal/port"
	"squall/internal/port/live"
	"squall/internal/port/packet"
	"squall/internal/wire"
)

// scribbler is a receiver that overwrites every second frame from end to end and
// drops it, so that its page comes back full of dirt, and lets the others pass.
func scribbler(t *testing.T) asm.Instructions {
	t.Helper()
	dirt := append(make([]byte, 8), bytes.Repeat([]byte{0x5a}, 4096)...) // a counter first
	m, err := ebpf.NewMap(&ebpf.MapSpec{
		Type: ebpf.Array, KeySize: 4, ValueSize: uint32(len(dirt)), MaxEntries: 1,
		Contents: []ebpf.MapKV{{Key: uint32(0), Value: dirt}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.StoreImm(asm.RFP, -4, 0, asm.Word),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.LoadMapPtr(asm.R1, m.FD()),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "pass"),
		asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord),
		asm.Mov.Reg(asm.R2, asm.R1),
		asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R0, 0, asm.R1, asm.DWord),
		asm.And.Imm(asm.R2, 1),
		asm.JEq.Imm(asm.R2, 0, "pass"),
		asm.LoadMem(asm.R4, asm.R6, 4, asm.Word), // data_end
		asm.LoadMem(asm.R5, asm.R6, 0, asm.Word), // data
		asm.Sub.Reg(asm.R4, asm.R5),
		asm.JLT.Imm(asm.R4, 14, "pass"),
		asm.JGT.Imm(asm.R4, 4000, "pass"),
		asm.Mov.Reg(asm.R3, asm.R0),
		asm.Add.Imm(asm.R3, 8),
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.Mov.Imm(asm.R2, 0),
		asm.FnXdpStoreBytes.Call(),
		asm.Mov.Imm(asm.R0, xdpDrop),
		asm.Return(),
		asm.Mov.Imm(asm.R0, xdpPass).WithSymbol("pass"),
		asm.Return(),
	}
}

// frame is a received one.
type frame struct {
	data []byte
	at   int64
}

// capture takes frames off an end until n have come or none comes any more.
func capture(t testing.TB, e lab.End) (take func(n int) []frame) {
	t.Helper()
	r, err := packet.OpenReader(openPort(t, e), packet.ReaderConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return func(n int) []frame {
		t.Helper()
		var got []frame
		for len(got) < n {
			frames, err := r.Receive(2 * time.Second)
			if err != nil {
				t.Fatal(err)
			}
			if frames == nil {
				break
			}
			for _, f := range frames {
				got = append(got, frame{bytes.Clone(f.Data[:f.Len]), f.At})
			}
		}
		return got
	}
}

var slow = pace.Constant{Frames: 20_000, Ns: 1e9}

// TestScribbledPages sends into a receiver that overwrites frames: what comes
// after, in the same pages, is right all the same.
func TestScribbledPages(t *testing.T) {
	capt := &plan.Stream{Name: "capture"}
	for i := range 50 {
		capt.Heads.Append(bytes.Repeat([]byte{byte(i), 0x11}, 30+i*14))
	}
	tests := []struct {
		name string
		plan *plan.Plan
	}{
		{"64", compile(t, gen.Spec{Size: "64", Flows: 100})},
		{"1518", compile(t, gen.Spec{Size: "1518"})},
		{"1518 with a body", compile(t, gen.Spec{Size: "1518", Layers: []gen.Layer{{Name: "udp"}, {Name: "payload", Fields: map[string]string{"text": "abc"}}}})},
		{"imix", compile(t, gen.Spec{Size: "imix", Vary: []gen.Vary{{Field: "udp.src", Mode: "random"}}})},
		{"two streams", compile(t, gen.Spec{Size: "64-300", Weight: 2}, gen.Spec{Size: "100,1500", Tag: "id"})},
		{"capture", newPlan(t, plan.Plan{Streams: []*plan.Stream{capt}})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pair := newPair(t, lab.Config{})
			attach(t, pair.B, scribbler(t))
			take := capture(t, pair.B)
			s := openSender(t, pair.A, live.Config{})
			const n, first = 2000, 12345
			progress := &port.Progress{}
			sent, err := s.Send(t.Context(), port.Job{Plan: tt.plan, Schedule: slow, First: first, Count: n, Progress: progress})
			if err != nil {
				t.Fatal(err)
			}
			var bytesSent uint64
			buf := make([]byte, tt.plan.MaxLen())
			got := take(n / 2)
			if len(got) != n/2 {
				t.Fatalf("%d frames came, want %d", len(got), n/2)
			}
			for i := range uint64(n) {
				var now int64
				if i%2 == 0 {
					now = sentAt(got[i/2].data)
				}
				want := buf[:tt.plan.Write(buf, first+i, now)]
				bytesSent += uint64(max(len(want), wire.MinLen) + wire.FCSLen)
				if i%2 == 0 && !bytes.Equal(want, got[i/2].data) {
					t.Fatalf("frame %d (-want +got):\n%s", first+i, cmp.Diff(want, got[i/2].data))
				}
			}
			if sent.Frames != n || sent.Bytes != bytesSent || progress.Frames.Load() != n || progress.Bytes.Load() != bytesSent {
				t.Errorf("sent %d frames, %d bytes, progress %d and %d, want %d and %d", sent.Frames, sent.Bytes, progress.Frames.Load(), progress.Bytes.Load(), n, bytesSent)
			}
		})
	}
}

// A frame of the largest size goes out.
func TestLargestFrame(t *testing.T) {
	pair := newPair(t, lab.Config{MTU: 3500})
	napi(t, pair)
	take := capture(t, pair.B)
	s := openSender(t, pair.A, live.Config{})
	p := compile(t, gen.Spec{Size: "3412"})
	if _, err := s.Send(t.Context(), port.Job{Plan: p, Schedule: slow, Count: 10}); err != nil {
		t.Fatal(err)
	}
	got := take(10)
	if len(got) != 10 {
		t.Fatalf("%d frames came, want 10", len(got))
	}
	buf := make([]byte, p.MaxLen())
	for i, f := range got {
		if want := buf[:p.Write(buf, uint64(i), sentAt(f.data))]; !bytes.Equal(want, f.data) {
			t.Errorf("frame %d (-want +got):\n%s", i, cmp.Diff(want, f.data))
		}
	}
}

// TestOnTime looks at the send times that frames carry: none goes before it is
// due, and those of a job are those due within it.
func TestOnTime(t *testing.T) {
	ms := int64(time.Millisecond)
	tests := []struct {
		name   string
		s      pace.Schedule
		within int64
	}{
		{"1 kpps", pace.Constant{Frames: 1000, Ns: 1e9}, 0},
		{"an odd rate", pace.Constant{Frames: 33_331, Ns: 1e9}, 0},
		{"100 kpps", pace.Constant{Frames: 100_000, Ns: 1e9}, 0},
		{"bursts", pace.Bursts{N: 20, Of: pace.Constant{Frames: 300, Ns: 1e9}}, 0},
		{"ramp", pace.Ramp{From: 100, To: 50_000, Over: 200 * ms}, 1000},
		{"capture", pace.Captured{Times: []int64{0, 0, 100, 9 * ms, 9*ms + 1000}, Num: 3, Den: 2, Period: 10 * ms}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pair := newPair(t, lab.Config{})
			napi(t, pair)
			take := capture(t, pair.B)
			s := openSender(t, pair.A, live.Config{})
			const duration = 250 * time.Millisecond
			sent, err := s.Send(t.Context(), port.Job{Plan: compile(t, gen.Spec{}), Schedule: tt.s, Duration: duration})
			if err != nil {
				t.Fatal(err)
			}
			var due uint64
			for tt.s.Due(due) < int64(duration) {
				due++
			}
			// A machine that stalls for longer than the catch-up slips.
			if sent.Frames > due || sent.Frames < due && sent.Slipped == 0 && tt.within == 0 {
				t.Errorf("sent %d frames and slipped %d ns, %d are due", sent.Frames, sent.Slipped, due)
			}
			if sent.End-sent.Start < int64(duration) {
				t.Errorf("took %d ns, want %v", sent.End-sent.Start, duration)
			}
			got := take(int(sent.Frames))
			if uint64(len(got)) != sent.Frames {
				t.Fatalf("%d frames came of %d", len(got), sent.Frames)
			}
			var last, most int64
			for i, f := range got {
				at := sentAt(f.data)
				late := wire.Latency(sent.Start+tt.s.Due(uint64(i)), at)
				if late < -tt.within {
					t.Fatalf("frame %d went %d ns early", i, -late)
				}
				if i > 0 && wire.Latency(last, at) < 0 {
					t.Fatalf("frame %d went before the one in front of it", i)
				}
				last, most = at, max(most, late)
			}
			if sent.Slipped == 0 && tt.within == 0 && most != sent.Error.Max {
				t.Errorf("send error at most %d ns, the frames say %d", sent.Error.Max, most)
			}
			t.Logf("%d frames, %+v, slipped %d", sent.Frames, sent.Error, sent.Slipped)
		})
	}
}

// At full speed neither a count nor a time is exceeded.
func TestFullSpeed(t *testing.T) {
	pair := newPair(t, lab.Config{})
	attach(t, pair.B, always(xdpDrop))
	s := openSender(t, pair.A, live.Config{Pin: true, CPU: 1})
	p := compile(t, gen.Spec{Size: "imix", Flows: 10})
	for _, count := range []uint64{1, 63, 100_001} {
		before := counters(t, pair.B)
		sent, err := s.Send(t.Context(), port.Job{Plan: p, Schedule: pace.Max{}, Count: count})
		if err != nil {
			t.Fatal(err)
		}
		got := counters(t, pair.B)
		if sent.Frames != count || got.RxPackets-before.RxPackets+got.RxDropped-before.RxDropped != count {
			t.Errorf("sent %d frames, %d came and %d were dropped, want %d", sent.Frames, got.RxPackets-before.RxPackets, got.RxDropped-before.RxDropped, count)
		}
		if sent.Error != (port.SendError{}) {
			t.Errorf("send error %+v without due times", sent.Error)
		}
	}
	const duration = 100 * time.Millisecond
	start := time.Now()
	sent, err := s.Send(t.Context(), port.Job{Plan: p, Schedule: pace.Max{}, Duration: duration})
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Duration(sent.End - sent.Start); took != duration {
		t.Errorf("took %v, want %v", took, duration)
	}
	t.Logf("%d frames; the call took %v", sent.Frames, time.Since(start))
}

// A cancelled job ends soon, without an error, whatever it is doing.
func TestStop(t *testing.T) {
	pair := newPair(t, lab.Config{})
	attach(t, pair.B, always(xdpDrop))
	s := openSender(t, pair.A, live.Config{})
	p := compile(t, gen.Spec{})
	for _, tt := range []struct {
		name string
		s    pace.Schedule
	}{
		{"asleep", pace.Constant{Frames: 1, Ns: 3600e9}},
		{"waiting", pace.Constant{Frames: 100_000, Ns: 1e9}},
		{"full speed", pace.Max{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			progress := &port.Progress{}
			done := make(chan error, 1)
			var sent port.Sent
			go func() {
				var err error
				sent, err = s.Send(ctx, port.Job{Plan: p, Schedule: tt.s, Progress: progress})
				done <- err
			}()
			for progress.Frames.Load() == 0 {
				time.Sleep(time.Millisecond)
			}
			cancel()
			select {
			case err := <-done:
				if err != nil || sent.Frames != progress.Frames.Load() {
					t.Errorf("error %v, sent %d, progress %d", err, sent.Frames, progress.Frames.Load())
				}
			case <-time.After(20 * time.Second):
				t.Fatal("still sending")
			}
		})
	}
}

// Each new schedule begins with the next frame, at once.
func TestReschedule(t *testing.T) {
	pair := newPair(t, lab.Config{})
	napi(t, pair)
	s := openSender(t, pair.A, live.Config{})
	p := compile(t, gen.Spec{})
	if err := s.Reschedule(pace.Max{}); err == nil {
		t.Error("no error without a job")
	}
	take := capture(t, pair.B)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	progress := &port.Progress{}
	type result struct {
		sent port.Sent
		err  error
	}
	done := make(chan result, 1)
	go func() {
		sent, err := s.Send(ctx, port.Job{Plan: p, Schedule: pace.Constant{Frames: 1, Ns: 3600e9}, Progress: progress})
		done <- result{sent, err}
	}()
	reach := func(n uint64) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); progress.Frames.Load() < n; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("sent %d frames, want %d", progress.Frames.Load(), n)
			}
		}
	}
	reach(1)
	steps := []pace.Schedule{
		pace.Constant{Frames: 10_000, Ns: 1e9},
		pace.Constant{Frames: 1, Ns: 3600e9},
		pace.Ramp{From: 1000, To: 30_000, Over: int64(time.Second)},
		pace.Bursts{N: 50, Of: pace.Constant{Frames: 100, Ns: 1e9}},
		pace.Constant{Frames: 50_000, Ns: 1e9},
	}
	more := []uint64{100, 1, 20, 100, 500}
	for i, to := range steps {
		before := progress.Frames.Load()
		if err := s.Reschedule(to); err != nil {
			t.Fatal(err)
		}
		reach(before + more[i])
	}
	err := s.Reschedule(pace.Captured{Times: make([]int64, 9), Num: 1, Den: 1})
	if err == nil || !strings.Contains(err.Error(), "room for 1") {
		t.Errorf("error %v for a capture that there is no room for", err)
	}
	cancel()
	r := <-done
	if r.err != nil {
		t.Fatal(r.err)
	}
	got := take(int(r.sent.Frames))
	for i, f := range got {
		if tag, ok := wire.FindTag(f.data); !ok || tag.Seq != uint64(i) {
			t.Fatalf("frame %d has sequence number %d", i, tag.Seq)
		}
	}
	if uint64(len(got)) != r.sent.Frames {
		t.Errorf("%d frames came of %d", len(got), r.sent.Frames)
	}
}

// A job ends with an error where its port does, and soon.
func TestSendEndsWithThePort(t *testing.T) {
	change := func(t *testing.T, e lab.End, fn func(netlink.Link) error) {
		t.Helper()
		err := e.NS.Do(func() error {
			l, err := netlink.LinkByName(e.Iface)
			if err != nil {
				return err
			}
			return fn(l)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name string
		do   func(*testing.T, *lab.Pair)
		want error
	}{
		{"carrier lost", func(t *testing.T, p *lab.Pair) { change(t, p.B, netlink.LinkSetDown) }, port.ErrLink},
		{"set down", func(t *testing.T, p *lab.Pair) { change(t, p.A, netlink.LinkSetDown) }, port.ErrLink},
		{"deleted", func(t *testing.T, p *lab.Pair) { change(t, p.A, netlink.LinkDel) }, port.ErrGone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pair := newPair(t, lab.Config{})
			attach(t, pair.B, always(xdpDrop))
			s := openSender(t, pair.A, live.Config{})
			progress := &port.Progress{}
			done := make(chan error, 1)
			go func() {
				_, err := s.Send(t.Context(), port.Job{Plan: compile(t, gen.Spec{}), Schedule: slow, Progress: progress})
				done <- err
			}()
			for progress.Frames.Load() < 20 {
				time.Sleep(time.Millisecond)
			}
			tt.do(t, pair)
			select {
			case err := <-done:
				if !errors.Is(err, tt.want) {
					t.Errorf("error %v, want %v", err, tt.want)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("still sending")
			}
		})
	}
}

// TestSupports: a veth is refused until its other end receives by NAPI, and what
// PreparePeer did is undone.
func TestSupports(t *testing.T) {
	pair := newPair(t, lab.Config{})
	p := openPort(t, pair.A)
	supports := func() error {
		t.Helper()
		i, err := p.Inspect()
		if err != nil {
			t.Fatal(err)
		}
		return live.Supports(i)
	}
	if err := supports(); err == nil || !strings.Contains(err.Error(), "NAPI") {
		t.Errorf("error %v before", err)
	}
	if _, err := live.Open(t.Context(), p, live.Config{}); err == nil || !strings.Contains(err.Error(), "NAPI") {
		t.Errorf("error %v of Open before", err)
	}
	if _, err := live.PreparePeer(p); err == nil || !strings.Contains(err.Error(), "none of those looked into") {
		t.Errorf("error %v where the namespace is not known", err)
	}
	restore, err := live.PreparePeer(p, pair.A.NS, pair.B.NS)
	if err != nil {
		t.Fatal(err)
	}
	if err := supports(); err != nil {
		t.Errorf("error %v after", err)
	}
	if again, err := live.PreparePeer(p); again != nil || err != nil {
		t.Errorf("once more: error %v, and something to undo: %v", err, again != nil)
	}
	if err := restore(); err != nil {
		t.Fatal(err)
	}
	if err := supports(); err == nil {
		t.Error("no error after it was undone")
	}
	lo, err := port.OpenIn(pair.A.NS, "lo")
	if err != nil {
		t.Fatal(err)
	}
	defer lo.Close()
	i, err := lo.Inspect()
	if err != nil {
		t.Fatal(err)
	}
	if err := live.Supports(i); err == nil {
		t.Error("loopback is supported")
	}
}

// Nothing is left of a sender that was closed, nor of one job's program after the
// next was loaded.
func TestNothingLeft(t *testing.T) {
	pair := newPair(t, lab.Config{})
	attach(t, pair.B, always(xdpDrop))
	s := openSender(t, pair.A, live.Config{})
	var open []int
	for range 4 {
		for _, size := range []string{"64", "imix"} {
			if _, err := s.Send(t.Context(), port.Job{Plan: compile(t, gen.Spec{Size: size}), Schedule: pace.Max{}, Count: 100}); err != nil {
				t.Fatal(err)
			}
		}
		runtime.GC()
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, len(fds))
	}
	if open[1] != open[3] {
		t.Errorf("open files grow: %v", open)
	}
}

// One and a half million flows: how long that takes is for the reader.
func TestManyFlows(t *testing.T) {
	const flows = 1_500_000
	p := compile(t, gen.Spec{Size: "128", Flows: flows, Layers: []gen.Layer{{Name: "udp"}}, Vary: []gen.Vary{{Field: "ipv4.src", Per: "flow"}}})
	pair := newPair(t, lab.Config{})
	attach(t, pair.B, always(xdpDrop))
	s := openSender(t, pair.A, live.Config{})
	start := time.Now()
	if err := s.Load(p); err != nil {
		t.Fatal(err)
	}
	t.Logf("loading took %v", time.Since(start))
	sent, err := s.Send(t.Context(), port.Job{Plan: p, Schedule: pace.Max{}, Count: flows + 1})
	if err != nil || sent.Frames != flows+1 {
		t.Errorf("sent %d frames, error %v", sent.Frames, err)
	}
	t.Logf("%.2f Mpps", float64(sent.Frames)/float64(sent.End-sent.Start)*1e3)
	m := live.NewMaker(t, p)
	same(t, p, m, flows-3, 6)
}
