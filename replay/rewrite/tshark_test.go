package rewrite_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"squall/replay/rewrite"
)

// save writes a capture of the frames.
func save(t *testing.T, frames [][]byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "frames.pcap")
	f := must(os.Create(path))
	defer f.Close()
	w := pcapgo.NewWriter(f)
	if err := w.WriteFileHeader(65535, layers.LinkTypeEthernet); err != nil {
		t.Fatal(err)
	}
	for i, b := range frames {
		if err := w.WritePacket(gopacket.CaptureInfo{Timestamp: time.Unix(1, int64(i)*1000), CaptureLength: len(b), Length: len(b)}, b); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// Another program judges: no checksum at any layer is bad, nothing is
// malformed; and it sees the wrong ones that it is shown.
func TestTshark(t *testing.T) {
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("tshark is not installed: apt-get install tshark")
	}
	r := rewrite.Rules{
		SrcMAC: "02:00:00:00:00:09", VLANAdd: []string{"5"}, Map: []string{"10.0.0.0/8=11.0.0.0/8", "2001:db8::/32=2001:db9::/32"}, PortMap: []string{"80=81"},
		TTL: "-1", DSCP: "1", TEID: []string{"+1"}, SeqShift: 1, Unique: true, Layer: rewrite.All,
	}
	var good, bad [][]byte
	for _, stack := range stacks {
		frame := build(t, stack, example())
		good = append(good, apply(t, r, frame, 3))
		if strings.HasPrefix(stack, "ip4 ") {
			frame[14+11] ^= 1
			bad = append(bad, apply(t, r, frame, 3))
		}
	}
	for _, tt := range []struct {
		name   string
		frames [][]byte
		want   int
	}{{"right", good, 0}, {"wrong", bad, len(bad)}} {
		out, err := exec.Command("tshark", "-n", "-r", save(t, tt.frames), "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE",
			"--disable-protocol", "discard", "--disable-protocol", "http", "--disable-protocol", "tls", "--disable-protocol", "dtls", "--disable-protocol", "sctp",
			"-Y", `ip.checksum.status=="Bad" || udp.checksum.status=="Bad" || tcp.checksum.status=="Bad" || icmp.checksum.status=="Bad" || icmpv6.checksum.status=="Bad" || gre.checksum.status=="Bad" || _ws.malformed`).Output()
		if err != nil {
			t.Fatalf("tshark: %v", err)
		}
		if n := strings.Count(string(out), "\n"); n != tt.want {
			t.Errorf("%s: %d of %d are bad, want %d:\n%s", tt.name, n, len(tt.frames), tt.want, out)
		}
	}
}
