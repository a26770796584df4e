package packet_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"squall/internal/pace"
	"squall/internal/port"
	"squall/internal/port/packet"
	"squall/internal/port/porttest"
	"squall/internal/wire"
)

// A sender whose port fails ends with an error, and soon.
func TestSendEndsWithThePort(t *testing.T) {
	tests := []struct {
		name string
		do   func(testing.TB, pair)
		want error
	}{
		{"carrier lost", func(t testing.TB, p pair) { p.b.down(t) }, port.ErrLink},
		{"set down", func(t testing.TB, p pair) { p.a.down(t) }, port.ErrLink},
		{"deleted", func(t testing.TB, p pair) { p.a.change(t, netlink.LinkDel) }, port.ErrGone},
	}
	for _, tt := range tests {
		for _, qdisc := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, qdisc %v", tt.name, qdisc), func(t *testing.T) {
				pair := newPair(t)
				w := openWriter(t, pair.a, packet.Config{Qdisc: qdisc})
				progress := &port.Progress{}
				type result struct {
					sent port.Sent
					err  error
				}
				done := make(chan result, 1)
				go func() {
					// 1000 frames a second, for as long as there is a port.
					sent, err := w.Send(t.Context(), port.Job{
						Plan:     porttest.Plan(60),
						Schedule: pace.Constant{Frames: 1, Ns: uint64(time.Millisecond)},
						Progress: progress,
					})
					done <- result{sent, err}
				}()
				for progress.Frames.Load() < 20 && len(done) == 0 {
					time.Sleep(time.Millisecond)
				}
				tt.do(t, pair)
				select {
				case r := <-done:
					if !errors.Is(r.err, tt.want) || !strings.Contains(r.err.Error(), ":va") {
						t.Errorf("error %v, want %v of port va", r.err, tt.want)
					}
					if r.sent.Frames != progress.Frames.Load() || r.sent.Failed != 1 {
						t.Errorf("sent %d frames, %d failed, want %d, 1", r.sent.Frames, r.sent.Failed, progress.Frames.Load())
					}
				case <-time.After(10 * time.Second):
					t.Fatal("still sending")
				}
			})
		}
	}
}

func TestSubmitOnAPortThatIsDown(t *testing.T) {
	pair := newPair(t)
	pair.a.down(t)
	w := openWriter(t, pair.a, packet.Config{})
	slots := w.Reserve(1)
	slots[0].Len = porttest.Plan(60).Write(slots[0].Data, 0, 0)
	if n, err := w.Submit(t.Context(), 1); n != 0 || !errors.Is(err, port.ErrLink) {
		t.Errorf("submitted %d frames, error %v, want 0, %v", n, err, port.ErrLink)
	}
}

// tap is a port whose other end is a file: frames that nobody reads fill its
// queue.
type tap struct {
	*end
	file *os.File
}

func newTap(t testing.TB, queue int) tap {
	t.Helper()
	p := tap{end: &end{newNS(t), "tap0"}}
	p.do(t, func() error {
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("/dev/net/tun: %w", err)
		}
		ifr, err := unix.NewIfreq(p.name)
		if err != nil {
			return err
		}
		ifr.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr); err != nil {
			unix.Close(fd)
			return err
		}
		// Only now: before it has an interface the poller does not take it.
		p.file = os.NewFile(uintptr(fd), "/dev/net/tun")
		return nil
	})
	t.Cleanup(func() { p.file.Close() })
	p.change(t, func(l netlink.Link) error { return netlink.LinkSetTxQLen(l, queue) })
	p.up(t)
	return p
}

// A full queue is no loss: frames are sent again until they are in, in order, and
// each time is counted. The port counts those times as drops.
func TestSendAgainWhenFull(t *testing.T) {
	const queue, count = 8, 500
	port0 := newTap(t, queue)
	w := openWriter(t, port0.end, packet.Config{})
	seqs := make(chan uint64, count)
	go func() {
		defer close(seqs)
		for w.Retries() < 5 { // until the queue has been full for a while
			time.Sleep(time.Millisecond)
		}
		buf := make([]byte, 2048)
		port0.file.SetReadDeadline(time.Now().Add(20 * time.Second))
		for range count {
			n, err := port0.file.Read(buf)
			if err != nil {
				t.Error(err)
				return
			}
			tag, _ := wire.FindTag(buf[:n])
			seqs <- tag.Seq
		}
	}()
	sent := send(t, w, porttest.Plan(60), count)
	if sent.Frames != count || sent.Failed != 0 || sent.Retries < 5 || sent.Retries != w.Retries() {
		t.Errorf("account %+v, want %d frames, none failed, some retries", sent, count)
	}
	want := uint64(0)
	for seq := range seqs {
		if seq != want {
			t.Fatalf("frame %d arrived, want %d", seq, want)
		}
		want++
	}
	if want != count {
		t.Errorf("%d frames arrived, want %d", want, count)
	}
	s := port0.link(t).Statistics
	if s.TxPackets != count || s.TxDropped != sent.Retries {
		t.Errorf("port counted %d sent, %d dropped, want %d, %d", s.TxPackets, s.TxDropped, count, sent.Retries)
	}
}

func TestSendStopsWhileFull(t *testing.T) {
	const queue = 8
	t.Run("cancelled", func(t *testing.T) {
		w := openWriter(t, newTap(t, queue).end, packet.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for w.Retries() < 5 {
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
		sent, err := w.Send(ctx, port.Job{Plan: porttest.Plan(60), Schedule: pace.Max{}})
		if err != nil || sent.Frames != queue || sent.Failed != 0 {
			t.Errorf("sent %d frames, %d failed, error %v, want %d, 0, none", sent.Frames, sent.Failed, err, queue)
		}
	})
	t.Run("time over", func(t *testing.T) {
		w := openWriter(t, newTap(t, queue).end, packet.Config{})
		sent, err := w.Send(t.Context(), port.Job{Plan: porttest.Plan(60), Schedule: pace.Max{}, Duration: 50 * time.Millisecond})
		if err != nil || sent.Frames != queue || sent.Failed != 0 || sent.Retries == 0 {
			t.Errorf("account %+v, error %v, want %d frames, no failed, retries, no error", sent, err, queue)
		}
	})
}

func TestFrameLongerThanMTU(t *testing.T) {
	pair := newPair(t)
	w := openWriter(t, pair.a, packet.Config{})
	tests := []struct {
		name  string
		frame []byte
		fits  bool
	}{
		{"MTU", vlanFrame(1514), true},
		{"one more", vlanFrame(1515), false},
		{"VLAN tag over it", vlanFrame(1518, 0x81000001), true},
		{"one more than that", vlanFrame(1519, 0x81000001), false},
		{"two tags over it", vlanFrame(1522, 0x88a80001, 0x81000001), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := captured(t, vlanFrame(60), tt.frame, vlanFrame(60))
			sent, err := w.Send(t.Context(), port.Job{Plan: p, Schedule: pace.Max{}, Count: 3})
			if tt.fits {
				if err != nil || sent.Frames != 3 {
					t.Errorf("sent %d frames, error %v, want 3, none", sent.Frames, err)
				}
				return
			}
			says := fmt.Sprintf("frame size %d is above what the MTU of 1500 allows", len(tt.frame)+4)
			if !errors.Is(err, unix.EMSGSIZE) || !strings.Contains(err.Error(), says) {
				t.Errorf("error %v, want EMSGSIZE: %s", err, says)
			}
			if sent.Frames != 1 || sent.Failed != 1 {
				t.Errorf("sent %d frames, %d failed, want 1, 1", sent.Frames, sent.Failed)
			}
		})
	}
}

func TestOpenNamesTheCapability(t *testing.T) {
	pair := newPair(t)
	p := pair.a.open(t)
	errs := make(chan error, 3)
	go func() {
		defer close(errs)
		// For this thread only, which ends with the goroutine.
		runtime.LockOSThread()
		head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var data [2]unix.CapUserData
		if err := unix.Capget(&head, &data[0]); err != nil {
			errs <- err
			return
		}
		data[0].Effective &^= 1 << unix.CAP_NET_RAW
		if err := unix.Capset(&head, &data[0]); err != nil {
			errs <- err
			return
		}
		_, err := packet.Open(p, packet.Config{})
		errs <- err
		_, err = packet.OpenReader(p, packet.ReaderConfig{})
		errs <- err
		errs <- packet.Supports(port.Info{Port: port.Port{Up: true}, LinkType: "ether"})
	}()
	n := 0
	for err := range errs {
		n++
		if !errors.Is(err, port.ErrCapability) || !strings.Contains(err.Error(), "CAP_NET_RAW") {
			t.Errorf("error %v, want one that names CAP_NET_RAW", err)
		}
	}
	if n != 3 {
		t.Errorf("%d errors, want 3", n)
	}
}

func TestConfigs(t *testing.T) {
	pair := newPair(t)
	p := pair.a.open(t)
	for _, batch := range []int{-1, 1025} {
		if w, err := packet.Open(p, packet.Config{Batch: batch}); err == nil {
			w.Close()
			t.Errorf("batch %d: no error", batch)
		}
	}
	for _, c := range []packet.ReaderConfig{{BlockSize: 4096}, {BlockSize: 100_000}, {Blocks: 1}} {
		if r, err := packet.OpenReader(p, c); err == nil {
			r.Close()
			t.Errorf("%+v: no error", c)
		}
	}
}

func TestSupports(t *testing.T) {
	pair := newPair(t)
	tests := []struct {
		name string
		info port.Info
		says string
	}{
		{"veth", port.Info{Port: port.Port{Up: true}, LinkType: "ether"}, ""},
		{"loopback", port.Info{Port: port.Port{Up: true}, LinkType: "loopback"}, `link type "loopback", need Ethernet`},
		{"down", port.Info{LinkType: "ether"}, "link is down"},
	}
	for _, tt := range tests {
		err := packet.Supports(tt.info)
		if got := fmt.Sprint(err); tt.says == "" && err != nil || !strings.Contains(got, tt.says) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.says)
		}
	}
	info, err := port.Inspect(port.Ref{NetNS: pair.a.ns.Path(), Iface: "va"})
	if err != nil {
		t.Fatal(err)
	}
	if err := packet.Supports(info); err != nil {
		t.Errorf("veth as it is: %v", err)
	}
}

func TestSubmitDoesNotAllocate(t *testing.T) {
	pair := newPair(t)
	w := openWriter(t, pair.a, packet.Config{})
	p := porttest.Plan(60)
	ctx := t.Context()
	allocs := testing.AllocsPerRun(100, func() {
		slots := w.Reserve(64)
		for i := range slots {
			slots[i].Len = p.Write(slots[i].Data, uint64(i), 0)
		}
		if n, err := w.Submit(ctx, len(slots)); n != 64 || err != nil {
			t.Fatal(n, err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations a batch, want none", allocs)
	}
}

// BenchmarkPacketSend sends 64-byte frames into a veth pair whose other end
// nobody listens at.
func BenchmarkPacketSend(b *testing.B) {
	for _, bench := range []struct {
		name     string
		config   packet.Config
		schedule pace.Schedule
	}{
		{"batch64", packet.Config{}, pace.Max{}},
		{"batch64/qdisc", packet.Config{Qdisc: true}, pace.Max{}},
		{"batch256", packet.Config{Batch: 256}, pace.Max{}},
		{"batch1", packet.Config{Batch: 1}, pace.Max{}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			pair := newPair(b)
			w := openWriter(b, pair.a, bench.config)
			p := porttest.Plan(60)
			b.ReportAllocs()
			b.ResetTimer()
			sent, err := w.Send(b.Context(), port.Job{Plan: p, Schedule: bench.schedule, Count: uint64(b.N)})
			if err != nil || sent.Frames != uint64(b.N) {
				b.Fatal(sent, err)
			}
			b.ReportMetric(float64(sent.Frames)/b.Elapsed().Seconds(), "pps")
			b.ReportMetric(float64(sent.Retries)/float64(sent.Frames), "retries/frame")
		})
	}
}
