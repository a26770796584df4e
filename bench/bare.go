package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"text/tabwriter"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"squall/internal/lab"
	"squall/internal/netns"
)

// overBare shows what stamping and counting cost: live frames beside a loop of live
// frames that are all alike, both into XDP_DROP, and into the meter.
func overBare(e *env) error {
	pair, err := lab.NewPair(lab.Config{GRO: true})
	if err != nil {
		return err
	}
	defer pair.Close()
	loop, err := newBare(pair.A)
	if err != nil {
		return err
	}
	defer loop.close()
	dropped := func(r run) run {
		return func() (kpps float64, err error) {
			undo, err := dropAll(pair.B)
			if err != nil {
				return 0, err
			}
			defer func() { err = errors.Join(err, undo()) }()
			return r()
		}
	}
	bare := dropped(func() (float64, error) { return loop.speed(pair.A, e.span) })
	drop := dropped(func() (float64, error) {
		return measure(pair, e.span, e.squall, "gen", "--tx", pair.A.NS.Path()+":va", "--engine", "live", "--size", "64", "--flows", "1024",
			"--duration", (e.span * 4).String(), "--quiet", "--out", e.fresh())
	})
	meter := func() (float64, error) {
		r, err := e.live(pair, 64, 1, "")
		if err != nil {
			return 0, err
		}
		return r.Phases[0].AchievedPPS / 1e3, nil
	}
	all, err := inTurn(e.rounds, bare, drop, meter)
	if err != nil {
		return err
	}
	fmt.Printf("\nLive frames of 64 bytes, one core: a loop that stamps nothing, squall, and squall with its meter (kpps: median, min to max of %d)\n", e.rounds)
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "bare loop into XDP_DROP\tsquall into XDP_DROP\tof bare\tsquall into the XDP meter\tof bare\t")
	fmt.Fprintf(out, "%s\t%s\t%.2f\t%s\t%.2f\t\n", all[0], all[1], all[1].median()/all[0].median(), all[2], all[2].median()/all[0].median())
	return out.Flush()
}

// bare is a loop of live frames whose program only redirects them.
type bare struct {
	prog   *ebpf.Program
	undone []func() error
}

func newBare(from lab.End) (_ *bare, err error) {
	b := &bare{}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	devs, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.DevMap, KeySize: 4, ValueSize: 4, MaxEntries: 1})
	if err != nil {
		return nil, err
	}
	b.undone = append(b.undone, devs.Close)
	err = from.NS.Do(func() error {
		l, err := netlink.LinkByName(from.Iface)
		if err == nil {
			err = devs.Put(uint32(0), uint32(l.Attrs().Index))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	b.prog, err = ebpf.NewProgram(&ebpf.ProgramSpec{Name: "bare", Type: ebpf.XDP, License: "GPL", Instructions: asm.Instructions{
		asm.LoadMapPtr(asm.R1, devs.FD()),
		asm.Mov.Imm(asm.R2, 0),
		asm.Mov.Imm(asm.R3, 0),
		asm.FnRedirectMap.Call(),
		asm.Return(),
	}})
	if err != nil {
		return nil, err
	}
	b.undone = append(b.undone, b.prog.Close)
	// Attached to something, it need not be put into the dispatcher for each call.
	ns, err := netns.New("")
	if err != nil {
		return nil, err
	}
	b.undone = append(b.undone, ns.Close)
	return b, ns.Do(func() error {
		l, err := link.AttachXDP(link.XDPOptions{Program: b.prog, Interface: 1, Flags: link.XDPGenericMode})
		if err == nil {
			b.undone = append(b.undone, l.Close)
		}
		return err
	})
}

func (b *bare) close() error {
	var errs []error
	for i := len(b.undone) - 1; i >= 0; i-- {
		errs = append(errs, b.undone[i]())
	}
	return errors.Join(errs...)
}

// speed returns how many thousand frames a second left the port in the span, sent
// from the first core.
func (b *bare) speed(from lab.End, span time.Duration) (float64, error) {
	var first unix.CPUSet
	first.Set(0)
	ended := make(chan error, 1)
	stop := time.Now().Add(span + 500*time.Millisecond)
	go func() {
		runtime.LockOSThread() // the thread ends with its affinity
		if err := unix.SchedSetaffinity(0, &first); err != nil {
			ended <- err
			return
		}
		data := make([]byte, 60)
		copy(data, "\x02squal\x02squal\x88\xb5")
		for time.Now().Before(stop) {
			_, err := b.prog.Run(&ebpf.RunOptions{Data: data, Repeat: 1 << 16, BatchSize: 64, Flags: unix.BPF_F_TEST_XDP_LIVE_FRAMES})
			if err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	time.Sleep(250 * time.Millisecond)
	n0, t0, err := sentBy(from)
	if err != nil {
		return 0, errors.Join(err, <-ended)
	}
	time.Sleep(span)
	n1, t1, err := sentBy(from)
	return float64(n1-n0) / t1.Sub(t0).Seconds() / 1e3, errors.Join(err, <-ended)
}
