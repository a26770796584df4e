package port

import (
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
)

// NextHop returns the router that this machine would send to out of the port, and
// its MAC address: the first gateway of the routes there whose address is in the
// neighbour table (ip-route(8), ip-neighbour(8)). It asks nobody on the wire; ok is
// false where the machine knows of none.
func (p *Port) NextHop() (mac net.HardwareAddr, router netip.Addr, ok bool, err error) {
	err = p.NS.Do(func() error {
		link, err := netlink.LinkByIndex(p.Index)
		if err != nil {
			return err
		}
		for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
			routes, err := netlink.RouteList(link, family)
			if err != nil {
				return err
			}
			neighbours, err := netlink.NeighList(p.Index, family)
			if err != nil {
				return err
			}
			for _, r := range routes {
				for _, n := range neighbours {
					if r.Gw != nil && r.Gw.Equal(n.IP) && len(n.HardwareAddr) == 6 {
						router, _ = netip.AddrFromSlice(n.IP)
						mac, router, ok = n.HardwareAddr, router.Unmap(), true
						return nil
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		err = p.Ref.Explain(err, "CAP_SYS_ADMIN")
	}
	return mac, router, ok, err
}
