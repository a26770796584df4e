package ledger

// Kind is what a hop does with a frame.
type Kind uint8

const (
	// Out is a port that a frame leaves by.
	Out Kind = iota
	// In is a port that a frame comes in by.
	In
	// Forward is the IP layer of a namespace between its ports.
	Forward
	// Ring is the memory that a receiver reads frames from.
	Ring
)

// Hop is one place on the way from sender to receiver.
type Hop struct {
	Kind   Kind
	Where  string // as the probes name it: a port, or a namespace for Forward
	Driver string // of a port
	// Bypass: the frames go round this port's qdisc (PACKET_QDISC_BYPASS).
	Bypass bool
	// Redirected: the frames leave by an XDP program's redirect (ndo_xdp_xmit).
	Redirected bool
	// Joined: the next hop is the other end of this port's cable, and counts what
	// is lost on it too (a veth pair).
	Joined bool
	// Metered: squall's own XDP program takes the frames off this port, and the
	// port counts them as dropped by it.
	Metered bool
	// Retried is how often the port refused a frame that was then sent again: it
	// may count them as dropped, and they are not lost.
	Retried uint64
	// Shared: its counters count frames of another way too (the IP layer of a
	// router that is passed both ways). They name no more than is missing.
	Shared bool
}

// View is one counter that sees a loss.
type View struct {
	Where, Counter string
}

// point is a place where frames can be lost.
type point struct {
	// views are counters of one and the same event, the nearest to it first: the
	// first of them that moved is summed.
	views []View
	// also are counters that the event moves as well, among others: told, never
	// summed.
	also []View
	// less is what moved the views though nothing was lost, and other a counter
	// whose events they count too and another point sums.
	less  uint64
	other View
	// doubtful: the views count frames that were not lost, too, nobody knows how
	// many. They name no more than is missing when all others are summed.
	doubtful bool
}

// points returns the loss points of a way, in the order that frames meet them.
func points(way []Hop) []point {
	var ps []point
	for i, h := range way {
		switch h.Kind {
		case Out:
			ps = append(ps, h.out(way[i+1:])...)
		case In:
			ps = append(ps, h.in(way[:i], way[i+1:])...)
		case Forward:
			for _, names := range forwardPoints {
				ps = append(ps, point{views: views(h.Where, names...), doubtful: h.Shared})
			}
		case Ring:
			ps = append(ps, point{views: views(h.Where, RingDrops)})
		}
	}
	return ps
}

// out returns the points of a port that frames leave by.
func (h Hop) out(next []Hop) []point {
	var ps []point
	if !h.Bypass {
		ps = append(ps, point{views: views(h.Where, "qdisc.drops")})
	}
	for _, names := range outPoints(h.Driver) {
		ps = append(ps, point{views: views(h.Where, names...)})
	}
	last := &ps[len(ps)-1]
	if h.Retried > 0 {
		switch h.Driver {
		case "veth", "tun": // veth_xmit, tun_net_xmit: each refusal is a drop
			last.less = h.Retried
		default: // mostly says that it is busy, which nobody counts
			last.doubtful = true
		}
	}
	switch {
	case h.Driver == "veth" && h.Redirected: // tx_dropped has the stack's frames too
		last.views, last.also = views(h.Where, xmitErrors), last.views
	case h.Driver == "veth":
		last.also = views(h.Where, xmitErrors)
	}
	if h.Joined && len(next) > 0 {
		last.also = append(last.also, View{next[0].Where, "rx_dropped"}, backlog)
	}
	return ps
}

// in returns the points of a port that frames come in by. The last is
// rx_dropped.
func (h Hop) in(before, next []Hop) []point {
	var ps []point
	if h.Driver == "veth" && !h.Metered {
		ps = append(ps, point{views: views(h.Where, xdpDrops)})
	}
	for _, names := range inPoints(h.Driver) {
		ps = append(ps, point{views: views(h.Where, names...)})
	}
	last := &ps[len(ps)-1]
	if n := len(before); n > 0 && before[n-1].Joined {
		last.other = View{before[n-1].Where, "tx_dropped"}
	} else {
		last.also = []View{backlog}
	}
	// The network stack counts in rx_dropped what nobody wants
	// (__netif_receive_skb_core of net/core/dev.c), such as frames with two VLAN
	// tags; the receiver has taken them before.
	last.doubtful = len(next) > 0 && next[0].Kind == Ring
	return ps
}

func views(where string, counters ...string) []View {
	vs := make([]View, len(counters))
	for i, c := range counters {
		vs[i] = View{where, c}
	}
	return vs
}

// RingDrops is the counter of frames that found no room in the receiver's own
// ring: tp_drops of PACKET_STATISTICS (packet(7)).
const RingDrops = "PACKET_STATISTICS.tp_drops"

// Counters of drivers' queues, those of all queues together.
const (
	// xmitErrors counts redirected frames that found the other end's ring full:
	// veth counts them in tx_dropped too (veth_xdp_xmit of drivers/net/veth.c).
	xmitErrors = "tx_queue_N_xdp_xmit_errors"
	// xdpDrops counts what an XDP program on the port dropped.
	xdpDrops = "rx_queue_N_xdp_drops"
)

// outPoints returns the loss points of a driver's port that frames leave by.
// The last is tx_dropped.
func outPoints(driver string) [][]string {
	switch driver {
	case "veth": // drivers/net/veth.c: no other counter
		return [][]string{{"tx_dropped"}}
	}
	// Documentation/networking/statistics.rst: tx_errors sums the rarer ones.
	return [][]string{{"tx_errors", "tx_fifo_errors", "tx_aborted_errors", "tx_carrier_errors"}, {"tx_dropped"}}
}

// inPoints returns the loss points of a driver's port that frames come in by.
// The last is rx_dropped.
func inPoints(driver string) [][]string {
	switch driver {
	case "veth":
		return [][]string{{"rx_dropped"}}
	case "igc", "igb":
		// MPC (no room in the FIFO) is rx_missed_errors; RQDPC (queue without
		// descriptors) is rx_fifo_errors: different events. RNBC,
		// rx_no_buffer_count, is none: such a frame may still be stored
		// (igc_main.c, igc_update_stats).
		return [][]string{{"rx_missed_errors"}, {"rx_fifo_errors"}, {"rx_errors", "rx_crc_errors"}, {"rx_dropped"}}
	case "tulip":
		// CSR8 is rx_missed_errors; rx_errors has all bad frames, the
		// overflowed ones among them (tulip/interrupt.c).
		return [][]string{{"rx_missed_errors"}, {"rx_errors", "rx_fifo_errors", "rx_length_errors"}, {"rx_dropped"}}
	}
	return [][]string{
		{"rx_missed_errors", "rx_fifo_errors", "rx_over_errors"},
		{"rx_errors", "rx_crc_errors", "rx_frame_errors", "rx_length_errors"},
		{"rx_dropped"},
	}
}

// forwardPoints are the discards of the IP layer (RFC 4293). Each datagram is
// counted in one of them, but for one that is too long for IPv6: in two
// (ip6_forward of net/ipv6/ip6_output.c).
var forwardPoints = [][]string{
	{"Ip.InHdrErrors"}, {"Ip.InAddrErrors"}, {"Ip.InDiscards"}, {"Ip.OutNoRoutes"}, {"Ip.OutDiscards"}, {"Ip.FragFails"},
	{"IpExt.InNoRoutes"}, {"IpExt.InTruncatedPkts"},
	{"Ip6.InHdrErrors"}, {"Ip6.InAddrErrors"}, {"Ip6.InDiscards"}, {"Ip6.InNoRoutes"}, {"Ip6.OutNoRoutes"}, {"Ip6.OutDiscards"},
	{"Ip6.InTooBigErrors", "Ip6.FragFails"}, {"Ip6.InTruncatedPkts"},
}

// backlog is the drops of all CPUs' backlogs (cpuN.dropped of the softnet probe
// together). They are the whole machine's, so they can confirm a loss that a
// port counts (rx_dropped, in enqueue_to_backlog of net/core/dev.c) but are
// never summed themselves.
var backlog = View{"softnet", "dropped"}
