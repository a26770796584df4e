package wire

// Kind is what a Head is.
type Kind uint8

// The headers that a Stack knows.
const (
	KindEthernet Kind = iota + 1 // destination and source MAC address, EtherType, VLAN tags
	KindARP                      // for IPv4 over Ethernet (RFC 826)
	KindIPv4
	KindIPv6
	KindTCP      // at least its ports are there
	KindUDP      // at least its ports are there
	KindNeighbor // ICMPv6 neighbour solicitation or advertisement (RFC 4861)
	KindGTPU     // 3GPP TS 29.281, with its optional fields and extension headers
)

// Head is one header of a frame.
type Head struct {
	Kind Kind
	// Level is 0 for the outermost IP header and what comes with it, and one
	// more for each tunnel header passed (GTP-U, GRE, VXLAN, IP in IP).
	Level uint8
	// Quoted: the header is part of what an ICMP error returns to its sender.
	Quoted bool
	// Fragment: an IP header of a fragment; More: others follow it.
	Fragment, More bool
	// At is the header's first byte; End the first byte after the header and all
	// that belongs to it: at most what the frame holds, and without padding.
	At, End int
}

// MaxLevels is how many IP headers within each other a Stack looks at; what is
// deeper counts as payload.
const MaxLevels = 5

// A level has at most an Ethernet, an IP, an upper-layer and a tunnel header and
// two checksums; an ICMP error adds an IP and an upper-layer header once.
const (
	maxHeads = 4*MaxLevels + 2
	maxSums  = 2*MaxLevels + 2
)

// Stack holds the headers of one frame from the outermost to the innermost, and
// the checksums that depend on them, so that any field may be changed with all
// of them kept: a field of an inner header counts in the checksum of the outer
// UDP header, in that of GRE, in that of the ICMP error that quotes it.
//
//	┌──────────┬────────┬───────┬───────┬────────┬───────┬─────────┬─────┐
//	│ Ethernet │ IPv4   │ UDP   │ GTP-U │ IPv4   │ TCP   │ payload │ pad │
//	└──────────┴────────┴───────┴───────┴────────┴───────┴─────────┴─────┘
//	            ◄ sum 0►◄───────────── sum 1 ────────────────────►
//	                                     ◄ sum 2►◄──── sum 3 ────►
//
// Use: Walk, then Put for each field, then Settle. The zero value is ready; a
// Stack may be used for any number of frames, one at a time, and allocates
// nothing. It holds the frame from Walk on.
//
// Known are Ethernet with VLAN tags (0x8100, 0x88a8, 0x9100), ARP, IPv4, IPv6
// with extension headers and authentication headers, TCP, UDP, ICMP errors with
// what they quote, GRE (RFC 2784, RFC 2890; IP or Ethernet within), GTP-U to
// port 2152, VXLAN to port 4789 or 8472, IP in IP and 6in4.
type Stack struct {
	frame []byte
	heads [maxHeads]Head
	sums  [maxSums]checksum
	n, s  int
	apart bool
}

// Walk finds the headers of frame and forgets the one before. It never fails: it
// stops at the first header that is cut short, contradicts itself or is not
// known, and never looks beyond frame or beyond what an outer header says is
// there.
func (s *Stack) Walk(frame []byte) {
	s.frame, s.n, s.s, s.apart = frame, 0, 0, false
	s.ethernet(0, len(frame), 0, false, true)
}

// Heads returns the headers found, valid until the next Walk.
func (s *Stack) Heads() []Head { return s.heads[:s.n] }

// Apart reports whether the frame is a first fragment so short that the
// checksum of its TCP, UDP or ICMP header is in another one, where no change
// of this frame reaches it.
func (s *Stack) Apart() bool { return s.apart }

func (s *Stack) head(k Kind, level uint8, quoted bool, at, end int) bool {
	if s.n == len(s.heads) {
		return false
	}
	s.heads[s.n] = Head{Kind: k, Level: level, Quoted: quoted, At: at, End: end}
	s.n++
	return true
}

// Frame returns the frame that Walk was given.
func (s *Stack) Frame() []byte { return s.frame }
