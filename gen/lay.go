package gen

import (
	"fmt"

	"squall/internal/plan"
	"squall/internal/strict"
	"squall/internal/wire"
)

// lay decides sizes, padding and where the tag goes:
//
//	├── headers ──┼── literal ──┼── zeros or pattern ──┼── tag ──┼── padding ──┤
//	 st.len        payload.literal                      TagEnd    s.Pad
//
// Padding is there where a payload ends before 64 bytes are full. Without IP
// everything behind the headers is padding to the protocol, and no length
// counts it: there the tag stands at the end of the frame and Pad is 0.
func (s *Spec) lay(to *plan.Stream, st *stack, mtu int) error {
	need := st.len + len(st.payload.literal)
	none := st.payload.none && st.ip != nil
	switch s.Tag {
	case "", "auto", "end", "id", "none":
	default:
		return s.errorf("tag", "unknown tag %q%s", s.Tag, strict.Nearest(s.Tag, []string{"auto", "end", "id", "none"}))
	}
	end := (s.Tag == "" || s.Tag == "auto" || s.Tag == "end") && !none
	if s.Size == "" {
		n := need
		if end {
			n += wire.TagLen
		}
		to.Sizes = plan.Sizes{Lens: []int{max(n, wire.MinLen)}, Cycle: []uint16{0}}
	} else {
		var err error
		if to.Sizes, err = ParseSizes(s.Size); err != nil {
			return s.errorf("size", "%w", err)
		}
	}
	least, most := to.Sizes.Min(), to.Sizes.Max()
	if least < need {
		return s.errorf("size", "size %d is below what %s needs: have %d, need at least %d", least+wire.FCSLen, st, least+wire.FCSLen, need+wire.FCSLen)
	}
	if mtu > 0 && most-st.l3 > mtu {
		return s.errorf("size", "size %d is above what the port carries: have %d, need at most %d (MTU %d, %d bytes before the packet, 4 of FCS)",
			most+wire.FCSLen, most+wire.FCSLen, mtu+st.l3+wire.FCSLen, mtu, st.l3)
	}
	if limit := s.limit(st); most > limit {
		return s.errorf("size", "size %d is above what %s can say: have %d, need at most %d", most+wire.FCSLen, st, most+wire.FCSLen, limit+wire.FCSLen)
	}
	room := need + wire.TagLen
	switch {
	case s.Tag == "none":
	case end && least >= room:
		to.Tag = plan.TagEnd
	case s.Tag == "end":
		return s.errorf("size", "size %d has no room for the 18-byte tag: %s", least+wire.FCSLen, s.remedy(none, room))
	case st.ip == nil || st.ip.name != "ipv4":
		return s.errorf("size", "size %d has no room for the 18-byte tag, and %s no IPv4 identification to count by: %s, or tag: none",
			least+wire.FCSLen, st, s.remedy(none, room))
	default:
		to.Tag, to.IDOff = plan.TagID, st.ip.off+4
	}
	switch {
	case none && least != most:
		return s.errorf("size", "payload none: have sizes from %d to %d, need one size", least+wire.FCSLen, most+wire.FCSLen)
	case none:
		to.Pad = least - st.len
	case s.Size == "" && st.payload.literal != nil && st.ip != nil && to.Tag != plan.TagEnd:
		to.Pad = least - need
	}
	return nil
}

// remedy says what gives the tag room.
func (s *Spec) remedy(none bool, room int) string {
	size := max(room, wire.MinLen) + wire.FCSLen
	if none {
		return fmt.Sprintf("use another payload than none, and size %d", size)
	}
	return fmt.Sprintf("use size %d", size)
}

// limit returns the greatest length that the IP length field can count.
func (s *Spec) limit(st *stack) int {
	switch {
	case st.ip == nil:
		return maxSize - wire.FCSLen
	case st.ip.name == "ipv4":
		return st.ip.off + 65535
	}
	return st.ip.off + 40 + 65535
}

// sums returns the checksums to keep, innermost first, and makes those of frame
// wrong that are to be wrong.
func (s *Spec) sums(frame []byte, st *stack) ([]plan.Sum, error) {
	asked := make(map[string]bool)
	var sums []plan.Sum
	for i := len(st.headers) - 1; i >= 0; i-- {
		h := &st.headers[i]
		sum := plan.Sum{From: h.off}
		switch h.name {
		case "ipv4":
			sum.Off, sum.To = h.off+10, h.off+20
		case "udp":
			sum.Off, sum.ZeroIsOnes = h.off+6, true
		case "tcp":
			sum.Off = h.off + 16
		case "icmp":
			sum.Off = h.off + 2
			// An echo reply of nothing but zeros sums up to 0, and incremental
			// updates cannot tell that 0 from 0xffff. Writing 0xffff for both is
			// right for either.
			sum.ZeroIsOnes = st.ip.name == "ipv4" && (h.bytes[0] == 0 || s.varies("icmp.type"))
		default:
			continue
		}
		switch {
		case h.name == "ipv4" || h.name == "icmp" && st.ip.name == "ipv4":
		case st.ip.name == "ipv4":
			sum.Addr, sum.AddrLen = st.ip.off+12, 8
		default:
			sum.Addr, sum.AddrLen = st.ip.off+8, 32
		}
		field := frame[sum.Off : sum.Off+2]
		asked[h.name] = true
		switch how := s.Checksum[h.name]; {
		case how == "none" && h.name == "udp": // RFC 768
			field[0], field[1] = 0, 0
			continue
		case how == "wrong":
			put(field, wire.Adjust(u16(field), 1))
		case how != "" && how != "right":
			return nil, s.errorf("checksum."+h.name, "checksum %s: have %q, need right, wrong or, for udp, none", h.name, how)
		}
		if sum.ZeroIsOnes && u16(field) == 0 {
			put(field, 0xffff)
		}
		sums = append(sums, sum)
	}
	for name := range s.Checksum {
		if !asked[name] {
			return nil, s.errorf("checksum."+name, "checksum %s: the stream is %s, which has none of that name", name, st)
		}
	}
	return sums, nil
}

func (s *Spec) varies(field string) bool {
	for _, v := range s.Vary {
		if v.Field == field || v.Field == "icmp[0].type" {
			return true
		}
	}
	return false
}

func put(b []byte, v uint16) { b[0], b[1] = byte(v>>8), byte(v) }
