package acks

import (
	"context"
	"encoding/binary"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"squall/internal/convo"
	"squall/pcaps"
)

// line is one segment of a conversation, written down by a test. Numbers are
// those of the header.
type line struct {
	server   bool // sent by the server
	flags    string
	seq, ack uint32
	n        int // bytes of data
	win      uint16
	id       uint16
	scale    int // window scale option; 0: none
	ts       uint32
	sack     []uint32 // left and right edges
	ms       int64
}

const base = int64(1_767_225_600_000_000_000)

func (l line) frame(t *testing.T) []byte {
	t.Helper()
	eth := &layers.Ethernet{SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, DstMAC: net.HardwareAddr{2, 0, 0, 0, 0, 2}, EthernetType: layers.EthernetTypeIPv4}
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolTCP, Id: l.id, SrcIP: net.IP{192, 0, 2, 1}, DstIP: net.IP{192, 0, 2, 2}}
	tcp := &layers.TCP{SrcPort: 50000, DstPort: 80, Seq: l.seq, Ack: l.ack, Window: l.win}
	if l.server {
		ip.SrcIP, ip.DstIP = ip.DstIP, ip.SrcIP
		tcp.SrcPort, tcp.DstPort = tcp.DstPort, tcp.SrcPort
	}
	tcp.ACK = true
	for _, f := range l.flags {
		switch f {
		case 'S':
			tcp.SYN = true
		case 'F':
			tcp.FIN = true
		case 'R':
			tcp.RST = true
		case '-':
			tcp.ACK = false
		}
	}
	if l.scale > 0 {
		tcp.Options = append(tcp.Options, layers.TCPOption{OptionType: layers.TCPOptionKindWindowScale, OptionLength: 3, OptionData: []byte{byte(l.scale)}})
	}
	if l.ts > 0 {
		tcp.Options = append(tcp.Options, layers.TCPOption{OptionType: layers.TCPOptionKindTimestamps, OptionLength: 10,
			OptionData: append(binary.BigEndian.AppendUint32(nil, l.ts), 0, 0, 0, 0)})
	}
	if len(l.sack) > 0 {
		var b []byte
		for _, v := range l.sack {
			b = binary.BigEndian.AppendUint32(b, v)
		}
		tcp.Options = append(tcp.Options, layers.TCPOption{OptionType: layers.TCPOptionKindSACK, OptionLength: uint8(2 + len(b)), OptionData: b})
	}
	if err := tcp.SetNetworkLayerForChecksum(ip); err != nil {
		t.Fatal(err)
	}
	buf := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, eth, ip, tcp, gopacket.Payload(make([]byte, l.n))); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// play shows the segments to add, as a capture of them would.
func play(t *testing.T, lines []line, add func(*Frame)) {
	t.Helper()
	table := convo.NewTable(convo.Options{})
	var p convo.Packet
	for i, l := range lines {
		f := Frame{Number: uint64(i + 1), Data: l.frame(t), At: Time{base + l.ms*1e6, true}, Packet: &p}
		f.Len = len(f.Data)
		if !p.Decode(f.Data) {
			t.Fatalf("segment %d is no packet", i)
		}
		f.Conversation, f.FromClient = table.Find(&p)
		add(&f)
	}
}

// captures finds the captures that are tried where they are there.
func captures(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		path := filepath.Join(dir, "..", "shared", "captures", name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Skipf("no ../shared/captures/%s above this directory", name)
		}
		dir = up
	}
}

// walk shows a capture's frames to add.
func walk(t *testing.T, path string, add func(*Frame)) Walked {
	t.Helper()
	r, err := pcaps.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w, err := Walk(context.Background(), r, convo.Options{}, add)
	if err != nil {
		t.Fatal(err)
	}
	return w
}
