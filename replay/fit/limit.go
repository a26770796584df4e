package fit

import (
	"encoding/binary"
	"errors"
	"fmt"

	"squall/internal/wire"
)

// Why a frame cannot be made to fit.
var (
	// ErrSkipped: the policy is to leave out what is too long.
	ErrSkipped = errors.New("too long for the port")
	// ErrNotIP: only IP can be fragmented.
	ErrNotIP = errors.New("not IP, or its header is not sound")
	// ErrNotTCP: only TCP that is no fragment, with its header whole, can be segmented.
	ErrNotTCP = errors.New("not TCP, or its header is not sound")
	// ErrDontFragment: the datagram forbids fragments.
	ErrDontFragment = errors.New("the don't-fragment bit is set")
	// ErrCut: its headers claim more than the frame has.
	ErrCut = errors.New("its headers claim more than the frame has")
	// ErrFlags: segmentation offload makes no segments with SYN, RST or URG.
	ErrFlags = errors.New("TCP segment with SYN, RST or URG")
	// ErrTooLong: more than an IP datagram can have.
	ErrTooLong = errors.New("more than the 65,535 bytes of an IP datagram")
	// ErrNoRoom: the MTU has no room for the headers and 8 bytes.
	ErrNoRoom = errors.New("the MTU has no room for the headers and content")
)

// Policy is what becomes of a frame that is too long.
type Policy uint8

// Policies.
const (
	Skip Policy = iota
	Fragment
	Segment
	Truncate
)

var policies = []string{"skip", "fragment", "segment", "truncate"}

// ParsePolicy reads the name of a policy.
func ParsePolicy(name string) (Policy, error) {
	for i, p := range policies {
		if p == name {
			return Policy(i), nil
		}
	}
	return 0, fmt.Errorf("%q: need skip, fragment, segment or truncate", name)
}

func (p Policy) String() string { return policies[p] }

// Limit is what a port can carry.
type Limit struct {
	// MTU in bytes: what may follow the Ethernet header. 0: no limit.
	MTU int
	// IgnoreDF fragments IPv4 datagrams that have the don't-fragment bit set, and
	// clears it in the fragments.
	IgnoreDF bool
}

// Longest returns how long, without FCS, a frame that begins like this one (at
// least 14 bytes) may be: beyond the Ethernet header Linux grants one tag whose
// type is 0x8100 and no other (packet_snd and packet_extra_vlan_len_allowed in
// net/packet/af_packet.c).
func (l Limit) Longest(frame []byte) int {
	if binary.BigEndian.Uint16(frame[12:]) == wire.EtherTypeVLAN {
		return l.MTU + wire.HeaderLen + 4
	}
	return l.MTU + wire.HeaderLen
}

// Fits reports whether a frame of length bytes that begins like this one fits.
func (l Limit) Fits(frame []byte, length int) bool {
	return l.MTU == 0 || len(frame) < wire.HeaderLen || length <= l.Longest(frame)
}

// Apply adds to dst what the policy makes of frame; a frame that fits as it is.
func (l Limit) Apply(p Policy, dst *Frames, frame []byte) error {
	switch {
	case l.Fits(frame, len(frame)):
		dst.add(frame)
		return nil
	case p == Fragment:
		return l.Fragment(dst, frame)
	case p == Segment:
		return l.Segment(dst, frame)
	case p == Truncate:
		return l.Truncate(dst, frame)
	}
	return ErrSkipped
}

// room returns how many bytes from the IP header on a frame may have.
func (l Limit) room(frame []byte, at wire.Layout) int { return l.Longest(frame) - at.L3 }

// claims returns how long the IP datagram says it is; as long as the frame has
// where it says 0, as captured before segmentation.
func claims(frame []byte, at wire.Layout) int {
	ip := frame[at.L3:]
	n := int(binary.BigEndian.Uint16(ip[2:]))
	if at.EtherType == wire.EtherTypeIPv6 {
		n = int(binary.BigEndian.Uint16(ip[4:]))
		if n > 0 {
			n += 40
		}
	}
	if n == 0 {
		return len(ip)
	}
	return n
}

// Frames holds frames one behind the other. The zero value is ready.
type Frames struct {
	bytes []byte
	ends  []int
}

// Reset forgets all frames and keeps the memory.
func (f *Frames) Reset() { f.bytes, f.ends = f.bytes[:0], f.ends[:0] }

// Len returns how many frames there are.
func (f *Frames) Len() int { return len(f.ends) }

// At returns frame i, valid until the next is added or Reset.
func (f *Frames) At(i int) []byte {
	from := 0
	if i > 0 {
		from = f.ends[i-1]
	}
	return f.bytes[from:f.ends[i]:f.ends[i]]
}

// add adds a frame of the parts and returns it.
func (f *Frames) add(parts ...[]byte) []byte {
	for _, p := range parts {
		f.bytes = append(f.bytes, p...)
	}
	f.ends = append(f.ends, len(f.bytes))
	return f.At(len(f.ends) - 1)
}
