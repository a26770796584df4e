package pcaps

import (
	"encoding/binary"
	"fmt"
)

// First four bytes of a pcap file, read as big endian.
const (
	pcapMicros       = 0xa1b2c3d4
	pcapNanos        = 0xa1b23c4d
	pcapMicrosLittle = 0xd4c3b2a1
	pcapNanosLittle  = 0x4d3cb2a1
)

// pcapCutter cuts a pcap file (draft-ietf-opsawg-pcap):
//
//	header  magic 4 │ major 2 │ minor 2 │ reserved 8 │ snap length 4 │ FCS 4 bits, 0 │ link type 16 bits
//	record  seconds 4 │ fraction 4 │ captured 4 │ length 4 │ captured bytes ...
type pcapCutter struct {
	*cutter
	order  binary.ByteOrder
	second uint32 // units of the fraction in a second
}

func (c *pcapCutter) header() error {
	h, err := c.take(24)
	if err != nil {
		return err
	}
	magic := binary.BigEndian.Uint32(h)
	c.order, c.second = binary.BigEndian, 1e6
	if magic == pcapMicrosLittle || magic == pcapNanosLittle {
		c.order = binary.LittleEndian
	}
	if magic == pcapNanos || magic == pcapNanosLittle {
		c.second = 1e9
	}
	if major, minor := c.order.Uint16(h[4:]), c.order.Uint16(h[6:]); major != 2 || minor != 4 {
		// In 2.2 and before, and in some of 2.3, the two lengths of a record
		// changed places (libpcap, sf-pcap.c).
		return c.fail(fmt.Errorf("%w: pcap version %d.%d, need 2.4; convert it with tcpdump -r OLD -w NEW", ErrUnsupported, major, minor))
	}
	network := c.order.Uint32(h[20:])
	if fcs := network >> 28 * 2; network&(1<<26) != 0 && fcs > 0 {
		return c.fail(fmt.Errorf("%w: frames that carry their FCS (%d bytes); cut it off with editcap -C -%d", ErrUnsupported, fcs, fcs))
	}
	c.link = LinkType(network)
	c.next = c.frameRecord
	return nil
}

func (c *pcapCutter) frameRecord() error {
	h, err := c.take(16)
	if err != nil {
		return err
	}
	c.frame()
	if fraction := c.order.Uint32(h[4:]); fraction >= c.second {
		return c.fail(fmt.Errorf("time stamp with %d of %d parts of a second", fraction, c.second))
	}
	have := c.order.Uint32(h[8:])
	if err := c.lengths(have, c.order.Uint32(h[12:])); err != nil {
		return err
	}
	_, err = c.take(int(have))
	return err
}
