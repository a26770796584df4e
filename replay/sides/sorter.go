package sides

import (
	"net"
	"net/netip"

	"squall/internal/convo"
	"squall/internal/wire"
)

// Side is one of the two ports of a replay.
type Side uint8

const (
	// Client is the side of who opened a conversation.
	Client Side = iota
	// Server is the side of who was asked.
	Server
)

// Other returns the other side.
func (s Side) Other() Side { return 1 - s }

// String returns client or server.
func (s Side) String() string { return [...]string{"client", "server"}[s] }

// Options say who is on which side and what frames look like when they leave.
type Options struct {
	// ClientNet: addresses in these networks are clients.
	ClientNet []netip.Prefix
	// MACs of the frames that leave from each side. Frames to a group (broadcast,
	// multicast) keep their destination.
	MACs [2]MACs
	// IPOnly has Split leave out frames without IP, which no router forwards.
	IPOnly bool
}

// MACs are the addresses of frames that leave from one side; nil: as captured.
type MACs struct{ Src, Dst net.HardwareAddr }

// Put writes the addresses into a frame.
func (m MACs) Put(frame []byte) {
	if len(m.Dst) == 6 && frame[0]&1 == 0 {
		copy(frame, m.Dst)
	}
	if len(m.Src) == 6 {
		copy(frame[6:], m.Src)
	}
}

// Place is where a frame belongs.
type Place struct {
	Side Side
	// Conversation is nil for a frame without IP.
	Conversation *convo.Conversation
}

// Sorter tells the sides of a capture's frames, which it is given in order.
type Sorter struct {
	table  *convo.Table
	packet convo.Packet
	sender map[[6]byte]Side
}

// sendersKept bounds the source MAC addresses that a Sorter remembers.
const sendersKept = 1 << 16

// NewSorter returns a Sorter. Addresses in the networks are clients.
func NewSorter(clientNet []netip.Prefix) *Sorter {
	return &Sorter{
		table:  convo.NewTable(convo.Options{ClientNet: clientNet}),
		sender: make(map[[6]byte]Side),
	}
}

// Sort returns where the next frame belongs. The frame has an Ethernet header.
func (s *Sorter) Sort(frame []byte) Place {
	src := [6]byte(frame[6:wire.HeaderLen])
	if s.packet.Decode(frame) {
		if c, fromClient := s.table.Find(&s.packet); c != nil {
			p := Place{Side: Server, Conversation: c}
			if fromClient {
				p.Side = Client
			}
			if _, known := s.sender[src]; known || len(s.sender) < sendersKept {
				s.sender[src] = p.Side
			}
			return p
		}
	}
	return Place{Side: s.sender[src]} // Client where it is not known
}
