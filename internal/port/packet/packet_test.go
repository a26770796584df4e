package packet_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket/pcapgo"
	"github.com/vishvananda/netlink"

	"squall/internal/pace"
	"squall/internal/plan"
	"squall/internal/port"
	"squall/internal/port/packet"
	"squall/internal/port/porttest"
	"squall/internal/wire"
)

func openWriter(t testing.TB, e *end, c packet.Config) *packet.Writer {
	t.Helper()
	w, err := packet.Open(e.open(t), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func openReader(t testing.TB, e *end, c packet.ReaderConfig) *packet.Reader {
	t.Helper()
	r, err := packet.OpenReader(e.open(t), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// send sends count frames as fast as can be.
func send(t testing.TB, w *packet.Writer, p *plan.Plan, count uint64) port.Sent {
	t.Helper()
	sent, err := w.Send(t.Context(), port.Job{Plan: p, Schedule: pace.Max{}, Count: count})
	if err != nil {
		t.Fatal(err)
	}
	return sent
}

// receive takes what comes until want frames have come or been dropped and then
// no more, and calls see with each.
func receive(t testing.TB, r *packet.Reader, want uint64, see func(port.Frame)) (n uint64) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		frames, err := r.Receive(20 * time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range frames {
			n++
			see(f)
		}
		if stats, err := r.Stats(); err != nil || len(frames) == 0 && n+stats.Drops >= want {
			return n
		}
	}
	return n
}

// captured returns a plan of the given frames.
func captured(t testing.TB, frames ...[]byte) *plan.Plan {
	t.Helper()
	s := &plan.Stream{}
	for _, f := range frames {
		s.Heads.Append(f)
	}
	p, err := plan.New(plan.Plan{Streams: []*plan.Stream{s}, Pass: uint64(len(frames))})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// vlanFrame returns a frame of n bytes with the given tags, each TPID and TCI.
func vlanFrame(n int, tags ...uint32) []byte {
	f := []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}
	for _, tag := range tags {
		f = binary.BigEndian.AppendUint32(f, tag)
	}
	f = binary.BigEndian.AppendUint16(f, porttest.EtherType)
	for i := len(f); i < n; i++ {
		f = append(f, byte(i*11))
	}
	return f
}

func vlanFrames() [][]byte {
	return [][]byte{
		vlanFrame(60),
		vlanFrame(60, 0x81000007),
		vlanFrame(64, 0x8100e123), // priority and drop eligible
		vlanFrame(1518, 0x81000fff),
		vlanFrame(100, 0x88a80005),
		vlanFrame(1514, 0x88a80005, 0x81000006), // QinQ
		vlanFrame(200, 0x81000000),
	}
}

func TestFramesArriveByteForByte(t *testing.T) {
	numbered := porttest.Plan(60, 1514, 594, 32)
	tagged := captured(t, vlanFrames()...)
	tests := []struct {
		name  string
		plan  *plan.Plan
		count uint64
		batch int
		qdisc bool
	}{
		{"numbered", numbered, 5000, 0, false},
		{"numbered, one a call", numbered, 500, 1, false},
		{"numbered, through the qdisc", numbered, 5000, 0, true},
		{"VLAN", tagged, 700, 0, false},
		{"VLAN through the qdisc", tagged, 700, 7, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pair := newPair(t)
			r := openReader(t, pair.b, packet.ReaderConfig{})
			w := openWriter(t, pair.a, packet.Config{Batch: tt.batch, Qdisc: tt.qdisc})
			sent := send(t, w, tt.plan, tt.count)

			want := make([]byte, tt.plan.MaxLen())
			var i uint64
			receive(t, r, tt.count, func(f port.Frame) {
				tag, _ := wire.FindTag(f.Data)
				n := tt.plan.Write(want, i, tag.Sent)
				if !bytes.Equal(want[:n], f.Data) {
					t.Fatalf("frame %d (-want +got):\n%s", i, cmp.Diff(want[:n], f.Data))
				}
				if f.Len != n {
					t.Fatalf("frame %d: length %d, want %d", i, f.Len, n)
				}
				i++
			})
			if i != tt.count || sent.Frames != tt.count {
				t.Errorf("sent %d frames, received %d, want %d", sent.Frames, i, tt.count)
			}
			stats, err := r.Stats()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(port.ReadStats{Frames: tt.count}, stats); diff != "" {
				t.Errorf("reader's account (-want +got):\n%s", diff)
			}
			if a, b := pair.a.link(t).Statistics, pair.b.link(t).Statistics; a.TxPackets != tt.count || b.RxPackets != tt.count {
				t.Errorf("kernel counted %d out, %d in, want %d", a.TxPackets, b.RxPackets, tt.count)
			}
		})
	}
}

// tcpdump sees the frames that the plan says.
func TestTcpdumpSeesTheSame(t *testing.T) {
	if _, err := exec.LookPath("tcpdump"); err != nil {
		t.Skip("tcpdump is not installed")
	}
	pair := newPair(t)
	file := filepath.Join(t.TempDir(), "seen.pcap")
	frames := vlanFrames()
	cmd := pair.b.ns.Command("tcpdump", "-i", "vb", "-w", file, "-c", "7", "-Z", "root", "--immediate-mode")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(stderr)
	for lines.Scan() && !strings.Contains(lines.Text(), "listening on") {
	}
	w := openWriter(t, pair.a, packet.Config{})
	send(t, w, captured(t, frames...), uint64(len(frames)))
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}

	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	reader, err := pcapgo.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range frames {
		got, _, err := reader.ReadPacketData()
		if err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("frame %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestArrivalTimes(t *testing.T) {
	pair := newPair(t)
	r := openReader(t, pair.b, packet.ReaderConfig{})
	w := openWriter(t, pair.a, packet.Config{})
	const count = 2000
	job := port.Job{Plan: porttest.Plan(60), Schedule: pace.Constant{Frames: 20, Ns: uint64(time.Millisecond)}, Count: count}
	if _, err := w.Send(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	// The kernel stamps by another clock, and two clocks cannot be read at the
	// same instant. On a machine that is busy that is microseconds.
	const tolerance = int64(time.Millisecond)
	last := int64(0)
	n := receive(t, r, count, func(f port.Frame) {
		tag, _ := wire.FindTag(f.Data)
		if l := wire.Latency(tag.Sent, f.At); l < -tolerance {
			t.Errorf("frame %d arrived %d ns before it was sent", tag.Seq, -l)
		}
		if now := pace.Now(); f.At > now {
			t.Errorf("frame %d arrives %d ns from now", tag.Seq, f.At-now)
		}
		if f.At < last {
			t.Errorf("frame %d arrived %d ns before the one before it", tag.Seq, last-f.At)
		}
		last = f.At
	})
	if n != count {
		t.Errorf("received %d frames, want %d", n, count)
	}
}

// What does not fit into the ring is counted, and nothing else is missing.
func TestReaderCountsDrops(t *testing.T) {
	pair := newPair(t)
	r := openReader(t, pair.b, packet.ReaderConfig{BlockSize: 16 << 10, Blocks: 4})
	w := openWriter(t, pair.a, packet.Config{})
	const count = 3000
	sent := send(t, w, porttest.Plan(60), count)
	last := int64(-1)
	received := receive(t, r, count, func(f port.Frame) {
		tag, _ := wire.FindTag(f.Data)
		if int64(tag.Seq) <= last {
			t.Fatalf("frame %d after %d", tag.Seq, last)
		}
		last = int64(tag.Seq)
	})
	stats, err := r.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if stats.Drops == 0 || stats.Frames != received || stats.Frames+stats.Drops != sent.Frames || sent.Frames != count {
		t.Errorf("sent %d = received %d (by the kernel's count %d) + dropped %d does not hold, or nothing was dropped",
			sent.Frames, received, stats.Frames, stats.Drops)
	}
}

func TestReaderSeesNothingOfItsOwnPort(t *testing.T) {
	pair := newPair(t)
	r := openReader(t, pair.a, packet.ReaderConfig{})
	w := openWriter(t, pair.a, packet.Config{Qdisc: true})
	send(t, w, porttest.Plan(60), 100)
	if n := receive(t, r, 0, func(port.Frame) {}); n != 0 {
		t.Errorf("received %d frames that the port sent, want none", n)
	}
}

func TestReaderIsPromiscuousWhileOpen(t *testing.T) {
	pair := newPair(t)
	r, err := packet.OpenReader(pair.b.open(t), packet.ReaderConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if got := pair.b.link(t).Promisc; got != 1 {
		t.Errorf("promiscuity %d while open, want 1", got)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if got := pair.b.link(t).Promisc; got != 0 {
		t.Errorf("promiscuity %d when closed, want 0", got)
	}
}

func TestReaderWaits(t *testing.T) {
	pair := newPair(t)
	r := openReader(t, pair.b, packet.ReaderConfig{})
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

func TestReaderEndsWithThePort(t *testing.T) {
	tests := []struct {
		name string
		do   func(testing.TB, *end)
		want error
	}{
		{"down", func(t testing.TB, e *end) { e.down(t) }, port.ErrLink},
		{"deleted", func(t testing.TB, e *end) { e.change(t, netlink.LinkDel) }, port.ErrGone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pair := newPair(t)
			r := openReader(t, pair.b, packet.ReaderConfig{})
			w := openWriter(t, pair.a, packet.Config{})
			const count = 10
			send(t, w, porttest.Plan(60), count)
			tt.do(t, pair.b)
			received := 0
			for {
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
			if _, err := r.Receive(0); !errors.Is(err, tt.want) {
				t.Errorf("error of the next call %v, want %v", err, tt.want)
			}
		})
	}
}

func TestReaderOnAPortThatIsDown(t *testing.T) {
	pair := newPair(t)
	pair.b.down(t)
	r := openReader(t, pair.b, packet.ReaderConfig{})
	if _, err := r.Receive(10 * time.Second); !errors.Is(err, port.ErrLink) {
		t.Errorf("error %v, want %v", err, port.ErrLink)
	}
}

func TestReaderDoesNotAllocate(t *testing.T) {
	pair := newPair(t)
	r := openReader(t, pair.b, packet.ReaderConfig{})
	w := openWriter(t, pair.a, packet.Config{})
	const runs = 10
	send(t, w, captured(t, vlanFrames()...), 20_000)
	allocs := testing.AllocsPerRun(runs, func() {
		frames, err := r.Receive(time.Second)
		if err != nil || len(frames) == 0 {
			t.Fatalf("received %d frames, error %v", len(frames), err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations a block, want none", allocs)
	}
}
