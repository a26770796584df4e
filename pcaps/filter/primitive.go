package filter

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"squall/internal/convo"
	"squall/internal/wire"
)

// qualifiers are what stands in front of an address or number.
type qualifiers struct {
	proto string // ether, ip, tcp, ...
	dir   direction
	kind  string // host, net, port, portrange, proto
}

// protocols that are tests by themselves: by EtherType, or by IP protocol number.
var (
	byEther = map[string]uint16{"ip": wire.EtherTypeIPv4, "ip6": wire.EtherTypeIPv6, "arp": wire.EtherTypeARP, "rarp": etherTypeRARP}
	byProto = map[string]uint8{"tcp": convo.TCP, "udp": convo.UDP, "sctp": convo.SCTP, "icmp": convo.ICMP, "icmp6": convo.ICMPv6,
		"igmp": 2, "gre": 47, "esp": 50, "ah": 51, "pim": 103, "vrrp": 112}
)

// primitive is a test without and, or, not.
func (p *parser) primitive() (test, error) {
	switch {
	case p.take("vlan"):
		return p.vlan()
	case p.take("less", "greater"):
		less := p.tokens[p.at-1].text == "less"
		n, err := p.number(1 << 31)
		if less {
			return func(v *view) bool { return v.length <= n }, err
		}
		return func(v *view) bool { return v.length >= n }, err
	}
	var q qualifiers
	given := false // any qualifier
	if w := p.peek(); w == "ether" || byEther[w] > 0 || byProto[w] > 0 {
		q.proto, given = w, true
		p.at++
	}
	switch {
	case p.take("broadcast", "multicast"):
		return cast(q.proto, p.tokens[p.at-1].text)
	case p.take("src"):
		q.dir, given = p.other("dst", source), true
	case p.take("dst"):
		q.dir, given = p.other("src", target), true
	}
	if p.take("host", "net", "port", "portrange", "proto") {
		q.kind, given = p.tokens[p.at-1].text, true
	}
	switch {
	case !given:
		q = p.last // "port 80 or 443"
		if q.kind == "" {
			q.kind = "host"
		}
	case q.kind == "" && q.dir == either && (p.at == len(p.tokens) || !p.tokens[p.at].word || joins(p.peek())):
		return protocol(q.proto)
	case q.kind == "":
		q.kind = "host"
	}
	id, err := p.word(map[string]string{"host": "an address", "net": "a network", "port": "a port", "portrange": "a range of ports, as 8000-8080", "proto": "a protocol"}[q.kind])
	if err != nil {
		return nil, err
	}
	t, err := q.test(id)
	if err != nil {
		p.at-- // where the word is
		return nil, err
	}
	p.last = q
	return t, nil
}

// other takes "or dst" or "and dst" behind src.
func (p *parser) other(end string, alone direction) direction {
	if p.at+1 >= len(p.tokens) || p.tokens[p.at+1].text != end {
		return alone
	}
	switch {
	case p.take("or"):
		p.at++
		return either
	case p.take("and"):
		p.at++
		return both
	}
	return alone
}

func joins(w string) bool { return w == "and" || w == "or" }

// protocol is a protocol's name alone.
func protocol(name string) (test, error) {
	if et, ok := byEther[name]; ok {
		return func(v *view) bool { return v.ether() == et }, nil
	}
	if n, ok := byProto[name]; ok {
		return func(v *view) bool { return v.proto(n) }, nil
	}
	return nil, fmt.Errorf("%s is no test by itself: need ether host, ether proto, ether broadcast or ether multicast", name)
}

// test makes the test of an address or number.
func (q qualifiers) test(id string) (test, error) {
	switch q.kind {
	case "host":
		if q.proto == "ether" {
			return q.mac(id)
		}
		a, err := netip.ParseAddr(id)
		if err != nil {
			return nil, fmt.Errorf("%q: need an IP address, or a word that pcap-filter has and this has as well (names of hosts are not resolved)", id)
		}
		return q.address(netip.PrefixFrom(a, a.BitLen()))
	case "net":
		n, err := network(id)
		if err != nil {
			return nil, err
		}
		return q.address(n)
	case "port", "portrange":
		return q.port(id)
	}
	return q.number(id)
}

func (q qualifiers) mac(id string) (test, error) {
	a, err := net.ParseMAC(id)
	if err != nil || len(a) != 6 {
		return nil, fmt.Errorf("%q: need a MAC address, as 02:00:00:00:00:01", id)
	}
	d := q.dir
	return func(v *view) bool {
		return len(v.frame) >= 12 && d.of(bytes.Equal(v.frame[6:12], a), bytes.Equal(v.frame[:6], a))
	}, nil
}

// network reads 10.0.0.0/8, 2001:db8::/32, and the short 10 or 192.168.
func network(id string) (netip.Prefix, error) {
	if n, err := netip.ParsePrefix(id); err == nil {
		if n.Masked() != n {
			return n, fmt.Errorf("%q: has bits beyond its mask; need %v", id, n.Masked())
		}
		return n, nil
	}
	if a, err := netip.ParseAddr(id); err == nil {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	short := id
	for n := strings.Count(id, ".") + 1; n < 4; n++ {
		short += ".0"
	}
	a, err := netip.ParseAddr(short)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q: need a network, as 10.0.0.0/8", id)
	}
	return netip.PrefixFrom(a, 8*(strings.Count(id, ".")+1)), nil
}

// address tests IP addresses, and those in ARP.
func (q qualifiers) address(n netip.Prefix) (test, error) {
	only, ok := byEther[q.proto]
	if q.proto != "" && !ok {
		return nil, fmt.Errorf("%s has no addresses of its own: need ip, ip6, arp or nothing in front of %s", q.proto, q.kind)
	}
	d := q.dir
	return func(v *view) bool {
		if ok && v.ether() != only {
			return false
		}
		src, dst, there := v.addresses()
		return there && d.of(n.Contains(src), n.Contains(dst))
	}, nil
}

func (q qualifiers) port(id string) (test, error) {
	from, to, ranged := strings.Cut(id, "-")
	if q.kind == "port" { // its name may have a hyphen
		from, ranged = id, false
	}
	low, err := port(from, q.proto)
	high := low
	if err == nil && ranged {
		high, err = port(to, q.proto)
	}
	if err != nil {
		return nil, err
	}
	low, high = min(low, high), max(low, high)
	var proto uint8
	switch q.proto {
	case "", "ip", "ip6":
	case "tcp", "udp", "sctp":
		proto = byProto[q.proto]
	default:
		return nil, fmt.Errorf("%s has no ports: need tcp, udp, sctp or nothing in front of %s", q.proto, q.kind)
	}
	only, d := byEther[q.proto], q.dir
	return func(v *view) bool {
		if proto > 0 && v.packet.Proto != proto || only > 0 && v.ether() != only {
			return false
		}
		src, dst, there := v.ports()
		return there && d.of(low <= src && src <= high, low <= dst && dst <= high)
	}, nil
}

// port reads a number, or a name of /etc/services.
func port(id, proto string) (uint16, error) {
	if n, err := strconv.ParseUint(id, 0, 16); err == nil {
		return uint16(n), nil
	}
	tries := []string{"tcp", "udp"}
	if proto == "tcp" || proto == "udp" {
		tries = []string{proto}
	}
	for _, p := range tries {
		if n, err := net.LookupPort(p, id); err == nil {
			return uint16(n), nil
		}
	}
	return 0, fmt.Errorf("%q: need a port from 0 to 65535, or its name", id)
}

// number is "proto".
func (q qualifiers) number(id string) (test, error) {
	if q.proto == "ether" {
		et, known := byEther[id]
		n, err := strconv.ParseUint(id, 0, 16)
		if !known && err != nil {
			return nil, fmt.Errorf("%q: need an EtherType, as 0x88cc", id)
		}
		if !known {
			et = uint16(n)
		}
		return func(v *view) bool { return v.ether() == et }, nil
	}
	only, ok := byEther[q.proto]
	if q.proto != "" && q.proto != "ip" && q.proto != "ip6" {
		return nil, fmt.Errorf("%s proto: need ether, ip, ip6 or nothing in front of proto", q.proto)
	}
	number, known := byProto[id]
	n, err := strconv.ParseUint(id, 0, 8)
	if !known && err != nil {
		return nil, fmt.Errorf("%q: need an IP protocol from 0 to 255, or its name", id)
	}
	if !known {
		number = uint8(n)
	}
	return func(v *view) bool { return v.proto(number) && (!ok || v.ether() == only) }, nil
}
