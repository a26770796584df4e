package live_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"squall/gen"
	"squall/internal/plan"
	"squall/internal/port/live"
	"squall/internal/wire"
)

// stacks are layer stacks of every sort, and fields of each to vary.
var stacks = []struct {
	name   string
	fields []string
}{
	{"ethernet", []string{"ethernet.src", "payload[3:8]"}},
	{"ethernet/vlan", []string{"vlan.id", "payload[0:8]"}},
	{"ethernet/raw", []string{"ethernet.src", "raw[1:3]"}},
	{"ethernet/arp", []string{"arp.sender_mac", "arp.target_ip", "arp.op"}},
	{"ethernet/ipv4", []string{"ipv4.src", "ipv4.ttl", "ipv4.dscp"}},
	{"ethernet/ipv4/udp", []string{"udp.src", "ipv4.src", "ipv4.dscp", "payload[0:4]"}},
	{"ethernet/qinq/vlan/ipv4/udp", []string{"qinq.id", "vlan.id", "udp.src", "ipv4.src"}},
	{"ethernet/ipv4/tcp", []string{"tcp.seq", "tcp.ack", "tcp.flags", "ipv4.dst"}},
	{"ethernet/vlan/vlan/ipv4/tcp", []string{"vlan[1].id", "ipv4.ecn", "tcp.src"}},
	{"ethernet/ipv4/icmp", []string{"icmp.id", "icmp.code", "ipv4.dst"}},
	{"ethernet/ipv4/udp/raw", []string{"raw[1:3]", "udp.src"}},
	{"ethernet/ipv6", []string{"ipv6.src", "ipv6.flow_label", "ipv6.dscp"}},
	{"ethernet/ipv6/udp", []string{"udp.dst", "ipv6.dst", "ipv6.hop_limit"}},
	{"ethernet/vlan/ipv6/tcp", []string{"tcp.seq", "ipv6.dst", "vlan.id"}},
	{"ethernet/ipv6/icmp", []string{"icmp.seq", "ipv6.src"}},
}

func specOf(stack string) gen.Spec {
	var s gen.Spec
	for name := range strings.SplitSeq(stack, "/") {
		l := gen.Layer{Name: name}
		if name == "raw" {
			l.Fields = map[string]string{"hex": "deadbeef 99"}
		}
		s.Layers = append(s.Layers, l)
	}
	return s
}

// variations are streams of a stack: one a sort of variation.
func variations(stack string, fields []string) []gen.Spec {
	all := []gen.Spec{specOf(stack)}
	with := func(change func(s *gen.Spec)) {
		s := specOf(stack)
		s.Seed = uint64(len(all))
		change(&s)
		all = append(all, s)
	}
	payload := func(s *gen.Spec) {
		s.Layers = append(s.Layers, gen.Layer{Name: "payload", Fields: map[string]string{"pattern": "01fe77"}})
	}
	with(func(s *gen.Spec) { s.Flows, s.FlowRun = 5, 3 })
	with(func(s *gen.Spec) { s.Flows, s.FlowOrder, s.Tag, s.FlowRun = 5, "random", "none", 2 })
	with(payload)
	with(func(s *gen.Spec) { payload(s); s.Flows, s.Tag = 7, "none" })
	for i, f := range fields {
		with(func(s *gen.Spec) { s.Vary = []gen.Vary{{Field: f, Mode: "decrement", Start: "1", Every: 2}} })
		with(func(s *gen.Spec) { s.Vary = []gen.Vary{{Field: f, Mode: "list", Values: []string{"1", "0", "1"}}} })
		with(func(s *gen.Spec) {
			s.Flows, s.Vary = 6, []gen.Vary{{Field: f, Mode: "random", Count: 3, Per: "flow"}}
		})
		with(func(s *gen.Spec) {
			s.Flows = 3
			s.Vary = []gen.Vary{{Field: f, Mode: "random", Per: "frame"}}
			if o := fields[(i+1)%len(fields)]; o != f {
				s.Vary = append(s.Vary, gen.Vary{Field: o, Step: "1", Count: 3, Every: 2, Per: "frame"})
			}
		})
	}
	return all
}

// same checks frames from first on against plan.Write. The dirt in its pages shows
// that the program trusts nothing that it finds.
func same(t *testing.T, p *plan.Plan, m *live.Maker, first, n uint64) {
	t.Helper()
	buf := make([]byte, p.MaxLen())
	m.Seek(t, first)
	for i := first; i < first+n; i++ {
		got := m.Next(t)
		if want := buf[:p.Write(buf, i, sentAt(got))]; !bytes.Equal(want, got) {
			t.Fatalf("frame %d by %s (-want +got):\n%s", i, m.Program(), cmp.Diff(want, got))
		}
	}
}

// sentAt returns the send time in a frame's tag, wherever it is.
func sentAt(frame []byte) int64 {
	for off := len(frame) - wire.TagLen; off >= 0; off-- {
		if tag, ok := wire.ReadTag(frame[off:]); ok {
			return tag.Sent
		}
	}
	return 0
}

// TestFrames compares what the program makes with plan.Write, byte for byte: every
// sort of stack, size and variation. Size S is the least with room for the tag and
// 8 bytes of payload, T the one behind it.
func TestFrames(t *testing.T) {
	needRoot(t)
	sizes := []string{"", "64", "S", "T", "S:7,594:4,1518:1", "S-300", "131,S,1518,T", "1518", "1517", "3412"}
	for _, st := range stacks {
		small := 0
		for n := 64; small == 0; n++ {
			s := specOf(st.name)
			s.Size, s.Tag = fmt.Sprint(n), "end"
			if src, err := gen.Compile([]gen.Spec{s}, gen.Target{}); err == nil && src.Streams[0].Tag == plan.TagEnd {
				small = n + 8
			}
		}
		for z, size := range sizes {
			size := strings.NewReplacer("S", fmt.Sprint(small), "T", fmt.Sprint(small+1)).Replace(size)
			t.Run(st.name+" "+size, func(t *testing.T) {
				made := 0
				for v, spec := range variations(st.name, st.fields) {
					if (v+z)%4 != 0 { // each variation in some of the sizes
						continue
					}
					spec.Size = size
					src, err := gen.Compile([]gen.Spec{spec}, gen.Target{Run: 0x4711, FirstStream: 3})
					if err != nil {
						continue // no room for it in so small a frame
					}
					made++
					m := live.NewMaker(t, src.Plan)
					same(t, src.Plan, m, 0, 40)
					same(t, src.Plan, m, 1<<33+5, 5)
				}
				if made == 0 && size != "" && size != "64" {
					t.Error("no stream compiled")
				}
			})
		}
	}
}

// TestPlans compares plans of several streams, and of captured frames, to
// plan.Write.
func TestPlans(t *testing.T) {
	needRoot(t)
	captured := func(id uint16, lens ...int) *plan.Stream {
		s := &plan.Stream{ID: id, Name: "capture"}
		for i, n := range lens {
			frame := bytes.Repeat([]byte{byte(i + 1)}, n)
			s.Heads.Append(frame)
		}
		return s
	}
	var long []int
	for i := range 2000 { // more than one piece
		long = append(long, 14+i*13%3395)
	}
	vary := []gen.Vary{{Field: "udp.dst", Mode: "random", Per: "frame", Every: 3}, {Field: "ipv4.dst", Mode: "list", Values: []string{"10.0.0.1", "10.9.8.7", "10.255.0.255"}, Per: "frame"}}
	imix := gen.Spec{Name: "a", Size: "imix", Flows: 12, Weight: 3, Vary: vary}
	ids := gen.Spec{Name: "b", Size: "64", Tag: "id", Flows: 5, FlowRun: 2, Weight: 2}
	ranged := gen.Spec{Name: "c", Size: "90-301", FlowOrder: "random", Flows: 9, Seed: 7}
	six := gen.Spec{Name: "d", Size: "131,1517", Layers: []gen.Layer{{Name: "vlan"}, {Name: "ipv6"}, {Name: "tcp"}, {Name: "payload", Fields: map[string]string{"text": "no zeros here"}}}}
	mixed := compile(t, imix, six).Streams
	tests := []struct {
		name    string
		plan    *plan.Plan
		program string
	}{
		{"one stream of one size", compile(t, gen.Spec{Size: "64"}), "live_plain"},
		{"sizes in turn", compile(t, imix), "live_varied"},
		{"sizes and flows at random", compile(t, ranged), "live_varied"},
		{"two streams", compile(t, imix, ids), "live_any"},
		{"four streams", compile(t, imix, ids, ranged, six), "live_any"},
		{"capture", newPlan(t, plan.Plan{Streams: []*plan.Stream{captured(1, 60, 1514, 61, 14, 60, 3408)}}), "live_replay"},
		{"large capture", newPlan(t, plan.Plan{Streams: []*plan.Stream{captured(1, long...)}}), "live_replay"},
		{"captures and streams", newPlan(t, plan.Plan{
			Streams: []*plan.Stream{captured(1, 60, 1514, 61), mixed[0], captured(2, 14), mixed[1]},
			Order:   []uint16{3, 0, 1, 1, 2, 0, 1},
		}), "live_any"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := live.NewMaker(t, tt.plan)
			if got := m.Program(); got != tt.program {
				t.Errorf("program %s, want %s", got, tt.program)
			}
			same(t, tt.plan, m, 0, 3000)
			for _, first := range []uint64{1, 17, 1 << 16, 1<<32 - 3, 1<<40 + 12345} {
				same(t, tt.plan, m, first, 100)
			}
		})
	}
}

// deep is a stream with what gen does not make: headers longer than any image,
// checksums within checksums, and patches of each width.
func deep() *plan.Stream {
	head := make([]byte, 300)
	for i := range head {
		head[i] = byte(i*31 + 7)
	}
	return &plan.Stream{
		ID: 9, Run: 77, Seed: 5,
		Heads:   plan.NewTable(append(head, head...), len(head)),
		FlowRun: 4,
		Body:    bytes.Repeat([]byte{1, 2, 3}, 700),
		Sizes:   plan.Sizes{Lens: []int{400, 333, 1999}, Cycle: []uint16{0, 1, 2, 2, 1}},
		Lengths: []plan.Length{{Off: 16, Minus: 14}, {Off: 38, Minus: 34}, {Off: 100, Minus: 90}},
		Patches: []plan.Patch{
			{Off: 20, Width: 2, Mask: 0xfff, Shift: 2, Step: 3, Count: 5},
			{Off: 60, Width: 4, Mask: 1<<32 - 1, Mode: plan.Draw, Salt: 1, Start: 9, Count: 1 << 31},
			{Off: 130, Width: 8, Mask: 1<<40 - 1, Shift: 11, Mode: plan.Draw, Salt: 2, Every: 3},
			{Off: 200, Width: 8, Mask: 1<<64 - 1, Mode: plan.List, List: []uint64{0, 1<<64 - 1, 7}},
			{Off: 310, Width: 2, Mask: 0xffff, Step: 1<<64 - 1}, // in the body
		},
		Sums: []plan.Sum{
			{Off: 150, From: 110, Addr: 40, AddrLen: 16, ZeroIsOnes: true},
			{Off: 108, From: 96, To: 160},
			{Off: 70, From: 50, Addr: 20, AddrLen: 8},
			{Off: 24, From: 14, To: 34},
		},
		Tag: plan.TagEnd,
	}
}

func TestDeepStream(t *testing.T) {
	needRoot(t)
	one := deep()
	one.Sizes = plan.Sizes{Lens: []int{401}, Cycle: []uint16{0}}
	zero := deep()
	clear(zero.Body)
	for _, tt := range []struct {
		name string
		s    *plan.Stream
	}{{"several sizes", deep()}, {"one size", one}, {"zeros", zero}} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlan(t, plan.Plan{Streams: []*plan.Stream{tt.s}})
			m := live.NewMaker(t, p)
			same(t, p, m, 0, 2000)
			same(t, p, m, 1<<33+1, 50)
		})
	}
}

func TestTooMuch(t *testing.T) {
	big := &plan.Stream{Name: "big"}
	big.Heads.Append(make([]byte, live.MaxLen+1))
	short := &plan.Stream{Name: "short"}
	short.Heads.Append(make([]byte, 13))
	fields := deep()
	fields.Name = "fields"
	for range 65 {
		fields.Patches = append(fields.Patches, plan.Patch{Off: 2, Width: 2, Mask: 1})
	}
	fits := deep()
	for _, tt := range []struct {
		name string
		s    *plan.Stream
		mtu  int
		want string
	}{
		{"page", big, 9000, "frame size 3413: at most 3412"},
		{"short", short, 1500, "Ethernet header"},
		{"patches", fields, 3000, "at most 64 fit"},
		{"MTU", deep(), 1980, "frame size 2003 is above what the port takes: at most 2002"},
		{"fits", fits, 1981, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := live.Fits(newPlan(t, plan.Plan{Streams: []*plan.Stream{tt.s}}), tt.mtu)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}
