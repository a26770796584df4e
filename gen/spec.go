package gen

import (
	"math/big"
	"net"

	"squall/internal/plan"
	"squall/internal/strict"
)

// Spec is one stream as it was written. Compile checks it. The zero value is
// UDP over IPv4 in 64-byte frames, one flow, as fast as can be.
type Spec struct {
	// Name is what reports call the stream; empty: its number, from 1. Names
	// differ within a file.
	Name string
	// Layers are the frame's headers, outermost first, and its payload; empty:
	// udp. Ethernet is put in front unless the first layer is raw, and IPv4 in
	// front of a transport without IP.
	Layers []Layer
	// Size says how large frames are, see ParseSizes. Empty: the least size, 64
	// or more, that holds headers, payload and tag.
	Size string
	// Flows is how many flows there are; 0: one.
	Flows uint64
	// FlowRun is how many frames of one flow follow each other; 0: one.
	FlowRun uint64
	// FlowOrder is turn (also where empty) or random.
	FlowOrder string
	// Rate is the stream's own rate, see pace.ParseRate. Streams have either
	// rates, all of them, or weights.
	Rate string
	// Weight is the stream's share of the frames; 0: 1.
	Weight uint64
	// Vary are the fields that differ from flow to flow or frame to frame.
	Vary []Vary
	// Checksum makes checksums wrong on purpose: by layer (ipv4, udp, tcp,
	// icmp), wrong or, for udp, none. A wrong one is off by one in one's
	// complement arithmetic, so it is wrong in every frame.
	Checksum map[string]string
	// Tag is where frames carry their sequence number: auto (also where empty),
	// end, id or none.
	Tag string
	// Seed is what everything random in the stream comes from. Streams of one
	// seed still differ from each other.
	Seed uint64
	// Impair is what is done on purpose to the frames of all streams together, as
	// one sequence: rules of package impair, the same in every stream of a file.
	Impair []string

	marks *strict.Marks // where in a file each part stands; nil for one not from a file
}

// Layer is one header, or the payload, with the fields that are not to have
// their defaults: as text, by name. Names are in reference.yaml.
type Layer struct {
	Name   string
	Fields map[string]string
}

// Vary is a field that takes several values.
type Vary struct {
	// Field names the field: udp.src, vlan[1].id (the second vlan layer),
	// payload[4:8] (bytes 4 to 7 of the payload). Of an IPv6 address the low 64
	// bits vary.
	Field string
	// Mode is increment (also where empty), decrement, list or random.
	Mode string
	// Start is the first, in random mode the least, value; empty: what the
	// layer says. Addresses may be written as addresses.
	Start string
	// Step is what follows adds to or takes from it; empty: 1.
	Step string
	// Count is after how many values it begins again; 0: the field's whole
	// range.
	Count uint64
	// Values are those of the list.
	Values []string
	// Every is how many flows or frames share a value; 0: one.
	Every uint64
	// Per is flow or frame; empty: flow where the stream has several, else
	// frame.
	Per string
}

// Target is what the streams are compiled for.
type Target struct {
	Run         uint16 // run ID of the tags
	FirstStream uint16 // ID of the first stream; the others follow
	// SrcMAC is the sending port's address, DstMAC the receiving one's. Where
	// they are nil, locally administered ones stand in.
	SrcMAC, DstMAC net.HardwareAddr
	MTU            int    // of the sending port, bytes of the L3 packet; 0: no bound
	LinkBits       uint64 // link speed in bits a second, for rates in percent; 0: unknown
	// Rate is what all streams together are sent at, see pace.ParseRate; empty: at
	// their own rates. It is needed for impairments that are told by a time.
	Rate string
	// Cores is how many plans share the rate between them; 0: one.
	Cores int
}

// Source is what streams compile to.
type Source struct {
	Plan *plan.Plan
	// Rate is the frames a second that all streams together ask for; nil: as
	// many as can be.
	Rate *big.Rat
	// Streams are in the order of Plan.Streams.
	Streams []Info
}

// Info is what a stream came to, for printing.
type Info struct {
	ID     uint16
	Name   string
	Layers string // ethernet/ipv4/udp
	Flows  uint64
	// FlowsBy names the fields in which flows differ; empty for one flow.
	FlowsBy []string
	Sizes   string // as written, with FCS
	Tag     plan.TagPlace
	Rate    *big.Rat // frames a second; nil for max
	Bytes   int      // memory that the heads take
}
