package conversation_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"squall/gen/conversation"
	"squall/internal/convo"
	"squall/internal/pace"
	"squall/pcaps"
	"squall/pcaps/acks"
)

// start is a whole millisecond, so that times are easy to read.
const start = 1_767_225_600_000_000_000

func pps(n uint64) pace.Constant { return pace.Constant{Frames: n, Ns: 1e9} }

// cases are conversations of every kind.
var cases = []struct {
	name   string
	config conversation.Config
}{
	{"defaults", conversation.Config{Runs: 5, Rate: pps(1000), SACK: true, Timestamps: true}},
	{"no options", conversation.Config{Runs: 5, Gap: 100 * time.Millisecond, Rate: pps(1000)}},
	{"no runs", conversation.Config{Rate: pps(1000), Gap: 100 * time.Millisecond}},
	{"9, 10, 11", conversation.Config{Runs: 6, Lengths: []int{9, 10, 11}, Gap: 100 * time.Millisecond, Rate: pps(2000), SACK: true}},
	{"one each", conversation.Config{Runs: 10, Lengths: []int{1}, Gap: 10 * time.Millisecond, Rate: pps(1000), SACK: true, Timestamps: true}},
	{"two and three", conversation.Config{Runs: 10, Lengths: []int{2, 3}, Gap: 20 * time.Millisecond, Rate: pps(1000), Timestamps: true}},
	{"56", conversation.Config{Runs: 2, Lengths: []int{56}, Gap: 100 * time.Millisecond, Rate: pps(1000), SACK: true, Timestamps: true}},
	{"wire speed", conversation.Config{Runs: 3, Gap: 5 * time.Millisecond, Rate: pps(81274), SACK: true, Timestamps: true}},
	{"small frames", conversation.Config{Runs: 3, Gap: time.Millisecond, FrameSize: 64, Rate: pps(1_488_095)}},
	{"slow", conversation.Config{Runs: 2, Lengths: []int{4}, Gap: 10 * time.Second, Rate: pps(5), SACK: true, Timestamps: true}},
	{"an odd rate", conversation.Config{Runs: 4, Lengths: []int{5}, Gap: 30 * time.Millisecond, Rate: pace.Constant{Frames: 10_007, Ns: 1_000_003_001}}},
	{"at the sender", conversation.Config{Runs: 3, Gap: 50 * time.Millisecond, Rate: pps(5000), SACK: true, Timestamps: true, Tap: conversation.AtServer}},
	{"in the middle", conversation.Config{Runs: 3, Gap: 50 * time.Millisecond, Rate: pps(5000), SACK: true, Timestamps: true, Tap: conversation.Middle}},
	{"a long way", conversation.Config{Runs: 2, Gap: 150 * time.Millisecond, Rate: pps(5000), RTT: 100*time.Millisecond + 1, SACK: true, Timestamps: true, Tap: conversation.Middle}},
	{"upload", conversation.Config{Runs: 3, Gap: 50 * time.Millisecond, Rate: pps(5000), SACK: true, Timestamps: true, ClientSends: true, Tap: conversation.AtServer}},
	{"IPv6", conversation.Config{Runs: 3, Gap: 50 * time.Millisecond, Rate: pps(5000), SACK: true, Timestamps: true, Server: mustAddr("[2001:db8::2]:443"), Client: mustAddr("[2001:db8::1]:50000")}},
	{"lost", conversation.Config{Runs: 3, Gap: 100 * time.Millisecond, Rate: pps(5000), SACK: true, Timestamps: true, Cause: conversation.Loss}},
	{"lost behind the tap", conversation.Config{Runs: 3, Gap: 100 * time.Millisecond, Rate: pps(5000), SACK: true, Timestamps: true, Cause: conversation.Loss, Tap: conversation.AtServer}},
	{"lost at wire speed", conversation.Config{Runs: 3, Gap: 5 * time.Millisecond, Rate: pps(81274), Cause: conversation.Loss, Tap: conversation.Middle}},
	{"lost, no fast retransmit", conversation.Config{Runs: 2, Lengths: []int{1, 2}, Gap: 1500 * time.Millisecond, Rate: pps(200), SACK: true, Timestamps: true, Cause: conversation.Loss}},
	{"behind the tap", conversation.Config{Runs: 3, Gap: 50 * time.Millisecond, Rate: pps(5000), SACK: true, Timestamps: true, Cause: conversation.AcksOnly, Tap: conversation.AtServer}},
	{"in the receiver", conversation.Config{Runs: 3, Gap: 50 * time.Millisecond, Rate: pps(5000), Cause: conversation.AcksOnly}},
	{"a sum of bytes", conversation.Config{Runs: 2, Gap: 50 * time.Millisecond, Rate: pps(1000), Bytes: 300_001, SACK: true}},
	{"jumbo", conversation.Config{Runs: 2, Gap: 50 * time.Millisecond, FrameSize: 9018, Rate: pps(2000), SACK: true, Timestamps: true}},
}

// made is a conversation as written.
type made struct {
	conversation.Made
	*conversation.Conversation
	path   string
	frames [][]byte
	times  []int64
}

func write(t *testing.T, c conversation.Config) made {
	t.Helper()
	if c.Start == 0 {
		c.Start = start
	}
	v, err := conversation.New(c)
	if err != nil {
		t.Fatal(err)
	}
	m := made{Conversation: v, path: filepath.Join(t.TempDir(), "made.pcap")}
	w, err := pcaps.Create(m.path)
	if err != nil {
		t.Fatal(err)
	}
	m.Made, err = v.Frames(func(frame []byte, at int64) error {
		m.frames = append(m.frames, bytes.Clone(frame))
		m.times = append(m.times, at)
		return w.Write(frame, at)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return m
}

// wanted are the runs that a config asks for.
func wanted(m made) (lengths []uint64, sum uint64) {
	lengths = []uint64{}
	for i := range m.Runs() {
		n := uint64(m.Lengths[i%len(m.Lengths)])
		lengths = append(lengths, n)
		sum += n
	}
	return lengths, sum
}

// Runs hides the field of the same name of Made and Config.
func (m made) Runs() int { return m.Conversation.Runs }

func TestRuns(t *testing.T) {
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			m := write(t, tt.config)
			want, sum := wanted(m)
			if m.Duplicates != sum || m.Made.Runs != len(want) {
				t.Errorf("made %d duplicates in %d runs, want %d in %d", m.Duplicates, m.Made.Runs, sum, len(want))
			}
			for _, rule := range []acks.Rule{acks.RFC5681, acks.Tshark} {
				report, order := analyse(t, m.path, rule)
				got := []uint64{}
				for _, r := range report.Runs {
					got = append(got, r.Length)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("runs by %v (-want +got):\n%s", rule, diff)
				}
				gaps(t, m, report.Runs)
				cause(t, m, order)
			}
		})
	}
}

func analyse(t *testing.T, path string, rule acks.Rule) (acks.DupAckReport, acks.ReorderReport) {
	t.Helper()
	r, err := pcaps.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	d, o := acks.NewDupAcks(acks.Config{Rule: rule}), acks.NewReorder()
	if _, err := acks.Walk(context.Background(), r, convo.Options{}, func(f *acks.Frame) {
		d.Add(f)
		o.Add(f)
	}); err != nil {
		t.Fatal(err)
	}
	return d.Report(), o.Report()
}

// gaps checks that runs begin a gap apart: to two segments, or three where one
// follows a run.
func gaps(t *testing.T, m made, runs []acks.Run) {
	t.Helper()
	slot := time.Duration(1e9 / m.Rate.Rate())
	for i := 1; i < len(runs); i++ {
		gap := time.Duration(runs[i].First.NS - runs[i-1].First.NS)
		if off := (gap - m.Gap).Abs(); off > 2*slot {
			t.Errorf("run %d begins %v after the one before, want %v within %v", i, gap, m.Gap, 2*slot)
		}
	}
}

// cause checks what RFC 4737 makes of the data.
func cause(t *testing.T, m made, order acks.ReorderReport) {
	t.Helper()
	from := m.Server
	if m.ClientSends {
		from = m.Client
	}
	var got acks.Order
	for _, o := range order.Directions {
		if o.From == from.String() {
			got = o
		}
	}
	var want acks.Order
	want.Arrived = m.Data + 2 - m.Retransmitted // SYN, FIN
	switch m.Cause {
	case conversation.Reorder:
		want.Reordered = uint64(m.Runs())
		lengths, _ := wanted(m)
		for _, n := range lengths {
			for i := range min(n, uint64(len(want.NReordered))) {
				want.NReordered[i]++
			}
		}
	case conversation.Loss:
		want.Retransmitted = uint64(m.Runs())
		if !m.atSender() {
			want.Arrived -= want.Retransmitted
		}
	}
	got = acks.Order{Arrived: got.Arrived, Reordered: got.Reordered, Retransmitted: got.Retransmitted, Copies: got.Copies,
		Undecided: got.Undecided, Before: got.Before, MissingBytes: got.MissingBytes, NReordered: got.NReordered}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order of the data (-want +got):\n%s", diff)
	}
}

func (m made) atSender() bool {
	return m.ClientSends && m.Tap == conversation.AtClient || !m.ClientSends && m.Tap == conversation.AtServer
}

// tshark finds the same runs, right checksums, and nothing else to remark on.
func TestTshark(t *testing.T) {
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("needs tshark")
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			m := write(t, tt.config)
			want := map[string]int{}
			lengths, sum := wanted(m)
			if sum > 0 {
				want["duplicate_ack"] = int(sum)
			}
			hole := m.Cause == conversation.Reorder || m.Cause == conversation.Loss && !m.atSender()
			if runs := m.Runs(); runs > 0 && hole {
				want["lost_segment"] = runs
			}
			if runs := m.Runs(); runs > 0 && m.Cause != conversation.AcksOnly {
				want["again or late"] = runs
			}
			args := []string{"-n", "-r", m.path, "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-T", "fields"}
			fields := []string{"lost_segment", "ack_lost_segment", "retransmission", "fast_retransmission", "spurious_retransmission",
				"out_of_order", "reused_ports", "keep_alive", "keep_alive_ack", "zero_window", "zero_window_probe", "window_full", "window_update"}
			for _, f := range fields {
				args = append(args, "-e", "tcp.analysis."+f)
			}
			args = append(args, "-e", "tcp.analysis.duplicate_ack_num", "-e", "tcp.checksum.status", "-e", "ip.checksum.status", "-e", "_ws.malformed")
			out, err := exec.Command("tshark", args...).Output()
			if err != nil {
				t.Fatalf("tshark: %v", err)
			}
			got := map[string]int{}
			runs := []uint64{}
			lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
			for _, line := range lines {
				c := strings.Split(line, "\t")
				flags := map[string]bool{}
				for i, f := range fields {
					if c[i] != "" {
						flags[f] = true
					}
				}
				// A late segment is out of order, or a (fast) retransmission, as
				// its delay has it: Wireshark guesses.
				for _, f := range []string{"out_of_order", "retransmission", "fast_retransmission"} {
					if flags[f] {
						delete(flags, f)
						flags["again or late"] = true
					}
				}
				for f := range flags {
					got[f]++
				}
				c = c[len(fields):]
				if c[0] != "" {
					got["duplicate_ack"]++
					var n uint64
					fmt.Sscan(c[0], &n)
					if n == 1 {
						runs = append(runs, 0)
					}
					runs[len(runs)-1] = n
				}
				if c[1] != "1" || c[2] != "1" && c[2] != "" || c[3] != "" {
					t.Fatalf("checksums %q and %q, malformed %q, want 1 and 1: %s", c[1], c[2], c[3], line)
				}
			}
			if len(lines) != len(m.frames) {
				t.Errorf("tshark reads %d frames, have %d", len(lines), len(m.frames))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("tcp.analysis (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(lengths, runs); diff != "" {
				t.Errorf("runs by tshark (-want +got):\n%s", diff)
			}
		})
	}
}

// A receiver written down by the RFCs, fed with the data that a tap at the
// receiver saw, sends the ACKs that the tap saw: numbers, SACK blocks, echoes.
func TestReceiver(t *testing.T) {
	for _, tt := range cases {
		sender := conversation.AtServer
		if tt.config.ClientSends {
			sender = conversation.AtClient
		}
		if tt.config.Tap == sender || tt.config.Tap == conversation.Middle || tt.config.Cause == conversation.AcksOnly {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			m := write(t, tt.config)
			from := m.Server
			if m.ClientSends {
				from = m.Client
			}
			var want, got []string
			var next, recent, lastAck uint32
			pending := 0
			missing := map[uint32]uint32{} // segments behind a hole: where each begins and ends
			for _, b := range m.frames {
				p := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default)
				s := p.TransportLayer().(*layers.TCP)
				stamp, echo, sack := options(s)
				if uint16(s.SrcPort) != from.Port() || p.NetworkLayer().NetworkFlow().Src().String() != from.Addr().String() {
					if !s.SYN && !s.FIN {
						got = append(got, fmt.Sprint(s.Ack, " ", sack, " ", echo))
					}
					continue
				}
				if m.Timestamps && int32(s.Seq-lastAck) <= 0 && int32(stamp-recent) >= 0 {
					recent = stamp
				}
				ack := func() {
					blocks := ""
					if m.SACK && len(missing) > 0 {
						left := slices.Min(slices.Collect(keys(missing)))
						right := left
						for to, ok := missing[right]; ok; to, ok = missing[right] {
							right = to
						}
						blocks = fmt.Sprint(left, "-", right)
					}
					want = append(want, fmt.Sprint(next, " ", blocks, " ", recent))
					lastAck, pending = next, 0
				}
				switch {
				case s.SYN:
					next, lastAck, recent = s.Seq+1, s.Seq+1, stamp
					if !m.ClientSends {
						ack() // of the SYN-ACK
					}
				case s.FIN || len(s.Payload) == 0: // answered with FIN, or not at all
				case s.Seq != next:
					missing[s.Seq] = s.Seq + uint32(len(s.Payload))
					ack()
				default:
					next += uint32(len(s.Payload))
					pending++
					for to, ok := missing[next]; ok; to, ok = missing[next] {
						delete(missing, next)
						next, pending = to, 2
					}
					if pending == 2 || m.Rate.Rate() <= 25 {
						ack()
					}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("ACKs (-want +got):\n%.2000s", diff)
			}
		})
	}
}

func keys(m map[uint32]uint32) func(func(uint32) bool) {
	return func(yield func(uint32) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func options(s *layers.TCP) (stamp, echo uint32, sack string) {
	for _, o := range s.Options {
		switch o.OptionType {
		case layers.TCPOptionKindTimestamps:
			stamp, echo = binary.BigEndian.Uint32(o.OptionData), binary.BigEndian.Uint32(o.OptionData[4:])
		case layers.TCPOptionKindSACK:
			sack = fmt.Sprint(binary.BigEndian.Uint32(o.OptionData), "-", binary.BigEndian.Uint32(o.OptionData[4:]))
		}
	}
	return stamp, echo, sack
}

// At the sender, data goes in slots of the rate, never faster; frames are in
// order of time.
func TestTimes(t *testing.T) {
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			m := write(t, tt.config)
			if m.times[0] != start || m.First != start || m.Last != m.times[len(m.times)-1] {
				t.Errorf("first frame at %d (%d), last at %d, want first %d, last %d", m.times[0], m.First, m.Last, int64(start), m.times[len(m.times)-1])
			}
			if !slices.IsSorted(m.times) {
				t.Error("frames are not in order of time")
			}
			full, first, n := m.FrameSize-4, int64(0), uint64(0)
			for i, b := range m.frames {
				if len(b) != full || full == 60 { // 60: ACKs are as long
					continue
				}
				if n == 0 {
					first = m.times[i]
				}
				// The slot that the time belongs to is a whole one.
				slot := (m.times[i] - first) * int64(m.Rate.Frames) / int64(m.Rate.Ns)
				if due := first + m.Rate.Due(uint64(slot)); due != m.times[i] && first+m.Rate.Due(uint64(slot)+1) != m.times[i] {
					t.Fatalf("frame %d is %d ns after the first data, in no slot of the rate", i, m.times[i]-first)
				}
				n++
			}
		})
	}
}

// All data arrives, the same each time it is sent, and from the seed.
func TestContent(t *testing.T) {
	for _, cause := range []conversation.Cause{conversation.Reorder, conversation.Loss} {
		m := write(t, conversation.Config{Runs: 3, Gap: 100 * time.Millisecond, Rate: pps(1000), Bytes: 500_000, Cause: cause, Seed: 7, Tap: conversation.AtServer})
		content := make([]byte, m.Bytes())
		seen := make([]bool, len(content))
		var isn uint32
		for _, b := range m.frames {
			s := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default).TransportLayer().(*layers.TCP)
			if uint16(s.SrcPort) != m.Server.Port() {
				continue
			}
			if s.SYN {
				isn = s.Seq
				continue
			}
			for i, c := range s.Payload {
				at := int(s.Seq-isn-1) + i
				if seen[at] && content[at] != c {
					t.Fatalf("byte %d is sent as %d and as %d", at, content[at], c)
				}
				content[at], seen[at] = c, true
			}
		}
		if slices.Contains(seen, false) {
			t.Error("not all data was sent")
		}
	}
}

// Bytes hides the field of the same name of Made and Config.
func (m made) Bytes() uint64 { return m.Made.Bytes }

func TestSeed(t *testing.T) {
	config := conversation.Config{Runs: 1, Gap: 20 * time.Millisecond, Rate: pps(1000), SACK: true, Timestamps: true, Seed: 1}
	a, b := write(t, config), write(t, config)
	if diff := cmp.Diff(a.frames, b.frames); diff != "" {
		t.Errorf("the same seed gives other frames (-first +second):\n%.500s", diff)
	}
	config.Seed = 2
	if c := write(t, config); cmp.Equal(a.frames[0], c.frames[0]) {
		t.Error("another seed gives the same SYN")
	}
}

// Sequence numbers pass 2^32.
func TestWrap(t *testing.T) {
	config := conversation.Config{Runs: 40, Gap: 50 * time.Millisecond, Rate: pps(2000), FrameSize: 9018, SACK: true, Timestamps: true}
	stop := errors.New("stop")
	for config.Seed = 0; ; config.Seed++ {
		v, err := conversation.New(config)
		if err != nil {
			t.Fatal(err)
		}
		isn, n := uint32(0), 0
		v.Frames(func(b []byte, _ int64) error {
			if n++; n < 2 {
				return nil
			}
			isn = binary.BigEndian.Uint32(b[14+20+4:])
			return stop
		})
		if isn > 1<<32-20e6 {
			break
		}
	}
	m := write(t, config)
	if m.Bytes() < 20e6 {
		t.Fatalf("%d bytes, want 20 million or more, or nothing wraps", m.Bytes())
	}
	for _, rule := range []acks.Rule{acks.RFC5681, acks.Tshark} {
		report, order := analyse(t, m.path, rule)
		if report.DuplicateAcks != 400 || report.RunsAtLeast != 40 {
			t.Errorf("by %v: %d duplicate ACKs, %d runs of 10, want 400 and 40", rule, report.DuplicateAcks, report.RunsAtLeast)
		}
		cause(t, m, order)
	}
}

func TestRefused(t *testing.T) {
	for _, tt := range []struct {
		name   string
		config conversation.Config
		want   string
	}{
		{"no rate", conversation.Config{}, "rate"},
		{"negative runs", conversation.Config{Rate: pps(1), Runs: -1}, "runs: have -1"},
		{"a run of none", conversation.Config{Rate: pps(1), Runs: 1, Lengths: []int{3, 0}}, "length of a run"},
		{"gap too short", conversation.Config{Rate: pps(1000), Runs: 2, Gap: 10 * time.Millisecond}, "need a gap of that or more"},
		{"gap too short for the timer", conversation.Config{Rate: pps(1000), Runs: 2, Lengths: []int{2}, Cause: conversation.Loss, Gap: time.Second}, "need a gap of that or more"},
		{"round trip too short", conversation.Config{Rate: pps(1000), Runs: 2, Cause: conversation.Loss, RTT: time.Millisecond}, "need 7ms or more"},
		{"window too small", conversation.Config{Rate: pps(1000), Runs: 2, Window: 10_000}, "window: have 10000"},
		{"window beyond TCP", conversation.Config{Rate: pps(10_000_000), Runs: 0, RTT: time.Second}, "TCP window"},
		{"frame too small for its options", conversation.Config{Rate: pps(1000), FrameSize: 64, Timestamps: true}, "need 71"},
		{"frame beyond IP", conversation.Config{Rate: pps(1000), FrameSize: 70_000}, "frame size"},
		{"mixed addresses", conversation.Config{Rate: pps(1000), Client: mustAddr("[::1]:1"), Server: mustAddr("192.0.2.1:1")}, "need two IPv4 or two IPv6"},
		{"alone", conversation.Config{Rate: pps(1000), Client: mustAddr("192.0.2.1:1"), Server: mustAddr("192.0.2.1:1")}, "both"},
		{"MAC address", conversation.Config{Rate: pps(1000), ClientMAC: make([]byte, 8)}, "need 6"},
		{"too few bytes", conversation.Config{Rate: pps(1000), Runs: 2, Bytes: 1000}, "bytes: have 1000"},
		{"a day's round trip", conversation.Config{Rate: pps(1), RTT: 24 * time.Hour}, "round trip"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := conversation.New(tt.config)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// Frames cost no allocation each.
func TestAllocs(t *testing.T) {
	allocs := func(gap time.Duration) float64 {
		v, err := conversation.New(conversation.Config{Runs: 1, Gap: gap, Rate: pps(10_000), SACK: true, Timestamps: true})
		if err != nil {
			t.Fatal(err)
		}
		return testing.AllocsPerRun(3, func() {
			if _, err := v.Frames(func([]byte, int64) error { return nil }); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := allocs(100*time.Millisecond), allocs(time.Second); many > few+2 {
		t.Errorf("%v allocations for 3,000 frames, %v for 30,000", few, many)
	}
}

// Whatever is asked is refused, or comes out as asked.
func FuzzConversation(f *testing.F) {
	f.Add(uint8(2), uint16(10), uint32(1_000_000), uint32(100_000), uint32(1000), uint16(1518), uint8(0))
	f.Add(uint8(3), uint16(1), uint32(12_304), uint32(1_200_000), uint32(0), uint16(64), uint8(0xff))
	f.Add(uint8(1), uint16(30), uint32(25_000_000), uint32(2_000_000), uint32(3), uint16(9018), uint8(0x15))
	f.Fuzz(func(t *testing.T, runs uint8, length uint16, spacing, gap, rtt uint32, size uint16, options uint8) {
		c := conversation.Config{
			Runs: int(runs % 4), Lengths: []int{int(length % 200)}, Rate: pace.Constant{Frames: 1, Ns: uint64(spacing)},
			Gap: time.Duration(gap) * time.Microsecond, RTT: time.Duration(rtt) * time.Microsecond, FrameSize: int(size),
			SACK: options&1 != 0, Timestamps: options&2 != 0, ClientSends: options&4 != 0,
			Cause: conversation.Cause(options >> 3 % 3), Tap: conversation.Tap(options >> 5 % 3), Start: start,
		}
		v, err := conversation.New(c)
		if err != nil || v.Gap.Seconds()*v.Rate.Rate() > 20_000 {
			return
		}
		last := int64(0)
		m, err := v.Frames(func(frame []byte, at int64) error {
			if at < last {
				t.Fatalf("frame at %d behind one at %d", at, last)
			}
			last = at
			if len(frame) < 60 || len(frame) > v.FrameSize-4 && len(frame) > 90 {
				t.Fatalf("frame of %d bytes, frame size %d", len(frame), v.FrameSize)
			}
			return nil
		})
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		if want := uint64(v.Runs * v.Lengths[0]); m.Duplicates != want || m.Runs != v.Runs {
			t.Errorf("%+v: %d duplicates in %d runs, want %d in %d", c, m.Duplicates, m.Runs, want, v.Runs)
		}
	})
}

func mustAddr(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }
