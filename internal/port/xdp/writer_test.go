package xdp_test

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

	"squall/internal/lab"
	"squall/internal/netns"
	"squall/internal/pace"
	"squall/internal/port"
	"squall/internal/port/porttest"
	"squall/internal/port/xdp"
	"squall/internal/wire"
)

// A sender whose port fails ends with an error, and soon.
func TestSendEndsWithThePort(t *testing.T) {
	tests := []struct {
		name string
		do   func(testing.TB, *lab.Pair)
		want error
	}{
		{"carrier lost", func(t testing.TB, p *lab.Pair) { down(t, p.B) }, port.ErrLink},
		{"set down", func(t testing.TB, p *lab.Pair) { down(t, p.A) }, port.ErrLink},
		{"deleted", func(t testing.TB, p *lab.Pair) { change(t, p.A, netlink.LinkDel) }, port.ErrGone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pair := newPair(t, lab.Config{})
			w := openWriter(t, pair.A, xdp.Config{})
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

// A writer goes on when its port is back, without what it gave up.
func TestSubmitWhileThePortIsDown(t *testing.T) {
	pair := newPair(t, lab.Config{})
	down(t, pair.A)
	w := openWriter(t, pair.A, xdp.Config{})
	plan := porttest.Plan(60)
	submit := func(seq uint64) (int, error) {
		slots := w.Reserve(1)
		slots[0].Len = plan.Write(slots[0].Data, seq, 0)
		return w.Submit(t.Context(), 1)
	}
	for seq := range uint64(3) {
		if n, err := submit(seq); n != 0 || !errors.Is(err, port.ErrLink) {
			t.Errorf("submitted %d frames, error %v, want 0, %v", n, err, port.ErrLink)
		}
		time.Sleep(110 * time.Millisecond) // until it looks again
	}
	change(t, pair.A, netlink.LinkSetUp)
	r := openReader(t, pair.B, xdp.ReaderConfig{})
	time.Sleep(110 * time.Millisecond)
	if n, err := submit(7); n != 1 || err != nil {
		t.Fatalf("submitted %d frames, error %v, want 1, none", n, err)
	}
	n := receive(t, r, 1, func(f port.Frame) {
		if seq := tagOf(t, f).Seq; seq != 7 {
			t.Errorf("frame %d arrived, want 7", seq)
		}
	})
	if n != 1 {
		t.Errorf("%d frames arrived, want 1", n)
	}
}

// tap is a port whose other end is a file: frames that nobody reads fill its
// queue.
type tap struct {
	lab.End
	file *os.File
}

func newTap(t testing.TB, queue int) tap {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW")
	}
	ns, err := netns.New("tap")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ns.Close() })
	p := tap{End: lab.End{NS: ns, Iface: "tap0"}}
	err = ns.Do(func() error {
		if err := os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0); err != nil && !os.IsNotExist(err) {
			return err
		}
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("/dev/net/tun: %w", err)
		}
		ifr, err := unix.NewIfreq(p.Iface)
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
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.file.Close() })
	change(t, p.End, func(l netlink.Link) error { return netlink.LinkSetTxQLen(l, queue) })
	change(t, p.End, netlink.LinkSetUp)
	return p
}

// expect reads frames from the other end, which are to be the numbered ones from
// first on.
func (p tap) expect(t testing.TB, first, count uint64) {
	t.Helper()
	buf := make([]byte, 2048)
	p.file.SetReadDeadline(time.Now().Add(20 * time.Second))
	for want := first; want < first+count; want++ {
		n, err := p.file.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		if tag, _ := wire.FindTag(buf[:n]); tag.Seq != want {
			t.Fatalf("frame %d arrived, want %d", tag.Seq, want)
		}
	}
}

// A full queue is no loss: frames are sent again until they are in, in order, and
// each time is counted. The port counts those times as drops.
func TestSendAgainWhenFull(t *testing.T) {
	const queue, count = 8, 500
	tap := newTap(t, queue)
	w := openWriter(t, tap.End, xdp.Config{})
	arrived := make(chan struct{})
	go func() {
		defer close(arrived)
		for w.Retries() < 5 { // until the queue has been full for a while
			time.Sleep(time.Millisecond)
		}
		tap.expect(t, 0, count)
	}()
	sent := send(t, w, porttest.Plan(60), count)
	<-arrived
	if sent.Frames != count || sent.Failed != 0 || sent.Retries < 5 || sent.Retries != w.Retries() {
		t.Errorf("account %+v, want %d frames, none failed, some retries", sent, count)
	}
	s := link(t, tap.End).Statistics
	if s.TxPackets != count || s.TxDropped != sent.Retries {
		t.Errorf("port counted %d sent, %d dropped, want %d, %d", s.TxPackets, s.TxDropped, count, sent.Retries)
	}
}

// A writer that is stopped while the port is full goes on where it was stopped:
// what it did not count was not sent, nor is it later.
func TestSendStopsWhileFull(t *testing.T) {
	const queue = 8
	tests := []struct {
		name string
		job  port.Job
		stop bool
	}{
		{"cancelled", port.Job{}, true},
		{"time over", port.Job{Duration: 50 * time.Millisecond}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tap := newTap(t, queue)
			w := openWriter(t, tap.End, xdp.Config{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tt.stop {
				go func() {
					for w.Retries() < 5 {
						time.Sleep(time.Millisecond)
					}
					cancel()
				}()
			}
			tt.job.Plan, tt.job.Schedule = porttest.Plan(60), pace.Max{}
			sent, err := w.Send(ctx, tt.job)
			if err != nil || sent.Frames != queue || sent.Failed != 0 || sent.Retries == 0 {
				t.Errorf("account %+v, error %v, want %d frames, no failed, retries, no error", sent, err, queue)
			}
			tap.expect(t, 0, queue)
			const more = 3
			job := port.Job{Plan: tt.job.Plan, Schedule: pace.Max{}, First: 1000, Count: more}
			if sent, err := w.Send(t.Context(), job); err != nil || sent.Frames != more {
				t.Errorf("account %+v, error %v, want %d frames", sent, err, more)
			}
			tap.expect(t, 1000, more)
			time.Sleep(110 * time.Millisecond) // until it looks for refused frames
			if sent, err := w.Send(t.Context(), job); err != nil || sent.Frames != more {
				t.Errorf("account %+v, error %v, want %d frames", sent, err, more)
			}
		})
	}
}

func TestFrameLongerThanMTU(t *testing.T) {
	pair := newPair(t, lab.Config{})
	w := openWriter(t, pair.A, xdp.Config{})
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
			before := link(t, pair.B).Statistics.RxPackets
			p := captured(t, vlanFrame(60), tt.frame, vlanFrame(60))
			sent, err := w.Send(t.Context(), port.Job{Plan: p, Schedule: pace.Max{}, Count: 3})
			if got := link(t, pair.B).Statistics.RxPackets - before; got != sent.Frames {
				t.Errorf("%d frames arrived, %d sent", got, sent.Frames)
			}
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

func TestFrameLongerThanAChunk(t *testing.T) {
	w := openWriter(t, newPair(t, lab.Config{MTU: 9000}).A, xdp.Config{})
	_, err := w.Send(t.Context(), port.Job{Plan: porttest.Plan(4097), Schedule: pace.Max{}, Count: 1})
	if err == nil || !strings.Contains(err.Error(), "frame size 4101 is above what the port takes: at most 4100") {
		t.Errorf("error %v", err)
	}
}

func TestOpenNamesTheCapability(t *testing.T) {
	pair := newPair(t, lab.Config{})
	p := open(t, pair.A)
	info, err := p.Inspect()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		drop []int
		try  func() error
	}{
		{"CAP_NET_RAW", []int{unix.CAP_NET_RAW}, func() error { _, err := xdp.Open(p, xdp.Config{}); return err }},
		{"CAP_NET_RAW", []int{unix.CAP_NET_RAW}, func() error { _, err := xdp.OpenReader(p, xdp.ReaderConfig{}); return err }},
		{"CAP_NET_RAW", []int{unix.CAP_NET_RAW}, func() error { return xdp.Supports(info) }},
		{"CAP_NET_RAW", []int{unix.CAP_NET_RAW}, func() error { return xdp.SupportsReader(info) }},
		{"CAP_NET_ADMIN", []int{unix.CAP_NET_ADMIN}, func() error { return xdp.SupportsReader(info) }},
		{"CAP_BPF", []int{unix.CAP_BPF, unix.CAP_SYS_ADMIN}, func() error { return xdp.SupportsReader(info) }},
	}
	for i, tt := range tests {
		errs := make(chan error, 1)
		go func() {
			// For this thread only, which ends with the goroutine.
			runtime.LockOSThread()
			if err := dropCaps(tt.drop...); err != nil {
				errs <- err
				return
			}
			errs <- tt.try()
		}()
		if err := <-errs; !errors.Is(err, port.ErrCapability) || !strings.Contains(err.Error(), tt.name) {
			t.Errorf("%d: error %v, want one that names %s", i, err, tt.name)
		}
	}
}

// dropCaps drops capabilities of the calling thread.
func dropCaps(caps ...int) error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&head, &data[0]); err != nil {
		return err
	}
	for _, c := range caps {
		data[c/32].Effective &^= 1 << (c % 32)
	}
	return unix.Capset(&head, &data[0])
}

func TestConfigs(t *testing.T) {
	p := open(t, newPair(t, lab.Config{}).A)
	for _, c := range []xdp.Config{{Batch: -1}, {Batch: 1025}, {Queue: 1}, {Queue: -1}, {Frames: 1000}, {Frames: 32}, {Batch: 64, Frames: 64}} {
		if w, err := xdp.Open(p, c); err == nil {
			w.Close()
			t.Errorf("%+v: no error", c)
		}
	}
	for _, c := range []xdp.ReaderConfig{{Frames: 32}, {Frames: 1000}} {
		if r, err := xdp.OpenReader(p, c); err == nil {
			r.Close()
			t.Errorf("%+v: no error", c)
		}
	}
}

func TestSupports(t *testing.T) {
	pair := newPair(t, lab.Config{})
	up := port.Port{Up: true, MTU: 1500}
	tests := []struct {
		name          string
		info          port.Info
		send, receive string
	}{
		{"veth", port.Info{Port: up, LinkType: "ether"}, "", ""},
		{"loopback", port.Info{Port: up, LinkType: "loopback"}, `link type "loopback", need Ethernet`, `link type "loopback", need Ethernet`},
		{"down", port.Info{LinkType: "ether"}, "link is down", "link is down"},
		{"jumbo", port.Info{Port: port.Port{Up: true, MTU: 9000}, LinkType: "ether"}, "", "MTU 9000, need at most 3818"},
		{"no redirect", port.Info{Port: up, LinkType: "ether", XDP: port.XDP{Known: true, Basic: true}}, "", "without XDP_REDIRECT"},
		{"no XDP", port.Info{Port: up, LinkType: "ether", XDP: port.XDP{Known: true}}, "", ""},
	}
	for _, tt := range tests {
		for _, way := range []struct {
			err  error
			says string
		}{{xdp.Supports(tt.info), tt.send}, {xdp.SupportsReader(tt.info), tt.receive}} {
			if got := fmt.Sprint(way.err); way.says == "" && way.err != nil || !strings.Contains(got, way.says) {
				t.Errorf("%s: error %v, want %q", tt.name, way.err, way.says)
			}
		}
	}
	info, err := open(t, pair.A).Inspect()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(xdp.Supports(info), xdp.SupportsReader(info)); err != nil {
		t.Errorf("veth as it is: %v", err)
	}
}

func TestSubmitDoesNotAllocate(t *testing.T) {
	w := openWriter(t, newPair(t, lab.Config{}).A, xdp.Config{})
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

// BenchmarkXDPSend sends 64-byte frames into a veth pair whose other end
// nobody listens at.
func BenchmarkXDPSend(b *testing.B) {
	for _, bench := range []struct {
		name   string
		config xdp.Config
	}{
		{"batch64", xdp.Config{}},
		{"batch256", xdp.Config{Batch: 256}},
		{"batch1", xdp.Config{Batch: 1}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			w := openWriter(b, newPair(b, lab.Config{}).A, bench.config)
			p := porttest.Plan(60)
			b.ReportAllocs()
			b.ResetTimer()
			sent, err := w.Send(b.Context(), port.Job{Plan: p, Schedule: pace.Max{}, Count: uint64(b.N)})
			if err != nil || sent.Frames != uint64(b.N) {
				b.Fatal(sent, err)
			}
			b.ReportMetric(float64(sent.Frames)/b.Elapsed().Seconds(), "pps")
			b.ReportMetric(float64(sent.Retries)/float64(sent.Frames), "retries/frame")
		})
	}
}
