package pcaps

import (
	"fmt"
	"math/bits"
)

// First four bytes of a pcap file, read as big endian.
const (
	pcapMicros   = 0xa1b2c3d4
	pcapNanos    = 0xa1b23c4d
	pcapModified = 0xa1b2cd34 // Kuznetzov's: libpcap, sf-pcap.c
)

// pcapDecoder reads a pcap file (draft-ietf-opsawg-pcap):
//
//	header  magic 4 │ major 2 │ minor 2 │ reserved 8 │ snap length 4 │ FCS 4 bits, flags 12 │ link type 2
//	record  seconds 4 │ fraction 4 │ captured 4 │ length 4 │ captured bytes ...
//
// The modified format has 8 bytes more in front of the captured ones: interface,
// protocol, packet type.
type pcapDecoder struct {
	*window
	big    bool
	head   int    // of a record, in bytes
	second uint32 // units of the fraction in a second
	nanos  int64  // ns in a unit
	swap   swapped
	link   LinkType
	fcs    int // bytes at the end of each frame
}

// swapped tells whether a record's two lengths changed places: before version
// 2.3 they did, in 2.3 some writers did it and some did not, as libpcap knows
// (sf-pcap.c, lengths_swapped).
type swapped uint8

const (
	swappedNo swapped = iota
	swappedMaybe
	swappedYes
)

// isPcap reports whether a file that begins like this is one, and how.
func isPcap(magic []byte) (value uint32, big, ok bool) {
	value = be.Uint32(magic)
	for _, big := range []bool{true, false} {
		switch value {
		case pcapMicros, pcapNanos, pcapModified:
			return value, big, true
		}
		value = bits.ReverseBytes32(value)
	}
	return 0, false, false
}

func newPcap(w *window) (*pcapDecoder, error) {
	if err := w.need(24); err != nil {
		return nil, err
	}
	h := w.ahead()
	magic, big, _ := isPcap(h)
	d := &pcapDecoder{window: w, big: big, head: 16, second: 1e6, nanos: 1e3}
	switch magic {
	case pcapNanos:
		d.second, d.nanos = 1e9, 1
	case pcapModified:
		d.head = 24
	}
	major, minor, network := d.u32(h[4:]), uint32(0), d.u32(h[20:])
	if big {
		major, minor = major>>16, major&0xffff
	} else {
		major, minor = major&0xffff, major>>16
	}
	switch {
	case major != 2 || minor > 4:
		return nil, w.fail(fmt.Errorf("%w: pcap version %d.%d, need 2.0 to 2.4", ErrUnsupported, major, minor))
	case minor == 3:
		d.swap = swappedMaybe
	case minor < 3:
		d.swap = swappedYes
	}
	if network&0x03ff0000 != 0 { // libpcap refuses these as well
		return nil, w.fail(fmt.Errorf("%w: link type field %#08x with reserved bits set", ErrUnsupported, network))
	}
	if network&(1<<26) != 0 {
		d.fcs = int(network>>28) * 2
	}
	d.link = LinkType(network)
	w.take(24)
	return d, nil
}

func (d *pcapDecoder) u32(b []byte) uint32 {
	v := le.Uint32(b)
	if d.big {
		v = bits.ReverseBytes32(v)
	}
	return v
}

// next reads a record into rec, which is empty.
func (d *pcapDecoder) next(rec *Record) error {
	w := d.window
	w.inFrame = false
	if err := w.need(d.head); err != nil {
		return err
	}
	w.frame()
	h := (*[16]byte)(w.ahead())
	seconds, fraction, have, length := le.Uint32(h[0:]), le.Uint32(h[4:]), le.Uint32(h[8:]), le.Uint32(h[12:])
	if d.big {
		seconds, fraction = bits.ReverseBytes32(seconds), bits.ReverseBytes32(fraction)
		have, length = bits.ReverseBytes32(have), bits.ReverseBytes32(length)
	}
	if d.swap == swappedYes || d.swap == swappedMaybe && have > length {
		have, length = length, have
	}
	believe := int(have)
	if have > length || have > MaxFrame || length > maxLength {
		var err error
		if believe, err = w.doubt(have, length); err != nil {
			return err
		}
	}
	if err := w.need(d.head + int(have)); err != nil {
		return err
	}
	b := w.ahead()[d.head:]
	w.take(d.head + int(have))
	rec.Data, rec.Len, rec.LinkType = b[:believe:believe], int(length), d.link
	rec.Time = int64(seconds) * 1e9
	if fraction < d.second {
		rec.Time += int64(fraction) * d.nanos
	} else {
		rec.Clock = ClockInvalid
	}
	if d.fcs > 0 {
		rec.dropFCS(d.fcs)
	}
	return nil
}
