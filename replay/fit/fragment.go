package fit

import (
	"encoding/binary"
	"hash/crc32"

	"squall/internal/wire"
)

// Fragment adds to dst the fragments of frame, an IP datagram or a fragment of
// one. Every fragment but the last has as much as fits, a multiple of 8 bytes.
//
// IPv4 (RFC 791 section 3.2): the identification is kept; options go with the
// first fragment, and with the others those that have the copied bit. Errors:
// ErrDontFragment unless IgnoreDF.
//
// IPv6 (RFC 8200 section 4.5): headers up to the routing header, else the
// hop-by-hop options, stand in every fragment, the rest is divided. The
// identification is that of the fragment header, where there is one, else a
// CRC-32 of the datagram: the same datagram has the same, others almost never.
//
// The checksum of TCP or UDP stands unchanged in the first fragment. Other
// errors: ErrNotIP, ErrCut, ErrTooLong, ErrNoRoom.
func (l Limit) Fragment(dst *Frames, frame []byte) error {
	at := wire.Parse(frame)
	switch {
	case !at.IP():
		return ErrNotIP
	case claims(frame, at) > len(frame)-at.L3:
		return ErrCut
	case l.Fits(frame, at.End): // what is too long is padding
		dst.add(frame[:at.End])
		return nil
	case at.EtherType == wire.EtherTypeIPv4:
		return l.fragment4(dst, frame, at)
	}
	return l.fragment6(dst, frame, at)
}

// cuts divides n bytes that begin at the offset into pieces of at most first,
// then at most others bytes, multiples of 8 but for the last.
func cuts(n, offset, first, others int, piece func(from, to int)) error {
	first, others = first&^7, others&^7
	switch {
	case first < 8 || others < 8:
		return ErrNoRoom
	case offset*8+n > 65535:
		return ErrTooLong
	}
	for from, size := 0, first; from < n; from, size = from+size, others {
		piece(from, min(from+size, n))
	}
	return nil
}

func (l Limit) fragment4(dst *Frames, frame []byte, at wire.Layout) error {
	part := binary.BigEndian.Uint16(frame[at.L3+6:])
	if part&0x4000 != 0 {
		if !l.IgnoreDF {
			return ErrDontFragment
		}
		part &^= 0x4000
	}
	offset, more := int(part&0x1fff), part&0x2000 != 0
	head, body := frame[at.L3:at.L4], frame[at.L4:at.End]

	var later [60]byte
	n := copy(later[:], head[:20])
	n += copied(later[20:], head[20:])
	later[0] = 0x40 | byte(n/4)

	room := l.room(frame, at)
	return cuts(len(body), offset, room-len(head), room-n, func(from, to int) {
		h := head
		if from > 0 {
			h = later[:n]
		}
		f := dst.add(frame[:at.L3], h, body[from:to])
		ip := f[at.L3 : at.L3+len(h)]
		binary.BigEndian.PutUint16(ip[2:], uint16(len(h)+to-from))
		place := part&0xc000 | uint16(offset+from/8)
		if more || to < len(body) {
			place |= 0x2000
		}
		binary.BigEndian.PutUint16(ip[6:], place)
		ip[10], ip[11] = 0, 0
		binary.BigEndian.PutUint16(ip[10:], ^wire.Fold(wire.Sum(ip)))
	})
}

// copied writes to dst those of options that go with every fragment, filled up
// to a multiple of 4 bytes, and returns how long they are. Options that are not
// sound end the list.
func copied(dst, options []byte) (n int) {
	for len(options) > 0 && options[0] != 0 {
		size := 1
		if options[0] != 1 {
			if len(options) < 2 || options[1] < 2 || int(options[1]) > len(options) {
				break
			}
			size = int(options[1])
		}
		if options[0]&0x80 != 0 {
			n += copy(dst[n:], options[:size])
		}
		options = options[size:]
	}
	for n%4 != 0 {
		dst[n] = 0
		n++
	}
	return n
}

// IPv6 extension headers (RFC 8200 section 4.1).
const (
	hopByHop    = 0
	routing     = 43
	fragment    = 44
	destination = 60
)

func (l Limit) fragment6(dst *Frames, frame []byte, at wire.Layout) error {
	// wire.Parse found all extension headers whole.
	next, off := at.L3+6, at.L3+40 // where the type of the header at off stands
	from, cut := next, off         // the same of the first header to divide
	for kind := frame[next]; kind == hopByHop || kind == routing || kind == destination; kind = frame[next] {
		next, off = off, off+8+int(frame[off+1])*8
		if kind != destination {
			from, cut = next, off
		}
	}
	var head [8]byte // the fragment header
	offset, more, body := 0, false, frame[cut:at.End]
	if frame[next] == fragment {
		part := binary.BigEndian.Uint16(frame[off+2:])
		offset, more = int(part>>3), part&1 != 0
		from, cut, body = next, off, frame[off+8:at.End]
		copy(head[:], frame[off:off+8])
	} else {
		head[0] = frame[from]
		binary.BigEndian.PutUint32(head[4:], crc32.ChecksumIEEE(frame[at.L3:at.End]))
	}
	size := l.room(frame, at) - (cut - at.L3) - len(head)
	return cuts(len(body), offset, size, size, func(a, b int) {
		place := uint16(offset+a/8) << 3
		if more || b < len(body) {
			place |= 1
		}
		binary.BigEndian.PutUint16(head[2:], place)
		f := dst.add(frame[:cut], head[:], body[a:b])
		f[from] = fragment
		binary.BigEndian.PutUint16(f[at.L3+4:], uint16(cut-at.L3-40+len(head)+b-a))
	})
}
