package pcaps

import "fmt"

// Record is one captured frame.
type Record struct {
	// Data is what was captured, without FCS where the link type is Ethernet.
	Data []byte
	// Len is the frame's length on the wire in bytes: more than len(Data) where
	// the capture's snap length cut it.
	Len int
	// Time is when it was captured, in ns since 1970.
	Time int64
	// LinkType says what Data begins with.
	LinkType LinkType
	// Interface is the number of the pcapng interface within its section; 0 in
	// a pcap file.
	Interface int
}

// Cut reports whether the snap length cut the frame.
func (r Record) Cut() bool { return len(r.Data) < r.Len }

// LinkType is a LINKTYPE_ value of https://www.tcpdump.org/linktypes.html.
// (layers.LinkType has 8 bits, these have 16: 257 would pass for Ethernet.)
type LinkType uint16

// Ethernet is the link type of frames that begin with a destination address.
const Ethernet LinkType = 1

var linkTypes = map[LinkType]string{
	0: "NULL (BSD loopback)", Ethernet: "Ethernet", 6: "Token Ring", 8: "SLIP", 9: "PPP", 10: "FDDI",
	101: "RAW (IP without a link layer)", 105: "IEEE 802.11", 107: "Frame Relay", 108: "LOOP (OpenBSD loopback)",
	113: "Linux cooked (SLL)", 117: "pflog", 127: "IEEE 802.11 radiotap", 182: "multi-link Frame Relay",
	228: "IPv4", 229: "IPv6", 276: "Linux cooked (SLL2)",
}

// String returns the type's name and number.
func (t LinkType) String() string {
	if name, ok := linkTypes[t]; ok {
		return fmt.Sprintf("%s, link type %d", name, uint16(t))
	}
	return fmt.Sprintf("link type %d", uint16(t))
}
