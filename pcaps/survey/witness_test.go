package survey

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"squall/pcaps"
)

// real returns a capture made by others, or skips.
func real(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("../../../shared/captures", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not here: %v", name, err)
	}
	return path
}

// tool runs a program and returns what it says, or skips where there is none.
func tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not installed", name)
	}
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	return string(out)
}

// capinfos has the same frames, bytes and times.
func TestCapinfos(t *testing.T) {
	for _, name := range []string{"dupack-runs.pcap", "gtpu-truncated.pcapng", "big-endian-v2.1.pcap", "sll-nanosecond.pcap", "raw-ipv4.pcap", "null-loopback.pcap"} {
		t.Run(name, func(t *testing.T) {
			path := real(t, name)
			_, r, err := Read(t.Context(), path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			row := strings.Split(strings.TrimSpace(tool(t, "capinfos", "-T", "-r", "-M", "-S", "-c", "-d", "-u", "-a", "-e", path)), "\t")
			if len(row) < 6 {
				t.Fatalf("capinfos says %q", row)
			}
			got := []string{fmt.Sprint(r.Frames), fmt.Sprint(r.Bytes), fmt.Sprintf("%d.%09d", r.Times.Duration/1e9, r.Times.Duration%1e9)}
			if row[3] != "" && !strings.Contains(row[3], ".") {
				row[3] += "."
			}
			want := []string{row[1], row[2], (row[3] + "000000000")[:len(got[2])]}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("frames, bytes, duration (-capinfos +got):\n%s", diff)
			}
			addsUp(t, r)
		})
	}
}

// theirs are tshark's names of protocols.
var theirs = map[string]string{"eth": "Ethernet", "ip": "IPv4", "ipv6": "IPv6", "arp": "ARP", "tcp": "TCP", "udp": "UDP", "icmp": "ICMP", "gtp": "GTP-U"}

// tshark has the same tree of protocols, as far down as both have it.
func TestTsharkProtocols(t *testing.T) {
	line := regexp.MustCompile(`^( *)(\S+) +frames:(\d+) bytes:(\d+)`)
	for _, name := range []string{"dupack-runs.pcap", "gtpu-truncated.pcapng", "big-endian-v2.1.pcap"} {
		t.Run(name, func(t *testing.T) {
			path := real(t, name)
			_, r, err := Read(t.Context(), path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			want, above := map[string][2]uint64{}, []string{}
			known := 0 // how deep the names are known
			for _, l := range strings.Split(tool(t, "tshark", "-r", path, "-q", "-z", "io,phs"), "\n") {
				m := line.FindStringSubmatch(l)
				if m == nil {
					continue
				}
				depth := len(m[1]) / 2
				ours, ok := theirs[m[2]]
				if !ok || depth > known { // a protocol above TCP or UDP, or beneath one
					known = min(known, depth)
					continue
				}
				above = append(above[:depth], ours)
				known = depth + 1
				frames, _ := strconv.ParseUint(m[3], 10, 64)
				bytes, _ := strconv.ParseUint(m[4], 10, 64)
				want[strings.Join(above, "/")] = [2]uint64{frames, bytes}
			}
			got := map[string][2]uint64{}
			var walk func(list []Protocol, above string)
			walk = func(list []Protocol, above string) {
				for _, p := range list {
					path := strings.TrimPrefix(above+"/"+p.Name, "/")
					got[path] = [2]uint64{p.Frames, p.Bytes}
					walk(p.Within, path)
				}
			}
			walk(r.Protocols, "")
			if diff := cmp.Diff(want, got); diff != "" || len(want) < 3 {
				t.Errorf("protocols (-tshark +got):\n%s", diff)
			}
		})
	}
}

// tshark has the same conversations, and as many wrong header checksums.
func TestTsharkConversations(t *testing.T) {
	path := real(t, "dupack-runs.pcap")
	_, r, err := Read(t.Context(), path, Options{Top: 10})
	if err != nil {
		t.Fatal(err)
	}
	want, got, bad := map[string][2]uint64{}, map[string][2]uint64{}, uint64(0)
	out := tool(t, "tshark", "-r", path, "-o", "ip.check_checksum:TRUE", "-Y", "tcp", "-T", "fields",
		"-e", "ip.src", "-e", "tcp.srcport", "-e", "frame.len", "-e", "ip.checksum.status")
	for _, l := range strings.Split(strings.TrimSpace(out), "\n") {
		f := strings.Split(l, "\t")
		from := net.JoinHostPort(f[0], f[1])
		n, _ := strconv.ParseUint(f[2], 10, 64)
		sum := want[from+" "+f[1]]
		want[from+" "+f[1]] = [2]uint64{sum[0] + 1, sum[1] + n}
		if f[3] == "0" {
			bad++
		}
	}
	for _, c := range r.Conversations.Top {
		for _, end := range []struct {
			name          string
			frames, bytes uint64
		}{{c.Client, c.ClientFrames, c.ClientBytes}, {c.Server, c.ServerFrames, c.ServerBytes}} {
			_, port, _ := net.SplitHostPort(end.name)
			got[end.name+" "+port] = [2]uint64{end.frames, end.bytes}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("frames and bytes by sender (-tshark +got):\n%s", diff)
	}
	if r.BadChecksums != bad || bad == 0 {
		t.Errorf("%d wrong header checksums, tshark has %d", r.BadChecksums, bad)
	}
}

// What capinfos does not say.
func TestRead(t *testing.T) {
	for _, tt := range []struct {
		name string
		want File
		link pcaps.LinkType
		fate Replay
	}{
		{"big-endian-v2.1.pcap", File{Format: "pcap", Version: "2.1", Resolution: "us", ByteOrder: "big", SnapLen: 1600, Compression: "none"}, pcaps.Ethernet, Replay{MTU: 1500, Sent: 156}},
		{"sll-nanosecond.pcap", File{Format: "pcap", Version: "2.4", Resolution: "ns", ByteOrder: "little", SnapLen: 262144, Compression: "none"}, pcaps.LinuxSLL, Replay{MTU: 1500, Sent: 3}},
		{"gtpu-truncated.pcapng", File{Format: "pcapng", Version: "1.0", ByteOrder: "little", Compression: "none"}, pcaps.Ethernet, Replay{MTU: 1500, Sent: 54, Truncated: 28}},
		{"frame-relay-unsupported.pcap", File{Format: "pcap", Version: "2.4", Resolution: "us", ByteOrder: "little", SnapLen: 50, Compression: "none"}, 182, Replay{MTU: 1500, LinkType: 5}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := real(t, tt.name)
			f, r, err := Read(t.Context(), path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Path, tt.want.Bytes = path, info.Size()
			if diff := cmp.Diff(tt.want, f); diff != "" {
				t.Errorf("file (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.fate, r.Replay); diff != "" || r.LinkTypes[0].Type != tt.link {
				t.Errorf("link type %v, fates (-want +got):\n%s", r.LinkTypes[0].Type, diff)
			}
			addsUp(t, r)
		})
	}
}
