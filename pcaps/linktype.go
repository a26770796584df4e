package pcaps

import "fmt"

// LinkType is a LINKTYPE_ value of https://www.tcpdump.org/linktypes.html.
// (layers.LinkType has 8 bits, these have 16: 257 would pass for Ethernet.)
type LinkType uint16

// Link types that a Reframer knows.
const (
	Null      LinkType = 0   // address family in the capturing host's byte order, IP
	Ethernet  LinkType = 1   // destination address first
	PPP       LinkType = 9   // PPP, with or without its HDLC framing
	RawBSD    LinkType = 12  // IP: DLT_RAW of most systems
	RawOpen   LinkType = 14  // IP: DLT_RAW of OpenBSD
	PPPHDLC   LinkType = 50  // PPP or Cisco HDLC
	PPPoE     LinkType = 51  // PPPoE session, from its header on
	Raw       LinkType = 101 // IP
	CiscoHDLC LinkType = 104
	Loop      LinkType = 108 // as Null, in network byte order
	LinuxSLL  LinkType = 113 // Linux cooked
	IPv4      LinkType = 228
	IPv6      LinkType = 229
	LinuxSLL2 LinkType = 276 // Linux cooked, version 2
)

var linkTypes = map[LinkType]string{
	Null: "NULL (BSD loopback)", Ethernet: "Ethernet", 2: "experimental Ethernet", 3: "AX.25", 6: "Token Ring", 7: "ARCNET",
	8: "SLIP", PPP: "PPP", 10: "FDDI", RawBSD: "RAW (IP without a link layer)", RawOpen: "RAW (IP without a link layer)",
	PPPHDLC: "PPP in HDLC framing", PPPoE: "PPPoE", 99: "Symantec firewall", 100: "ATM (LLC)",
	Raw: "RAW (IP without a link layer)", CiscoHDLC: "Cisco HDLC", 105: "IEEE 802.11", 107: "Frame Relay",
	Loop: "LOOP (OpenBSD loopback)", LinuxSLL: "Linux cooked (SLL)", 114: "LocalTalk", 117: "pflog", 119: "IEEE 802.11 Prism",
	122: "IP over Fibre Channel", 123: "SunATM", 127: "IEEE 802.11 radiotap", 129: "ARCNET (Linux)",
	138: "IP over IEEE 1394", 139: "MTP2 with pseudo-header", 140: "MTP2", 141: "MTP3", 142: "SCCP", 143: "DOCSIS",
	144: "IrDA (Linux)", 147: "user 0", 148: "user 1", 149: "user 2", 150: "user 3", 151: "user 4", 152: "user 5",
	153: "user 6", 154: "user 7", 155: "user 8", 156: "user 9", 157: "user 10", 158: "user 11", 159: "user 12",
	160: "user 13", 161: "user 14", 162: "user 15", 163: "IEEE 802.11 AVS", 165: "BACnet MS/TP", 166: "PPP with direction (pppd)",
	169: "GPRS LLC", 170: "GFP, transparent", 171: "GFP, frame-mapped", 177: "LAPD (Linux)", 182: "multi-link Frame Relay",
	187: "Bluetooth HCI H4", 189: "USB (Linux)", 192: "PPI", 195: "IEEE 802.15.4 with FCS", 196: "SITA", 197: "Endace ERF",
	201: "Bluetooth HCI H4 with pseudo-header", 202: "AX.25 KISS", 203: "LAPD", 204: "PPP with direction",
	205: "Cisco HDLC with direction", 206: "Frame Relay with direction", 209: "IPMB (Linux)",
	215: "IEEE 802.15.4 without PHY", 220: "USB (Linux, padded)", 224: "Fibre Channel FC-2", 225: "Fibre Channel FC-2 with delimiters",
	226: "Solaris ipnet", 227: "CAN (SocketCAN)", IPv4: "IPv4", IPv6: "IPv6", 230: "IEEE 802.15.4 without FCS", 231: "D-Bus",
	235: "DVB-CI", 236: "MUX27010", 239: "NFLOG", 240: "netANALYZER", 241: "netANALYZER, transparent", 242: "IP over InfiniBand",
	243: "MPEG-2 TS", 244: "NG40", 245: "NFC LLCP", 247: "InfiniBand", 248: "SCTP", 249: "USBPcap", 250: "Schweitzer RTAC serial",
	251: "Bluetooth LE", 252: "Wireshark upper PDU", 253: "netlink", 254: "Bluetooth monitor (Linux)", 255: "Bluetooth BR/EDR baseband",
	256: "Bluetooth LE with PHY header", 257: "PROFIBUS", 258: "pktap (Apple)", 259: "EPON", 260: "IPMI HPM.2", 261: "Z-Wave R1/R2",
	262: "Z-Wave R3", 263: "WattStopper DLM", 264: "ISO 14443", 265: "RDS", 266: "USB (Darwin)", 268: "SDLC", 270: "LoRaTap",
	271: "vsock", 272: "Nordic BLE sniffer", 273: "DOCSIS 3.1 XRA31", 274: "Ethernet mPackets", 275: "DisplayPort AUX",
	LinuxSLL2: "Linux cooked (SLL2)", 278: "OpenVizsla USB", 279: "EBHSCR", 280: "VPP dispatch trace", 281: "Ethernet, Broadcom switch tag",
	282: "Ethernet, Broadcom switch tag prepended", 283: "IEEE 802.15.4 TAP", 284: "Ethernet, Marvell DSA tag",
	285: "Ethernet, Marvell EDSA tag", 286: "ELEE", 287: "Z-Wave serial", 288: "USB 2.0", 289: "ATSC ALP", 290: "Event Tracing for Windows",
}

// String returns the type's name and number.
func (t LinkType) String() string {
	if name, ok := linkTypes[t]; ok {
		return fmt.Sprintf("%s, link type %d", name, uint16(t))
	}
	return fmt.Sprintf("link type %d", uint16(t))
}
