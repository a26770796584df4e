package rewrite

import (
	"fmt"
	"net/netip"
)

// Levels for Rules.Layer.
const (
	Outer = "outer" // the first IP header and what belongs to it
	Inner = "inner" // what is within a tunnel
	All   = "all"
)

// Rules say what is changed, in the words of squall's flags. The zero value
// changes nothing. Where a rule has several entries their order matters only
// where that is said.
type Rules struct {
	// SrcMAC and DstMAC replace the MAC addresses of the frame; of MACMap, each
	// OLD=NEW, replaces both where they are OLD. SrcMAC and DstMAC go over MACMap.
	// Addresses that ARP and neighbour discovery carry follow where they are the
	// frame's own or in MACMap. Within tunnels only MACMap counts, with Inner or
	// All.
	SrcMAC, DstMAC string
	MACMap         []string

	// VLANDel takes away the "outer" tag or "all". Of VLANSet, OLD=TAG changes
	// every tag with the ID OLD, and the n-th entry without OLD the n-th tag from
	// outside. VLANAdd puts tags in front of those that are there, in this order,
	// the first outermost. TAG is ID[:PCP[:DEI]][/TPID]; VLANSet keeps the parts
	// that are not given, VLANAdd has 0, 0 and 0x8100 for them. They concern the
	// frame's own tags, not those within tunnels.
	VLANDel string
	VLANSet []string
	VLANAdd []string

	// Map, SrcMap and DstMap replace IP addresses: OLD=NEW, two addresses or two
	// prefixes of one length, the bits behind which are kept. The longest OLD
	// counts; of SrcMap and Map (DstMap and Map), SrcMap (DstMap) where both have
	// the address.
	Map, SrcMap, DstMap []string

	// PortMap replaces TCP and UDP ports, source and destination: OLD=NEW, or
	// FROM-TO=FROM-TO with as many on both sides.
	PortMap []string

	// TTL is what the TTL (hop limit) becomes: N (0 to 255), +N or -N, which stay
	// within 1 and 255.
	TTL string
	// DSCP is 0 to 63.
	DSCP string

	// TEID is what tunnel endpoint identifiers of GTP-U become (those of G-PDUs and
	// End Markers, whatever Layer says): N, +N or -N modulo 2^32, or any number of
	// OLD=NEW.
	TEID []string

	// SeqShift is added modulo 2^32 to the sequence numbers that hosts of
	// SeqShiftFrom send, and to the acknowledgement numbers and SACK blocks that
	// they receive; without SeqShiftFrom, to everybody's. The addresses are those
	// before the maps.
	SeqShift     int64
	SeqShiftFrom []string

	// Unique steps the addresses of copy k by k times CopyStride (0: 1). CopyStep
	// says which: "both" or "" for both ends, "src" or "dst" for that of each
	// frame, which suits traffic of one direction, or prefixes, whose addresses
	// are stepped on either side. See Rewriter.Apply.
	Unique     bool
	CopyStep   []string
	CopyStride uint64

	// Layer says at which levels addresses, ports, TTL, DSCP and sequence numbers
	// are changed: Outer (or ""), Inner or All.
	Layer string

	// FixChecksums computes every checksum anew whose whole cover is in the frame,
	// at all levels; UDP checksums of 0 stay.
	FixChecksums bool
}

// Rewriter applies compiled rules. See Rules.Compile.
type Rewriter struct {
	outer, inner bool // levels
	stack        bool // anything beyond the frame's own MAC addresses and tags

	src, dst [6]byte
	hasSrc   bool
	hasDst   bool
	macs     map[[6]byte][6]byte

	tags  tagRules
	from  addresses // of source addresses
	to    addresses // of destination addresses
	ports *[1 << 16]uint16
	ttl   *number
	dscp  *number
	teid  *number
	teids map[uint32]uint32

	shift     uint32
	shiftFrom []netip.Prefix

	step *step
	fix  bool
}

// Compile checks the rules and makes them ready. Errors name the rule and the
// text that is wrong.
func (r Rules) Compile() (*Rewriter, error) {
	w := &Rewriter{fix: r.FixChecksums, shift: uint32(r.SeqShift)}
	switch r.Layer {
	case "", Outer:
		w.outer = true
	case Inner:
		w.inner = true
	case All:
		w.outer, w.inner = true, true
	default:
		return nil, fmt.Errorf("layer %q: need outer, inner or all", r.Layer)
	}
	for _, compile := range []func(Rules) error{w.compileMACs, w.compileTags, w.compileAddresses, w.compileNumbers, w.compileShift, w.compileStep} {
		if err := compile(r); err != nil {
			return nil, err
		}
	}
	w.stack = w.hasSrc || w.hasDst || w.macs != nil || w.from != nil || w.to != nil || w.ports != nil || w.ttl != nil || w.dscp != nil ||
		w.teid != nil || w.teids != nil || w.shift != 0 || w.step != nil || w.fix
	return w, nil
}

// Empty reports whether the rules change nothing.
func (w *Rewriter) Empty() bool { return !w.stack && w.tags.empty() }

func (w *Rewriter) compileAddresses(r Rules) (err error) {
	if w.from, err = parseMaps("src-map", r.SrcMap, r.Map); err != nil {
		return err
	}
	w.to, err = parseMaps("dst-map", r.DstMap, r.Map)
	return err
}

func (w *Rewriter) compileNumbers(r Rules) (err error) {
	if w.ports, err = parsePorts(r.PortMap); err != nil {
		return err
	}
	if r.TTL != "" {
		if w.ttl, err = parseNumber("ttl", r.TTL, 255, true); err != nil {
			return err
		}
	}
	if r.DSCP != "" {
		if w.dscp, err = parseNumber("dscp", r.DSCP, 63, false); err != nil {
			return err
		}
	}
	return w.compileTEIDs(r.TEID)
}

func (w *Rewriter) compileShift(r Rules) (err error) {
	const most = 1<<32 - 1
	switch {
	case r.SeqShift < -most || r.SeqShift > most:
		return fmt.Errorf("seq-shift %d: need less than 2^32 either way", r.SeqShift)
	case r.SeqShift == 0 && len(r.SeqShiftFrom) > 0:
		return fmt.Errorf("seq-shift-from %q: need a seq-shift to go with it", r.SeqShiftFrom[0])
	}
	w.shiftFrom, err = parsePrefixes("seq-shift-from", r.SeqShiftFrom)
	return err
}
