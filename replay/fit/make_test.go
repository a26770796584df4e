package fit_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"squall/internal/wire"
	"squall/replay/fit"
)

// content returns n bytes that repeat nowhere.
func content(n int) []byte {
	r := rand.New(rand.NewPCG(uint64(n), 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// build makes a frame of the layers that words name, outermost first, with n
// bytes of content.
func build(t testing.TB, words string, n int) []byte {
	t.Helper()
	var (
		ls   []gopacket.SerializableLayer
		net  gopacket.NetworkLayer
		list = strings.Fields(words)
	)
	for i, word := range append([]string{"eth"}, list...) {
		next := ""
		if i < len(list) {
			next = list[i]
		}
		et := map[string]layers.EthernetType{"vlan": layers.EthernetTypeDot1Q, "qinq": layers.EthernetTypeQinQ, "ip6": layers.EthernetTypeIPv6, "ip6-ext": layers.EthernetTypeIPv6, "raw": 0x88b5}[next]
		if et == 0 {
			et = layers.EthernetTypeIPv4
		}
		proto := map[string]layers.IPProtocol{"tcp": 6, "tcp-ts": 6, "udp": 17, "udp0": 17, "gtpu": 17, "icmp": 1}[next]
		switch word {
		case "eth":
			ls = append(ls, &layers.Ethernet{SrcMAC: []byte{2, 0, 0, 0, 0, 1}, DstMAC: []byte{2, 0, 0, 0, 0, 2}, EthernetType: et})
		case "vlan", "qinq":
			ls = append(ls, &layers.Dot1Q{VLANIdentifier: 7, Type: et})
		case "ip4", "ip4-df", "ip4-opt":
			ip := &layers.IPv4{Version: 4, TTL: 64, Id: 0xfffe, Protocol: proto, SrcIP: []byte{10, 0, 0, 1}, DstIP: []byte{10, 0, 0, 2}}
			if word == "ip4-df" {
				ip.Flags = layers.IPv4DontFragment
			}
			if word == "ip4-opt" { // record route: not copied; router alert, stream ID: copied
				ip.Options = []layers.IPv4Option{{OptionType: 7, OptionLength: 7, OptionData: []byte{4, 0, 0, 0, 0}}, {OptionType: 148, OptionLength: 4, OptionData: []byte{0, 0}}, {OptionType: 1}, {OptionType: 136, OptionLength: 4, OptionData: []byte{1, 2}}}
			}
			net = ip
			ls = append(ls, ip)
		case "ip6", "ip6-ext":
			ip := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: proto, SrcIP: append([]byte{0x20, 1}, make([]byte, 14)...), DstIP: append([]byte{0xfd}, make([]byte, 15)...)}
			ip.SrcIP[15], ip.DstIP[15] = 1, 2
			net = ip
			ls = append(ls, ip)
		case "udp", "udp0", "gtpu":
			u := &layers.UDP{SrcPort: 4000, DstPort: 4001}
			if word == "gtpu" {
				u.DstPort = 2152
			}
			must(t, u.SetNetworkLayerForChecksum(net))
			ls = append(ls, u)
			if word == "gtpu" {
				left := n + 8 // inner UDP
				for _, in := range list[i:] {
					left += map[string]int{"ip4": 20, "ip6": 40}[in]
				}
				ls = append(ls, gopacket.Payload([]byte{0x30, 255, byte(left >> 8), byte(left), 0, 0, 0, 9}))
			}
		case "tcp", "tcp-ts":
			h := &layers.TCP{SrcPort: 4000, DstPort: 4001, Seq: 0xffffff00, Ack: 5, ACK: true, PSH: true, FIN: true, CWR: true, Window: 100}
			if word == "tcp-ts" {
				h.Options = []layers.TCPOption{{OptionType: 1}, {OptionType: 1}, {OptionType: 8, OptionLength: 10, OptionData: []byte("timestam")}}
			}
			must(t, h.SetNetworkLayerForChecksum(net))
			ls = append(ls, h)
		case "icmp":
			ls = append(ls, &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(8, 0), Id: 1})
		case "raw":
		default:
			t.Fatalf("no layer %q", word)
		}
	}
	buf := gopacket.NewSerializeBuffer()
	must(t, gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, append(ls, gopacket.Payload(content(n)))...))
	f := buf.Bytes()
	if words := strings.Join(list, " "); strings.Contains(words, "ip6-ext") {
		f = extended(f)
	}
	return f
}

// extended puts a hop-by-hop, a destination, a routing (at its end) and one
// more destination header behind the IPv6 header.
func extended(f []byte) []byte {
	at := wire.Parse(f)
	proto := f[at.L3+6]
	ext := []byte{
		60, 0, 1, 4, 0, 0, 0, 0, // hop by hop: padding
		43, 0, 1, 4, 1, 1, 1, 1, // destination
		60, 2, 0, 0, 0, 0, 0, 0, // routing
		0x20, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9,
		proto, 0, 1, 4, 2, 2, 2, 2, // destination, for the end only
	}
	out := append(append(bytes.Clone(f[:at.L4]), ext...), f[at.L4:]...)
	out[at.L3+6] = 0
	binary.BigEndian.PutUint16(out[at.L3+4:], uint16(len(out)-at.L3-40))
	return out
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// right fails the test unless a frame fits, claims what it has, and all its
// checksums that can be checked are right.
func right(t testing.TB, l fit.Limit, f []byte) {
	t.Helper()
	if len(f) > l.Longest(f) {
		t.Errorf("frame of %d bytes, at most %d fit", len(f), l.Longest(f))
	}
	if at := wire.Parse(f); at.EtherType == wire.EtherTypeIPv4 || at.EtherType == wire.EtherTypeIPv6 {
		n := int(binary.BigEndian.Uint16(f[at.L3+2:]))
		if at.EtherType == wire.EtherTypeIPv6 {
			n = int(binary.BigEndian.Uint16(f[at.L3+4:])) + 40
		}
		if n != len(f)-at.L3 {
			t.Errorf("IP claims %d bytes and has %d", n, len(f)-at.L3)
		}
	}
	var s wire.Stack
	s.Walk(bytes.Clone(f))
	if s.Settle(true) {
		t.Errorf("a checksum is wrong: % x", f[:min(len(f), 80)])
	}
}

func frames(f *fit.Frames) (list [][]byte) {
	for i := range f.Len() {
		list = append(list, f.At(i))
	}
	return list
}

// save writes a capture.
func save(t testing.TB, list [][]byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "frames.pcap")
	f, err := os.Create(path)
	must(t, err)
	defer f.Close()
	w := pcapgo.NewWriter(f)
	must(t, w.WriteFileHeader(262144, layers.LinkTypeEthernet))
	for i, b := range list {
		must(t, w.WritePacket(gopacket.CaptureInfo{Timestamp: time.Unix(1, int64(i)*1000), CaptureLength: len(b), Length: len(b)}, b))
	}
	return path
}

func same(t testing.TB, what string, want, got []byte) {
	t.Helper()
	if !bytes.Equal(want, got) {
		at := 0
		for at < min(len(want), len(got)) && want[at] == got[at] {
			at++
		}
		t.Errorf("%s: differs from byte %d on: %s, want %s", what, at, head(got[at:]), head(want[at:]))
	}
}

func head(b []byte) string { return fmt.Sprintf("% x (%d bytes)", b[:min(len(b), 16)], len(b)) }
