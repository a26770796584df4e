package meter

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"squall/internal/wire"
)

func newTestReceiver(t testing.TB) (r *Receiver, tags, ids, content *Stream) {
	t.Helper()
	tags = newTestStream(t, Config{Stream: 0, Window: 1024})
	ids = newTestStream(t, Config{Stream: 2, Window: 1024})
	content = newTestStream(t, Config{Stream: 9, Window: 1024})
	m := NewIDMatcher(Interleaved(1))
	if err := m.Add(udp4(4000, 0, nil), 2, 0); err != nil {
		t.Fatal(err)
	}
	// The replay has a frame in it that another run of squall sent.
	pass := append(prints("abc"), wire.Fingerprint(tagged(wire.Tag{Run: 6, Seq: 1})))
	r, err := NewReceiver(ReceiverConfig{
		Run:     5,
		Streams: []*Stream{content, tags, ids},
		IDs:     m,
		Content: NewContentMatcher(9, pass, 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r, tags, ids, content
}

func TestReceiver(t *testing.T) {
	vlanARP := append(other(0x8100), 0, 0)
	vlanARP[16], vlanARP[17] = 0x08, 0x06
	frames := []struct {
		name  string
		frame []byte
		want  Match
	}{
		{"tag", tagged(wire.Tag{Run: 5, Stream: 0, Seq: 0}), Ours},
		{"tag", tagged(wire.Tag{Run: 5, Stream: 0, Seq: 1}), Ours},
		{"tag of an unknown stream", tagged(wire.Tag{Run: 5, Stream: 1}), Ours},
		{"tag of a stream above all", tagged(wire.Tag{Run: 5, Stream: 65535}), Ours},
		{"tag of another run", tagged(wire.Tag{Run: 6}), Foreign},
		{"identification", udp4(4000, 0, nil), Ours},
		{"identification", udp4(4000, 2, nil), Ours},
		{"content", letter('a'), Ours},
		{"content", letter('c'), Ours},
		{"content, another run's tag", tagged(wire.Tag{Run: 6, Seq: 1}), Ours},
		{"unknown content", letter('x'), Stray},
		{"ARP", other(0x0806), Stray},
		{"ARP in a VLAN", vlanARP, Stray},
		{"LLDP", other(0x88cc), Stray},
		{"spanning tree", other(39), Stray},
		{"short", make([]byte, 9), Stray},
	}
	r, tags, ids, content := newTestReceiver(t)
	for i, f := range frames {
		if got := r.Frame(f.frame, int64(i)); got != f.want {
			t.Errorf("%s: match %d, want %d", f.name, got, f.want)
		}
	}
	want := Apart{
		Frames: 16, Misdirected: 2, Foreign: 1, Stray: 6,
		Strays: []StrayCount{{0x0800, 1}, {0x0806, 2}, {0x88cc, 1}, {0, 2}},
	}
	if diff := cmp.Diff(want, r.Apart()); diff != "" {
		t.Errorf("frames apart (-want +got):\n%s", diff)
	}
	received := []uint64{tags.Live().Received, ids.Live().Received, content.Live().Received}
	if diff := cmp.Diff([]uint64{2, 2, 3}, received); diff != "" {
		t.Errorf("received by tag, identification, content (-want +got):\n%s", diff)
	}
	ids.Finish(3)
	if got := ids.Report().Lost; got != 1 {
		t.Errorf("identification: lost %d, want 1", got)
	}
}

// TestReceiverLikeness has frames in which a foreign tag seems to stand and
// that a weaker mark knows.
func TestReceiverLikeness(t *testing.T) {
	frame := tagged(wire.Tag{Run: 6, Seq: 1})
	ids := NewIDMatcher(Interleaved(1))
	if err := ids.Add(frame, 3, 0); err != nil {
		t.Fatal(err)
	}
	content := NewContentMatcher(3, []uint64{wire.Fingerprint(frame)}, 1)
	for name, c := range map[string]ReceiverConfig{
		"identification": {IDs: ids},
		"content":        {Content: content},
	} {
		s := newTestStream(t, Config{Stream: 3})
		c.Run, c.Streams = 5, []*Stream{s}
		r, err := NewReceiver(c)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Frame(frame, 0); got != Ours || s.Live().Received != 1 {
			t.Errorf("%s: match %d, received %d, want it to be ours", name, got, s.Live().Received)
		}
	}
}

func TestReceiverStreamTwice(t *testing.T) {
	a, b := newTestStream(t, Config{Stream: 4}), newTestStream(t, Config{Stream: 4})
	_, err := NewReceiver(ReceiverConfig{Streams: []*Stream{a, b}})
	if err == nil || !strings.Contains(err.Error(), "number 4") {
		t.Errorf("error %v, want one that names stream 4", err)
	}
}

func TestStraysOfManyKinds(t *testing.T) {
	r, err := NewReceiver(ReceiverConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		r.Frame(other(uint16(0x9000+i)), 0)
	}
	r.Frame(other(0x9000), 0)
	got := r.Apart()
	if got.Stray != 41 || len(got.Strays) != 33 || got.Strays[0] != (StrayCount{0x9000, 2}) || got.Strays[32] != (StrayCount{0, 8}) {
		t.Errorf("strays of 40 kinds: %+v", got)
	}
}

func TestFrameAllocates(t *testing.T) {
	r, tags, ids, content := newTestReceiver(t)
	r.content.Times = sentEvery{1000, 1 << 40}
	ours := wire.Tag{Run: 5}
	frame := tagged(ours)
	id := uint16(0)
	short := udp4(4000, 0, nil)
	abc := [][]byte{letter('a'), letter('b'), letter('c')}
	strays := [][]byte{tagged(wire.Tag{Run: 7}), other(0x0806), other(0x88cc), other(20), letter('x')}
	kind := uint16(0)
	got := testing.AllocsPerRun(1000, func() {
		ours.Put(frame[42:])
		ours.Seq++
		r.Frame(frame, 1)
		short[18], short[19] = byte(id>>8), byte(id)
		id += 3
		r.Frame(short, 1)
		for _, f := range abc {
			r.Frame(f, 1)
		}
		for _, f := range strays {
			r.Frame(f, 1)
		}
		kind++
		strays[1][12], strays[1][13] = byte(0x90+kind>>8), byte(kind)
	})
	if got != 0 {
		t.Errorf("Frame allocates %v times, want 0", got)
	}
	for _, s := range []*Stream{tags, ids, content} {
		if n := s.Live().Received; n < 1000 {
			t.Errorf("stream %d: received %d", s.config.Stream, n)
		}
	}
}

func BenchmarkFrame(b *testing.B) {
	r, _, _, _ := newTestReceiver(b)
	tag := wire.Tag{Run: 5}
	frame := tagged(tag)
	b.ReportAllocs()
	for b.Loop() {
		tag.Put(frame[42:])
		tag.Seq++
		tag.Sent += 200
		r.Frame(frame, tag.Sent+5000)
	}
}
