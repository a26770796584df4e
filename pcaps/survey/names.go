package survey

import (
	"fmt"
	"strings"

	"squall/pcaps"
)

// etherTypes are names of EtherTypes (IEEE 802 numbers, IANA).
var etherTypes = map[uint32]string{
	0x0800: "IPv4", 0x0806: "ARP", 0x0842: "Wake-on-LAN", 0x22f0: "AVTP", 0x6558: "Ethernet in GRE", 0x8035: "RARP",
	0x8100: "VLAN (802.1Q)", 0x86dd: "IPv6", 0x8808: "flow control", 0x8809: "slow protocols (LACP)",
	0x8847: "MPLS", 0x8848: "MPLS (multicast)", 0x8863: "PPPoE discovery", 0x8864: "PPPoE session", 0x888e: "EAPOL",
	0x8892: "PROFINET", 0x88a4: "EtherCAT", 0x88a8: "VLAN (802.1ad)", 0x88cc: "LLDP", 0x88e5: "MACsec", 0x88f7: "PTP",
	0x8902: "CFM", 0x8906: "FCoE", 0x9000: "Ethernet loopback", 0x9100: "VLAN (0x9100)",
}

// protocols are names of IP protocol numbers (IANA).
var protocols = map[uint32]string{
	0: "IPv6 hop-by-hop options", 1: "ICMP", 2: "IGMP", 4: "IPv4 in IP", 6: "TCP", 17: "UDP", 33: "DCCP", 41: "IPv6 in IP",
	43: "IPv6 routing header", 44: "IPv6 fragment header", 46: "RSVP", 47: "GRE", 50: "ESP", 51: "AH", 58: "ICMPv6", 59: "no next header",
	60: "IPv6 destination options", 88: "EIGRP", 89: "OSPF", 94: "IP in IP (94)", 103: "PIM", 108: "IPComp", 112: "VRRP",
	115: "L2TP", 132: "SCTP", 136: "UDP-Lite", 137: "MPLS in IP",
}

// name says which protocol a node is.
func (n *node) name() string {
	switch n.kind {
	case kindLink:
		name, _, _ := strings.Cut(pcaps.LinkType(n.value).String(), ",")
		return name
	case kindEther:
		if name, ok := etherTypes[n.value]; ok {
			return name
		}
		return fmt.Sprintf("EtherType %#04x", n.value)
	case kindLLC:
		return "LLC (802.3)"
	case kindIP:
		return protocol(uint8(n.value))
	case kindFragment:
		return "fragments"
	case kindGTPU:
		if n.value == 255 { // 3GPP TS 29.281 section 7.1
			return "GTP-U"
		}
		return fmt.Sprintf("GTP-U message %d", n.value)
	case kindVXLAN:
		return "VXLAN"
	case kindInner:
		return "Ethernet"
	case kindUnsound:
		return "cut off or not sound"
	}
	return "other protocols"
}

func protocol(number uint8) string {
	if name, ok := protocols[uint32(number)]; ok {
		return name
	}
	return fmt.Sprintf("IP protocol %d", number)
}
