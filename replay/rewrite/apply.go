package rewrite

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"squall/internal/wire"
)

// Apply appends to dst what the rules make of frame: an Ethernet frame without
// FCS, whole or cut. The only error is that of a frame shorter than an Ethernet
// header, 14 bytes; dst is then returned as it was. dst and frame must not
// overlap.
//
// With Rules.Unique, copy says how far addresses are stepped, after the maps;
// copy 0 is the frame itself. The same step goes over both ends and both
// directions, so a conversation stays one, and client and server of one copy
// stay different ones. An IPv4 address a.b.c.d goes up through the host
// addresses of all /24 networks (10.0.0.254 is followed by 10.0.1.1), around at
// 223.255.255.254, past 127/8; of an IPv6 address the lower 64 bits are stepped.
// Multicast, broadcast, loopback, and IPv4 addresses that end in .0 or .255 stay.
// Two conversations of a capture whose addresses are apart by the same number at
// both ends run into each other's copies; a stride larger than the span of the
// addresses avoids that.
func (w *Rewriter) Apply(dst, frame []byte, copy uint64) ([]byte, error) {
	dst, _, err := w.Rewrite(dst, frame, copy)
	return dst, err
}

// Rewrite is Apply that says what has changed.
func (w *Rewriter) Rewrite(dst, frame []byte, copy uint64) ([]byte, Changed, error) {
	if len(frame) < wire.HeaderLen {
		return dst, 0, fmt.Errorf("frame of %d bytes: shorter than an Ethernet header of %d", len(frame), wire.HeaderLen)
	}
	start := len(dst)
	dst = w.tags.apply(dst, frame)
	out := dst[start:]
	var by Changed
	if !w.tags.empty() && string(out) != string(frame) {
		by = ChangedVLAN
	}
	if !w.stack {
		return dst, by, nil
	}
	p := pass{Rewriter: w, copy: copy}
	p.stack.Walk(out)
	p.ethernet(0)
	heads := p.stack.Heads()
	for i := 1; i < len(heads); i++ {
		p.head(heads[i])
	}
	if p.stack.Apart() && p.by&(ChangedAddress|ChangedStep|ChangedPort|ChangedSequence) != 0 {
		p.by |= Apart
	}
	if p.stack.Settle(w.fix) {
		p.by |= ChangedChecksum
	}
	return dst, by | p.by, nil
}

// pass is one frame under way.
type pass struct {
	*Rewriter
	stack wire.Stack
	copy  uint64
	by    Changed

	wasSrc, wasDst [6]byte // the frame's own addresses
	isSrc, isDst   [6]byte
	// Of the IP header last seen: whether its ends' sequence numbers are shifted.
	shiftSrc, shiftDst bool
}

func (p *pass) put(at int, with []byte, by Changed) {
	if p.stack.Put(at, with) {
		p.by |= by
	}
}

func (p *pass) put16(at int, v uint16, by Changed) {
	var b [2]byte
	binary.BigEndian.PutUint16(b[:], v)
	p.put(at, b[:], by)
}

func (p *pass) put32(at int, v uint32, by Changed) {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], v)
	p.put(at, b[:], by)
}

// chosen reports whether Rules.Layer names the level.
func (p *pass) chosen(level uint8) bool {
	if level == 0 {
		return p.outer
	}
	return p.inner
}

func (p *pass) head(h wire.Head) {
	f, chosen := p.stack.Frame(), p.chosen(h.Level)
	switch h.Kind {
	case wire.KindEthernet:
		if p.inner {
			p.mapMACs(h.At)
		}
	case wire.KindTCP, wire.KindUDP:
		if chosen {
			p.port(h.At)
			p.port(h.At + 2)
			if h.Kind == wire.KindTCP {
				p.sequence(h)
			}
		}
	case wire.KindGTPU:
		p.tunnel(h.At)
	case wire.KindARP:
		p.hardware(h.At+8, h.Level)
		p.hardware(h.At+18, h.Level)
		if chosen {
			p.address4(h.At+14, true)
			p.address4(h.At+24, false)
		}
	case wire.KindNeighbor:
		p.neighbor(h, chosen)
	case wire.KindIPv4:
		if !chosen {
			return
		}
		p.ends(netip.AddrFrom4([4]byte(f[h.At+12:])), netip.AddrFrom4([4]byte(f[h.At+16:])))
		p.address4(h.At+12, true)
		p.address4(h.At+16, false)
		if p.dscp != nil {
			p.put(h.At+1, []byte{byte(p.dscp.by)<<2 | f[h.At+1]&3}, ChangedDSCP)
		}
		p.hops(h.At+8, h.Quoted)
	case wire.KindIPv6:
		if !chosen {
			return
		}
		p.ends(netip.AddrFrom16([16]byte(f[h.At+8:])), netip.AddrFrom16([16]byte(f[h.At+24:])))
		p.address6(h.At+8, true)
		p.address6(h.At+24, false)
		if p.dscp != nil { // the traffic class lies across two bytes
			p.put16(h.At, binary.BigEndian.Uint16(f[h.At:])&0xf03f|uint16(p.dscp.by)<<6, ChangedDSCP)
		}
		p.hops(h.At+7, h.Quoted)
	}
}

// ends notes whose sequence numbers are shifted, by the addresses as they were.
func (p *pass) ends(src, dst netip.Addr) {
	p.shiftSrc = p.shiftFrom == nil || contain(p.shiftFrom, src)
	p.shiftDst = p.shiftFrom == nil || contain(p.shiftFrom, dst)
}

func (p *pass) address4(at int, source bool) {
	old := netip.AddrFrom4([4]byte(p.stack.Frame()[at:]))
	now, by := p.address(old, source)
	if now != old {
		b := now.As4()
		p.put(at, b[:], by)
	}
}

func (p *pass) address6(at int, source bool) {
	old := netip.AddrFrom16([16]byte(p.stack.Frame()[at:]))
	now, by := p.address(old, source)
	if now != old {
		b := now.As16()
		p.put(at, b[:], by)
	}
}

func (p *pass) address(old netip.Addr, source bool) (now netip.Addr, by Changed) {
	m := p.to
	if source {
		m = p.from
	}
	mapped := m.apply(old)
	if mapped != old {
		by = ChangedAddress
	}
	if p.step == nil {
		return mapped, by
	}
	if now = p.step.apply(mapped, source, p.copy); now != mapped {
		by |= ChangedStep
	}
	return now, by
}

// hops changes a TTL. What an ICMP error quotes keeps the one it died with.
func (p *pass) hops(at int, quoted bool) {
	if p.ttl == nil || quoted {
		return
	}
	old, now := int64(p.stack.Frame()[at]), p.ttl.by
	if p.ttl.step {
		now = max(min(old, 1), min(255, old+now))
	}
	p.put(at, []byte{byte(now)}, ChangedTTL)
}

func (p *pass) port(at int) {
	if p.ports != nil {
		p.put16(at, p.ports[binary.BigEndian.Uint16(p.stack.Frame()[at:])], ChangedPort)
	}
}

// tunnel changes a TEID of user data (255) and of the mark that it ends (254);
// other messages have none, or speak of it elsewhere.
func (p *pass) tunnel(at int) {
	if kind := p.stack.Frame()[at+1]; kind != 255 && kind != 254 {
		return
	}
	old := binary.BigEndian.Uint32(p.stack.Frame()[at+4:])
	now := old
	switch {
	case p.teid != nil && p.teid.step:
		now += uint32(p.teid.by)
	case p.teid != nil:
		now = uint32(p.teid.by)
	case p.teids != nil:
		if to, ok := p.teids[old]; ok {
			now = to
		}
	}
	p.put32(at+4, now, ChangedTEID)
}
