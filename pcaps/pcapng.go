package pcaps

import (
	"errors"
	"fmt"
	"math/bits"
)

// Block types of pcapng (draft-ietf-opsawg-pcapng) that matter here.
const (
	ngSection   = 0x0a0d0d0a
	ngInterface = 1
	ngPacket    = 2 // obsolete
	ngSimple    = 3
	ngEnhanced  = 6
)

// maxInterfaces is how many interfaces a section may describe: an obsolete
// packet block could name no more.
const maxInterfaces = 1 << 16

// ngDecoder reads a pcapng file:
//
//	type 4 │ total length 4 │ body, padded to 4 ... │ total length 4
//
// Section headers, interface descriptions and packets are read; nothing else
// changes what a frame is.
type ngDecoder struct {
	*window
	big        bool
	open       bool          // whether there was a section header
	interfaces []ngDescribed // of the section
}

// ngDescribed is what matters of an interface.
type ngDescribed struct {
	link  LinkType
	snap  uint32 // 0: none
	fcs   int    // bytes at the end of each frame
	clock ticks
}

func (d *ngDecoder) u16(b []byte) uint16 {
	v := le.Uint16(b)
	if d.big {
		v = bits.ReverseBytes16(v)
	}
	return v
}

func (d *ngDecoder) u32(b []byte) uint32 {
	v := le.Uint32(b)
	if d.big {
		v = bits.ReverseBytes32(v)
	}
	return v
}

func (d *ngDecoder) u64(b []byte) uint64 {
	v := le.Uint64(b)
	if d.big {
		v = bits.ReverseBytes64(v)
	}
	return v
}

// next reads the next frame into rec, which is empty, and whatever blocks stand
// in front of it.
func (d *ngDecoder) next(rec *Record) error {
	for {
		d.inFrame = false
		if err := d.need(8); err != nil {
			return err
		}
		h := d.ahead()
		typ, total := d.u32(h), d.u32(h[4:])
		if d.open && total >= 12 && total%4 == 0 {
			switch typ {
			case ngEnhanced, ngPacket:
				return d.packet(rec, typ, total)
			case ngSimple:
				return d.simple(rec, total)
			}
		}
		if err := d.other(h, typ, total); err != nil {
			return err
		}
	}
}

// other reads a block that is no frame.
func (d *ngDecoder) other(h []byte, typ, total uint32) error {
	switch {
	case be.Uint32(h) == ngSection: // reads the same in either order
		return d.section()
	case !d.open:
		return d.fail(errors.New("block before the first section header"))
	case total < 12 || total%4 != 0:
		return d.fail(fmt.Errorf("block of type %d with a total length of %d bytes, need a multiple of 4 from 12 on", typ, total))
	case typ == ngInterface:
		return d.describe(total)
	}
	return d.skip(d.offset(), int64(total))
}

// body returns what is between a block's lengths, without taking the block.
func (d *ngDecoder) body(total uint32, least int) ([]byte, error) {
	if total > windowSize || int(total) < least+12 || total%4 != 0 {
		return nil, d.fail(fmt.Errorf("block of %d bytes, need a multiple of 4 from %d to %d", total, least+12, windowSize))
	}
	if err := d.need(int(total)); err != nil {
		return nil, err
	}
	b := d.ahead()[:total]
	if again := d.u32(b[total-4:]); again != total {
		return nil, d.fail(fmt.Errorf("block that gives its length as %d at its beginning and %d at its end", total, again))
	}
	return b[8 : total-4], nil
}

// section reads a section header: byte order, version, section length, options.
// Versions 1.0 and 1.2 are one format (draft, section 4.1).
func (d *ngDecoder) section() error {
	if err := d.need(12); err != nil {
		return err
	}
	h := d.ahead()
	switch be.Uint32(h[8:]) {
	case 0x1a2b3c4d:
		d.big = true
	case 0x4d3c2b1a:
		d.big = false
	default:
		return d.fail(fmt.Errorf("section header whose byte order reads %x", h[8:12]))
	}
	b, err := d.body(d.u32(h[4:]), 16)
	if err != nil {
		return err
	}
	if major, minor := d.u16(b[4:]), d.u16(b[6:]); major != 1 || minor != 0 && minor != 2 {
		return d.fail(fmt.Errorf("%w: pcapng version %d.%d, need 1.0", ErrUnsupported, major, minor))
	}
	if err := d.options(b[16:], func(uint16, []byte) error { return nil }); err != nil {
		return d.fail(err)
	}
	d.open, d.interfaces = true, d.interfaces[:0]
	d.take(len(b) + 12)
	return nil
}

// describe reads an interface description: link type, snap length, options.
func (d *ngDecoder) describe(total uint32) error {
	b, err := d.body(total, 8)
	if err != nil {
		return err
	}
	if len(d.interfaces) == maxInterfaces {
		return d.fail(fmt.Errorf("section with more than %d interfaces", maxInterfaces))
	}
	i := ngDescribed{link: LinkType(d.u16(b)), snap: d.u32(b[4:])}
	resolution, offset := byte(6), int64(0) // microseconds, draft section 4.2
	err = d.options(b[8:], func(code uint16, value []byte) error {
		switch {
		case code == 9 && len(value) == 1: // if_tsresol
			resolution = value[0]
		case code == 14 && len(value) == 8: // if_tsoffset
			offset = int64(d.u64(value))
		case code == 13 && len(value) == 1: // if_fcslen
			i.fcs = fcsBytes(value[0])
		case code == 9 || code == 13 || code == 14:
			return fmt.Errorf("interface option %d with %d bytes", code, len(value))
		}
		return nil
	})
	if err != nil {
		return d.fail(err)
	}
	i.clock = newTicks(resolution, offset)
	d.interfaces = append(d.interfaces, i)
	d.take(len(b) + 12)
	return nil
}

// fcsBytes reads if_fcslen. The draft has it in bits and an example of 4, which
// its writers took for bytes: no FCS has less than 8 bits.
func fcsBytes(n byte) int {
	if n < 8 {
		return int(n)
	}
	return int(n / 8)
}

// options walks the options of a block: code 2, length 2, value padded to 4.
func (d *ngDecoder) options(b []byte, visit func(code uint16, value []byte) error) error {
	for len(b) > 0 {
		if len(b) < 4 {
			return fmt.Errorf("option cut short: %d bytes", len(b))
		}
		code, n := d.u16(b), int(d.u16(b[2:]))
		if code == 0 {
			return nil
		}
		padded := (n + 3) &^ 3
		if b = b[4:]; padded > len(b) {
			return fmt.Errorf("option %d of %d bytes in a block with %d left", code, n, len(b))
		}
		if err := visit(code, b[:n]); err != nil {
			return err
		}
		b = b[padded:]
	}
	return nil
}
