package ledger

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"squall/internal/meter"
	"squall/internal/probe"
)

// moved makes changes of "where name" pairs and how far each moved.
func moved(pairs ...any) (cs []probe.Change) {
	for i := 0; i < len(pairs); i += 3 {
		n := uint64(pairs[i+2].(int))
		cs = append(cs, probe.Change{Where: pairs[i].(string), Name: pairs[i+1].(string), After: n, Moved: n})
	}
	return cs
}

// received is one stream's account.
func received(n uint64) []meter.Report { return []meter.Report{{Received: n}} }

// The ways of the tests.
var (
	cable = []Hop{
		{Kind: Out, Where: "a", Driver: "veth", Bypass: true, Joined: true},
		{Kind: In, Where: "b", Driver: "veth"},
		{Kind: Ring, Where: "b"},
	}
	router = []Hop{
		{Kind: Out, Where: "a", Driver: "veth", Bypass: true, Joined: true},
		{Kind: In, Where: "in", Driver: "veth"},
		{Kind: Forward, Where: "r"},
		{Kind: Out, Where: "out", Driver: "veth", Joined: true},
		{Kind: In, Where: "b", Driver: "veth"},
		{Kind: Ring, Where: "b"},
	}
)

// nics is the way between two ports of a driver through an unknown device.
func nics(driver string) []Hop {
	return []Hop{
		{Kind: Out, Where: "a", Driver: driver, Bypass: true},
		{Kind: In, Where: "b", Driver: driver},
		{Kind: Ring, Where: "b"},
	}
}

// retried is the way with refusals of the sending port.
func retried(way []Hop, n uint64) []Hop {
	way = append([]Hop(nil), way...)
	way[0].Retried = n
	return way
}

// redirected is the way of frames that an XDP program sends.
func redirected(way []Hop) []Hop {
	way = slices.Clone(way)
	way[0].Redirected = true
	return way
}

func TestBalance(t *testing.T) {
	tests := []struct {
		name string
		in   Input
		want Ledger // Sent and Received are set from in
	}{
		{"nothing lost", Input{Sent: 100, Way: cable, Streams: received(100), Receiver: "b"}, Ledger{}},
		{
			"several streams", Input{Sent: 100, Way: cable, Streams: []meter.Report{{Received: 60}, {Received: 40}}, Receiver: "b"},
			Ledger{},
		},
		{
			"one loss seen by four counters is summed once",
			Input{
				Sent: 100, Way: cable, Streams: received(93), Receiver: "b",
				Changes: moved("a", "tx_dropped", 7, "b", "rx_dropped", 7, "softnet", "cpu0.dropped", 4, "softnet", "cpu1.dropped", 3),
			},
			Ledger{Named: []Term{{"a", "tx_dropped", 7, []Seen{{"b", "rx_dropped", 7, ""}, {"softnet", "dropped", 7, ""}}}}},
		},
		{
			"joined pair, more lost behind the cable than on it",
			Input{
				Sent: 100, Way: router, Streams: received(90), Receiver: "b",
				Changes: moved("a", "tx_dropped", 7, "in", "rx_dropped", 10),
			},
			Ledger{Named: []Term{
				{"a", "tx_dropped", 7, []Seen{{"in", "rx_dropped", 10, ""}}},
				{"in", "rx_dropped", 3, nil},
			}},
		},
		{
			"storm: the router's queue, and what its counters say besides",
			Input{
				Sent: 1000, Way: router, Streams: received(600), Receiver: "b",
				Changes: moved("out", "qdisc.drops", 400, "out", "qdisc.overlimits", 900, "r", "Ip.ForwDatagrams", 1000, "out", "qdisc[bfifo 10:].drops", 400),
			},
			Ledger{
				Named: []Term{{"out", "qdisc.drops", 400, nil}},
				Moved: []Seen{{"out", "qdisc[bfifo 10:].drops", 400, ""}},
			},
		},
		{
			"every place of a way, in its order",
			Input{
				Sent: 100, Way: router, Streams: received(79), Receiver: "b",
				Changes: moved("b", RingDrops, 6, "out", "tx_dropped", 5, "b", "rx_dropped", 5, "out", "qdisc.drops", 4,
					"r", "Ip.InHdrErrors", 3, "in", "rx_dropped", 3, "a", "tx_dropped", 1),
			},
			Ledger{Named: []Term{
				{"a", "tx_dropped", 1, []Seen{{"in", "rx_dropped", 3, ""}}},
				{"in", "rx_dropped", 2, nil},
				{"r", "Ip.InHdrErrors", 3, nil},
				{"out", "qdisc.drops", 4, nil},
				{"out", "tx_dropped", 5, []Seen{{"b", "rx_dropped", 5, ""}}},
				{"b", RingDrops, 6, nil},
			}},
		},
		{
			"IPv6 frames above the MTU have two counters",
			Input{
				Sent: 10, Way: router, Streams: received(0), Receiver: "b",
				Changes: moved("r", "Ip6.InTooBigErrors", 10, "r", "Ip6.FragFails", 10),
			},
			Ledger{Named: []Term{{"r", "Ip6.InTooBigErrors", 10, []Seen{{"r", "Ip6.FragFails", 10, ""}}}}},
		},
		{
			"retried ENOBUFS subtracted, nothing lost",
			Input{
				Sent: 100, Way: retried(cable, 40), Streams: received(100), Receiver: "b",
				Changes: moved("a", "tx_dropped", 40, "b", "rx_dropped", 40),
			},
			Ledger{Moved: []Seen{{"a", "tx_dropped", 40, ""}, {"b", "rx_dropped", 40, ""}}},
		},
		{
			"retried ENOBUFS subtracted, the rest lost",
			Input{
				Sent: 100, Way: retried(cable, 40), Streams: received(98), Receiver: "b",
				Changes: moved("a", "tx_dropped", 42),
			},
			Ledger{Named: []Term{{"a", "tx_dropped", 2, nil}}},
		},
		{
			"a card that counts what it refused",
			Input{
				Sent: 100, Way: retried(nics("igc"), 40), Streams: received(100), Receiver: "b",
				Changes: moved("a", "tx_dropped", 40),
			},
			Ledger{Moved: []Seen{{"a", "tx_dropped", 40, ""}}},
		},
		{
			"a card that does not count what it refused",
			Input{
				Sent: 100, Way: retried(nics("igc"), 4000), Streams: received(98), Receiver: "b",
				Changes: moved("a", "tx_dropped", 2),
			},
			Ledger{Named: []Term{{"a", "tx_dropped", 2, nil}}},
		},
		{
			"received, then refused by the stack",
			Input{
				Sent: 100, Way: cable, Streams: received(100), Receiver: "b",
				Changes: moved("b", "rx_dropped", 100),
			},
			Ledger{Moved: []Seen{{"b", "rx_dropped", 100, ""}}},
		},
		{
			"refused by the stack, and some lost: no more than are missing",
			Input{
				Sent: 100, Way: nics("virtio_net"), Streams: received(95), Receiver: "b",
				Changes: moved("b", "rx_dropped", 100, "b", RingDrops, 3),
			},
			Ledger{Named: []Term{{"b", "rx_dropped", 2, nil}, {"b", RingDrops, 3, nil}}},
		},
		{
			"softnet drops that no port confirms are shown only",
			Input{
				Sent: 100, Way: cable, Streams: received(95), Receiver: "b",
				Changes: moved("softnet", "cpu1.dropped", 5, "a", "tx_packets", 100, "b", "rx_packets", 95),
			},
			Ledger{
				Unexplained: 5,
				Gaps:        []Gap{{"a tx_packets", "b rx_packets", 100, 95, 0}},
				Moved:       []Seen{{"softnet", "cpu1.dropped", 5, ""}},
			},
		},
		{
			"more named than missing",
			Input{
				Sent: 100, Way: router, Streams: received(95), Receiver: "b",
				Changes: moved("out", "qdisc.drops", 8),
			},
			Ledger{Named: []Term{{"out", "qdisc.drops", 8, nil}}, Unexplained: -3},
		},
		{
			"duplicates are not received twice",
			Input{Sent: 100, Way: cable, Streams: []meter.Report{{Received: 100, Duplicated: 50}}, Receiver: "b"},
			Ledger{},
		},
		{
			"late frames are lost until named",
			Input{Sent: 100, Way: cable, Streams: []meter.Report{{Received: 97, Lost: 3, Late: 3}}, Receiver: "b"},
			Ledger{Named: []Term{{"b", Late, 3, nil}}},
		},
		{
			"late duplicates are not missing",
			Input{Sent: 100, Way: cable, Streams: []meter.Report{{Received: 98, Lost: 2, Late: 5}}, Receiver: "b"},
			Ledger{Named: []Term{{"b", Late, 2, nil}}},
		},
		{
			"no receiver", Input{Sent: 100, Way: cable[:1]},
			Ledger{Named: []Term{{"squall", NoReceiver, 100, nil}}},
		},
		{
			"no receiver, some named", Input{Sent: 100, Way: nics("igc")[:1], Changes: moved("a", "tx_errors", 30, "a", "tx_fifo_errors", 30)},
			Ledger{Named: []Term{{"a", "tx_errors", 30, []Seen{{"a", "tx_fifo_errors", 30, ""}}}, {"squall", NoReceiver, 70, nil}}},
		},
		{
			"no receiver, more named than sent", Input{Sent: 10, Way: nics("igc")[:1], Changes: moved("a", "tx_errors", 30)},
			Ledger{Named: []Term{{"a", "tx_errors", 30, nil}}, Unexplained: -20},
		},
		{"no receiver, nothing sent", Input{Way: cable[:1]}, Ledger{}},
		{
			"a gap between two hops, and one behind the last",
			Input{
				Sent: 100, Way: router, Streams: received(60), Receiver: "b",
				Changes: moved("a", "tx_packets", 100, "in", "rx_packets", 100, "out", "tx_packets", 70, "b", "rx_packets", 70, "r", "Ip.InDiscards", 5),
			},
			Ledger{
				Named: []Term{{"r", "Ip.InDiscards", 5, nil}}, Unexplained: 35,
				Gaps: []Gap{{"in rx_packets", "out tx_packets", 100, 70, 5}, {"b rx_packets", "b received", 70, 60, 0}},
			},
		},
		{
			"strays that come in on the way hide no gap and make none",
			Input{
				Sent: 100, Way: router, Streams: received(90), Receiver: "b",
				Changes: moved("a", "tx_packets", 100, "in", "rx_packets", 105, "out", "tx_packets", 90, "b", "rx_packets", 90),
			},
			Ledger{Unexplained: 10, Gaps: []Gap{{"in rx_packets", "out tx_packets", 105, 90, 5}}},
		},
		{
			"a gap counts late and doubled frames as arrived",
			Input{
				Sent: 100, Way: nics("igc"), Streams: []meter.Report{{Received: 80, Lost: 20, Late: 5, Duplicated: 5}}, Receiver: "b",
				Changes: moved("a", "tx_packets", 100, "b", "rx_packets", 90),
			},
			Ledger{
				Named: []Term{{"b", Late, 5, nil}}, Unexplained: 15,
				Gaps: []Gap{{"a tx_packets", "b rx_packets", 100, 90, 0}},
			},
		},
		{
			"igc: the FIFO and the queues are two places, rx_no_buffer_count is none",
			Input{
				Sent: 100, Way: nics("igc"), Streams: received(90), Receiver: "b",
				Changes: moved("b", "rx_missed_errors", 3, "b", "rx_fifo_errors", 5, "b", "rx_no_buffer_count", 40, "b", "rx_errors", 2, "b", "rx_crc_errors", 2),
			},
			Ledger{
				Named: []Term{{"b", "rx_missed_errors", 3, nil}, {"b", "rx_fifo_errors", 5, nil}, {"b", "rx_errors", 2, []Seen{{"b", "rx_crc_errors", 2, ""}}}},
				Moved: []Seen{{"b", "rx_no_buffer_count", 40, ""}},
			},
		},
		{
			"tulip: an overflow is an rx error, a missed frame is not",
			Input{
				Sent: 100, Way: nics("tulip"), Streams: received(90), Receiver: "b",
				Changes: moved("b", "rx_missed_errors", 4, "b", "rx_errors", 6, "b", "rx_fifo_errors", 6),
			},
			Ledger{Named: []Term{{"b", "rx_missed_errors", 4, nil}, {"b", "rx_errors", 6, []Seen{{"b", "rx_fifo_errors", 6, ""}}}}},
		},
		{
			"another driver: missed, FIFO and over are views of one event",
			Input{
				Sent: 100, Way: nics("e1000"), Streams: received(90), Receiver: "b",
				Changes: moved("b", "rx_missed_errors", 10, "b", "rx_fifo_errors", 10),
			},
			Ledger{Named: []Term{{"b", "rx_missed_errors", 10, []Seen{{"b", "rx_fifo_errors", 10, ""}}}}},
		},
		{
			"another driver: the first view that moved is summed",
			Input{
				Sent: 100, Way: nics("e1000"), Streams: received(90), Receiver: "b",
				Changes: moved("b", "rx_over_errors", 10),
			},
			Ledger{Named: []Term{{"b", "rx_over_errors", 10, nil}}},
		},
		{
			"a qdisc that the frames pass",
			Input{
				Sent: 100, Way: []Hop{{Kind: Out, Where: "a", Driver: "igc"}, {Kind: Ring, Where: "b"}}, Streams: received(90), Receiver: "b",
				Changes: moved("a", "qdisc.drops", 10),
			},
			Ledger{Named: []Term{{"a", "qdisc.drops", 10, nil}}},
		},
		{
			"a qdisc that the frames go round",
			Input{
				Sent: 100, Way: nics("igc"), Streams: received(100), Receiver: "b",
				Changes: moved("a", "qdisc.drops", 10),
			},
			Ledger{Moved: []Seen{{"a", "qdisc.drops", 10, ""}}},
		},
		{
			"a full ring of a veth that frames are redirected to",
			Input{
				Sent: 100, Way: cable, Streams: received(90), Receiver: "b",
				Changes: moved("a", "tx_dropped", 10, "a", "tx_queue_0_xdp_xmit_errors", 4, "a", "tx_queue_1_xdp_xmit_errors", 6, "b", "rx_dropped", 10, "a", "tx_queue_0_xdp_xmit", 90),
			},
			Ledger{Named: []Term{{"a", "tx_dropped", 10, []Seen{{"a", "tx_queue_N_xdp_xmit_errors", 10, ""}, {"b", "rx_dropped", 10, ""}}}}},
		},
		{
			"a full ring of a veth that frames are redirected to, and the stack sends into",
			Input{
				Sent: 100, Way: redirected(cable), Streams: received(90), Receiver: "b",
				Changes: moved("a", "tx_dropped", 11, "a", "tx_queue_0_xdp_xmit_errors", 10, "b", "rx_dropped", 10),
			},
			Ledger{Named: []Term{{"a", "tx_queue_N_xdp_xmit_errors", 10, []Seen{{"a", "tx_dropped", 11, ""}, {"b", "rx_dropped", 10, ""}}}}},
		},
		{
			"an XDP program on the way drops, squall's own does not",
			Input{
				Sent: 100, Way: []Hop{{Kind: Out, Where: "a", Driver: "veth", Bypass: true, Joined: true}, {Kind: In, Where: "m", Driver: "veth"},
					{Kind: Out, Where: "n", Driver: "veth", Joined: true}, {Kind: In, Where: "b", Driver: "veth", Metered: true}},
				Streams: received(93), Receiver: "b",
				Changes: moved("m", "rx_queue_0_xdp_drops", 5, "m", "rx_queue_1_xdp_drops", 2, "b", "rx_queue_0_xdp_drops", 93),
			},
			Ledger{Named: []Term{{"m", "rx_queue_N_xdp_drops", 7, nil}}},
		},
		{
			"levels and traffic are no news, a counter that began again is",
			Input{
				Sent: 100, Way: cable, Streams: received(100), Receiver: "b",
				Changes: append(moved("a", "tx_packets", 100, "a", "tx_bytes", 6000, "b", "rx_queue_0_xdp_packets", 100, "softnet", "cpu0.processed", 100, "r", "Ip.InReceives", 9),
					probe.Change{Where: "a", Name: "carrier", Before: 1, Level: true},
					probe.Change{Where: "b", Name: "rx_bytes_gone", Before: 1, Note: probe.Gone},
					probe.Change{Where: "b", Name: "carrier_changes", Before: 9, After: 2, Moved: 2, Note: probe.Reset}),
			},
			Ledger{Moved: []Seen{{"b", "carrier_changes", 2, "reset"}}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.want
			want.Sent = tt.in.Sent
			for _, s := range tt.in.Streams {
				want.Received += s.Received
			}
			if want.Named == nil {
				want.Named = []Term{}
			}
			if len(want.Gaps) == 0 {
				want.Gaps = nil
			}
			got := Balance(tt.in)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("ledger (-want +got):\n%s", diff)
			}
			sum := int64(got.Received) + got.Unexplained
			for _, n := range got.Named {
				sum += int64(n.Frames)
			}
			if sum != int64(got.Sent) {
				t.Errorf("received + named + unexplained is %d, want %d sent", sum, got.Sent)
			}
		})
	}
}

// The places of each driver, as "counter=counter" for views of one event and
// "+counter" for one that shows the event among others.
func TestPoints(t *testing.T) {
	ip := []string{
		"r Ip.InHdrErrors", "r Ip.InAddrErrors", "r Ip.InDiscards", "r Ip.OutNoRoutes", "r Ip.OutDiscards", "r Ip.FragFails",
		"r IpExt.InNoRoutes", "r IpExt.InTruncatedPkts",
		"r Ip6.InHdrErrors", "r Ip6.InAddrErrors", "r Ip6.InDiscards", "r Ip6.InNoRoutes", "r Ip6.OutNoRoutes", "r Ip6.OutDiscards",
		"r Ip6.InTooBigErrors = r Ip6.FragFails", "r Ip6.InTruncatedPkts",
	}
	join := func(lists ...[]string) (all []string) {
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	generic := []string{
		"a tx_errors = a tx_fifo_errors = a tx_aborted_errors = a tx_carrier_errors", "a tx_dropped",
	}
	ring := []string{"b " + RingDrops}
	tests := []struct {
		name string
		way  []Hop
		want []string
	}{
		{"no way", nil, nil},
		{"veth cable", cable, join([]string{"a tx_dropped + a tx_queue_N_xdp_xmit_errors + b rx_dropped + softnet dropped", "b rx_queue_N_xdp_drops", "b rx_dropped - a tx_dropped, at most missing"}, ring)},
		{"veth, redirected", redirected(cable), join([]string{"a tx_queue_N_xdp_xmit_errors + a tx_dropped + b rx_dropped + softnet dropped", "b rx_queue_N_xdp_drops", "b rx_dropped - a tx_dropped, at most missing"}, ring)},
		{"veth, refused", retried(cable, 9), join([]string{"a tx_dropped + a tx_queue_N_xdp_xmit_errors + b rx_dropped + softnet dropped - 9", "b rx_queue_N_xdp_drops", "b rx_dropped - a tx_dropped, at most missing"}, ring)},
		{"veth ends of two cables", nics("veth"), join([]string{"a tx_dropped + a tx_queue_N_xdp_xmit_errors", "b rx_queue_N_xdp_drops", "b rx_dropped + softnet dropped, at most missing"}, ring)},
		{"router", router, join(
			[]string{"a tx_dropped + a tx_queue_N_xdp_xmit_errors + in rx_dropped + softnet dropped", "in rx_queue_N_xdp_drops", "in rx_dropped - a tx_dropped"}, ip,
			[]string{"out qdisc.drops", "out tx_dropped + out tx_queue_N_xdp_xmit_errors + b rx_dropped + softnet dropped", "b rx_queue_N_xdp_drops", "b rx_dropped - out tx_dropped, at most missing"}, ring)},
		{"joined, nobody at the other end", cable[:1], []string{"a tx_dropped + a tx_queue_N_xdp_xmit_errors"}},
		{"igc", nics("igc"), join(generic, []string{
			"b rx_missed_errors", "b rx_fifo_errors", "b rx_errors = b rx_crc_errors", "b rx_dropped + softnet dropped, at most missing",
		}, ring)},
		{"tap, refused", retried(nics("tun")[:1], 9), []string{generic[0], "a tx_dropped - 9"}},
		{"igc, refused", retried(nics("igc")[:1], 9), []string{generic[0], "a tx_dropped, at most missing"}},
		{"tulip", nics("tulip"), join(generic, []string{
			"b rx_missed_errors", "b rx_errors = b rx_fifo_errors = b rx_length_errors", "b rx_dropped + softnet dropped, at most missing",
		}, ring)},
		{"any other", nics(""), join(generic, []string{
			"b rx_missed_errors = b rx_fifo_errors = b rx_over_errors",
			"b rx_errors = b rx_crc_errors = b rx_frame_errors = b rx_length_errors", "b rx_dropped + softnet dropped, at most missing",
		}, ring)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, p := range points(tt.way) {
				got = append(got, p.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("points (-want +got):\n%s", diff)
			}
		})
	}
}

// String draws a point for TestPoints.
func (p point) String() string {
	var b strings.Builder
	for i, v := range p.views {
		if i > 0 {
			b.WriteString(" = ")
		}
		b.WriteString(v.Where + " " + v.Counter)
	}
	for _, v := range p.also {
		b.WriteString(" + " + v.Where + " " + v.Counter)
	}
	if p.less > 0 {
		fmt.Fprintf(&b, " - %d", p.less)
	}
	if p.other != (View{}) {
		b.WriteString(" - " + p.other.Where + " " + p.other.Counter)
	}
	if p.doubtful {
		b.WriteString(", at most missing")
	}
	return b.String()
}
