package wire

import (
	"encoding/binary"
	"hash/maphash"
)

// seed makes keys and fingerprints differ from process to process, so nothing
// can come to rely on their values.
var seed = maphash.MakeSeed()

// FlowKey returns a 64-bit key of the frame's IP addresses, protocol and TCP or
// UDP ports: what neither a router nor a VLAN changes. It reports false for a
// frame without IP. Keys hold within one process.
func FlowKey(frame []byte, l Layout) (uint64, bool) {
	if !l.IP() {
		return 0, false
	}
	var k [37]byte
	n := addresses(k[:32], frame, l)
	k[n] = l.Proto
	n++
	if (l.Proto == ProtoTCP || l.Proto == ProtoUDP) && !l.Fragment && l.L4+4 <= l.End {
		n += copy(k[n:], frame[l.L4:l.L4+4])
	}
	return maphash.Bytes(seed, k[:n]), true
}

func addresses(dst, frame []byte, l Layout) int {
	if l.EtherType == EtherTypeIPv4 {
		return copy(dst, frame[l.L3+12:l.L3+20])
	}
	return copy(dst, frame[l.L3+8:l.L3+40])
}

// ID returns the IPv4 identification field, and false for any other frame.
func ID(frame []byte, l Layout) (uint16, bool) {
	if !l.IP() || l.EtherType != EtherTypeIPv4 {
		return 0, false
	}
	return binary.BigEndian.Uint16(frame[l.L3+4:]), true
}

// Fingerprint returns a 64-bit hash of what a frame keeps on its way through
// switches and routers: without MAC addresses, VLAN tags, padding, TTL or hop
// limit, DSCP, ECN and the IPv4 header checksum. Frames that differ elsewhere
// have different fingerprints (but for a chance of 2^-64). It holds within one
// process.
func Fingerprint(frame []byte) uint64 {
	l := Parse(frame)
	if !l.IP() {
		return maphash.Bytes(seed, trimPadding(frame, l))
	}
	var head [60]byte
	rest := l.L4
	switch l.EtherType {
	case EtherTypeIPv4: // at most 60 bytes
		copy(head[:], frame[l.L3:l.L4])
		head[1] = 0               // DSCP, ECN
		head[8] = 0               // TTL
		head[10], head[11] = 0, 0 // header checksum
	default:
		rest = l.L3 + 40
		copy(head[:], frame[l.L3:rest])
		head[0], head[1] = 0, head[1]&0x0f // version, traffic class
		head[7] = 0                        // hop limit
	}
	h := maphash.Bytes(seed, head[:rest-l.L3])
	return h*0x9e3779b97f4a7c15 ^ maphash.Bytes(seed, frame[rest:l.End])
}

// trimPadding cuts a frame without IP down to its EtherType and content: a
// short one may have gained zeros on its way to 60 bytes.
func trimPadding(frame []byte, l Layout) []byte {
	if l.L3 == 0 {
		return frame
	}
	b := frame[l.L3-2:]
	if len(b) > MinLen-HeaderLen+2 { // too long to have been padded, VLAN tags or not
		return b
	}
	for len(b) > 2 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return b
}
