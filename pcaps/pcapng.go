package pcaps

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Block types of pcapng (draft-ietf-opsawg-pcapng) that matter here.
const (
	ngSection   = 0x0a0d0d0a
	ngInterface = 1
	ngPacket    = 2 // obsolete
	ngSimple    = 3
	ngEnhanced  = 6
)

// maxBlock is the longest block that pcapgo is given, in bytes: a frame and its
// options.
const maxBlock = maxFrame + 1<<16

// ngCutter cuts a pcapng file:
//
//	type 4 │ total length 4 │ body, padded to 4 ... │ total length 4
//
// Only section headers, interface descriptions and packets are passed on.
// Nothing else changes what a frame is.
type ngCutter struct {
	*cutter
	order      binary.ByteOrder
	interfaces []ngInterfaceInfo // of the section
}

type ngInterfaceInfo struct {
	link   LinkType
	second uint64 // units of a time stamp in a second
	offset int64  // seconds
}

func (c *ngCutter) block() error {
	for {
		c.buf, c.offset, c.record = c.buf[:0], c.end, false
		h, err := c.take(8)
		if err != nil {
			return err
		}
		if binary.BigEndian.Uint32(h) == ngSection {
			return c.section()
		}
		if c.order == nil {
			return c.fail(errors.New("block before the first section header"))
		}
		typ, total := c.order.Uint32(h), c.order.Uint32(h[4:])
		if total < 12 || total%4 != 0 {
			return c.fail(fmt.Errorf("block of type %d with a total length of %d bytes, need a multiple of 4 from 12 on", typ, total))
		}
		switch typ {
		case ngInterface:
			return c.describe(total)
		case ngEnhanced, ngPacket:
			c.frame()
			return c.packet(typ, total)
		case ngSimple:
			c.frame()
			return c.fail(fmt.Errorf("%w: simple packet block, which has no time stamp", ErrUnsupported))
		}
		if err := c.drop(int64(total) - 8); err != nil {
			return err
		}
	}
}

// body reads the rest of a block and returns what is between its lengths.
func (c *ngCutter) body(total uint32, least int) ([]byte, error) {
	if total > maxBlock || int(total) < least+12 {
		return nil, c.fail(fmt.Errorf("block of %d bytes, need %d to %d", total, least+12, maxBlock))
	}
	if _, err := c.take(int(total) - len(c.buf)); err != nil {
		return nil, err
	}
	if again := c.order.Uint32(c.buf[total-4:]); again != total {
		return nil, c.fail(fmt.Errorf("block that gives its length as %d at its beginning and %d at its end", total, again))
	}
	return c.buf[8 : total-4], nil
}

// section reads a section header: byte order, version, section length, options.
func (c *ngCutter) section() error {
	if _, err := c.take(4); err != nil {
		return err
	}
	switch binary.BigEndian.Uint32(c.buf[8:]) {
	case 0x1a2b3c4d:
		c.order = binary.BigEndian
	case 0x4d3c2b1a:
		c.order = binary.LittleEndian
	default:
		return c.fail(fmt.Errorf("section header whose byte order reads %x", c.buf[8:12]))
	}
	b, err := c.body(c.order.Uint32(c.buf[4:]), 16)
	if err != nil {
		return err
	}
	if major, minor := c.order.Uint16(b[4:]), c.order.Uint16(b[6:]); major != 1 || minor != 0 {
		return c.fail(fmt.Errorf("%w: pcapng version %d.%d, need 1.0; convert it with editcap -F pcap", ErrUnsupported, major, minor))
	}
	c.interfaces = c.interfaces[:0]
	return c.options(b[16:], func(uint16, []byte) error { return nil })
}

// describe reads an interface description: link type, snap length, options.
func (c *ngCutter) describe(total uint32) error {
	b, err := c.body(total, 8)
	if err != nil {
		return err
	}
	info := ngInterfaceInfo{link: LinkType(c.order.Uint16(b)), second: 1e6}
	err = c.options(b[8:], func(code uint16, value []byte) error {
		switch {
		case code == 9 && len(value) == 1: // if_tsresol
			n := value[0]
			if n == 0 || n > 19 { // 10^19 is the last power in 64 bits; pcapgo takes 0 for 6
				return fmt.Errorf("%w: time stamp resolution 0x%02x, need 10^-1 to 10^-19 of a second", ErrUnsupported, n)
			}
			info.second = 1
			for range n {
				info.second *= 10
			}
		case code == 14 && len(value) == 8: // if_tsoffset
			info.offset = int64(c.order.Uint64(value))
		case code == 13 && len(value) == 1 && value[0] > 0: // if_fcslen
			return fmt.Errorf("%w: frames that carry their FCS (%d bits); cut it off with editcap -C -%d", ErrUnsupported, value[0], value[0]/8)
		case code == 9 || code == 14:
			return fmt.Errorf("interface option %d with %d bytes", code, len(value))
		}
		return nil
	})
	c.interfaces = append(c.interfaces, info)
	return err
}

// packet reads a block with a frame.
func (c *ngCutter) packet(typ, total uint32) error {
	b, err := c.body(total, 20)
	if err != nil {
		return err
	}
	n := c.order.Uint32(b)
	if typ == ngPacket {
		n = uint32(c.order.Uint16(b))
	}
	if uint64(n) >= uint64(len(c.interfaces)) {
		return c.fail(fmt.Errorf("frame of interface %d, of which the section has %d", n, len(c.interfaces)))
	}
	info := c.interfaces[n]
	c.link = info.link
	stamp := uint64(c.order.Uint32(b[4:]))<<32 | uint64(c.order.Uint32(b[8:]))
	const last = (1<<63 - 1) / 1_000_000_000 // the second at which ns overflow
	if s := int64(stamp/info.second) + info.offset; s < 0 || s >= last || info.offset > last || info.offset < -last {
		return c.fail(errors.New("time stamp outside of the years 1970 to 2262"))
	}
	have := c.order.Uint32(b[12:])
	if err := c.lengths(have, c.order.Uint32(b[16:])); err != nil {
		return err
	}
	if int(have) > len(b)-20 {
		return c.fail(fmt.Errorf("frame of %d captured bytes in a block with room for %d", have, len(b)-20))
	}
	return nil
}

// options walks the options of a block: code 2, length 2, value padded to 4.
func (c *ngCutter) options(b []byte, visit func(code uint16, value []byte) error) error {
	for len(b) > 0 {
		if len(b) < 4 {
			return c.fail(fmt.Errorf("option cut short: %d bytes", len(b)))
		}
		code, n := c.order.Uint16(b), int(c.order.Uint16(b[2:]))
		if code == 0 {
			return nil
		}
		padded := (n + 3) &^ 3
		if b = b[4:]; padded > len(b) || padded > 0xffff { // pcapgo adds them in 16 bits
			return c.fail(fmt.Errorf("option %d of %d bytes in a block with %d left", code, n, len(b)))
		}
		if err := visit(code, b[:n]); err != nil {
			return c.fail(err)
		}
		b = b[padded:]
	}
	return nil
}
