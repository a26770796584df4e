package live_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"squall/gen"
	"squall/internal/lab"
	"squall/internal/netns"
	"squall/internal/pace"
	"squall/internal/plan"
	"squall/internal/port"
	"squall/internal/port/live"
)

func compile(t testing.TB, specs ...gen.Spec) *plan.Plan {
	t.Helper()
	src, err := gen.Compile(specs, gen.Target{Run: 0x4711, FirstStream: 3})
	if err != nil {
		t.Fatal(err)
	}
	return src.Plan
}

// BenchmarkSend sends at full speed into a native XDP_DROP on the same core. bare
// is a program that only redirects: what the kernel's part takes.
func BenchmarkSend(b *testing.B) {
	for _, size := range []string{"64", "82", "1518", "imix"} {
		for _, flows := range []uint64{1, 1024} {
			b.Run(fmt.Sprintf("size=%s/flows=%d", size, flows), func(b *testing.B) {
				p := compile(b, gen.Spec{Size: size, Flows: flows})
				pair := newPair(b, lab.Config{})
				attach(b, pair.B, always(xdpDrop))
				s := openSender(b, pair.A, live.Config{Pin: true, CPU: 1})
				if err := s.Load(p); err != nil {
					b.Fatal(err)
				}
				bare := newBare(b, pair.A, p.MaxLen())
				// By turns, and short: others use the machine too.
				var ours, theirs, ratio []float64
				for range 41 {
					x, y := fullSpeed(b, s, p), bare.speed(b)
					ours, theirs, ratio = append(ours, x), append(theirs, y), append(ratio, x/y)
				}
				slices.Sort(ratio)
				b.ReportMetric(slices.Max(ours)/1e6, "best-Mpps")
				b.ReportMetric(slices.Max(theirs)/1e6, "bare-best-Mpps")
				b.ReportMetric(ratio[len(ratio)/2], "of-bare-median")
				b.ReportMetric(ratio[len(ratio)/4], "of-bare-q1")
				b.ReportMetric(ratio[len(ratio)*3/4], "of-bare-q3")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

const trial = 25 * time.Millisecond

func fullSpeed(b *testing.B, s *live.Sender, p *plan.Plan) float64 {
	b.Helper()
	sent, err := s.Send(b.Context(), port.Job{Plan: p, Schedule: pace.Max{}, Duration: trial})
	if err != nil {
		b.Fatal(err)
	}
	return float64(sent.Frames) / time.Duration(sent.End-sent.Start).Seconds()
}

// bare is a live-frames loop that stamps nothing.
type bare struct {
	prog *ebpf.Program
	data []byte
}

func newBare(b *testing.B, e lab.End, n int) *bare {
	b.Helper()
	devs, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.DevMap, KeySize: 4, ValueSize: 4, MaxEntries: 1})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { devs.Close() })
	p := openPort(b, e)
	if err := p.NS.Do(func() error { return devs.Put(uint32(0), uint32(p.Index)) }); err != nil {
		b.Fatal(err)
	}
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "bare", Type: ebpf.XDP, License: "GPL", Instructions: asm.Instructions{
		asm.LoadMapPtr(asm.R1, devs.FD()),
		asm.Mov.Imm(asm.R2, 0),
		asm.Mov.Imm(asm.R3, 0),
		asm.FnRedirectMap.Call(),
		asm.Return(),
	}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { prog.Close() })
	ns, err := netns.New("")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { ns.Close() })
	err = ns.Do(func() error {
		l, err := link.AttachXDP(link.XDPOptions{Program: prog, Interface: 1, Flags: link.XDPGenericMode})
		if err == nil {
			b.Cleanup(func() { l.Close() })
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	data := make([]byte, n)
	copy(data, "\x02squal\x02squal\x88\xb5")
	return &bare{prog, data}
}

func (l *bare) speed(b *testing.B) float64 {
	b.Helper()
	restore := live.PinThread(b, 1)
	defer restore()
	const repeat = 1 << 15
	n := 0
	start := time.Now()
	for time.Since(start) < trial {
		_, err := l.prog.Run(&ebpf.RunOptions{Data: l.data, Repeat: repeat, BatchSize: 64, Flags: unix.BPF_F_TEST_XDP_LIVE_FRAMES})
		if err != nil {
			b.Fatal(err)
		}
		n += repeat
	}
	return float64(n) / time.Since(start).Seconds()
}

// BenchmarkProgram is what the program takes for a frame, with its page in the
// cache and nothing redirected; bare is the same of one that only redirects.
func BenchmarkProgram(b *testing.B) {
	needRoot(b)
	restore := live.PinThread(b, 1)
	defer restore()
	pair := newPair(b, lab.Config{})
	bare := newBare(b, pair.A, 60)
	for _, spec := range []gen.Spec{
		{Name: "plain", Size: "64", Flows: 1024},
		{Name: "id", Size: "64", Tag: "id"},
		{Name: "imix", Size: "imix"},
		{Name: "patch", Size: "64", Vary: []gen.Vary{{Field: "udp.src", Mode: "random"}}},
	} {
		b.Run(spec.Name, func(b *testing.B) {
			m := live.NewMaker(b, compile(b, spec))
			m.Seek(b, 0)
			if m.Fixed() {
				b.ReportMetric(m.Time(b, 1<<17), "ns/frame")
			}
			best := 1e9
			for range 20 {
				_, d, err := bare.prog.Benchmark(bare.data, 1<<17, nil)
				if err != nil {
					b.Fatal(err)
				}
				best = min(best, float64(d.Nanoseconds()))
			}
			b.ReportMetric(best, "bare-ns/frame")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// stampsLen is how many arrivals a stamper remembers, a power of two.
const stampsLen = 1 << 20

// stamper is a receiver that notes when each frame arrives and drops it.
func stamper(b *testing.B) (code asm.Instructions, read func() []uint64) {
	b.Helper()
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8 + 8*stampsLen, MaxEntries: 1})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { m.Close() })
	code = asm.Instructions{
		asm.StoreImm(asm.RFP, -4, 0, asm.Word),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.LoadMapPtr(asm.R1, m.FD()),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "out"),
		asm.Mov.Reg(asm.R6, asm.R0),
		asm.FnKtimeGetNs.Call(),
		asm.LoadMem(asm.R1, asm.R6, 0, asm.DWord), // how many came
		asm.Mov.Reg(asm.R2, asm.R1),
		asm.Add.Imm(asm.R2, 1),
		asm.StoreMem(asm.R6, 0, asm.R2, asm.DWord),
		asm.And.Imm(asm.R1, stampsLen-1),
		asm.LSh.Imm(asm.R1, 3),
		asm.Add.Reg(asm.R6, asm.R1),
		asm.StoreMem(asm.R6, 8, asm.R0, asm.DWord),
		asm.Mov.Imm(asm.R0, xdpDrop).WithSymbol("out"),
		asm.Return(),
	}
	return code, func() []uint64 {
		v := make([]byte, 8+8*stampsLen)
		if err := m.Lookup(uint32(0), v); err != nil {
			b.Fatal(err)
		}
		all := make([]uint64, min(binary.NativeEndian.Uint64(v), stampsLen))
		for i := range all {
			all[i] = binary.NativeEndian.Uint64(v[8+8*i:])
		}
		slices.Sort(all)
		return all
	}
}

// BenchmarkPacing reports the rate error over the job, and the gaps between frames
// as the receiver's kernel clock has them.
func BenchmarkPacing(b *testing.B) {
	for _, pps := range []uint64{1000, 10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(pps), func(b *testing.B) {
			pair := newPair(b, lab.Config{})
			code, read := stamper(b)
			attach(b, pair.B, code)
			s := openSender(b, pair.A, live.Config{Pin: true, CPU: 1})
			sent, err := s.Send(b.Context(), port.Job{
				Plan: compile(b, gen.Spec{}), Schedule: pace.Constant{Frames: pps, Ns: 1e9}, Count: min(3*pps, stampsLen),
			})
			if err != nil {
				b.Fatal(err)
			}
			at := read()
			if uint64(len(at)) != sent.Frames {
				b.Fatalf("%d frames came of %d", len(at), sent.Frames)
			}
			gaps := make([]uint64, len(at)-1)
			for i := range gaps {
				gaps[i] = at[i+1] - at[i]
			}
			slices.Sort(gaps)
			asked := float64(len(gaps)) / float64(pps) * 1e9
			b.ReportMetric(1e6*(float64(at[len(at)-1]-at[0])/asked-1), "ppm")
			for _, q := range []struct {
				permille int
				unit     string
			}{{500, "p50-us"}, {990, "p99-us"}, {999, "p99.9-us"}, {1000, "max-us"}} {
				b.ReportMetric(float64(gaps[(len(gaps)-1)*q.permille/1000])/1e3, q.unit)
			}
			b.ReportMetric(float64(sent.Slipped), "slipped-ns")
			b.ReportMetric(0, "ns/op")
		})
	}
}
