package filter

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"squall/pcaps"
)

var (
	macA = net.HardwareAddr{2, 0, 0, 0, 0, 1}
	macB = net.HardwareAddr{2, 0, 0, 0, 0, 2}
	a4   = net.IP{10, 0, 0, 1}
	b4   = net.IP{10, 1, 0, 2}
	c4   = net.IP{192, 168, 7, 7}
	a6   = net.ParseIP("2001:db8::1")
	b6   = net.ParseIP("2001:db8:1::2")
)

type layer = gopacket.SerializableLayer

// frame serialises layers.
func frame(t testing.TB, ls ...layer) []byte {
	t.Helper()
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true}, ls...); err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(b.Bytes())
}

func eth(et layers.EthernetType) *layers.Ethernet {
	return &layers.Ethernet{SrcMAC: macA, DstMAC: macB, EthernetType: et}
}

func v4(src, dst net.IP, p layers.IPProtocol) *layers.IPv4 {
	return &layers.IPv4{Version: 4, TTL: 64, SrcIP: src, DstIP: dst, Protocol: p}
}

func v6(src, dst net.IP, p layers.IPProtocol) *layers.IPv6 {
	return &layers.IPv6{Version: 6, HopLimit: 3, SrcIP: src, DstIP: dst, NextHeader: p}
}

// untagged are frames of every kind that the expressions below speak of; tagged are
// some with VLAN tags.
func untagged(t testing.TB) [][]byte {
	tcp := func(from, to uint16, syn, ack, fin bool) *layers.TCP {
		return &layers.TCP{SrcPort: layers.TCPPort(from), DstPort: layers.TCPPort(to), SYN: syn, ACK: ack, FIN: fin, Window: 100}
	}
	udp := func(from, to uint16) *layers.UDP {
		return &layers.UDP{SrcPort: layers.UDPPort(from), DstPort: layers.UDPPort(to)}
	}
	fragment := v4(a4, c4, layers.IPProtocolUDP)
	fragment.FragOffset, fragment.Flags = 100, layers.IPv4MoreFragments
	first := v4(a4, c4, layers.IPProtocolUDP)
	first.Flags = layers.IPv4MoreFragments
	options := v4(b4, a4, layers.IPProtocolTCP)
	options.Options, options.TTL = []layers.IPv4Option{{OptionType: 1}}, 1
	arp := &layers.ARP{AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4, Operation: 1,
		SourceHwAddress: macA, SourceProtAddress: a4, DstHwAddress: make([]byte, 6), DstProtAddress: b4}
	everybody := &layers.Ethernet{SrcMAC: macB, DstMAC: net.HardwareAddr{255, 255, 255, 255, 255, 255}, EthernetType: layers.EthernetTypeARP}
	many := &layers.Ethernet{SrcMAC: macB, DstMAC: net.HardwareAddr{1, 0, 0x5e, 0, 0, 5}, EthernetType: layers.EthernetTypeIPv4}
	text := gopacket.Payload("some content")
	return [][]byte{
		frame(t, eth(layers.EthernetTypeIPv4), v4(a4, b4, layers.IPProtocolTCP), tcp(1025, 80, true, false, false)),
		frame(t, eth(layers.EthernetTypeIPv4), v4(b4, a4, layers.IPProtocolTCP), tcp(80, 1025, true, true, false)),
		frame(t, eth(layers.EthernetTypeIPv4), options, tcp(443, 8080, false, true, true), text),
		frame(t, eth(layers.EthernetTypeIPv4), v4(a4, c4, layers.IPProtocolUDP), udp(53, 5353), text),
		frame(t, eth(layers.EthernetTypeIPv4), first, udp(53, 5353), text),
		frame(t, eth(layers.EthernetTypeIPv4), fragment, gopacket.Payload(bytes.Repeat([]byte{0, 80}, 300))),
		frame(t, eth(layers.EthernetTypeIPv4), v4(c4, a4, layers.IPProtocolICMPv4), &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(8, 0)}),
		frame(t, eth(layers.EthernetTypeIPv4), v4(c4, a4, layers.IPProtocolGRE), gopacket.Payload(make([]byte, 8))),
		frame(t, eth(layers.EthernetTypeIPv4), v4(c4, net.IP{255, 255, 255, 255}, layers.IPProtocolUDP), udp(67, 68)),
		frame(t, many, v4(c4, net.IP{224, 0, 0, 5}, layers.IPProtocolOSPF), text),
		frame(t, eth(layers.EthernetTypeIPv6), v6(a6, b6, layers.IPProtocolTCP), tcp(1025, 80, true, false, false)),
		frame(t, eth(layers.EthernetTypeIPv6), v6(b6, a6, layers.IPProtocolUDP), udp(8001, 9000), text),
		frame(t, eth(layers.EthernetTypeIPv6), v6(b6, net.ParseIP("ff02::1"), layers.IPProtocolICMPv6), &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(128, 0)}),
		frame(t, eth(layers.EthernetTypeARP), arp),
		frame(t, everybody, arp),
		frame(t, eth(0x88cc), gopacket.Payload(make([]byte, 50))),
		frame(t, eth(layers.EthernetTypeIPv4), v4(a4, c4, layers.IPProtocolUDP), udp(53, 53)),
		frame(t, eth(layers.EthernetTypeIPv4), v4(a4, c4, layers.IPProtocolUDP), udp(80, 7)),
	}
}

func tagged(t testing.TB) [][]byte {
	var list [][]byte
	for i, f := range untagged(t) {
		tag := []byte{0x81, 0, 0x20, byte(5 + i%2)}
		list = append(list, append(append(bytes.Clone(f[:12]), tag...), f[12:]...))
	}
	return list
}

// expressions that tcpdump and this package understand alike.
var expressions = []string{
	"ip", "ip6", "arp", "rarp", "tcp", "udp", "sctp", "icmp", "icmp6", "igmp", "not tcp", "! udp",
	"host 10.0.0.1", "src host 10.0.0.1", "dst 10.0.0.1", "src or dst host 10.0.0.1", "ip host 10.0.0.1", "arp host 10.1.0.2",
	"src 10.0.0.1 and dst 10.1.0.2", "src 10.0.0.1 or dst 10.0.0.1", "host 2001:db8::1", "ip6 src host 2001:db8::1", "not host 10.0.0.1",
	"net 10.0.0.0/8", "net 10.0.0.0/16", "net 10", "net 192.168", "src net 192.168.7.0/24", "net 2001:db8::/32", "dst net 2001:db8:1::/48",
	"port 80", "tcp port 80", "udp port 80", "src port 80", "tcp dst port 80", "src and dst port 53", "port 53", "udp port domain", "tcp port 80 or 443",
	"portrange 8000-9000", "tcp portrange 8000-9000", "udp src portrange 8000-8001", "ip6 and port 80",
	"ether host 02:00:00:00:00:01", "ether src 02:00:00:00:00:02", "ether dst 02:00:00:00:00:02", "ether proto 0x88cc", "ether proto \\arp", "ether proto 0x0800",
	"ip proto 47", "ip proto \\icmp", "ip6 proto 17", "proto 47", "ether broadcast", "ether multicast", "ip multicast", "ip6 multicast",
	"tcp or udp and port 53", "(tcp or udp) and port 53", "tcp and port 80 or udp", "udp or tcp and port 80", "not (tcp or udp)", "not tcp and not udp", "not tcp and ip or arp",
	"tcp && !port 80 || arp", "ip and not (net 192.168.7.0/24 and (udp or icmp))",
	"less 60", "greater 60", "less 100 and ip", "len <= 60", "len > 66",
	"ip and tcp[tcpflags] & tcp-syn != 0", "ip and tcp[tcpflags] & (tcp-syn|tcp-fin) != 0", "ip and tcp[13] = 2", "tcp[13] == 18", "(tcp[13] & 2) != 0 and ip", "tcp[tcpflags] & (tcp-syn|tcp-ack) == (tcp-syn|tcp-ack)",
	"ip and tcp[2:2] = 80", "ip and udp[4:2] > 10", "ip[8] < 64", "ip[6:2] & 0x1fff != 0", "ip[12:4] = 0x0a000001", "ip6[7] < 5", "ether[0] & 1 = 1", "icmp[icmptype] = icmp-echo",
	"not tcp[13] = 2 and ip", "ip[0] & 0xf > 5",
}

// capture writes frames to a file, a microsecond apart.
func capture(t testing.TB, frames [][]byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "frames.pcap")
	w, err := pcaps.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for i, f := range frames {
		if err := w.Write(f, int64(i)*1000); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// records reads a capture, and keeps the frames that are meant.
func records(t testing.TB, r *pcaps.Reader, meant func(pcaps.Record) bool) (numbers []int, frames []string) {
	t.Helper()
	for n := 1; ; n++ {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, pcaps.ErrNoRecords) {
			return numbers, frames
		}
		if err != nil {
			t.Fatal(err)
		}
		if meant(rec) {
			numbers = append(numbers, n)
			frames = append(frames, hex.EncodeToString(rec.Data))
		}
	}
}

// Both find the same frames, in made captures and in real ones. Where frames have VLAN
// tags, tcpdump is asked for the tagged ones as well: it takes the expression behind
// "vlan" to be about what follows the tag.
func TestTcpdump(t *testing.T) {
	tcpdump, err := exec.LookPath("tcpdump")
	if err != nil {
		t.Skip("tcpdump is not installed")
	}
	type file struct {
		path   string
		tagged bool
	}
	files := []file{{capture(t, untagged(t)), false}, {capture(t, append(untagged(t), tagged(t)...)), true}}
	for _, name := range []string{"dupack-runs.pcap", "gtpu-truncated.pcapng"} {
		path := filepath.Join("../../../shared/captures", name)
		if _, err := os.Stat(path); err != nil {
			t.Logf("without %s: %v", name, err)
			continue
		}
		files = append(files, file{path, false})
	}
	found := map[string]int{}
	for _, f := range files {
		for _, x := range expressions {
			asked := x
			if f.tagged {
				if strings.Contains(x, "len ") || strings.HasPrefix(x, "not") || strings.Contains(x, "!") || strings.Contains(x, "less") || strings.Contains(x, "ether") || strings.Contains(x, "not ") {
					continue // "vlan and" would mean something else, or add up to all frames
				}
				asked = "(" + x + ") or (vlan and (" + x + "))"
			}
			cmd := exec.Command(tcpdump, "-r", f.path, "-w", "-", asked)
			var errs bytes.Buffer
			cmd.Stderr = &errs
			out, err := cmd.Output()
			if err != nil {
				t.Errorf("tcpdump %q: %v, %s", asked, err, &errs)
				continue
			}
			theirs, err := pcaps.NewReader(bytes.NewReader(out), "tcpdump")
			if err != nil {
				t.Fatal(err)
			}
			_, want := records(t, theirs, func(pcaps.Record) bool { return true })
			own, err := Compile(x)
			if err != nil {
				t.Error(err)
				continue
			}
			r, err := pcaps.Open(f.path)
			if err != nil {
				t.Fatal(err)
			}
			numbers, got := records(t, r, func(rec pcaps.Record) bool { return own.Match(rec.Data, rec.Len) })
			r.Close()
			found[x] += len(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %q finds frames %v, tcpdump %d (-want +got):\n%s", filepath.Base(f.path), x, numbers, len(want), diff)
			}
		}
	}
	for _, x := range expressions {
		if found[x] == 0 && x != "rarp" && x != "sctp" && x != "igmp" {
			t.Errorf("%q finds nothing anywhere: it tests nothing", x)
		}
	}
}

// What differs from tcpdump.
func TestOwn(t *testing.T) {
	frames := append(untagged(t), tagged(t)...)
	n := len(frames) / 2
	tests := []struct {
		expression string
		want       []int // numbers from 0
	}{
		{"", func() (all []int) {
			for i := range frames {
				all = append(all, i)
			}
			return all
		}()},
		{"vlan 5 and tcp", []int{n, n + 2, n + 10}},
		{"vlan and not vlan 5 and arp", []int{n + 13}},
		{"ip6 and tcp[tcpflags] = tcp-syn", []int{10, n + 10}},
		{"gre", []int{7, n + 7}},
		{"192.168.7.7 and gre", []int{7, n + 7}},
	}
	for _, tt := range tests {
		f, err := Compile(tt.expression)
		if err != nil {
			t.Error(err)
			continue
		}
		var got []int
		for i, b := range frames {
			if f.Match(b, len(b)) {
				got = append(got, i)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.expression, diff)
		}
	}
}

func TestRefuses(t *testing.T) {
	for _, tt := range []struct{ expression, says string }{
		{"host example.com", "names of hosts are not resolved"},
		{"host", "need an address"},
		{"tcp port 70000", "need a port from 0 to 65535"},
		{"tcp port http or", "at its end"},
		{"net 10.0.0.1/8", "need 10.0.0.0/8"},
		{"tcp host 10.0.0.1", "tcp has no addresses of its own"},
		{"icmp port 5", "icmp has no ports"},
		{"ether", "ether is no test by itself"},
		{"ether host 10.0.0.1", "need a MAC address"},
		{"(tcp", "need )"},
		{"tcp)", `have ")"`},
		{"tcp udp", "need"},
		{"tcp[13:3] = 2", "a size is 1, 2 or 4 bytes"},
		{"tcp[13]", "need one of ="},
		{"frame[13] = 1", "has no bytes to look at"},
		{"ip[2] = x", `"x": need a number`},
		{"vlan 4096", "need a number from 0 to 4095"},
		{"tcp; udp", `";" at byte 3`},
		{"gateway 10.0.0.1", "a word that pcap-filter has"},
		{strings.Repeat("(", 200), "more than 100"},
		{strings.Repeat("not ", 200) + "tcp", "more than 100"},
	} {
		if _, err := Compile(tt.expression); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%q: %v, want an error that says %q", tt.expression, err, tt.says)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	f, err := Compile("(tcp[tcpflags] & tcp-syn != 0 and net 10.0.0.0/8) or udp port 53 or vlan 5")
	if err != nil {
		t.Fatal(err)
	}
	b := untagged(t)[0]
	if n := testing.AllocsPerRun(100, func() { f.Match(b, len(b)) }); n > 0 {
		t.Errorf("%v allocations a frame", n)
	}
}

func FuzzFilter(f *testing.F) {
	for i, x := range expressions {
		f.Add(x, untagged(f)[i%16])
	}
	f.Fuzz(func(t *testing.T, x string, b []byte) {
		c, err := Compile(x)
		if err != nil {
			return
		}
		if first, second := c.Match(b, len(b)), c.Match(b, len(b)); first != second {
			t.Errorf("%q: two answers about one frame", x)
		}
	})
}
