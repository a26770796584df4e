package port

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// XDP is what a driver can do with XDP programs, from the netdev family of
// generic netlink (Linux 6.3, Documentation/netlink/specs/netdev.yaml).
type XDP struct {
	Known    bool // the kernel answers such questions
	Basic    bool // native programs, with XDP_PASS, DROP, TX and ABORTED
	Redirect bool // XDP_REDIRECT
	Xmit     bool // takes frames redirected to it; some drivers only while a program is attached
	ZeroCopy bool // AF_XDP without copies
	Frags    bool // frames of several buffers
}

// netdev is the family, as in include/uapi/linux/netdev.h.
type netdev struct{ family uint16 }

const (
	netdevDevGet = 1 // NETDEV_CMD_DEV_GET

	netdevIfindex  = 1 // NETDEV_A_DEV_IFINDEX
	netdevFeatures = 3 // NETDEV_A_DEV_XDP_FEATURES, 64 bits

	netdevBasic    = 1 << 0
	netdevRedirect = 1 << 1
	netdevXmit     = 1 << 2
	netdevZeroCopy = 1 << 3
	netdevFrags    = 1 << 5 // NETDEV_XDP_ACT_RX_SG
)

// genlHeader is struct genlmsghdr: command, version and two reserved bytes, which
// the kernel wants to be 0 in this family. (nl.Genlmsg has only the first two and
// sends whatever lies behind them.)
type genlHeader [nl.SizeofGenlmsg]byte

func (h genlHeader) Len() int          { return len(h) }
func (h genlHeader) Serialize() []byte { return h[:] }

// findNetdev looks the family up; an older kernel has none.
func findNetdev() (netdev, error) {
	f, err := netlink.GenlFamilyGet("netdev")
	if errors.Is(err, unix.ENOENT) {
		return netdev{}, nil
	}
	if err != nil {
		return netdev{}, fmt.Errorf("netdev netlink family: %w", err)
	}
	return netdev{family: f.ID}, nil
}

// xdp asks about an interface of the calling thread's namespace. (One at a time:
// in a dump of this family the messages are not marked as parts of one, and the
// netlink library stops after the first.)
func (d netdev) xdp(index int) (XDP, error) {
	if d.family == 0 {
		return XDP{}, nil
	}
	req := nl.NewNetlinkRequest(int(d.family), 0)
	req.AddData(genlHeader{netdevDevGet, 1})
	req.AddData(nl.NewRtAttr(netdevIfindex, nl.Uint32Attr(uint32(index))))
	msgs, err := req.Execute(unix.NETLINK_GENERIC, 0)
	if err != nil {
		return XDP{}, fmt.Errorf("XDP features: %w", err)
	}
	if len(msgs) != 1 || len(msgs[0]) < nl.SizeofGenlmsg {
		return XDP{}, fmt.Errorf("XDP features: have %d messages, need 1", len(msgs))
	}
	attrs, err := nl.ParseRouteAttr(msgs[0][nl.SizeofGenlmsg:])
	if err != nil {
		return XDP{}, fmt.Errorf("XDP features: %w", err)
	}
	for _, a := range attrs {
		if a.Attr.Type != netdevFeatures || len(a.Value) != 8 {
			continue
		}
		f := binary.NativeEndian.Uint64(a.Value)
		return XDP{
			Known:    true,
			Basic:    f&netdevBasic != 0,
			Redirect: f&netdevRedirect != 0,
			Xmit:     f&netdevXmit != 0,
			ZeroCopy: f&netdevZeroCopy != 0,
			Frags:    f&netdevFrags != 0,
		}, nil
	}
	return XDP{}, nil
}
