package rewrite

import (
	"encoding/binary"

	"squall/internal/wire"
)

// sequence shifts the numbers of a TCP header, as far as it is there: the
// sequence number with its sender's, the acknowledgement number and the SACK
// blocks (RFC 2018) with its receiver's, whose data they are about.
func (p *pass) sequence(h wire.Head) {
	if p.shift == 0 {
		return
	}
	f, at := p.stack.Frame(), h.At
	if p.shiftSrc && at+8 <= h.End {
		p.put32(at+4, binary.BigEndian.Uint32(f[at+4:])+p.shift, ChangedSequence)
	}
	if !p.shiftDst || at+20 > h.End {
		return
	}
	if f[at+13]&0x10 != 0 { // ACK
		p.put32(at+8, binary.BigEndian.Uint32(f[at+8:])+p.shift, ChangedSequence)
	}
	end := min(at+int(f[at+12]>>4)*4, h.End)
	for o := at + 20; o < end; {
		switch f[o] {
		case 0:
			return
		case 1:
			o++
			continue
		}
		if o+2 > end {
			return
		}
		n := int(f[o+1])
		if n < 2 || o+n > end {
			return
		}
		if f[o] == 5 {
			for edge := o + 2; edge+4 <= o+n; edge += 4 {
				p.put32(edge, binary.BigEndian.Uint32(f[edge:])+p.shift, ChangedSequence)
			}
		}
		o += n
	}
}
