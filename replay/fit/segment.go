package fit

import (
	"encoding/binary"

	"squall/internal/wire"
)

// TCP flags.
const (
	fin = 0x01
	syn = 0x02
	rst = 0x04
	psh = 0x08
	urg = 0x20
	cwr = 0x80
)

// Segment adds to dst the TCP segments that segmentation offload makes of frame
// (tcp_gso_segment in net/ipv4/tcp_offload.c and inet_gso_segment in
// net/ipv4/af_inet.c): each with as much payload as fits, all headers and
// options copied, the sequence number and the IPv4 identification counted on,
// FIN and PSH on the last only, CWR on the first only. Lengths and checksums are
// computed: in a capture of what was handed to a card for offload they are not
// those of the wire. An IP length of 0 stands for all the frame has.
//
// Errors: ErrNotTCP, ErrCut, ErrFlags, ErrNoRoom.
func (l Limit) Segment(dst *Frames, frame []byte) error {
	at := wire.Parse(frame)
	if !at.IP() || at.Proto != wire.ProtoTCP || at.Fragment || at.End-at.L4 < 20 {
		return ErrNotTCP
	}
	if claims(frame, at) > len(frame)-at.L3 {
		return ErrCut
	}
	head := at.L4 + int(frame[at.L4+12]>>4)*4
	if head < at.L4+20 || head > at.End {
		return ErrNotTCP
	}
	flags := frame[at.L4+13]
	if flags&(syn|rst|urg) != 0 {
		return ErrFlags
	}
	if l.Fits(frame, at.End) { // what is too long is padding
		dst.add(frame[:at.End])
		return nil
	}
	size := min(l.Longest(frame), at.L3+65535) - head
	if size < 8 {
		return ErrNoRoom
	}
	v4 := at.EtherType == wire.EtherTypeIPv4
	var stack wire.Stack
	for n, body := uint16(0), frame[head:at.End]; len(body) > 0; n++ {
		piece := body[:min(size, len(body))]
		body = body[len(piece):]
		f := dst.add(frame[:head], piece)
		if ip := f[at.L3:]; v4 {
			binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
			binary.BigEndian.PutUint16(ip[4:], binary.BigEndian.Uint16(ip[4:])+n)
		} else {
			binary.BigEndian.PutUint16(ip[4:], uint16(len(ip)-40))
		}
		tcp := f[at.L4:]
		binary.BigEndian.PutUint32(tcp[4:], binary.BigEndian.Uint32(tcp[4:])+uint32(n)*uint32(size))
		if n > 0 {
			tcp[13] &^= cwr
		}
		if len(body) > 0 {
			tcp[13] &^= fin | psh
		}
		stack.Walk(f)
		stack.Settle(true)
	}
	return nil
}
