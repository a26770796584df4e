package live

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"

	"squall/internal/netns"
	"squall/internal/port"
)

// PreparePeer has the other end of a veth port receive by NAPI, so that frames
// sent by this engine arrive there, and returns what undoes it; nil where there
// was nothing to do. Until then such frames are lost, and no counter says so.
//
// It attaches an XDP program there that lets all pass. The kernel takes that away
// with the process, however it ends, and unlike generic receive offload it merges
// no segments. Whoever attaches a program of his own there (the XDP meter) needs
// none of this, and finds the place taken after it.
//
// The other end is looked for in the port's namespace, in those of among, in this
// process's own and in the named ones.
func PreparePeer(p *port.Port, among ...*netns.NS) (restore func() error, err error) {
	i, err := p.Inspect()
	if err != nil {
		return nil, err
	}
	if i.XDP.Xmit || i.Kind != "veth" {
		return nil, nil
	}
	peer, err := findPeer(p, among)
	if err != nil {
		return nil, p.Ref.Explain(err, capabilities)
	}
	l, err := peer.attach()
	if err != nil {
		return nil, p.Ref.Explain(fmt.Errorf("%w: XDP program for its other end %q: %w", errNAPI, peer.label, err), capabilities)
	}
	if i, err = p.Inspect(); err == nil && !i.XDP.Xmit {
		err = p.Ref.Explain(fmt.Errorf("%w (an XDP program on %q did not do)", errNAPI, peer.label), capabilities)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l.Close, nil
}

// peer is the other end of a veth.
type peer struct {
	ns    *netns.NS
	index int
	label string
}

func (e peer) attach() (link.Link, error) {
	defer e.ns.Close()
	return attachPass(e.ns, e.index)
}

// findPeer finds the other end of a veth. The kernel says its index, and which
// namespace that is valid in: as a number that the port's own namespace has for
// it (rtnetlink(7), IFLA_LINK_NETNSID), or none where it is the same.
func findPeer(p *port.Port, among []*netns.NS) (peer, error) {
	var index, id int
	err := p.NS.Do(func() error {
		l, err := netlink.LinkByIndex(p.Index)
		if err != nil {
			return err
		}
		index, id = l.Attrs().ParentIndex, l.Attrs().NetNsID
		return nil
	})
	if err != nil {
		return peer{}, err
	}
	if id < 0 {
		among = []*netns.NS{p.NS}
	} else {
		own, err := netns.Current()
		if err != nil {
			return peer{}, err
		}
		defer own.Close()
		among = append(among[:len(among):len(among)], own)
		named, err := filepath.Glob(filepath.Join(netns.Dir, "*"))
		if err != nil {
			return peer{}, err
		}
		for _, path := range named {
			ns, err := netns.Open(path)
			if err != nil {
				continue // gone since, or a leftover that is no namespace
			}
			defer ns.Close()
			among = append(among, ns)
		}
	}
	for _, ns := range among {
		if id >= 0 && !is(p.NS, ns, id) {
			continue
		}
		e := peer{index: index}
		err := ns.Do(func() error {
			l, err := netlink.LinkByIndex(index)
			if err == nil {
				e.label = ns.Label(l.Attrs().Name)
			}
			return err
		})
		if err != nil {
			return peer{}, fmt.Errorf("other end of the veth: %w", err)
		}
		e.ns, err = ns.Clone()
		return e, err
	}
	return peer{}, fmt.Errorf("%w; the namespace of that end is none of those looked into", errNAPI)
}

// is reports whether from calls the namespace ns by the number id.
func is(from, ns *netns.NS, id int) bool {
	have := -1
	err := from.Do(func() (err error) {
		have, err = netlink.GetNetNsIdByFd(ns.FD())
		return err
	})
	return err == nil && have == id
}
