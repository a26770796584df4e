package main

import (
	"fmt"
	"net"
	"strings"
	"time"

	"squall/internal/lab"
	"squall/internal/probe"
)

// trafgenConfig is a UDP frame with a running source port, a running 32-bit
// number in its payload, and checksums computed for each frame: as near as
// trafgen comes to a tagged stream. size counts the FCS.
func trafgenConfig(pair *lab.Pair, size int) []byte {
	payload := size - 4 - 14 - 20 - 8
	var b strings.Builder
	fmt.Fprintf(&b, "{\n  %s %s const16(0x0800),\n", macBytes(pair.B.MAC), macBytes(pair.A.MAC))
	fmt.Fprintf(&b, "  0x45, 0, const16(%d), const16(0), const16(0), 64, 17, csumip(14, 33),\n", size-4-14)
	b.WriteString("  198, 18, 0, 1,  198, 18, 1, 1,\n")
	fmt.Fprintf(&b, "  dinc(0xc0, 0xc3, 1), dinc(0, 255, 1), const16(9), const16(%d), csumudp(14, 34),\n", 8+payload)
	fmt.Fprintf(&b, "  dinc(0, 255, 1), dinc(0, 255, 1), dinc(0, 255, 1), dinc(0, 255, 1),\n  fill(0, %d)\n}\n", payload-4)
	return []byte(b.String())
}

func macBytes(m net.HardwareAddr) string {
	var b strings.Builder
	for _, x := range m {
		fmt.Fprintf(&b, "0x%02x, ", x)
	}
	return b.String()
}

// sentBy reads how many frames have left a port.
func sentBy(e lab.End) (uint64, time.Time, error) {
	r, err := probe.Link{NS: e.NS, Iface: e.Iface}.Read()
	if err != nil {
		return 0, time.Time{}, err
	}
	at := time.Now()
	n, ok := r.Value(e.Label(), "tx_packets")
	if !ok {
		return 0, at, fmt.Errorf("port %s has no tx_packets", e.Label())
	}
	return n, at, nil
}
