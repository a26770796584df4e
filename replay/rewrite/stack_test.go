package rewrite_test

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// ends is one level of a made frame.
type ends struct {
	src4, dst4, src6, dst6 string
	ttl, dscp              uint8
	sport, dport           uint16
	seq, ack, sack         uint32
}

// made says what a frame is made with. level 0 is the outermost.
type made struct {
	smac, dmac string
	level      [2]ends
	teid       uint32
	payload    string
}

func example() made {
	return made{
		smac: "02:00:00:00:00:01", dmac: "02:00:00:00:00:02",
		level: [2]ends{
			{"10.1.2.3", "172.16.0.9", "2001:db8::a", "2001:db8:1::b", 64, 10, 40000, 80, 0xfffffff0, 77, 0xffffff00},
			{"10.99.0.1", "192.0.2.200", "2001:db8:aa::1", "fd00::2", 63, 0, 1234, 443, 1000, 0xfffffffe, 5000},
		},
		teid: 0x1234, payload: "odd length of payload",
	}
}

// stacks are the frames that every rule is tried on.
var stacks = []string{
	"ip4 udp", "ip4 tcp", "ip4 icmp", "ip6 udp", "ip6 tcp", "ip6 icmp6", "ip4 udp0", "ip4 sctp",
	"vlan ip4 tcp", "qinq vlan ip6 udp", "ip4 udp pad",
	"ip4 gtpu ip4 udp", "ip4 gtpu ip4 tcp", "ip4 gtpu-seq ip6 tcp", "ip6 gtpu-ext ip4 udp", "vlan ip4 gtpu-ext ip6 udp0",
	"ip4 gtpu-end", "ip4 gtpu-echo",
	"ip4 gre ip4 tcp", "ip4 gre-ck ip6 udp", "ip6 gre-key-seq ip4 icmp", "ip4 gre-ck-key-seq ip4 tcp",
	"ip4 vxlan eth ip4 tcp", "qinq ip6 vxlan eth vlan ip6 udp", "ip4 vxlan eth arp",
	"ip4 ip4 udp", "ip4 ip6 tcp", "ip6 ip6 udp", "ip6 ip4 tcp",
	"arp", "vlan arp", "nd",
	"ip4 error4 ip4 udp", "ip4 error4 ip4 tcp", "ip6 error6 ip6 tcp", "ip4 gtpu ip4 error4 ip4 udp",
}

// build makes a frame with gopacket, which computes all lengths and checksums.
func build(t testing.TB, stack string, m made) []byte {
	t.Helper()
	b := builder{t: t, m: m}
	words := strings.Fields(stack)
	pad := words[len(words)-1] == "pad"
	if pad {
		words = words[:len(words)-1]
	}
	b.words(append([]string{"eth"}, words...))
	f := b.bytes()
	if pad {
		// Padding that is no zeros, as bad cards send it.
		f = append(f, "padding"...)
	}
	return f
}

type builder struct {
	t     testing.TB
	m     made
	level int
	flip  bool // the ends change places: what an ICMP error quotes
	ls    []gopacket.SerializableLayer
	net   gopacket.NetworkLayer
}

func (b *builder) bytes() []byte {
	b.t.Helper()
	buf := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, b.ls...); err != nil {
		b.t.Fatal(err)
	}
	return buf.Bytes()
}

func hw(s string) net.HardwareAddr {
	a, err := net.ParseMAC(s)
	if err != nil {
		panic(err)
	}
	return a
}

func ip(s string) net.IP { return netip.MustParseAddr(s).AsSlice() }

func etherType(word string) layers.EthernetType {
	switch strings.SplitN(word, "-", 2)[0] {
	case "ip4":
		return layers.EthernetTypeIPv4
	case "ip6", "nd":
		return layers.EthernetTypeIPv6
	case "arp":
		return layers.EthernetTypeARP
	case "vlan":
		return layers.EthernetTypeDot1Q
	case "qinq":
		return layers.EthernetTypeQinQ
	}
	panic(word)
}

func protocol(word string) layers.IPProtocol {
	for prefix, p := range map[string]layers.IPProtocol{
		"udp": 17, "gtpu": 17, "vxlan": 17, "tcp": 6, "icmp": 1, "icmp6": 58, "error4": 1, "error6": 58, "gre": 47, "ip4": 4, "ip6": 41, "sctp": 132, "udp0": 17,
	} {
		if strings.SplitN(word, "-", 2)[0] == prefix {
			return p
		}
	}
	panic(word)
}

func (b *builder) words(words []string) {
	if len(words) == 0 {
		return
	}
	word, next := words[0], ""
	if len(words) > 1 {
		next = words[1]
	}
	e := b.m.level[min(b.level, 1)]
	if b.flip {
		e.src4, e.dst4, e.src6, e.dst6, e.sport, e.dport = e.dst4, e.src4, e.dst6, e.src6, e.dport, e.sport
	}
	add := func(l ...gopacket.SerializableLayer) { b.ls = append(b.ls, l...) }
	udp := func(sport, dport uint16, none bool) {
		u := &layers.UDP{SrcPort: layers.UDPPort(sport), DstPort: layers.UDPPort(dport)}
		if none {
			add(noChecksum{u})
			return
		}
		u.SetNetworkLayerForChecksum(b.net)
		add(u)
	}
	payload := gopacket.Payload(b.m.payload)
	src, dst := b.m.smac, b.m.dmac
	if b.level > 0 {
		src, dst = "02:aa:00:00:00:01", "02:aa:00:00:00:02"
	}
	switch kind, opts, _ := strings.Cut(word, "-"); kind {
	case "eth":
		add(&layers.Ethernet{SrcMAC: hw(src), DstMAC: hw(dst), EthernetType: etherType(next)})
	case "vlan", "qinq":
		id := uint16(100)
		if kind == "qinq" {
			id = 200
		}
		add(&layers.Dot1Q{VLANIdentifier: id, Priority: 3, Type: etherType(next)})
	case "arp":
		add(&layers.ARP{AddrType: 1, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4, Operation: 2,
			SourceHwAddress: hw(src), SourceProtAddress: ip(e.src4), DstHwAddress: hw(dst), DstProtAddress: ip(e.dst4)})
		return
	case "nd":
		b.words([]string{"ip6", "icmp6-na"})
		return
	case "ip4":
		n := &layers.IPv4{Version: 4, TTL: e.ttl, TOS: e.dscp<<2 | 1, Id: 7, Flags: layers.IPv4DontFragment, Protocol: protocol(next), SrcIP: ip(e.src4), DstIP: ip(e.dst4)}
		b.net = n
		add(n)
		if protocol(next) == 4 || protocol(next) == 41 {
			b.level++
		}
	case "ip6":
		n := &layers.IPv6{Version: 6, HopLimit: e.ttl, TrafficClass: e.dscp<<2 | 1, FlowLabel: 0xabcde, NextHeader: protocol(next), SrcIP: ip(e.src6), DstIP: ip(e.dst6)}
		b.net = n
		add(n)
		if protocol(next) == 4 || protocol(next) == 41 {
			b.level++
		}
	case "udp", "udp0":
		udp(e.sport, e.dport, kind == "udp0")
		add(payload)
	case "tcp":
		h := &layers.TCP{SrcPort: layers.TCPPort(e.sport), DstPort: layers.TCPPort(e.dport), Seq: e.seq, Ack: e.ack, ACK: true, PSH: true, Window: 500,
			Options: []layers.TCPOption{{OptionType: 1}, {OptionType: 5, OptionLength: 10, OptionData: append(be32(e.sack), be32(e.sack+500)...)}, {OptionType: 1}}}
		h.SetNetworkLayerForChecksum(b.net)
		add(h, payload)
	case "sctp":
		add(gopacket.Payload("\x12\x34\x00\x50\x00\x00\x00\x01\xaa\xbb\xcc\xddchunks"))
	case "icmp":
		add(&layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(8, 0), Id: 1, Seq: 2}, payload)
	case "icmp6":
		if opts == "na" {
			h := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(136, 0)}
			h.SetNetworkLayerForChecksum(b.net)
			add(h, &layers.ICMPv6NeighborAdvertisement{Flags: 0x60, TargetAddress: ip(e.src6),
				Options: layers.ICMPv6Options{{Type: layers.ICMPv6OptTargetAddress, Data: hw(src)}}})
			return
		}
		h := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(128, 0)}
		h.SetNetworkLayerForChecksum(b.net)
		add(h, &layers.ICMPv6Echo{Identifier: 1, SeqNumber: 2}, payload)
	case "error4", "error6":
		// What is quoted went the other way.
		q := builder{t: b.t, m: b.m, level: b.level, flip: true}
		for i := range q.m.level {
			q.m.level[i].ttl = 1
		}
		q.words(words[1:])
		quote := q.bytes()
		if kind == "error4" {
			add(&layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(3, 3)}, gopacket.Payload(quote[:28]))
			return
		}
		h := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(1, 4)}
		h.SetNetworkLayerForChecksum(b.net)
		add(h, gopacket.Payload("\x00\x00\x00\x00"), gopacket.Payload(quote))
		return
	case "gtpu":
		udp(2152, 2152, false)
		// gopacket writes neither the length nor the optional fields in their place.
		q := builder{t: b.t, m: b.m, level: b.level + 1, flip: b.flip}
		q.words(words[1:])
		flags, kind, id, more := byte(0x30), byte(255), b.m.teid, ""
		switch opts {
		case "seq":
			flags, more = 0x32, "\x00\x09\x00\x00"
		case "ext": // a PDU session container (3GPP TS 38.415), and one more
			flags, more = 0x34, "\x00\x00\x00\x85\x01\x10\x05\x40\x01\x08\x68\x00"
		case "end":
			kind = 254
		case "echo":
			kind, id = 1, 0
		}
		within := more + string(q.bytes())
		add(gopacket.Payload(append([]byte{flags, kind, byte(len(within) >> 8), byte(len(within))}, be32(id)...)), gopacket.Payload(within))
		return
	case "vxlan":
		udp(50000, 4789, false)
		add(&layers.VXLAN{ValidIDFlag: true, VNI: 42})
		b.level++
	case "gre":
		g := &layers.GRE{Protocol: etherType(next)}
		g.ChecksumPresent, g.KeyPresent, g.SeqPresent = strings.Contains(opts, "ck"), strings.Contains(opts, "key"), strings.Contains(opts, "seq")
		g.Key, g.Seq = 99, 5
		add(g)
		b.level++
	default:
		b.t.Fatalf("no layer %q", word)
	}
	b.words(words[1:])
}

func be32(v uint32) []byte { return []byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)} }

// noChecksum is UDP whose sender computed none.
type noChecksum struct{ *layers.UDP }

func (u noChecksum) SerializeTo(b gopacket.SerializeBuffer, o gopacket.SerializeOptions) error {
	o.ComputeChecksums = false
	return u.UDP.SerializeTo(b, o)
}
