package meter

import (
	"encoding/binary"

	"squall/internal/wire"
)

// udp4 returns a frame of an IPv4 UDP flow with that source port,
// identification and payload, without padding.
func udp4(port, id uint16, payload []byte) []byte {
	b := make([]byte, 14+20+8+len(payload))
	binary.BigEndian.PutUint16(b[12:], wire.EtherTypeIPv4)
	ip := b[14:]
	ip[0], ip[8], ip[9] = 0x45, 64, wire.ProtoUDP
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	binary.BigEndian.PutUint16(ip[4:], id)
	copy(ip[12:], []byte{10, 0, 0, 1, 10, 0, 0, 2})
	binary.BigEndian.PutUint16(ip[20:], port)
	binary.BigEndian.PutUint16(ip[22:], 9)
	binary.BigEndian.PutUint16(ip[24:], uint16(8+len(payload)))
	copy(ip[28:], payload)
	return b
}

// tagged returns a frame that carries the tag.
func tagged(t wire.Tag) []byte {
	var payload [wire.TagLen]byte
	t.Put(payload[:])
	return udp4(1000, 0, payload[:])
}

// other returns a frame of 60 bytes with that EtherType and nothing in it.
func other(etherType uint16) []byte {
	b := make([]byte, 60)
	binary.BigEndian.PutUint16(b[12:], etherType)
	return b
}
