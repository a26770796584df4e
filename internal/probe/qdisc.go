package probe

import (
	"encoding/binary"
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"squall/internal/netns"
)

// Qdisc reads the queueing disciplines of a port, as tc -s qdisc shows them.
// Those of the root are named qdisc.packets, qdisc.bytes, qdisc.drops,
// qdisc.overlimits, qdisc.requeues and, as levels, qdisc.qlen and
// qdisc.backlog (bytes). Bytes are without FCS. Any other discipline of the
// port has kind and handle in the name: qdisc[bfifo 10:].drops.
//
// Sum the drops of the root, and of ingress or clsact, which stand on the way
// in: a drop in a child is counted in each of its ancestors too, in the
// enqueue functions (net/sched/sch_tbf.c, sch_htb.c), in
// qdisc_tree_reduce_backlog for drops after enqueueing, and in mq_dump for
// the queues under mq. Child drops are views.
//
// packets and bytes count what left the queue, not what entered
// (qdisc_bstats_update in dequeue); frames sent with PACKET_QDISC_BYPASS pass
// no qdisc and are in none of these.
type Qdisc struct {
	NS    *netns.NS
	Iface string
}

// Name returns "qdisc" and the port.
func (q Qdisc) Name() string { return "qdisc " + q.NS.Label(q.Iface) }

// Read asks for the port's qdiscs by RTM_GETQDISC (rtnetlink(7)).
func (q Qdisc) Read() (Reading, error) {
	var r Reading
	err := q.NS.Do(func() error {
		index, _, err := getLink(q.Iface)
		if err != nil {
			return err
		}
		req := nl.NewNetlinkRequest(unix.RTM_GETQDISC, unix.NLM_F_DUMP)
		req.AddData(&nl.TcMsg{Family: unix.AF_UNSPEC, Ifindex: index})
		msgs, err := req.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWQDISC)
		if err != nil {
			return err
		}
		for _, msg := range msgs {
			// The kernel dumps the qdiscs of all links.
			if len(msg) < nl.SizeofTcMsg || nl.DeserializeTcMsg(msg).Ifindex != index {
				continue
			}
			counters, err := parseQdisc(q.NS.Label(q.Iface), msg)
			if err != nil {
				return err
			}
			r.Counters = append(r.Counters, counters...)
		}
		r.At = now()
		return nil
	})
	if err != nil {
		return Reading{}, fmt.Errorf("%s: %w", q.Name(), err)
	}
	return r, nil
}

// TCA_STATS_PKT64 of include/uapi/linux/gen_stats.h: the packets in 64 bits,
// sent only where 32 do not hold them.
const statsPkt64 = 8

// parseQdisc reads TCA_STATS2, since the older TCA_STATS has no requeues.
func parseQdisc(where string, msg []byte) ([]Counter, error) {
	tcm := nl.DeserializeTcMsg(msg)
	attrs, err := nl.ParseRouteAttr(msg[nl.SizeofTcMsg:])
	if err != nil {
		return nil, err
	}
	var kind string
	var stats []byte
	for _, a := range attrs {
		switch a.Attr.Type &^ unix.NLA_F_NESTED {
		case nl.TCA_KIND:
			kind = nl.BytesToString(a.Value)
		case nl.TCA_STATS2:
			stats = a.Value
		}
	}
	prefix := "qdisc."
	if tcm.Parent != netlink.HANDLE_ROOT {
		prefix = fmt.Sprintf("qdisc[%s %x:].", kind, tcm.Handle>>16)
	}
	attrs, err = nl.ParseRouteAttr(stats)
	if err != nil {
		return nil, err
	}
	var packets, bytes Counter
	var queue []Counter
	for _, a := range attrs {
		v := a.Value
		switch {
		case a.Attr.Type == nl.TCA_STATS_BASIC && len(v) >= 12: // struct gnet_stats_basic
			bytes = Counter{Name: "bytes", Value: binary.NativeEndian.Uint64(v), Bits: 64}
			if packets.Bits == 0 {
				packets = Counter{Name: "packets", Value: uint64(binary.NativeEndian.Uint32(v[8:])), Bits: 64}
			}
		case a.Attr.Type == statsPkt64 && len(v) >= 8:
			packets = Counter{Name: "packets", Value: binary.NativeEndian.Uint64(v), Bits: 64}
		case a.Attr.Type == nl.TCA_STATS_QUEUE && len(v) >= 20: // struct gnet_stats_queue
			for i, c := range [...]Counter{
				{Name: "qlen", Level: true}, {Name: "backlog", Level: true},
				{Name: "drops", Bits: 32}, {Name: "requeues", Bits: 32}, {Name: "overlimits", Bits: 32},
			} {
				c.Value = uint64(binary.NativeEndian.Uint32(v[4*i:]))
				queue = append(queue, c)
			}
		}
	}
	var counters []Counter
	for _, c := range append([]Counter{packets, bytes}, queue...) {
		if c.Name != "" {
			c.Where, c.Name = where, prefix+c.Name
			counters = append(counters, c)
		}
	}
	return counters, nil
}
