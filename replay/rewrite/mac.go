package rewrite

import "squall/internal/wire"

// ethernet changes the addresses of the frame itself.
func (p *pass) ethernet(at int) {
	f := p.stack.Frame()
	p.wasDst, p.wasSrc = [6]byte(f[at:]), [6]byte(f[at+6:])
	p.mapMACs(at)
	if p.hasDst {
		p.put(at, p.dst[:], ChangedMAC)
	}
	if p.hasSrc {
		p.put(at+6, p.src[:], ChangedMAC)
	}
	p.isDst, p.isSrc = [6]byte(f[at:]), [6]byte(f[at+6:])
}

func (p *pass) mapMACs(at int) {
	if p.macs != nil {
		p.mapMAC(at)
		p.mapMAC(at + 6)
	}
}

func (p *pass) mapMAC(at int) {
	if to, ok := p.macs[[6]byte(p.stack.Frame()[at:])]; ok {
		p.put(at, to[:], ChangedMAC)
	}
}

// hardware changes a MAC address that ARP or neighbour discovery carries: one of
// the frame's own follows that, so that who is told to send there does.
func (p *pass) hardware(at int, level uint8) {
	if level > 0 && !p.inner {
		return
	}
	mac := [6]byte(p.stack.Frame()[at:])
	switch {
	case level == 0 && mac == p.wasSrc:
		p.put(at, p.isSrc[:], ChangedMAC)
	case level == 0 && mac == p.wasDst && mac[0]&1 == 0:
		p.put(at, p.isDst[:], ChangedMAC)
	case p.macs != nil:
		p.mapMAC(at)
	}
}

// neighbor changes the target of a neighbour message, and the MAC address in its
// options (RFC 4861 sections 4.3, 4.4 and 4.6.1).
func (p *pass) neighbor(h wire.Head, chosen bool) {
	f := p.stack.Frame()
	if chosen { // an advertisement is about its sender, a solicitation about whom it asks
		p.address6(h.At+8, f[h.At] == 136)
	}
	for at := h.At + 24; at+8 <= h.End; {
		kind, n := f[at], int(f[at+1])*8
		if n == 0 || at+n > h.End {
			return
		}
		if (kind == 1 || kind == 2) && n == 8 {
			p.hardware(at+2, h.Level)
		}
		at += n
	}
}
