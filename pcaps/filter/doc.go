// Package filter tells frames apart by an expression in the language of pcap-filter(7),
// the part of it that is used most:
//
//	ip  ip6  arp  rarp  tcp  udp  sctp  icmp  icmp6  igmp  gre  esp  ah
//	[ip|ip6|arp] [src|dst|src or dst|src and dst] host ADDRESS
//	[ip|ip6|arp] [src|dst|...] net 10.0.0.0/8
//	[tcp|udp|sctp] [src|dst|...] port 80      portrange 8000-8080
//	ether [src|dst|...] host MAC              ether proto 0x88cc
//	[ip|ip6] proto 47                         vlan [ID]
//	[ether|ip|ip6] broadcast|multicast        less 64   greater 1000
//	tcp[tcpflags] & (tcp-syn|tcp-fin) != 0    ip[8] < 5   udp[4:2] > 100   len <= 64
//	not (!)  and (&&)  or (||)  ( )
//
// and and or bind alike, from left to right, as they do there. What is left out is
// taken from the primitive in front: "tcp port 80 or 443".
//
// Lengths (len, less, greater) are those on the wire, without FCS.
//
// It differs from tcpdump in these, on purpose: VLAN tags are passed over, so "tcp"
// finds tagged frames as well, and vlan is a test like others; IPv6 extension headers
// are passed over, and tcp[...] and udp[...] look at IPv6 too; names of hosts are not
// resolved.
//
// A Filter belongs to one goroutine; Match allocates nothing.
package filter
