package compare

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"net/netip"

	"squall/internal/convo"
	"squall/internal/wire"
)

// print is what is kept of a frame's fields: their values where 32 bits hold them,
// else hashes. Fields that the frame has not are 0.
type print struct {
	values  [fields]uint32
	content uint64 // hash of the payload
	four    bool   // IPv4: the addresses are values
}

// printer takes prints. It belongs to one goroutine.
type printer struct {
	seed   maphash.Seed
	packet convo.Packet
}

func (p *printer) hash(b []byte) uint32 {
	if len(b) == 0 {
		return 0
	}
	h := maphash.Bytes(p.seed, b)
	return uint32(h) ^ uint32(h>>32)
}

// take returns the print of an Ethernet frame, of which frame was captured, and size
// bytes were on the wire without FCS.
func (p *printer) take(frame []byte, size int) (r print) {
	q, v := &p.packet, &r.values
	ip := q.Decode(frame)
	if q.L3 == 0 { // shorter than its headers
		r.content = maphash.Bytes(p.seed, frame)
		v[payload], v[length] = p.hash(frame), uint32(size)
		return r
	}
	be := binary.BigEndian
	v[dstMAC], v[srcMAC] = p.hash(frame[:6]), p.hash(frame[6:12])
	if q.VLANs == 1 && be.Uint16(frame[12:]) == wire.EtherTypeVLAN {
		v[vlan] = uint32(be.Uint16(frame[14:])) | 1<<16 // so that priority tag 0 is one
	} else {
		v[vlan] = p.hash(frame[12 : q.L3-2])
	}
	v[etherType] = uint32(q.EtherType)
	if !ip {
		p.bare(&r, frame, size)
		return r
	}
	b := frame[q.L3:]
	v[length], v[protocol], r.four = uint32(q.Len), uint32(q.Proto), !q.Six
	if q.Six {
		v[dscp], v[ttl] = be.Uint32(b)>>20&0xff, uint32(b[7])
		v[srcAddress], v[dstAddress] = p.hash(b[8:24]), p.hash(b[24:40])
		v[ipOptions] = p.hash(frame[q.L3+40:q.L4]) ^ be.Uint32(b)&0xfffff
	} else {
		v[dscp], v[ttl], v[ipChecksum] = uint32(b[1]), uint32(b[8]), uint32(be.Uint16(b[10:]))
		v[id], v[fragment] = q.ID, uint32(be.Uint16(b[6:]))
		v[srcAddress], v[dstAddress] = be.Uint32(b[12:]), be.Uint32(b[16:])
		v[ipOptions] = p.hash(frame[q.L3+20 : q.L4])
	}
	p.upper(&r, frame)
	v[padding] = p.hash(frame[q.End:]) + uint32(max(size-q.L3-q.Len, 0))
	return r
}

// bare is a frame without IP. What it has to be padded with is not told from its
// content, unless it is zeros: up to the smallest frame, to which tags may have been
// added.
func (p *printer) bare(r *print, frame []byte, size int) {
	b, n := frame[p.packet.L3:], size-p.packet.L3
	if len(frame) == size && size <= wire.MinLen+4*p.packet.VLANs {
		rest := bytes.TrimRight(b, "\x00")
		r.values[padding] = uint32(len(b) - len(rest))
		b, n = rest, len(rest)
	}
	r.values[length], r.values[payload], r.content = uint32(n), p.hash(b), maphash.Bytes(p.seed, b)
}

// upper is what an IP packet carries.
func (p *printer) upper(r *print, frame []byte) {
	q, v, be := &p.packet, &r.values, binary.BigEndian
	b := frame[q.L4:q.End]
	content := frame[q.Payload:q.End]
	var head []byte // what belongs to the content in front of it
	switch {
	case q.IsTCP():
		v[srcPort], v[dstPort] = uint32(be.Uint16(b)), uint32(be.Uint16(b[2:]))
		v[seq], v[ack], v[flags] = q.Seq, q.Ack, uint32(be.Uint16(b[12:]))
		v[window], v[checksum] = uint32(q.Window), uint32(be.Uint16(b[16:]))
		v[options] = p.hash(frame[min(q.L4+20, q.Payload):q.Payload]) ^ uint32(be.Uint16(b[18:]))
	case q.Proto == convo.UDP && q.Transport:
		v[srcPort], v[dstPort] = uint32(be.Uint16(b)), uint32(be.Uint16(b[2:]))
		v[checksum], head = uint32(be.Uint16(b[6:])), b[4:6]
	case (q.Proto == convo.ICMP || q.Proto == convo.ICMPv6) && q.Offset == 0 && len(b) >= 4:
		v[checksum], head, content = uint32(be.Uint16(b[2:])), b[:2], b[4:]
	}
	r.content = maphash.Bytes(p.seed, content) + 3*maphash.Bytes(p.seed, head)
	v[payload] = uint32(r.content) ^ uint32(r.content>>32)
}

// key is the same for prints that are equal but for the fields ignored.
func (r *print) key(seed maphash.Seed, ignored Set) uint64 {
	var b [4*int(fields) + 8]byte
	n := 0
	for f := range fields {
		if !ignored.has(f) {
			binary.LittleEndian.PutUint32(b[n:], r.values[f])
		}
		n += 4
	}
	if !ignored.has(payload) {
		binary.LittleEndian.PutUint64(b[n:], r.content)
	}
	return maphash.Bytes(seed, b[:])
}

// flow is the same for frames of one direction of a conversation; for frames without
// IP, of one EtherType.
func (r *print) flow(seed maphash.Seed) uint64 {
	var b [24]byte
	for i, f := range []Field{etherType, protocol, srcAddress, dstAddress, srcPort, dstPort} {
		binary.LittleEndian.PutUint32(b[4*i:], r.values[f])
	}
	return maphash.Bytes(seed, b[:])
}

// differ returns the fields in which two prints differ, but for those ignored.
func (r *print) differ(o *print, ignored Set) (s Set) {
	for f := range fields {
		if r.values[f] != o.values[f] || f == payload && r.content != o.content {
			s |= set(f)
		}
	}
	return s &^ ignored
}

// show writes a field's value; "" where it is known by its hash only.
func (r *print) show(f Field) string {
	v := r.values[f]
	switch f {
	case dstMAC, srcMAC, ipOptions, options, payload, padding:
		return ""
	case vlan:
		switch {
		case v == 0:
			return "none"
		case v>>16 == 1:
			return fmt.Sprint(v & 0xfff)
		}
		return ""
	case srcAddress, dstAddress:
		if !r.four {
			return ""
		}
		return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}).String()
	case etherType, ipChecksum, checksum, fragment, id:
		return fmt.Sprintf("%#04x", v)
	case flags:
		return fmt.Sprintf("%#03x", v&0xfff)
	}
	return fmt.Sprint(v)
}
