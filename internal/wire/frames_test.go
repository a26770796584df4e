package wire

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// raw reads hexadecimal, spaces for the eye.
func raw(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

const (
	macs  = "020000000002 020000000001 "
	ip4   = "4500 0024 1234 4000 4011 0000 c6120001 c6120101 " // 36 bytes: UDP of 16
	udp   = "c020 0009 0010 0000 "
	eight = "0102030405060708 "
	ip6   = "60000000 0010 11 40 20010002000000000000000000000001 20010002000000010000000000000001 "
)

var (
	udp4 = raw(macs + "0800" + ip4 + udp + eight)
	udp6 = raw(macs + "86dd" + ip6 + udp + eight)
	arp  = raw(macs + "0806 0001 0800 06 04 0001 020000000001 c6120001 000000000000 c6120101")
)

// tagged puts a VLAN tag into a frame.
func tagged(frame []byte, ethertype, id uint16) []byte {
	b := append([]byte{}, frame[:12]...)
	b = binary.BigEndian.AppendUint16(b, ethertype)
	b = binary.BigEndian.AppendUint16(b, id)
	return append(b, frame[12:]...)
}

// padded fills a frame up to n bytes.
func padded(frame []byte, n int, with byte) []byte {
	b := append([]byte{}, frame...)
	for len(b) < n {
		b = append(b, with)
	}
	return b
}

// changed gives one byte another value.
func changed(frame []byte, off int, to byte) []byte {
	b := append([]byte{}, frame...)
	b[off] = to
	return b
}
