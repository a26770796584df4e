package gen

import (
	"net"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"squall/internal/wire"
)

// kind is what is known of one sort of layer.
type kind struct {
	name   string
	header []byte // with the defaults that hold anywhere
	fields []field
	// build returns the layer for gopacket from its header; net is the IP layer
	// around it.
	build func(header []byte, net gopacket.NetworkLayer) ([]gopacket.SerializableLayer, error)
	// above is what the layer below says of this one: EtherType or IP protocol.
	ethertype uint16
	proto     uint8
	proto6    uint8  // where it differs in IPv6
	next      string // the field that says what is above this layer
}

// text is what the value of a field may look like besides a number.
type text uint8

const (
	number64 text = iota
	macAddr
	ip4Addr
	ip6Addr
	boolean
	flagNames // several names, joined by +
)

// field is where a field stands in its layer's header and how it is written.
type field struct {
	name  string
	bit   int // from the beginning of the header
	bits  int // at most 64, but for ip6Addr
	text  text
	names map[string]uint64
}

var tcpFlags = map[string]uint64{
	"fin": 1, "syn": 2, "rst": 4, "psh": 8, "ack": 16, "urg": 32, "ece": 64, "cwr": 128, "ns": 256,
}

// kinds are the layers with a fixed header: numbers of bits as in IEEE 802.3,
// IEEE 802.1Q, RFC 826, RFC 791, RFC 8200, RFC 768, RFC 9293, RFC 792, RFC 4443.
var kinds = []*kind{
	{
		name:   "ethernet",
		header: make([]byte, 14),
		next:   "type",
		fields: []field{
			{name: "dst", bit: 0, bits: 48, text: macAddr},
			{name: "src", bit: 48, bits: 48, text: macAddr},
			{name: "type", bit: 96, bits: 16},
		},
		build: func(b []byte, _ gopacket.NetworkLayer) ([]gopacket.SerializableLayer, error) {
			return one(&layers.Ethernet{DstMAC: b[:6], SrcMAC: b[6:12], EthernetType: layers.EthernetType(u16(b[12:]))})
		},
	},
	vlan("vlan", wire.EtherTypeVLAN),
	vlan("qinq", wire.EtherTypeQinQ),
	{
		name:      "arp",
		ethertype: wire.EtherTypeARP,
		header:    hexBytes("0001 0800 06 04 0001 000000000000 c6120001 000000000000 c6120101"),
		fields: []field{
			{name: "hardware", bit: 0, bits: 16},
			{name: "protocol", bit: 16, bits: 16},
			{name: "op", bit: 48, bits: 16, names: map[string]uint64{"request": 1, "reply": 2}},
			{name: "sender_mac", bit: 64, bits: 48, text: macAddr},
			{name: "sender_ip", bit: 112, bits: 32, text: ip4Addr},
			{name: "target_mac", bit: 144, bits: 48, text: macAddr},
			{name: "target_ip", bit: 192, bits: 32, text: ip4Addr},
		},
		build: func(b []byte, _ gopacket.NetworkLayer) ([]gopacket.SerializableLayer, error) {
			return one(&layers.ARP{
				AddrType: layers.LinkType(u16(b)), Protocol: layers.EthernetType(u16(b[2:])), Operation: u16(b[6:]),
				HwAddressSize: 6, ProtAddressSize: 4,
				SourceHwAddress: b[8:14], SourceProtAddress: b[14:18],
				DstHwAddress: b[18:24], DstProtAddress: b[24:28],
			})
		},
	},
	{
		name:      "ipv4",
		ethertype: wire.EtherTypeIPv4,
		header:    hexBytes("45 00 0000 0000 0000 40 00 0000 c6120001 c6120101"),
		next:      "protocol",
		fields: []field{
			{name: "dscp", bit: 8, bits: 6},
			{name: "ecn", bit: 14, bits: 2},
			{name: "id", bit: 32, bits: 16},
			{name: "flags", bit: 48, bits: 3, text: flagNames, names: map[string]uint64{"mf": 1, "df": 2, "reserved": 4}},
			{name: "fragment_offset", bit: 51, bits: 13},
			{name: "ttl", bit: 64, bits: 8},
			{name: "protocol", bit: 72, bits: 8},
			{name: "src", bit: 96, bits: 32, text: ip4Addr},
			{name: "dst", bit: 128, bits: 32, text: ip4Addr},
		},
		build: func(b []byte, _ gopacket.NetworkLayer) ([]gopacket.SerializableLayer, error) {
			flags := u16(b[6:])
			return one(&layers.IPv4{
				Version: 4, TOS: b[1], Id: u16(b[4:]), Flags: layers.IPv4Flag(flags >> 13), FragOffset: flags & 0x1fff,
				TTL: b[8], Protocol: layers.IPProtocol(b[9]), SrcIP: net.IP(b[12:16]), DstIP: net.IP(b[16:20]),
			})
		},
	},
	{
		name:      "ipv6",
		ethertype: wire.EtherTypeIPv6,
		header:    hexBytes("60000000 0000 00 40 20010002000000000000000000000001 20010002000000010000000000000001"),
		next:      "next_header",
		fields: []field{
			{name: "dscp", bit: 4, bits: 6},
			{name: "ecn", bit: 10, bits: 2},
			{name: "flow_label", bit: 12, bits: 20},
			{name: "next_header", bit: 48, bits: 8},
			{name: "hop_limit", bit: 56, bits: 8},
			{name: "src", bit: 64, bits: 128, text: ip6Addr},
			{name: "dst", bit: 192, bits: 128, text: ip6Addr},
		},
		build: func(b []byte, _ gopacket.NetworkLayer) ([]gopacket.SerializableLayer, error) {
			return one(&layers.IPv6{
				Version: 6, TrafficClass: uint8(u16(b) >> 4), FlowLabel: uint32(b[1]&0x0f)<<16 | uint32(u16(b[2:])),
				NextHeader: layers.IPProtocol(b[6]), HopLimit: b[7], SrcIP: net.IP(b[8:24]), DstIP: net.IP(b[24:40]),
			})
		},
	},
	{
		name:   "udp",
		proto:  wire.ProtoUDP,
		header: hexBytes("c020 0009 0000 0000"),
		fields: []field{
			{name: "src", bit: 0, bits: 16},
			{name: "dst", bit: 16, bits: 16},
		},
		build: func(b []byte, net gopacket.NetworkLayer) ([]gopacket.SerializableLayer, error) {
			l := &layers.UDP{SrcPort: layers.UDPPort(u16(b)), DstPort: layers.UDPPort(u16(b[2:]))}
			return []gopacket.SerializableLayer{l}, l.SetNetworkLayerForChecksum(net)
		},
	},
	{
		name:   "tcp",
		proto:  wire.ProtoTCP,
		header: hexBytes("c020 0009 00000001 00000001 50 10 ffff 0000 0000"),
		fields: []field{
			{name: "src", bit: 0, bits: 16},
			{name: "dst", bit: 16, bits: 16},
			{name: "seq", bit: 32, bits: 32},
			{name: "ack", bit: 64, bits: 32},
			{name: "flags", bit: 103, bits: 9, text: flagNames, names: tcpFlags},
			{name: "window", bit: 112, bits: 16},
			{name: "urgent", bit: 144, bits: 16},
		},
		build: func(b []byte, net gopacket.NetworkLayer) ([]gopacket.SerializableLayer, error) {
			f := u16(b[12:])
			has := func(bit uint16) bool { return f&bit != 0 }
			l := &layers.TCP{
				SrcPort: layers.TCPPort(u16(b)), DstPort: layers.TCPPort(u16(b[2:])), Seq: u32(b[4:]), Ack: u32(b[8:]),
				FIN: has(1), SYN: has(2), RST: has(4), PSH: has(8), ACK: has(16), URG: has(32), ECE: has(64), CWR: has(128), NS: has(256),
				Window: u16(b[14:]), Urgent: u16(b[18:]),
			}
			return []gopacket.SerializableLayer{l}, l.SetNetworkLayerForChecksum(net)
		},
	},
	{
		name:   "icmp",
		proto:  wire.ProtoICMP,
		proto6: wire.ProtoICMPv6,
		header: hexBytes("08 00 0000 0001 0000"),
		fields: []field{
			{name: "type", bit: 0, bits: 8},
			{name: "code", bit: 8, bits: 8},
			{name: "id", bit: 32, bits: 16},
			{name: "seq", bit: 48, bits: 16},
			{name: "rest", bit: 32, bits: 32},
		},
		build: func(b []byte, net gopacket.NetworkLayer) ([]gopacket.SerializableLayer, error) {
			if _, ok := net.(*layers.IPv6); ok {
				l := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(b[0], b[1])}
				return []gopacket.SerializableLayer{l, gopacket.Payload(b[4:8])}, l.SetNetworkLayerForChecksum(net)
			}
			return one(&layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(b[0], b[1]), Id: u16(b[4:]), Seq: u16(b[6:])})
		},
	},
}

func vlan(name string, ethertype uint16) *kind {
	return &kind{
		name:      name,
		ethertype: ethertype,
		header:    hexBytes("0001 0000"),
		next:      "type",
		fields: []field{
			{name: "priority", bit: 0, bits: 3},
			{name: "dei", bit: 3, bits: 1, text: boolean},
			{name: "id", bit: 4, bits: 12},
			{name: "type", bit: 16, bits: 16},
		},
		build: func(b []byte, _ gopacket.NetworkLayer) ([]gopacket.SerializableLayer, error) {
			tci := u16(b)
			return one(&layers.Dot1Q{
				Priority: uint8(tci >> 13), DropEligible: tci&0x1000 != 0, VLANIdentifier: tci & 0x0fff,
				Type: layers.EthernetType(u16(b[2:])),
			})
		},
	}
}

func one(l gopacket.SerializableLayer) ([]gopacket.SerializableLayer, error) {
	return []gopacket.SerializableLayer{l}, nil
}
