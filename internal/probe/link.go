package probe

import (
	"encoding/binary"
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"squall/internal/netns"
)

// Link reads the kernel's statistics of a port, struct rtnl_link_stats64 of
// include/uapi/linux/if_link.h: the numbers under /sys/class/net/IFACE/statistics,
// by the same names, for any namespace and in one piece. With them come the
// levels carrier (1 up) and operstate (RFC 2863, 6 is up) and the counters
// carrier_changes, carrier_up_count and carrier_down_count.
//
// What the counters mean is the driver's choice within
// Documentation/networking/statistics.rst; rx_dropped also holds frames that
// the stack refused after the driver handed them up.
type Link struct {
	NS    *netns.NS
	Iface string
}

// Name returns "link" and the port.
func (l Link) Name() string { return "link " + l.NS.Label(l.Iface) }

// linkStats are the fields of struct rtnl_link_stats64 in order. Older kernels
// send fewer, newer ones append.
var linkStats = [...]string{
	"rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "rx_errors", "tx_errors", "rx_dropped", "tx_dropped",
	"multicast", "collisions",
	"rx_length_errors", "rx_over_errors", "rx_crc_errors", "rx_frame_errors", "rx_fifo_errors", "rx_missed_errors",
	"tx_aborted_errors", "tx_carrier_errors", "tx_fifo_errors", "tx_heartbeat_errors", "tx_window_errors",
	"rx_compressed", "tx_compressed", "rx_nohandler", "rx_otherhost_dropped",
}

// Attributes of if_link.h that x/sys/unix names, with ours.
var linkAttrs = map[uint16]Counter{
	unix.IFLA_CARRIER:            {Name: "carrier", Level: true},
	unix.IFLA_OPERSTATE:          {Name: "operstate", Level: true},
	unix.IFLA_CARRIER_CHANGES:    {Name: "carrier_changes", Bits: 32},
	unix.IFLA_CARRIER_UP_COUNT:   {Name: "carrier_up_count", Bits: 32},
	unix.IFLA_CARRIER_DOWN_COUNT: {Name: "carrier_down_count", Bits: 32},
}

// Read asks for the statistics by RTM_GETLINK (rtnetlink(7)).
func (l Link) Read() (Reading, error) {
	var r Reading
	err := l.NS.Do(func() error {
		_, msg, err := getLink(l.Iface)
		if err != nil {
			return err
		}
		r.Counters, err = parseLink(l.NS.Label(l.Iface), msg)
		r.At = now()
		return err
	})
	if err != nil {
		return Reading{}, fmt.Errorf("%s: %w", l.Name(), err)
	}
	return r, nil
}

func parseLink(where string, attrs []byte) ([]Counter, error) {
	list, err := nl.ParseRouteAttr(attrs)
	if err != nil {
		return nil, err
	}
	var counters []Counter
	for _, a := range list {
		if a.Attr.Type == unix.IFLA_STATS64 {
			for i := 0; i < len(linkStats) && len(a.Value) >= 8*(i+1); i++ {
				v := binary.NativeEndian.Uint64(a.Value[8*i:])
				counters = append(counters, Counter{Where: where, Name: linkStats[i], Value: v, Bits: 64})
			}
			continue
		}
		c, ok := linkAttrs[a.Attr.Type]
		if !ok {
			continue
		}
		c.Where = where
		switch len(a.Value) {
		case 1:
			c.Value = uint64(a.Value[0])
		case 4:
			c.Value = uint64(binary.NativeEndian.Uint32(a.Value))
		default:
			return nil, fmt.Errorf("%s: %d bytes, need 1 or 4", c.Name, len(a.Value))
		}
		counters = append(counters, c)
	}
	return counters, nil
}

// getLink returns the index of an interface of the calling thread's namespace
// and the attributes of its RTM_NEWLINK.
func getLink(iface string) (index int32, attrs []byte, err error) {
	if iface == "" || len(iface) >= unix.IFNAMSIZ {
		return 0, nil, fmt.Errorf("interface name %q: have %d bytes, need 1 to %d", iface, len(iface), unix.IFNAMSIZ-1)
	}
	req := nl.NewNetlinkRequest(unix.RTM_GETLINK, 0)
	req.AddData(nl.NewIfInfomsg(unix.AF_UNSPEC))
	req.AddData(nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(iface)))
	msgs, err := req.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWLINK)
	if err != nil {
		return 0, nil, err
	}
	if len(msgs) != 1 || len(msgs[0]) < unix.SizeofIfInfomsg {
		return 0, nil, fmt.Errorf("answer to RTM_GETLINK: have %d messages, need 1", len(msgs))
	}
	msg := msgs[0]
	return int32(binary.NativeEndian.Uint32(msg[4:])), msg[unix.SizeofIfInfomsg:], nil // struct ifinfomsg: ifi_index at 4
}
