package compare

import (
	"fmt"
	"slices"
	"strings"
)

// Field is a part of a frame.
type Field uint8

// Fields, in the order of the frame.
const (
	dstMAC Field = iota
	srcMAC
	vlan
	etherType
	dscp
	length // of the IP packet, or of what follows the EtherType
	id
	fragment
	ttl
	protocol
	ipChecksum
	srcAddress
	dstAddress
	ipOptions // or IPv6 extension headers, and the flow label
	srcPort
	dstPort
	seq
	ack
	flags
	window
	options
	checksum
	payload
	padding
	fields // how many
)

var names = [fields]string{"dst-mac", "src-mac", "vlan", "ethertype", "dscp", "length", "id", "fragment", "ttl", "protocol", "ip-checksum",
	"src-address", "dst-address", "ip-options", "src-port", "dst-port", "seq", "ack", "flags", "window", "options", "checksum", "payload", "padding"}

func (f Field) String() string { return names[f] }

// Set is a set of fields.
type Set uint32

func (s Set) has(f Field) bool { return s>>f&1 != 0 }

func set(list ...Field) (s Set) {
	for _, f := range list {
		s |= 1 << f
	}
	return s
}

// Routed are the fields that routers change: MAC addresses, VLAN tags, TTL or hop
// limit, DSCP and ECN, the IPv4 header checksum, and padding.
var Routed = set(dstMAC, srcMAC, vlan, dscp, ttl, ipChecksum, padding)

// groups are names of several fields.
var groups = map[string]Set{
	"macs": set(dstMAC, srcMAC), "checksums": set(ipChecksum, checksum), "addresses": set(srcAddress, dstAddress), "ports": set(srcPort, dstPort), "routed": Routed,
}

// ParseSet reads names of fields: those of a Field, and macs, checksums, addresses,
// ports, routed.
func ParseSet(list []string) (s Set, err error) {
	for _, name := range list {
		if i := slices.Index(names[:], name); i >= 0 {
			s |= set(Field(i))
		} else if g, ok := groups[name]; ok {
			s |= g
		} else {
			return 0, fmt.Errorf("field %q: have macs, checksums, addresses, ports, routed, %s", name, strings.Join(names[:], ", "))
		}
	}
	return s, nil
}
