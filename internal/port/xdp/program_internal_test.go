package xdp

import (
	"os"
	"testing"
	"time"

	"squall/internal/lab"
	"squall/internal/pace"
	"squall/internal/port"
	"squall/internal/port/packet"
	"squall/internal/port/porttest"
	"squall/internal/wire"
)

// Frames of a queue without a socket go on to the stack, as they are.
func TestProgramPassesWhatNoSocketTakes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: CAP_SYS_ADMIN, CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF")
	}
	pair, err := lab.NewPair(lab.Config{Queues: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer pair.Close()
	a, err := port.OpenIn(pair.A.NS, pair.A.Iface)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := port.OpenIn(pair.B.NS, pair.B.Iface)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	// A reader that has lost one of its queues.
	r, err := OpenReader(b, ReaderConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.program.objs.Sockets.Delete(uint32(1)); err != nil {
		t.Fatal(err)
	}
	stack, err := packet.OpenReader(b, packet.ReaderConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer stack.Close()

	const count = 100
	plan := porttest.Plan(60, 1514)
	for queue := range 2 {
		w, err := Open(a, Config{Queue: queue})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		job := port.Job{Plan: plan, Schedule: pace.Max{}, First: uint64(queue) * count, Count: count}
		if _, err := w.Send(t.Context(), job); err != nil {
			t.Fatal(err)
		}
	}
	for first, from := range map[uint64]port.BatchReader{0: r, count: stack} {
		want, buf := first, make([]byte, 2048)
		for {
			frames, err := from.Receive(50 * time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			if len(frames) == 0 {
				break
			}
			for _, f := range frames {
				tag, _ := wire.FindTag(f.Data)
				n := plan.Write(buf, want, tag.Sent)
				if string(buf[:n]) != string(f.Data) {
					t.Fatalf("frame %d is % x, want % x", want, f.Data, buf[:n])
				}
				want++
			}
		}
		if want != first+count {
			t.Errorf("received frames %d to %d, want %d", first, want, first+count)
		}
	}
}
