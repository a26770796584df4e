package lockstep

import (
	"encoding/binary"

	"squall/internal/wire"
)

// readdress gives a frame other addresses and ports and brings its checksums up to
// date by what changed (RFC 1624): wrong ones stay wrong. An UDP checksum of 0 is
// none and stays so (RFC 768). The addresses are of the frame's IP version.
func readdress(f []byte, to tuple) {
	l := wire.Parse(f)
	if !l.IP() {
		return
	}
	var old, now uint64
	put := func(at int, b []byte) {
		old += wire.Sum(f[at : at+len(b)])
		copy(f[at:], b)
		now += wire.Sum(b)
	}
	if l.EtherType == wire.EtherTypeIPv4 {
		src, dst := to.src.Addr().As4(), to.dst.Addr().As4()
		put(l.L3+12, src[:])
		put(l.L3+16, dst[:])
		adjust(f[l.L3+10:], wire.Delta(wire.Fold(old), wire.Fold(now)))
	} else {
		src, dst := to.src.Addr().As16(), to.dst.Addr().As16()
		put(l.L3+8, src[:])
		put(l.L3+24, dst[:])
	}
	p, ok := portsOf(f, l)
	if !ok {
		return
	}
	if l.Proto == wire.ProtoICMP { // its sum has no pseudo header
		old, now = 0, 0
	}
	var port [2]byte
	binary.BigEndian.PutUint16(port[:], to.src.Port())
	put(l.L4+p.src, port[:])
	if p.dst != p.src {
		binary.BigEndian.PutUint16(port[:], to.dst.Port())
		put(l.L4+p.dst, port[:])
	}
	sum := f[l.L4+p.sum:]
	udp := l.Proto == wire.ProtoUDP
	if udp && sum[0] == 0 && sum[1] == 0 {
		return
	}
	adjust(sum, wire.Delta(wire.Fold(old), wire.Fold(now)))
	if udp && sum[0] == 0 && sum[1] == 0 {
		sum[0], sum[1] = 0xff, 0xff
	}
}

// adjust brings the checksum at the beginning of b up to date.
func adjust(b []byte, delta uint64) {
	binary.BigEndian.PutUint16(b, wire.Adjust(binary.BigEndian.Uint16(b), delta))
}
