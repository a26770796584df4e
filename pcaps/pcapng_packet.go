package pcaps

import (
	"fmt"
	"math/bits"
)

// described returns what the section says of interface n.
func (d *ngDecoder) described(n uint32) (*ngDescribed, error) {
	if uint64(n) >= uint64(len(d.interfaces)) {
		return nil, d.fail(fmt.Errorf("frame of interface %d, of which the section has %d", n, len(d.interfaces)))
	}
	return &d.interfaces[n], nil
}

// packet reads an enhanced packet block, or the obsolete packet block, which has
// 16 bits of the interface's number and 16 of a drop counter in its place:
//
//	interface 4 │ time stamp 8, high half first │ captured 4 │ length 4 │ captured bytes, padded to 4 │ options
func (d *ngDecoder) packet(rec *Record, typ, total uint32) error {
	d.frame()
	b, err := d.body(total, 20)
	if err != nil {
		return err
	}
	h := (*[20]byte)(b)
	n, high, low, have, length := le.Uint32(h[0:]), le.Uint32(h[4:]), le.Uint32(h[8:]), le.Uint32(h[12:]), le.Uint32(h[16:])
	if d.big {
		n, high, low = bits.ReverseBytes32(n), bits.ReverseBytes32(high), bits.ReverseBytes32(low)
		have, length = bits.ReverseBytes32(have), bits.ReverseBytes32(length)
	}
	if typ == ngPacket {
		n = uint32(d.u16(b))
	}
	i, err := d.described(n)
	if err != nil {
		return err
	}
	believe := int(have)
	if have > length || have > MaxFrame || length > maxLength {
		if believe, err = d.doubt(have, length); err != nil {
			return err
		}
	}
	b = b[20:]
	if int(have) > len(b) {
		return d.fail(fmt.Errorf("frame of %d captured bytes in a block with room for %d", have, len(b)))
	}
	d.take(int(total))
	rec.Data, rec.Len, rec.LinkType, rec.Interface = b[:believe:believe], int(length), i.link, int(n)
	rec.Time, rec.Clock = i.clock.time(uint64(high)<<32 | uint64(low))
	fcs := i.fcs
	if options := (int(have) + 3) &^ 3; options < len(b) {
		fcs = d.flagged(b[options:], fcs)
	}
	if fcs > 0 {
		rec.dropFCS(fcs)
	}
	return nil
}

// flagged returns how many bytes of FCS the flags of a packet name (option 2,
// bits 5 to 8; 0: not known), or else otherwise. Options that are broken are
// passed over: the frame stands in front of them.
func (d *ngDecoder) flagged(options []byte, otherwise int) int {
	for len(options) >= 4 {
		code, n := d.u16(options), int(d.u16(options[2:]))
		if code == 0 || n > len(options)-4 {
			break
		}
		if code == 2 && n == 4 {
			if fcs := d.u32(options[4:]) >> 5 & 15; fcs > 0 {
				return int(fcs)
			}
			break
		}
		options = options[min(4+(n+3)&^3, len(options)):]
	}
	return otherwise
}

// simple reads a simple packet block: a frame of interface 0 without a time,
// captured up to the interface's snap length.
//
//	length 4 │ captured bytes, padded to 4
func (d *ngDecoder) simple(rec *Record, total uint32) error {
	d.frame()
	b, err := d.body(total, 4)
	if err != nil {
		return err
	}
	i, err := d.described(0)
	if err != nil {
		return err
	}
	length := d.u32(b)
	have := length
	if i.snap > 0 {
		have = min(have, i.snap)
	}
	if _, err := d.doubt(have, length); err != nil {
		return err
	}
	if int(have) > len(b)-4 {
		return d.fail(fmt.Errorf("frame of %d captured bytes in a block with room for %d", have, len(b)-4))
	}
	d.take(int(total))
	end := 4 + int(have)
	rec.Data, rec.Len, rec.LinkType, rec.Clock = b[4:end:end], int(length), i.link, ClockNone
	if i.fcs > 0 {
		rec.dropFCS(i.fcs)
	}
	return nil
}
