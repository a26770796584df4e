package rewrite

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"
)

// step says how far and which addresses of a copy are stepped.
type step struct {
	stride   uint64
	src, dst bool
	within   []netip.Prefix // if not nil, only these
}

func (w *Rewriter) compileStep(r Rules) error {
	if !r.Unique {
		switch {
		case len(r.CopyStep) > 0:
			return fmt.Errorf("copy-step %q: there are no copies to step; need unique-flows or copies", r.CopyStep[0])
		case r.CopyStride > 0:
			return fmt.Errorf("copy-stride %d: there are no copies to step; need unique-flows or copies", r.CopyStride)
		}
		return nil
	}
	w.step = &step{stride: max(r.CopyStride, 1), src: true, dst: true}
	if len(r.CopyStep) == 1 {
		switch r.CopyStep[0] {
		case "both":
			return nil
		case "src":
			w.step.dst = false
			return nil
		case "dst":
			w.step.src = false
			return nil
		}
	}
	var err error
	if w.step.within, err = parsePrefixes("copy-step", r.CopyStep); err != nil {
		return fmt.Errorf("%w; or one of both, src, dst", err)
	}
	return nil
}

// apply returns the address that a has in a copy.
func (s *step) apply(a netip.Addr, source bool, copy uint64) netip.Addr {
	if copy == 0 || source && !s.src || !source && !s.dst {
		return a
	}
	if s.within != nil && !contain(s.within, a) {
		return a
	}
	if a.Is4() {
		return netip.AddrFrom4(step4(a.As4(), s.stride, copy))
	}
	return netip.AddrFrom16(step6(a.As16(), s.stride, copy))
}

func contain(list []netip.Prefix, a netip.Addr) bool {
	for _, p := range list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// IPv4 addresses that are stepped form a ring: in numerical order, those of the
// networks 1/8 to 223/8 but 127/8 (loopback) whose last byte is 1 to 254. All
// others (0/8, loopback, multicast, broadcast, and last bytes of 0 and 255,
// which are network and broadcast addresses in a /24) are left alone. So a step
// makes a host's address of a host's address, and different ones of different
// ones.
const (
	hosts4    = 254
	networks4 = 222 << 16 // of 24 bits
	ring4     = networks4 * hosts4
)

func step4(a [4]byte, stride, copy uint64) [4]byte {
	if a[0] == 0 || a[0] == 127 || a[0] >= 224 || a[3] == 0 || a[3] == 255 {
		return a
	}
	first := uint64(a[0]) - 1
	if a[0] > 127 {
		first--
	}
	at := (first<<16|uint64(a[1])<<8|uint64(a[2]))*hosts4 + uint64(a[3]) - 1
	at = (at + stride%ring4*(copy%ring4)) % ring4
	first = at/hosts4>>16 + 1
	if first >= 127 {
		first++
	}
	return [4]byte{byte(first), byte(at / hosts4 >> 8), byte(at / hosts4), byte(at%hosts4) + 1}
}

// step6 steps the lower 64 bits, the interface identifier, and never to or from
// 0, the anycast address of the subnet's routers (RFC 4291 section 2.6.1).
// Multicast and ::1 are left alone.
func step6(a [16]byte, stride, copy uint64) [16]byte {
	const ring = 1<<64 - 1 // identifiers 1 to 2^64-1
	prefix, id := binary.BigEndian.Uint64(a[:]), binary.BigEndian.Uint64(a[8:])
	if a[0] == 0xff || id == 0 || prefix == 0 && id == 1 {
		return a
	}
	hi, lo := bits.Mul64(stride, copy)
	lo, carry := bits.Add64(lo, id-1, 0)
	binary.BigEndian.PutUint64(a[8:], bits.Rem64(hi+carry, lo, ring)+1)
	return a
}
