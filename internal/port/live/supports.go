package live

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"squall/internal/plan"
	"squall/internal/port"
	"squall/internal/wire"
)

// capabilities is what the engine needs (capabilities(7)): CAP_SYS_ADMIN for the
// namespace of the anchor.
const capabilities = "CAP_BPF, CAP_NET_ADMIN and CAP_SYS_ADMIN"

// errNAPI says what to do about a veth whose other end receives frame by frame.
var errNAPI = errors.New("the other end of the veth does not receive by NAPI, so that redirected frames would be lost uncounted: have it receive so (ethtool -K PEER gro on), or attach an XDP program there")

// Supports returns nil where this process could use the port with this engine,
// now and as far as can be told without trying, else why not.
//
// A veth port is supported once its other end receives by NAPI; PreparePeer sees
// to that.
func Supports(i port.Info) error {
	switch {
	case i.LinkType != "ether":
		return fmt.Errorf("link type %q, need Ethernet", i.LinkType)
	case !i.Up:
		return fmt.Errorf("%w: set it up with ip link", port.ErrLink)
	case !i.XDP.Known:
		return errors.New("the kernel does not say which drivers take redirected frames: need Linux 6.3")
	case !i.XDP.Xmit && i.Kind == "veth":
		return errNAPI
	case !i.XDP.Xmit && !i.XDP.Basic:
		return fmt.Errorf("driver %q takes no redirected frames (no ndo_xdp_xmit)", i.Driver)
	}
	return port.Capable(unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN, unix.CAP_BPF)
}

// Fits returns nil where the engine can send the plan on a port with the MTU,
// else why not.
func Fits(p *plan.Plan, mtu int) error {
	switch {
	case p.Script != nil:
		return errScript
	case p.Spooled():
		return errSpooled
	}
	// xdp_ok_fwd_dev of include/linux/filter.h grants one VLAN tag.
	if have, most := p.MaxLen(), mtu+wire.HeaderLen+4; have > most {
		return fmt.Errorf("frame size %d is above what the port takes: at most %d", have+wire.FCSLen, most+wire.FCSLen)
	}
	_, err := tabulate(p)
	return err
}

// errSpooled says why a plan larger than memory is not for this engine.
var errSpooled = errors.New("frames stand in a file, being more than --preload-limit: the program needs them all in the kernel's memory")

// errScript says why a plan with a script is not for this engine.
var errScript = errors.New("impaired frames: the program numbers frames as they leave, so none can be left out, doubled or moved")
