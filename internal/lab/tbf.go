package lab

import (
	"fmt"
	"math"

	"github.com/vishvananda/netlink"
)

// TBF is a token bucket filter (tc-tbf(8)) on the router's out: frames leave
// at Rate, a Burst of them at once after a pause, and up to Limit bytes wait.
// What comes when the queue is full is dropped, counted by qdisc.drops. Bytes
// of a frame are counted without FCS.
//
// Time from empty to full under a steady storm: Limit / (storm - Rate).
type TBF struct {
	Rate  uint64 // bit/s; 0 for no limit
	Burst uint32 // bytes, at least a frame: MTU + 14
	Limit uint32 // bytes, at least a frame
}

func (t TBF) check(mtu int) error {
	if t.Rate == 0 {
		if t != (TBF{}) {
			return fmt.Errorf("tbf rate: have 0 with burst %d and limit %d, need a rate", t.Burst, t.Limit)
		}
		return nil
	}
	frame := uint32(mtu) + 14
	switch {
	case t.Rate < 8:
		return fmt.Errorf("tbf rate: have %d bit/s, need 8 or more", t.Rate)
	case t.Burst < frame:
		return fmt.Errorf("tbf burst: have %d bytes, need %d, a frame of the MTU", t.Burst, frame)
	case t.Limit < frame:
		return fmt.Errorf("tbf limit: have %d bytes, need %d, a frame of the MTU", t.Limit, frame)
	case t.ticks() > math.MaxUint32:
		return fmt.Errorf("tbf burst: have %d bytes, too much at %d bit/s", t.Burst, t.Rate)
	}
	return nil
}

// ticks is how long the burst takes at the rate, the form in which the kernel
// takes it, rounded up: netlink.Xmittime rounds down to a microsecond, which
// at 1 Gbit/s makes a burst of one frame too small for that frame.
func (t TBF) ticks() float64 {
	return math.Ceil(float64(t.Burst) * 8 / float64(t.Rate) * 1e6 * netlink.TickInUsec())
}

// SetTBF changes the limit, with frames under way too: the counters go on and
// the queue keeps its frames. A TBF without a rate removes it, and its counters
// and frames with it.
func (l *Lab) SetTBF(t TBF) error {
	if err := t.check(l.mtu); err != nil {
		return fmt.Errorf("%q: %w", l.Out.Label(), err)
	}
	err := l.r.Do(func() error {
		link, err := netlink.LinkByName(l.Out.Iface)
		if err != nil {
			return err
		}
		root := netlink.QdiscAttrs{
			LinkIndex: link.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT,
		}
		have, err := netlink.QdiscList(link)
		if err != nil {
			return err
		}
		set := false
		for _, q := range have {
			set = set || q.Type() == "tbf"
		}
		tbf := &netlink.Tbf{QdiscAttrs: root, Rate: t.Rate / 8, Limit: t.Limit, Buffer: uint32(t.ticks())}
		switch {
		case t.Rate == 0 && set:
			return netlink.QdiscDel(tbf)
		case t.Rate == 0:
			return nil
		case set:
			return netlink.QdiscChange(tbf)
		}
		return netlink.QdiscAdd(tbf)
	})
	if err != nil {
		return fmt.Errorf("tbf on %q: %w", l.Out.Label(), err)
	}
	return nil
}
