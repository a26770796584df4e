package convo

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
)

// key is a conversation's two ends, the lesser one first, and its protocol.
type key struct {
	addr  [2][2]uint64
	ports uint32 // first << 16 | second
	proto uint16 // | sixProto
}

// sixProto marks the protocol of an IPv6 packet.
const sixProto = 0x100

// equal is == without a call to compare memory.
func (k *key) equal(o *key) bool {
	return k.ports == o.ports && k.proto == o.proto && k.addr[0][1] == o.addr[0][1] && k.addr[1][1] == o.addr[1][1] &&
		k.addr[0][0] == o.addr[0][0] && k.addr[1][0] == o.addr[1][0]
}

// end returns the first end of the key, or the second.
func (k *key) end(second, six bool) Endpoint {
	i, port := 0, uint16(k.ports>>16)
	if second {
		i, port = 1, uint16(k.ports)
	}
	var b [16]byte
	if !six {
		binary.BigEndian.PutUint32(b[:], uint32(k.addr[i][1]))
		return Endpoint{netip.AddrFrom4([4]byte(b[:4])), port}
	}
	binary.BigEndian.PutUint64(b[:], k.addr[i][0])
	binary.BigEndian.PutUint64(b[8:], k.addr[i][1])
	return Endpoint{netip.AddrFrom16(b), port}
}

// hash mixes the key by multiplications of 128 bits. It need not resist anybody: a
// capture that was made to collide is read slowly, not wrongly.
func (k *key) hash() uint64 {
	const a, b = 0x9e3779b97f4a7c15, 0xd1342543de82ef95
	fold := func(x, y uint64) uint64 {
		hi, lo := bits.Mul64(x, y)
		return hi ^ lo
	}
	h := fold(k.addr[0][1]^a, k.addr[1][1]^b)
	if k.proto&sixProto != 0 {
		h ^= fold(k.addr[0][0]^b, k.addr[1][0]^a)
	}
	return fold(h^a, uint64(k.ports)<<16|uint64(k.proto)|1<<63)
}
