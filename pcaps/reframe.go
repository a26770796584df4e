package pcaps

import (
	"encoding/binary"
	"fmt"
	"net"
)

// etherLen is the length of an Ethernet header in bytes.
const etherLen = 14

// Addresses that a Reframer gives where it is given none: locally administered,
// of nobody.
var (
	DefaultSrc = net.HardwareAddr{2, 0, 0, 0, 0, 1}
	DefaultDst = net.HardwareAddr{2, 0, 0, 0, 0, 2}
)

// Reframer gives a record's frame the Ethernet header that its link type lacks.
// The zero value is ready. It belongs to one goroutine.
//
//	SLL      type 2 │ ARPHRD 2 │ address length 2 │ address 8 │ protocol 2 │ packet
//	SLL2     protocol 2 │ 0 2 │ interface 4 │ ARPHRD 2 │ type 1 │ address length 1 │ address 8 │ packet
//	NULL     family 4 │ packet
//	PPP      (ff 03) │ protocol 1 or 2 │ packet
//	becomes  destination 6 │ source 6 │ EtherType 2 │ packet
//
// A VLAN tag behind any of them stays where it is: behind the addresses.
type Reframer struct {
	// Src and Dst are the addresses of headers that are made, of 6 bytes. nil:
	// the sender's own address where a Linux cooked frame has one of 6 bytes, or
	// else DefaultSrc; and DefaultDst.
	Src, Dst net.HardwareAddr

	buf  []byte
	last *linkError
}

// Frame returns the Ethernet frame of a record, valid until the next call of
// Frame or of the Reader's Next, and its length on the wire, without FCS
// likewise. A record that is Ethernet is returned as it is; made reports whether
// a header was made. Frames are not padded. An error is one of errors.Is
// ErrLinkType.
func (r *Reframer) Frame(rec Record) (frame []byte, length int, made bool, err error) {
	if rec.LinkType == Ethernet {
		return rec.Data, rec.Len, false, nil
	}
	l := readLink(rec.LinkType, rec.Data, rec.Len)
	if l.no == "" && l.head >= len(rec.Data) {
		l.no = "nothing captured behind its header"
	}
	if l.no != "" {
		return nil, 0, false, r.refuse(linkError{rec.LinkType, l.no, l.value})
	}
	src, dst := DefaultSrc, DefaultDst
	switch {
	case len(r.Src) == 6:
		src = r.Src
	case l.src != nil:
		src = l.src
	}
	if len(r.Dst) == 6 {
		dst = r.Dst
	}
	r.buf = append(r.buf[:0], dst...)
	r.buf = append(r.buf, src...)
	r.buf = binary.BigEndian.AppendUint16(r.buf, l.ether)
	r.buf = append(r.buf, rec.Data[l.head:]...)
	return r.buf, etherLen + rec.Len - l.head, true, nil
}

// linkError says why a frame cannot be reframed. A Reframer makes one for each
// reason that follows another, not one a frame.
type linkError struct {
	link  LinkType
	no    string
	value int // what no speaks of; 0: no number
}

func (r *Reframer) refuse(e linkError) error {
	if r.last == nil || *r.last != e {
		kept := e
		r.last = &kept
	}
	return r.last
}

func (e *linkError) Error() string {
	switch {
	case e.no == noHeader:
		return fmt.Sprintf("%v %v", e.link, ErrLinkType)
	case e.value != 0:
		return fmt.Sprintf("%v, %s %#x, %v", e.link, e.no, e.value, ErrLinkType)
	}
	return fmt.Sprintf("%v, %s, %v", e.link, e.no, ErrLinkType)
}

func (e *linkError) Unwrap() error { return ErrLinkType }
