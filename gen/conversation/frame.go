package conversation

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"

	"squall/internal/wire"
)

// TCP flags (RFC 9293 section 3.1).
const (
	fin = 0x01
	syn = 0x02
	psh = 0x08
	ack = 0x10
)

// TCP options, by kind (IANA); each padded with no-operations to whole words.
const (
	optNop        = 1
	optMSS        = 2
	optScale      = 3
	optSACKOk     = 4
	optSACK       = 5
	optTimestamps = 8
)

// A segment under way. Sequence numbers have 64 bits and count from the SYN, at
// 0; the frame has their low 32 and the initial number added.
type segment struct {
	client       bool // sent by the client
	flags        uint8
	id           uint16 // IPv4 identification
	seq, ack     uint64
	n            int    // bytes of data
	left, right  uint64 // SACK block, none where right is 0
	tsval, tsecr uint32
}

// end is the sequence number after the segment.
func (s *segment) end() uint64 {
	e := s.seq + uint64(s.n)
	if s.flags&(syn|fin) != 0 {
		e++
	}
	return e
}

// contentLen is how long the content is until it repeats.
const contentLen = 1 << 16

// frames writes segments as frames.
type frames struct {
	*Conversation
	isn     [2]uint32 // of the client, of the server
	content []byte
	buf     []byte
}

func newFrames(c *Conversation, r *rand.Rand) *frames {
	f := &frames{Conversation: c, isn: [2]uint32{r.Uint32(), r.Uint32()}}
	f.content = make([]byte, contentLen+c.mss)
	for i := 0; i < contentLen; i += 8 {
		binary.LittleEndian.PutUint64(f.content[i:], r.Uint64())
	}
	copy(f.content[contentLen:], f.content) // mss is below contentLen
	f.buf = make([]byte, max(wire.MinLen, wire.HeaderLen+c.ip+60+c.mss))
	return f
}

// frame returns the segment's frame without FCS, padded to what Ethernet
// carries. It is valid until the next call.
func (f *frames) frame(s *segment) []byte {
	b := f.buf
	src, dst := f.Client, f.Server
	srcMAC, dstMAC := f.ClientMAC, f.ServerMAC
	me, peer := 0, 1
	if !s.client {
		src, dst, srcMAC, dstMAC, me, peer = dst, src, dstMAC, srcMAC, peer, me
	}
	copy(b, dstMAC)
	copy(b[6:], srcMAC)

	l4 := wire.HeaderLen + f.ip
	tcp := b[l4:]
	header := 20 + f.putOptions(tcp[20:20], s)
	length := header + s.n
	binary.BigEndian.PutUint16(tcp, src.Port())
	binary.BigEndian.PutUint16(tcp[2:], dst.Port())
	binary.BigEndian.PutUint32(tcp[4:], uint32(s.seq)+f.isn[me])
	acked := uint32(0)
	if s.flags&ack != 0 {
		acked = uint32(s.ack) + f.isn[peer]
	}
	binary.BigEndian.PutUint32(tcp[8:], acked)
	tcp[12], tcp[13] = byte(header/4)<<4, s.flags
	window := f.Window >> f.scale
	if s.flags&syn != 0 { // never scaled (RFC 7323 section 2.2)
		window = min(f.Window, 65535)
	}
	binary.BigEndian.PutUint16(tcp[14:], uint16(window))
	binary.BigEndian.PutUint32(tcp[16:], 0) // checksum, urgent pointer
	if s.n > 0 {
		copy(tcp[header:length], f.content[(s.seq-1)%contentLen:])
	}

	pseudo := f.putIP(b[wire.HeaderLen-2:], src.Addr(), dst.Addr(), s.id, length)
	binary.BigEndian.PutUint16(tcp[16:], ^wire.Fold(pseudo+wire.Sum(tcp[:length])))
	n := l4 + length
	if n < wire.MinLen {
		clear(b[n:wire.MinLen])
		n = wire.MinLen
	}
	return b[:n]
}

// putIP writes EtherType and IP header in front of length bytes of TCP, and
// returns the sum of the pseudo header.
func (f *frames) putIP(b []byte, src, dst netip.Addr, id uint16, length int) uint64 {
	ip := b[2:]
	if src.Is4() {
		binary.BigEndian.PutUint16(b, wire.EtherTypeIPv4)
		copy(ip, []byte{0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, wire.ProtoTCP, 0, 0}) // do not fragment, TTL 64
		binary.BigEndian.PutUint16(ip[2:], uint16(20+length))
		binary.BigEndian.PutUint16(ip[4:], id)
		s, d := src.As4(), dst.As4()
		copy(ip[12:], s[:])
		copy(ip[16:], d[:])
		binary.BigEndian.PutUint16(ip[10:], ^wire.Fold(wire.Sum(ip[:20])))
		return wire.Sum(ip[12:20]) + wire.ProtoTCP + uint64(length)
	}
	binary.BigEndian.PutUint16(b, wire.EtherTypeIPv6)
	copy(ip, []byte{0x60, 0, 0, 0, 0, 0, wire.ProtoTCP, 64})
	binary.BigEndian.PutUint16(ip[4:], uint16(length))
	s, d := src.As16(), dst.As16()
	copy(ip[8:], s[:])
	copy(ip[24:], d[:])
	return wire.Sum(ip[8:40]) + wire.ProtoTCP + uint64(length)
}

// putOptions appends the segment's options to b, whose capacity holds them, and
// returns their length.
func (f *frames) putOptions(b []byte, s *segment) int {
	if s.flags&syn != 0 {
		b = append(b, optMSS, 4)
		b = binary.BigEndian.AppendUint16(b, uint16(f.mss+f.options)) // without options (RFC 6691)
		b = append(b, optNop, optScale, 3, byte(f.scale))
		if f.SACK {
			b = append(b, optNop, optNop, optSACKOk, 2)
		}
	}
	if f.Timestamps {
		b = append(b, optNop, optNop, optTimestamps, 10)
		b = binary.BigEndian.AppendUint32(b, s.tsval)
		b = binary.BigEndian.AppendUint32(b, s.tsecr)
	}
	if f.SACK && s.right != 0 {
		isn := f.isn[0]
		if s.client {
			isn = f.isn[1]
		}
		b = append(b, optNop, optNop, optSACK, 10)
		b = binary.BigEndian.AppendUint32(b, uint32(s.left)+isn)
		b = binary.BigEndian.AppendUint32(b, uint32(s.right)+isn)
	}
	return len(b)
}
