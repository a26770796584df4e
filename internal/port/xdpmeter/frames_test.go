package xdpmeter

import (
	"bytes"
	"encoding/binary"
	"os"
	"slices"
	"testing"

	"github.com/cilium/ebpf"

	"squall/internal/meter"
	"squall/internal/wire"
)

// run is the run of all frames here that are not foreign.
const run = 0x0717

const xdpDrop, xdpPass = 1, 2

// rig has the program, on no port, and a meter.Receiver to count the same frames
// at the same times.
type rig struct {
	*Meter
	receiver *meter.Receiver
	want     []*meter.Stream
	frames   int
}

func newRig(t testing.TB, several bool, streams ...meter.Config) *rig {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: CAP_BPF and CAP_NET_ADMIN")
	}
	m, err := load(Config{Run: run, Streams: streams, held: true}, several)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	r := &rig{Meter: m}
	r.expect(t)
	return r
}

// expect makes the user-space meter.
func (r *rig) expect(t testing.TB) {
	t.Helper()
	r.want = nil
	for _, s := range r.streams {
		c := s.config
		c.OnLoss = nil
		w, err := meter.NewStream(c)
		if err != nil {
			t.Fatal(err)
		}
		r.want = append(r.want, w)
	}
	var err error
	if r.receiver, err = meter.NewReceiver(meter.ReceiverConfig{Run: run, Streams: r.want}); err != nil {
		t.Fatal(err)
	}
}

// reset begins anew with the same program.
func (r *rig) reset(t testing.TB) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.memory.accounts)
	clear(r.memory.slots)
	clear(r.memory.latencies)
	clear(r.memory.lateTimes)
	clear(r.memory.extents)
	for i, s := range r.streams {
		r.streams[i] = &Stream{meter: r.Meter, config: s.config, account: s.account, slots: s.slots}
		r.streams[i].prepare()
	}
	r.expect(t)
}

// arrive gives a frame to both meters and compares what they do with it.
func (r *rig) arrive(t testing.TB, frame []byte, at int64) {
	t.Helper()
	r.frames++
	if err := r.objects.ClockNow.Set(uint64(at)); err != nil {
		t.Fatal(err)
	}
	got, err := r.objects.SquallMeter.Run(&ebpf.RunOptions{Data: frame})
	if err != nil {
		t.Fatal(err)
	}
	want := uint32(xdpPass)
	if r.receiver.Frame(frame, at) == meter.Ours {
		want = xdpDrop
	}
	if got != want {
		t.Fatalf("verdict on frame %x: %d, want %d", frame[:min(len(frame), 128)], got, want)
	}
}

// udp4 is a frame of an IPv4 UDP flow that ends in the tag, of that length in
// memory, at least 60.
func udp4(length int, t wire.Tag) []byte {
	b := make([]byte, length)
	binary.BigEndian.PutUint16(b[12:], wire.EtherTypeIPv4)
	ip := b[14:]
	ip[0], ip[8], ip[9] = 0x45, 64, wire.ProtoUDP
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	binary.BigEndian.PutUint16(ip[24:], uint16(len(ip)-20))
	t.Put(b[length-wire.TagLen:])
	return b
}

// with returns a frame with bytes put in at off.
func with(frame []byte, off int, insert ...byte) []byte {
	return slices.Insert(bytes.Clone(frame), off, insert...)
}

// set returns a frame with the bytes from off on changed.
func set(frame []byte, off int, to ...byte) []byte {
	b := bytes.Clone(frame)
	copy(b[off:], to)
	return b
}

// ipv6 is a frame whose payload is headers, of which the first is of kind next, and
// the tag.
func ipv6(next byte, t wire.Tag, headers ...byte) []byte {
	b := make([]byte, 54, 200)
	binary.BigEndian.PutUint16(b[12:], wire.EtherTypeIPv6)
	b[14], b[20], b[21] = 0x60, next, 64
	b = append(b, headers...)
	var tag [wire.TagLen]byte
	t.Put(tag[:])
	b = append(b, tag[:]...)
	binary.BigEndian.PutUint16(b[18:], uint16(len(b)-54))
	return b
}
