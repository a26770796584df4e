package fit

import (
	"encoding/binary"

	"squall/internal/wire"
)

// Truncate adds to dst the frame without what is too long. The lengths of IP,
// UDP and GTP-U headers, within tunnels too, say what is left, and every
// checksum is that of what is left (a UDP checksum of 0 stays). So it is a sound
// datagram with a shorter payload, where the cut does not go through a header;
// TCP sees bytes missing.
//
// Of fragments only the IP length is changed: the headers of the datagram are
// about all of it. One that others follow is cut to a multiple of 8 bytes. A
// frame without IP is cut as it is; an IEEE 802.3 length is set to what is left.
//
// Errors: ErrNoRoom where the IP header does not fit.
func (l Limit) Truncate(dst *Frames, frame []byte) error {
	at := wire.Parse(frame)
	n := min(l.Longest(frame), len(frame))
	var stack wire.Stack
	stack.Walk(frame)
	if at.IP() {
		if n < at.L4 {
			return ErrNoRoom
		}
		if stack.Heads()[1].More && n < at.End {
			n = at.L4 + (n-at.L4)&^7
		}
	}
	if n < at.L3 {
		return ErrNoRoom
	}
	f := dst.add(frame[:n])
	if at.EtherType <= 1500 && int(at.EtherType) > n-at.L3 {
		binary.BigEndian.PutUint16(f[at.L3-2:], uint16(n-at.L3))
	}
	stack.Walk(f)
	for _, h := range stack.Heads() {
		if h.Quoted { // shorter than it says by nature
			break
		}
		switch h.Kind {
		case wire.KindIPv4:
			shorten(f, h, h.At+2, 0)
		case wire.KindIPv6:
			shorten(f, h, h.At+4, 40)
		case wire.KindUDP:
			if h.End-h.At >= 8 {
				shorten(f, h, h.At+4, 0)
			}
		case wire.KindGTPU:
			shorten(f, h, h.At+2, 8)
		}
		if h.Fragment {
			break
		}
	}
	stack.Walk(f)
	stack.Settle(true)
	return nil
}

// shorten sets a length field at an offset to what the header h has, less
// without, if it says more, or 0 as captured before segmentation.
func shorten(f []byte, h wire.Head, at, without int) {
	n := min(h.End-h.At-without, 65535)
	if v := int(binary.BigEndian.Uint16(f[at:])); v == 0 || v > n {
		binary.BigEndian.PutUint16(f[at:], uint16(n))
	}
}
