package xdp_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"squall/internal/lab"
	"squall/internal/pace"
	"squall/internal/plan"
	"squall/internal/port"
	"squall/internal/port/packet"
	"squall/internal/port/porttest"
	"squall/internal/port/xdp"
	"squall/internal/wire"
)

// What the plan says is what arrives, at either engine's reader, and the kernel
// counts the same.
func TestFramesArriveByteForByte(t *testing.T) {
	numbered := porttest.Plan(60, 1514, 594, 32)
	tagged := captured(t, vlanFrames()...)
	toPacket := func(t *testing.T, e lab.End) port.BatchReader {
		r, err := packet.OpenReader(open(t, e), packet.ReaderConfig{})
		if err != nil {
			t.Fatal(err)
		}
		closeAfter(t, r)
		return r
	}
	toXDP := func(t *testing.T, e lab.End) port.BatchReader { return openReader(t, e, xdp.ReaderConfig{}) }
	fromXDP := func(c xdp.Config) func(*testing.T, lab.End) port.Sender {
		return func(t *testing.T, e lab.End) port.Sender { return openWriter(t, e, c) }
	}
	fromPacket := func(t *testing.T, e lab.End) port.Sender {
		w, err := packet.Open(open(t, e), packet.Config{})
		if err != nil {
			t.Fatal(err)
		}
		closeAfter(t, w)
		return w
	}
	tests := []struct {
		name  string
		lab   lab.Config
		plan  *plan.Plan
		count uint64
		from  func(*testing.T, lab.End) port.Sender
		to    func(*testing.T, lab.End) port.BatchReader
	}{
		{"packet reader", lab.Config{}, numbered, 5000, fromXDP(xdp.Config{}), toPacket},
		{"packet reader, GRO", lab.Config{GRO: true}, numbered, 5000, fromXDP(xdp.Config{}), toPacket},
		{"packet reader, VLAN", lab.Config{}, tagged, 700, fromXDP(xdp.Config{}), toPacket},
		{"packet reader, one at a time", lab.Config{}, numbered, 500, fromXDP(xdp.Config{Batch: 1}), toPacket},
		{"packet reader, second queue", lab.Config{Queues: 2}, numbered, 5000, fromXDP(xdp.Config{Queue: 1}), toPacket},
		{"packet reader, large batch", lab.Config{}, numbered, 5000, fromXDP(xdp.Config{Batch: 1000}), toPacket},
		{"packet reader, MTU 9000", lab.Config{MTU: 9000}, porttest.Plan(60, 4096, 2049), 3000, fromXDP(xdp.Config{}), toPacket},
		{"reader", lab.Config{}, numbered, 5000, fromXDP(xdp.Config{}), toXDP},
		{"reader, GRO", lab.Config{GRO: true}, numbered, 5000, fromXDP(xdp.Config{}), toXDP},
		{"reader, VLAN", lab.Config{}, tagged, 700, fromXDP(xdp.Config{Batch: 7}), toXDP},
		{"reader, second queue", lab.Config{Queues: 2}, numbered, 5000, fromXDP(xdp.Config{Queue: 1}), toXDP},
		{"reader, MTU 3400", lab.Config{MTU: 3400}, porttest.Plan(60, 3414, 2049), 3000, fromXDP(xdp.Config{}), toXDP},
		{"reader, from packet", lab.Config{}, numbered, 5000, fromPacket, toXDP},
		{"reader, VLAN from packet", lab.Config{}, tagged, 700, fromPacket, toXDP},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pair := newPair(t, tt.lab)
			r := tt.to(t, pair.B)
			sent := send(t, tt.from(t, pair.A), tt.plan, tt.count)

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
			a, b := link(t, pair.A).Statistics, link(t, pair.B).Statistics
			if a.TxPackets != tt.count || b.RxPackets != tt.count {
				t.Errorf("kernel counted %d out, %d in, want %d", a.TxPackets, b.RxPackets, tt.count)
			}
			if a.TxDropped != sent.Retries {
				t.Errorf("kernel counted %d dropped, want the retries, %d", a.TxDropped, sent.Retries)
			}
		})
	}
}

func TestArrivalTimes(t *testing.T) {
	for _, queues := range []int{1, 2} {
		pair := newPair(t, lab.Config{Queues: queues})
		r := openReader(t, pair.B, xdp.ReaderConfig{})
		w := openWriter(t, pair.A, xdp.Config{})
		const count = 2000
		opened := pace.Now()
		job := port.Job{Plan: porttest.Plan(60), Schedule: pace.Constant{Frames: 20, Ns: uint64(time.Millisecond)}, Count: count}
		sent, err := w.Send(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		// Nobody was receiving until now: the times are the kernel's.
		over := pace.Now()
		last := opened
		n := receive(t, r, count, func(f port.Frame) {
			tag := tagOf(t, f)
			if l := wire.Latency(tag.Sent, f.At); l < 0 {
				t.Errorf("frame %d arrived %d ns before it was sent", tag.Seq, -l)
			}
			if f.At > over {
				t.Errorf("frame %d arrived %d ns after all were sent", tag.Seq, f.At-over)
			}
			if f.At < last {
				t.Errorf("frame %d arrived %d ns before the one before it", tag.Seq, last-f.At)
			}
			last = f.At
		})
		if n != count || sent.Frames != count {
			t.Errorf("%d queues: sent %d frames, received %d, want %d", queues, sent.Frames, n, count)
		}
	}
}

// Each queue has a writer; the reader returns the frames of all in the order in
// which they arrived.
func TestSeveralQueues(t *testing.T) {
	pair := newPair(t, lab.Config{Queues: 2})
	r := openReader(t, pair.B, xdp.ReaderConfig{})
	const count, batch = 3000, 10
	writers := [2]*xdp.Writer{openWriter(t, pair.A, xdp.Config{Batch: batch}), openWriter(t, pair.A, xdp.Config{Batch: batch, Queue: 1})}
	p := porttest.Plan(60)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; i < count; i += batch {
			w := writers[i/batch%2]
			slots := w.Reserve(batch)
			for k := range slots {
				slots[k].Len = p.Write(slots[k].Data, uint64(i+k), pace.Now())
			}
			if n, err := w.Submit(t.Context(), batch); n != batch || err != nil {
				t.Errorf("submitted %d frames, error %v", n, err)
			}
		}
	}()
	want, last := uint64(0), int64(0)
	receive(t, r, count, func(f port.Frame) {
		if seq := tagOf(t, f).Seq; seq != want {
			t.Errorf("frame %d, want %d", seq, want)
		}
		if f.At < last {
			t.Errorf("frame %d arrived %d ns before the one before it", want, last-f.At)
		}
		want, last = want+1, f.At
	})
	<-done
	if want != count {
		t.Errorf("received %d frames, want %d", want, count)
	}
	if diff := cmp.Diff([]int{0, 1}, r.Info().Queues); diff != "" {
		t.Errorf("queues (-want +got):\n%s", diff)
	}
}

// A writer and a reader of one port share its queues, also while either is
// closed, and give them up with the last.
func TestOpenBoth(t *testing.T) {
	const count = 3000
	p := porttest.Plan(60, 1514)
	for _, writerFirst := range []bool{true, false} {
		pair := newPair(t, lab.Config{Queues: 2})
		both := func(e lab.End) (*xdp.Writer, *xdp.Reader) {
			w, r, err := xdp.OpenBoth(open(t, e), xdp.Config{Queue: 1}, xdp.ReaderConfig{})
			if err != nil {
				t.Fatal(err)
			}
			return w, r
		}
		wa, ra := both(pair.A)
		wb, rb := both(pair.B)
		if sent := send(t, wa, p, count); sent.Frames != count {
			t.Errorf("sent %d frames, want %d", sent.Frames, count)
		}
		if n := receive(t, rb, count, func(port.Frame) {}); n != count {
			t.Errorf("received %d frames, want %d", n, count)
		}
		send(t, wb, p, count)
		if n := receive(t, ra, count, func(port.Frame) {}); n != count {
			t.Errorf("received %d frames the other way, want %d", n, count)
		}

		shut := func(c interface{ Close() error }) {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		if writerFirst {
			shut(wa)
			send(t, wb, p, count)
			if n := receive(t, ra, count, func(port.Frame) {}); n != count {
				t.Errorf("received %d frames after the writer was closed, want %d", n, count)
			}
			shut(ra)
		} else {
			shut(ra)
			send(t, wa, p, count)
			if n := receive(t, rb, count, func(port.Frame) {}); n != count {
				t.Errorf("received %d frames after the reader was closed, want %d", n, count)
			}
			shut(wa)
		}
		wa, ra = both(pair.A)
		for _, c := range []interface{ Close() error }{wa, ra, wb, rb} {
			shut(c)
		}
	}
}

// What is closed may be opened again at once, and what is open not twice.
func TestOpenAgain(t *testing.T) {
	pair := newPair(t, lab.Config{})
	a, b := open(t, pair.A), open(t, pair.B)
	p := porttest.Plan(60)
	for range 5 {
		r, err := xdp.OpenReader(b, xdp.ReaderConfig{})
		if err != nil {
			t.Fatal(err)
		}
		w, err := xdp.Open(a, xdp.Config{})
		if err != nil {
			t.Fatal(err)
		}
		send(t, w, p, 100)
		if n := receive(t, r, 100, func(port.Frame) {}); n != 100 {
			t.Errorf("received %d frames, want 100", n)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	openWriter(t, pair.A, xdp.Config{})
	if w, err := xdp.Open(a, xdp.Config{}); err == nil || !strings.Contains(err.Error(), "queue 0 has another AF_XDP socket") {
		w.Close()
		t.Errorf("second writer of a queue: error %v", err)
	}
	openReader(t, pair.B, xdp.ReaderConfig{})
	if r, err := xdp.OpenReader(b, xdp.ReaderConfig{}); err == nil {
		r.Close()
		t.Error("second reader of a port: no error")
	}
}
