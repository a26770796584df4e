package pcaps

import "net"

// EtherTypes that matter here.
const (
	etherIPv4      = 0x0800
	etherIPv6      = 0x86dd
	etherDiscovery = 0x8863 // PPPoE
	etherSession   = 0x8864
	etherLeast     = 0x0600 // below: the length of an IEEE 802.3 frame
	etherMost      = 1500   // of these
)

// link is what a header other than Ethernet's says.
type link struct {
	head  int    // bytes before the packet
	ether uint16 // EtherType, or the length of an IEEE 802.3 frame
	src   net.HardwareAddr
	no    string // why the frame cannot go by Ethernet; "": it can
	value int    // what no speaks of
}

const (
	noHeader = "link type" // that is not known here
	noRoom   = "cut short in its header"
)

// readLink reads the header of a frame of length bytes on the wire, as
// https://www.tcpdump.org/linktypes.html has it.
func readLink(t LinkType, b []byte, length int) link {
	switch t {
	case IPv4:
		return link{ether: etherIPv4}
	case IPv6:
		return link{ether: etherIPv6}
	case Raw, RawBSD, RawOpen:
		return readRaw(b)
	case Null, Loop:
		return readFamily(t, b)
	case LinuxSLL:
		return readSLL(b, length)
	case LinuxSLL2:
		return readSLL2(b, length)
	case PPP:
		return readPPP(b)
	case PPPHDLC, CiscoHDLC:
		return readHDLC(t, b)
	case PPPoE:
		return readPPPoE(b)
	}
	return link{no: noHeader}
}

func readRaw(b []byte) link {
	if len(b) == 0 {
		return link{no: noRoom}
	}
	switch b[0] >> 4 {
	case 4:
		return link{ether: etherIPv4}
	case 6:
		return link{ether: etherIPv6}
	}
	return link{no: "IP version", value: int(b[0] >> 4)}
}

// readFamily reads an address family: 2 is IPv4 everywhere, IPv6 is 24 on NetBSD
// and OpenBSD, 28 on FreeBSD, 30 on Darwin, 23 on Windows and 10 on Linux. NULL
// has it in the byte order of the host that captured, which no file tells: a
// family that reads above 16 bits is read the other way round.
func readFamily(t LinkType, b []byte) link {
	if len(b) < 4 {
		return link{no: noRoom}
	}
	family := be.Uint32(b)
	if t == Null && family > 0xffff {
		family = le.Uint32(b)
	}
	l := link{head: 4}
	switch family {
	case 2:
		l.ether = etherIPv4
	case 10, 23, 24, 28, 30:
		l.ether = etherIPv6
	default:
		return link{no: "address family", value: int(family)}
	}
	// 10 and 23 mean other things to other systems, and a wrong family would
	// make a frame that says what it is not.
	if raw := readRaw(b[4:]); raw.no == "" && raw.ether != l.ether {
		return link{no: "IP of another version than its address family", value: int(family)}
	}
	return l
}

func readSLL(b []byte, length int) link {
	if len(b) < 16 {
		return link{no: noRoom}
	}
	l := readCooked(be.Uint16(b[14:]), be.Uint16(b[2:]), length-16)
	l.head = 16
	if be.Uint16(b[4:]) == 6 {
		l.src = net.HardwareAddr(b[6:12])
	}
	return l
}

func readSLL2(b []byte, length int) link {
	if len(b) < 20 {
		return link{no: noRoom}
	}
	l := readCooked(be.Uint16(b), be.Uint16(b[8:]), length-20)
	l.head = 20
	if b[11] == 6 {
		l.src = net.HardwareAddr(b[12:18])
	}
	return l
}

// readCooked reads the protocol of a Linux cooked frame with n bytes of packet:
// an EtherType, or LINUX_SLL_P_802_3 (1) and LINUX_SLL_P_802_2 (4), which are
// frames that have a length in its place. On netlink and on 802.11 interfaces it
// means something else (linktypes.html, LINKTYPE_LINUX_SLL).
func readCooked(protocol, hardware uint16, n int) link {
	switch hardware {
	case 770, 801, 802, 803, 824: // ARPHRD_FRAD, _IEEE80211, _PRISM, _RADIOTAP, _NETLINK
		return link{no: "hardware type", value: int(hardware)}
	}
	switch {
	case protocol >= etherLeast:
		return link{ether: protocol}
	case (protocol == 1 || protocol == 4) && n <= etherMost:
		return link{ether: uint16(max(n, 0))}
	}
	return link{no: "protocol", value: int(protocol)}
}

// readPPP reads the protocol of RFC 1661, section 2, behind address and control
// of RFC 1662 where they are; it may be compressed to one, odd, byte.
func readPPP(b []byte) link {
	head := 0
	if len(b) >= 2 && b[0] == 0xff && b[1] == 0x03 {
		head = 2
	}
	var protocol int
	switch b := b[head:]; {
	case len(b) > 0 && b[0]&1 == 1:
		protocol, head = int(b[0]), head+1
	case len(b) > 1:
		protocol, head = int(be.Uint16(b)), head+2
	default:
		return link{no: noRoom}
	}
	switch protocol {
	case 0x21:
		return link{head: head, ether: etherIPv4}
	case 0x57:
		return link{head: head, ether: etherIPv6}
	}
	return link{no: "PPP protocol", value: protocol}
}

// readHDLC reads Cisco HDLC, RFC 1547 section 4.3.1: address 0x0f (unicast) or
// 0x8f (broadcast), control, EtherType. Its keep-alives have the EtherType of
// RARP, so only IP is let through.
func readHDLC(t LinkType, b []byte) link {
	if t == PPPHDLC && !(len(b) > 0 && b[0]&0x7f == 0x0f) {
		return readPPP(b)
	}
	if len(b) < 4 {
		return link{no: noRoom}
	}
	switch ether := be.Uint16(b[2:]); ether {
	case etherIPv4, etherIPv6:
		return link{head: 4, ether: ether}
	default:
		return link{no: "Cisco HDLC protocol", value: int(ether)}
	}
}

// readPPPoE reads version and type, 1 and 1, and the code: 0 in a session (RFC
// 2516, section 4).
func readPPPoE(b []byte) link {
	switch {
	case len(b) < 6:
		return link{no: noRoom}
	case b[0] != 0x11:
		return link{no: "PPPoE version and type", value: int(b[0])}
	case b[1] == 0:
		return link{ether: etherSession}
	}
	return link{ether: etherDiscovery}
}
