package pcaps_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"squall/pcaps"
)

// packet4 and packet6 begin like IP of their versions.
var (
	packet4 = append([]byte{0x45, 0}, bytes.Repeat([]byte{4}, 18)...)
	packet6 = append([]byte{0x60, 0}, bytes.Repeat([]byte{6}, 38)...)
)

type reframe struct {
	name string
	link pcaps.LinkType
	data []byte
	want string // type and packet, in hexadecimal; "": refused
	src  string // source address; "": 02 00 00 00 00 01
	says string // of the refusal
}

func reframed() []reframe {
	bin := func(head string, packet []byte) []byte {
		b, err := hex.DecodeString(strings.ReplaceAll(head, " ", ""))
		if err != nil {
			panic(err)
		}
		return append(b, packet...)
	}
	ip4, ip6 := "0800"+hex.EncodeToString(packet4), "86dd"+hex.EncodeToString(packet6)
	const sll, own = "0000 0001 0006 0a0b0c0d0e0f 0000", "0a0b0c0d0e0f"
	const sll2 = "0000 00000002 0001 00 06 0a0b0c0d0e0f 0000"
	return []reframe{
		{name: "RAW, IPv4", link: pcaps.Raw, data: packet4, want: ip4},
		{name: "RAW, IPv6", link: pcaps.Raw, data: packet6, want: ip6},
		{name: "RAW of BSD", link: pcaps.RawBSD, data: packet4, want: ip4},
		{name: "RAW of OpenBSD", link: pcaps.RawOpen, data: packet6, want: ip6},
		{name: "RAW, no IP", link: pcaps.Raw, data: []byte{0x50, 1}, says: "RAW (IP without a link layer), link type 101, IP version 0x5, cannot be sent on Ethernet"},
		{name: "RAW, empty", link: pcaps.Raw, says: "cut short in its header"},
		{name: "IPv4", link: pcaps.IPv4, data: packet4, want: ip4},
		{name: "IPv6", link: pcaps.IPv6, data: packet6, want: ip6},
		{name: "IPv4, empty", link: pcaps.IPv4, says: "nothing captured behind its header"},

		{name: "NULL, IPv4, little endian", link: pcaps.Null, data: bin("02000000", packet4), want: ip4},
		{name: "NULL, IPv4, big endian", link: pcaps.Null, data: bin("00000002", packet4), want: ip4},
		{name: "NULL, IPv6 of NetBSD", link: pcaps.Null, data: bin("18000000", packet6), want: ip6},
		{name: "NULL, IPv6 of FreeBSD", link: pcaps.Null, data: bin("0000001c", packet6), want: ip6},
		{name: "NULL, IPv6 of Darwin", link: pcaps.Null, data: bin("1e000000", packet6), want: ip6},
		{name: "NULL, IPv6 of Windows", link: pcaps.Null, data: bin("17000000", packet6), want: ip6},
		{name: "NULL, IPX of BSD", link: pcaps.Null, data: bin("17000000", packet4), says: "another version"},
		{name: "NULL, AppleTalk", link: pcaps.Null, data: bin("10000000", packet4), says: "NULL (BSD loopback), link type 0, address family 0x10, cannot"},
		{name: "NULL, cut", link: pcaps.Null, data: bin("020000", nil), says: "cut short in its header"},
		{name: "NULL without a packet", link: pcaps.Null, data: bin("02000000", nil), says: "nothing captured"},
		{name: "LOOP", link: pcaps.Loop, data: bin("00000018", packet6), want: ip6},
		{name: "LOOP is big endian only", link: pcaps.Loop, data: bin("02000000", packet4), says: "0x2000000"},

		{name: "SLL keeps the sender's address", link: pcaps.LinuxSLL, data: bin(sll+"0800", packet4), want: ip4, src: own},
		{name: "SLL without an address", link: pcaps.LinuxSLL, data: bin("0004 0304 0000 0000000000000000 86dd", packet6), want: ip6},
		{name: "SLL with a VLAN tag", link: pcaps.LinuxSLL, data: bin(sll+"8100 0005 0800", packet4), want: "81000005" + ip4, src: own},
		{name: "SLL, 802.2", link: pcaps.LinuxSLL, data: bin(sll+"0004 424203", packet4), want: "0017424203" + hex.EncodeToString(packet4), src: own},
		{name: "SLL, CAN", link: pcaps.LinuxSLL, data: bin("0000 0118 0000 0000000000000000 000c", packet4), says: "protocol 0xc"},
		{name: "SLL of netlink", link: pcaps.LinuxSLL, data: bin("0000 0338 0000 0000000000000000 0800", packet4), says: "hardware type 0x338"},
		{name: "SLL, cut", link: pcaps.LinuxSLL, data: bin(sll+"08", nil), says: "cut short"},
		{name: "SLL2", link: pcaps.LinuxSLL2, data: bin("0800"+sll2, packet4), want: ip4, src: own},
		{name: "SLL2 of a tunnel", link: pcaps.LinuxSLL2, data: bin("86dd 0000 00000002 fffe 00 00 0000000000000000", packet6), want: ip6},
		{name: "SLL2, cut", link: pcaps.LinuxSLL2, data: bin("0800"+sll2, nil)[:19], says: "cut short"},

		{name: "PPP", link: pcaps.PPP, data: bin("0021", packet4), want: ip4},
		{name: "PPP in HDLC framing", link: pcaps.PPP, data: bin("ff03 0057", packet6), want: ip6},
		{name: "PPP, compressed protocol", link: pcaps.PPPHDLC, data: bin("ff03 21", packet4), want: ip4},
		{name: "PPP, LCP", link: pcaps.PPPHDLC, data: bin("ff03 c021", packet4), says: "PPP protocol 0xc021"},
		{name: "PPP, cut", link: pcaps.PPP, data: bin("ff03 00", nil), says: "cut short"},
		{name: "Cisco HDLC as PPP_HDLC", link: pcaps.PPPHDLC, data: bin("0f00 0800", packet4), want: ip4},
		{name: "Cisco HDLC", link: pcaps.CiscoHDLC, data: bin("8f00 86dd", packet6), want: ip6},
		{name: "Cisco HDLC, keep-alive", link: pcaps.CiscoHDLC, data: bin("8f00 8035", packet4), says: "Cisco HDLC protocol 0x8035"},
		{name: "PPPoE session", link: pcaps.PPPoE, data: bin("1100 0001 0016 0021", packet4), want: "8864" + "110000010016" + "0021" + hex.EncodeToString(packet4)},
		{name: "PPPoE discovery", link: pcaps.PPPoE, data: bin("1109 0000 0000", nil), want: "8863110900000000"},
		{name: "PPPoE, cut", link: pcaps.PPPoE, data: bin("11", nil), says: "cut short"},

		{name: "802.11", link: 105, data: packet4, says: "IEEE 802.11, link type 105 cannot be sent on Ethernet"},
		{name: "a link type of nobody", link: 3000, data: packet4, says: "link type 3000 cannot be sent on Ethernet"},
	}
}

func TestReframer(t *testing.T) {
	for _, tt := range reframed() {
		t.Run(tt.name, func(t *testing.T) {
			var r pcaps.Reframer
			rec := pcaps.Record{Data: tt.data, Len: len(tt.data) + 100, LinkType: tt.link}
			if strings.Contains(tt.name, "802.2") {
				rec.Len -= 100 // its length is in the frame
			}
			got, length, made, err := r.Frame(rec)
			if tt.want == "" {
				if !errors.Is(err, pcaps.ErrLinkType) || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("%x, %v; want an error that says %q", got, err, tt.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			src := tt.src
			if src == "" {
				src = "020000000001"
			}
			if diff := cmp.Diff("020000000002"+src+tt.want, hex.EncodeToString(got)); diff != "" {
				t.Errorf("frame (-want +got):\n%s", diff)
			}
			if length != len(got)+rec.Len-len(tt.data) || !made {
				t.Errorf("length %d of %d captured, made %v", length, len(got), made)
			}

			r.Src, r.Dst = net.HardwareAddr{2, 1, 1, 1, 1, 1}, net.HardwareAddr{2, 2, 2, 2, 2, 2}
			got, _, _, err = r.Frame(rec)
			if want := "020202020202" + "020101010101" + tt.want; err != nil || hex.EncodeToString(got) != want {
				t.Errorf("with addresses: %x, %v; want %s", got, err, want)
			}
		})
	}
}

func TestReframerLeavesEthernet(t *testing.T) {
	data := frame(60, 1)
	r := pcaps.Reframer{Dst: pcaps.DefaultDst}
	got, length, made, err := r.Frame(pcaps.Record{Data: data, Len: 1500, LinkType: pcaps.Ethernet})
	if &got[0] != &data[0] || len(got) != 60 || length != 1500 || made || err != nil {
		t.Errorf("%d of %d bytes, made %v, %v", len(got), length, made, err)
	}
}

// Neither frames nor refusals allocate, but the first.
func TestReframerDoesNotAllocate(t *testing.T) {
	var r pcaps.Reframer
	good := pcaps.Record{Data: packet4, Len: 20, LinkType: pcaps.Raw}
	bad := pcaps.Record{Data: packet4, Len: 20, LinkType: 105}
	if n := testing.AllocsPerRun(100, func() {
		if _, _, _, err := r.Frame(good); err != nil {
			t.Error(err)
		}
		if _, _, _, err := r.Frame(bad); err == nil {
			t.Error("802.11 is reframed")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// What tshark calls the packet in a cooked, raw or loopback frame is what stands
// behind the header that is made.
func TestReframerAgreesWithTshark(t *testing.T) {
	dir := captures(t)
	for _, name := range []string{"sll-nanosecond.pcap", "raw-ipv4.pcap", "null-loopback.pcap"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			fields := []string{"-T", "fields", "-e", "ip.src", "-e", "ip.dst", "-e", "ip.len", "-e", "ip.checksum", "-e", "udp.srcport", "-e", "tcp.seq_raw"}
			want := tool(t, "tshark", append([]string{"-r", path}, fields...)...)
			r, err := pcaps.Open(path)
			must(t, err)
			defer r.Close()
			out := filepath.Join(t.TempDir(), "out.pcap")
			w, err := pcaps.Create(out)
			must(t, err)
			defer w.Abort()
			records, err := all(r)
			must(t, err)
			var re pcaps.Reframer
			for _, rec := range records {
				frame, length, made, err := re.Frame(rec)
				must(t, err)
				if !made {
					t.Errorf("no header for %v", rec.LinkType)
				}
				must(t, w.WriteCut(frame, length, rec.Time))
			}
			must(t, w.Close())
			if diff := cmp.Diff(want, tool(t, "tshark", append([]string{"-r", out}, fields...)...)); diff != "" || !strings.Contains(want, ".") {
				t.Errorf("tshark of the original and of the reframed (-want +got):\n%s", diff)
			}
		})
	}
}
