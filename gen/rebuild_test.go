package gen

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"squall/internal/plan"
	"squall/internal/wire"
)

// rebuilt builds frame after frame anew from gopacket's structs: nothing is
// patched, nothing is incremental, and no table of this package is used.
type rebuilt struct {
	eth   layers.Ethernet
	tags  []layers.Dot1Q
	arp   *layers.ARP
	ip4   *layers.IPv4
	ip6   *layers.IPv6
	udp   *layers.UDP
	tcp   *layers.TCP
	icmp4 *layers.ICMPv4
	icmp6 *layers.ICMPv6
	rest6 []byte // of icmp6
	raw   []byte
}

var testTarget = Target{
	Run: 0xbeef, FirstStream: 3, MTU: 1500, LinkBits: 1e9,
	SrcMAC: net.HardwareAddr{2, 1, 1, 1, 1, 1}, DstMAC: net.HardwareAddr{2, 2, 2, 2, 2, 2},
}

// newRebuilt has the defaults that doc.go and reference.yaml promise.
func newRebuilt(stack string) *rebuilt {
	r := &rebuilt{eth: layers.Ethernet{
		SrcMAC: append(net.HardwareAddr{}, testTarget.SrcMAC...), DstMAC: append(net.HardwareAddr{}, testTarget.DstMAC...),
		EthernetType: 0x88b5,
	}}
	says := func(et layers.EthernetType) {
		if n := len(r.tags); n > 0 {
			r.tags[n-1].Type = et
			return
		}
		r.eth.EthernetType = et
	}
	proto := func(v4, v6 layers.IPProtocol) {
		if r.ip4 == nil && r.ip6 == nil {
			panic("no IP in " + stack)
		}
		if r.ip4 != nil {
			r.ip4.Protocol = v4
			return
		}
		r.ip6.NextHeader = v6
	}
	for name := range strings.SplitSeq(stack, "/") {
		switch name {
		case "ethernet":
		case "vlan":
			says(0x8100)
			r.tags = append(r.tags, layers.Dot1Q{VLANIdentifier: 1, Type: 0x88b5})
		case "qinq":
			says(0x88a8)
			r.tags = append(r.tags, layers.Dot1Q{VLANIdentifier: 1, Type: 0x88b5})
		case "arp":
			says(0x0806)
			r.eth.DstMAC = net.HardwareAddr{255, 255, 255, 255, 255, 255}
			r.arp = &layers.ARP{
				AddrType: 1, Protocol: 0x0800, Operation: 1, HwAddressSize: 6, ProtAddressSize: 4,
				SourceHwAddress: append([]byte{}, r.eth.SrcMAC...), SourceProtAddress: []byte{198, 18, 0, 1},
				DstHwAddress: make([]byte, 6), DstProtAddress: []byte{198, 18, 1, 1},
			}
		case "ipv4":
			says(0x0800)
			r.ip4 = &layers.IPv4{Version: 4, TTL: 64, Protocol: 253, SrcIP: net.IP{198, 18, 0, 1}, DstIP: net.IP{198, 18, 1, 1}}
		case "ipv6":
			says(0x86dd)
			r.ip6 = &layers.IPv6{
				Version: 6, HopLimit: 64, NextHeader: 253,
				SrcIP: netip.MustParseAddr("2001:2::1").AsSlice(), DstIP: netip.MustParseAddr("2001:2:0:1::1").AsSlice(),
			}
		case "udp":
			proto(17, 17)
			r.udp = &layers.UDP{SrcPort: 49184, DstPort: 9}
		case "tcp":
			proto(6, 6)
			r.tcp = &layers.TCP{SrcPort: 49184, DstPort: 9, Seq: 1, Ack: 1, ACK: true, Window: 65535}
		case "icmp":
			proto(1, 58)
			if r.ip6 != nil {
				r.icmp6 = &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(128, 0)}
				r.rest6 = []byte{0, 1, 0, 0}
				break
			}
			r.icmp4 = &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(8, 0), Id: 1}
		case "raw":
			r.raw = []byte{0xde, 0xad, 0xbe, 0xef, 0x99}
		default:
			panic(name)
		}
	}
	return r
}

// testFields are the fields of every layer by name: how wide, and what sets
// them. Defaults are what get would give before any set.
var testFields = map[string]struct {
	bits  int
	start uint64
	set   func(r *rebuilt, v uint64)
}{
	"ethernet.dst":         {48, 0x020202020202, func(r *rebuilt, v uint64) { mac48(r.eth.DstMAC, v) }},
	"ethernet.src":         {48, 0x020101010101, func(r *rebuilt, v uint64) { mac48(r.eth.SrcMAC, v) }},
	"vlan.id":              {12, 1, func(r *rebuilt, v uint64) { r.tags[r.vlan(0)].VLANIdentifier = uint16(v) }},
	"vlan.priority":        {3, 0, func(r *rebuilt, v uint64) { r.tags[r.vlan(0)].Priority = uint8(v) }},
	"vlan.dei":             {1, 0, func(r *rebuilt, v uint64) { r.tags[r.vlan(0)].DropEligible = v == 1 }},
	"vlan[1].id":           {12, 1, func(r *rebuilt, v uint64) { r.tags[1].VLANIdentifier = uint16(v) }},
	"qinq.id":              {12, 1, func(r *rebuilt, v uint64) { r.tags[0].VLANIdentifier = uint16(v) }},
	"arp.op":               {16, 1, func(r *rebuilt, v uint64) { r.arp.Operation = uint16(v) }},
	"arp.sender_mac":       {48, 0x020101010101, func(r *rebuilt, v uint64) { mac48(r.arp.SourceHwAddress, v) }},
	"arp.sender_ip":        {32, 0xc6120001, func(r *rebuilt, v uint64) { binary.BigEndian.PutUint32(r.arp.SourceProtAddress, uint32(v)) }},
	"arp.target_mac":       {48, 0, func(r *rebuilt, v uint64) { mac48(r.arp.DstHwAddress, v) }},
	"arp.target_ip":        {32, 0xc6120101, func(r *rebuilt, v uint64) { binary.BigEndian.PutUint32(r.arp.DstProtAddress, uint32(v)) }},
	"ipv4.dscp":            {6, 0, func(r *rebuilt, v uint64) { r.ip4.TOS = r.ip4.TOS&3 | uint8(v)<<2 }},
	"ipv4.ecn":             {2, 0, func(r *rebuilt, v uint64) { r.ip4.TOS = r.ip4.TOS&^3 | uint8(v) }},
	"ipv4.id":              {16, 0, func(r *rebuilt, v uint64) { r.ip4.Id = uint16(v) }},
	"ipv4.flags":           {3, 0, func(r *rebuilt, v uint64) { r.ip4.Flags = layers.IPv4Flag(v) }},
	"ipv4.fragment_offset": {13, 0, func(r *rebuilt, v uint64) { r.ip4.FragOffset = uint16(v) }},
	"ipv4.ttl":             {8, 64, func(r *rebuilt, v uint64) { r.ip4.TTL = uint8(v) }},
	"ipv4.src":             {32, 0xc6120001, func(r *rebuilt, v uint64) { binary.BigEndian.PutUint32(r.ip4.SrcIP, uint32(v)) }},
	"ipv4.dst":             {32, 0xc6120101, func(r *rebuilt, v uint64) { binary.BigEndian.PutUint32(r.ip4.DstIP, uint32(v)) }},
	"ipv6.dscp":            {6, 0, func(r *rebuilt, v uint64) { r.ip6.TrafficClass = r.ip6.TrafficClass&3 | uint8(v)<<2 }},
	"ipv6.ecn":             {2, 0, func(r *rebuilt, v uint64) { r.ip6.TrafficClass = r.ip6.TrafficClass&^3 | uint8(v) }},
	"ipv6.flow_label":      {20, 0, func(r *rebuilt, v uint64) { r.ip6.FlowLabel = uint32(v) }},
	"ipv6.hop_limit":       {8, 64, func(r *rebuilt, v uint64) { r.ip6.HopLimit = uint8(v) }},
	"ipv6.src":             {64, 1, func(r *rebuilt, v uint64) { binary.BigEndian.PutUint64(r.ip6.SrcIP[8:], v) }},
	"ipv6.dst":             {64, 1, func(r *rebuilt, v uint64) { binary.BigEndian.PutUint64(r.ip6.DstIP[8:], v) }},
	"udp.src":              {16, 49184, func(r *rebuilt, v uint64) { r.udp.SrcPort = layers.UDPPort(v) }},
	"udp.dst":              {16, 9, func(r *rebuilt, v uint64) { r.udp.DstPort = layers.UDPPort(v) }},
	"tcp.src":              {16, 49184, func(r *rebuilt, v uint64) { r.tcp.SrcPort = layers.TCPPort(v) }},
	"tcp.dst":              {16, 9, func(r *rebuilt, v uint64) { r.tcp.DstPort = layers.TCPPort(v) }},
	"tcp.seq":              {32, 1, func(r *rebuilt, v uint64) { r.tcp.Seq = uint32(v) }},
	"tcp.ack":              {32, 1, func(r *rebuilt, v uint64) { r.tcp.Ack = uint32(v) }},
	"tcp.window":           {16, 65535, func(r *rebuilt, v uint64) { r.tcp.Window = uint16(v) }},
	"tcp.urgent":           {16, 0, func(r *rebuilt, v uint64) { r.tcp.Urgent = uint16(v) }},
	"tcp.flags": {9, 16, func(r *rebuilt, v uint64) {
		for i, bit := range []*bool{&r.tcp.FIN, &r.tcp.SYN, &r.tcp.RST, &r.tcp.PSH, &r.tcp.ACK, &r.tcp.URG, &r.tcp.ECE, &r.tcp.CWR, &r.tcp.NS} {
			*bit = v>>i&1 == 1
		}
	}},
	"icmp.type": {8, 8, func(r *rebuilt, v uint64) { r.icmp(uint8(v), -1) }},
	"icmp.code": {8, 0, func(r *rebuilt, v uint64) { r.icmp(-1, int(v)) }},
	"icmp.id": {16, 1, func(r *rebuilt, v uint64) {
		if r.icmp4 != nil {
			r.icmp4.Id = uint16(v)
			return
		}
		binary.BigEndian.PutUint16(r.rest6, uint16(v))
	}},
	"icmp.seq": {16, 0, func(r *rebuilt, v uint64) {
		if r.icmp4 != nil {
			r.icmp4.Seq = uint16(v)
			return
		}
		binary.BigEndian.PutUint16(r.rest6[2:], uint16(v))
	}},
	"raw[1:3]": {16, 0xadbe, func(r *rebuilt, v uint64) { binary.BigEndian.PutUint16(r.raw[1:], uint16(v)) }},
}

func mac48(b []byte, v uint64) {
	var w [8]byte
	binary.BigEndian.PutUint64(w[:], v)
	copy(b, w[2:])
}

// vlan returns which tag is the n-th 802.1Q one.
func (r *rebuilt) vlan(n int) int {
	if r.eth.EthernetType == 0x88a8 {
		return n + 1
	}
	return n
}

func (r *rebuilt) icmp(typ any, code int) {
	set := func(t, c uint8) (uint8, uint8) {
		if v, ok := typ.(uint8); ok {
			t = v
		}
		if code >= 0 {
			c = uint8(code)
		}
		return t, c
	}
	if r.icmp4 != nil {
		r.icmp4.TypeCode = layers.CreateICMPv4TypeCode(set(r.icmp4.TypeCode.Type(), r.icmp4.TypeCode.Code()))
		return
	}
	r.icmp6.TypeCode = layers.CreateICMPv6TypeCode(set(r.icmp6.TypeCode.Type(), r.icmp6.TypeCode.Code()))
}

// headers returns how long the headers are.
func (r *rebuilt) headers() int {
	n := 14 + 4*len(r.tags) + len(r.raw)
	for _, l := range []struct {
		there bool
		n     int
	}{{r.arp != nil, 28}, {r.ip4 != nil, 20}, {r.ip6 != nil, 40}, {r.udp != nil, 8}, {r.tcp != nil, 20}, {r.icmp4 != nil, 8}, {r.icmp6 != nil, 8}} {
		if l.there {
			n += l.n
		}
	}
	return n
}

// transport returns where the transport's header begins.
func (r *rebuilt) transport() int {
	n := 14 + 4*len(r.tags)
	if r.ip4 != nil {
		return n + 20
	}
	return n + 40
}

// frame returns the frame with this payload, padded with pad zeros, its
// checksums as asked.
func (r *rebuilt) frame(t testing.TB, payload []byte, pad int, sums map[string]string) []byte {
	t.Helper()
	ls := []gopacket.SerializableLayer{&r.eth}
	for i := range r.tags {
		ls = append(ls, &r.tags[i])
	}
	var ip gopacket.NetworkLayer
	if r.arp != nil {
		ls = append(ls, r.arp)
	}
	if r.ip4 != nil {
		ls, ip = append(ls, r.ip4), r.ip4
	}
	if r.ip6 != nil {
		ls, ip = append(ls, r.ip6), r.ip6
	}
	switch {
	case r.udp != nil:
		ls = append(ls, r.udp)
		r.udp.SetNetworkLayerForChecksum(ip) //nolint:errcheck
	case r.tcp != nil:
		ls = append(ls, r.tcp)
		r.tcp.SetNetworkLayerForChecksum(ip) //nolint:errcheck
	case r.icmp4 != nil:
		ls = append(ls, r.icmp4)
	case r.icmp6 != nil:
		ls = append(ls, r.icmp6, gopacket.Payload(r.rest6))
		r.icmp6.SetNetworkLayerForChecksum(ip) //nolint:errcheck
	}
	ls = append(ls, gopacket.Payload(r.raw), gopacket.Payload(payload))
	buf := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, ls...); err != nil {
		t.Fatal(err)
	}
	b := append([]byte{}, buf.Bytes()[:r.headers()+len(payload)]...)
	b = append(b, make([]byte, pad)...)
	adjust := func(off int, how string) {
		sum := binary.BigEndian.Uint16(b[off:])
		switch how {
		case "wrong": // one's complement sum plus one
			s := uint32(^sum) + 1
			sum = ^uint16(s&0xffff + s>>16)
		case "none":
			binary.BigEndian.PutUint16(b[off:], 0)
			return
		}
		if sum == 0 && (r.udp != nil || r.icmp4 != nil && r.icmp4.TypeCode.Type() == 0) && off != 14+4*len(r.tags)+10 {
			sum = 0xffff
		}
		binary.BigEndian.PutUint16(b[off:], sum)
	}
	switch {
	case r.udp != nil:
		adjust(r.transport()+6, sums["udp"])
	case r.tcp != nil:
		adjust(r.transport()+16, sums["tcp"])
	case r.icmp4 != nil || r.icmp6 != nil:
		adjust(r.transport()+2, sums["icmp"])
	}
	if r.ip4 != nil {
		adjust(14+4*len(r.tags)+10, sums["ipv4"])
	}
	return b
}

// payloadField returns the range that payload[a:b] names.
func payloadField(name string) (from, to int, ok bool) {
	n, err := fmt.Sscanf(name, "payload[%d:%d]", &from, &to)
	return from, to, n == 2 && err == nil
}

// want is frame i of a plan with one stream, spec, as the reference makes it.
// The value of a varying field and the order of flows and sizes are worked out
// from their definitions.
func want(t testing.TB, stack string, spec Spec, s *plan.Stream, i uint64, now int64) []byte {
	t.Helper()
	r := newRebuilt(stack)
	flows := max(spec.Flows, 1)
	run := max(spec.FlowRun, 1)
	flow := i / run % flows
	if spec.FlowOrder == "random" && flows > 1 {
		flow = plan.Random(s.Seed, i/run) % flows
	}
	class := plan.Random(s.Seed^0x73697a65, i) % uint64(len(s.Sizes.Lens))
	if n := uint64(len(s.Sizes.Cycle)); n > 0 {
		span := flows * run
		for span%n != 0 {
			span += flows * run
		}
		class = uint64(s.Sizes.Cycle[(i+i/span)%n])
	}
	length := s.Sizes.Lens[class]
	payload := make([]byte, length-s.Pad-r.headers())
	fill(payload, spec)
	vary := spec.Vary
	if flows > 1 {
		apart := false
		for _, v := range vary {
			apart = apart || v.Per != "frame"
		}
		if !apart {
			vary = append(vary[:len(vary):len(vary)], defaultVary(r, flows))
		}
	}
	for k, v := range vary {
		n := i
		if v.Per == "flow" || v.Per == "" && flows > 1 {
			n = flow
		}
		from, to, inPayload := payloadField(v.Field)
		if inPayload {
			var w [8]byte
			copy(w[8-(to-from):], payload[from:to])
			b := value(v, k, s.Seed, n, 8*(to-from), binary.BigEndian.Uint64(w[:]))
			binary.BigEndian.PutUint64(w[:], b)
			copy(payload[from:to], w[8-(to-from):])
			continue
		}
		f := testFields[v.Field]
		start := f.start
		switch {
		case v.Field == "ethernet.dst" && r.arp != nil:
			start = 1<<48 - 1
		case v.Field == "icmp.type" && r.icmp6 != nil:
			start = 128
		}
		f.set(r, value(v, k, s.Seed, n, f.bits, start))
	}
	switch s.Tag {
	case plan.TagEnd:
		wire.Tag{Run: testTarget.Run, Stream: testTarget.FirstStream, Seq: i, Sent: now}.Put(payload[len(payload)-wire.TagLen:])
	case plan.TagID:
		round := flows * run
		r.ip4.Id = uint16(i/round*run + i%run)
	}
	return r.frame(t, payload, s.Pad, spec.Checksum)
}

// fill writes the payload as the stream describes it.
func fill(payload []byte, spec Spec) {
	for _, l := range spec.Layers {
		if l.Name != "payload" {
			continue
		}
		copy(payload, l.Fields["text"])
		if p := l.Fields["pattern"]; p != "" {
			pattern, _ := parseHex(p)
			for i := range payload {
				payload[i] = pattern[i%len(pattern)]
			}
		}
	}
}

func defaultVary(r *rebuilt, flows uint64) Vary {
	v := Vary{Per: "flow"}
	switch {
	case r.udp != nil:
		v.Field = "udp.src"
	case r.tcp != nil:
		v.Field = "tcp.src"
	case r.icmp4 != nil || r.icmp6 != nil:
		v.Field = "icmp.id"
	case r.ip4 != nil:
		v.Field = "ipv4.src"
	case r.ip6 != nil:
		v.Field = "ipv6.src"
	case r.arp != nil:
		v.Field = "arp.sender_ip"
	default:
		v.Field = "ethernet.src"
	}
	if (r.udp != nil || r.tcp != nil) && 49184+flows > 65536 {
		v.Start, v.Count = "1024", 64512
	}
	return v
}

// value is the n-th value of a field that varies.
func value(v Vary, k int, seed, n uint64, bits int, start uint64) uint64 {
	mask := ^uint64(0)
	if bits < 64 {
		mask = 1<<bits - 1
	}
	if v.Every > 1 {
		n /= v.Every
	}
	if v.Start != "" {
		start, _ = parseUint(v.Start)
	}
	step := uint64(1)
	if v.Step != "" {
		step, _ = parseUint(v.Step)
	}
	switch v.Mode {
	case "list":
		x, _ := parseUint(v.Values[n%uint64(len(v.Values))])
		return x & mask
	case "random":
		x := plan.Random(seed^(uint64(k)+1), n)
		if v.Count > 0 {
			x = mulHigh(x, v.Count)
		}
		return (start + x) & mask
	}
	if v.Count > 0 {
		n %= v.Count
	}
	if v.Mode == "decrement" {
		return (start - n*step) & mask
	}
	return (start + n*step) & mask
}

// mulHigh returns the high half of a*b, from 32-bit pieces.
func mulHigh(a, b uint64) uint64 {
	al, ah, bl, bh := a&0xffffffff, a>>32, b&0xffffffff, b>>32
	mid := al*bh + al*bl>>32
	return ah*bh + mid>>32 + (mid&0xffffffff+ah*bl)>>32
}
