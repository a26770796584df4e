package gen

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
)

// TestTshark has another program judge 10,000 frames of each layer stack: no
// checksum is bad, nothing is malformed. And it must find the wrong ones where
// a stream asks for them.
func TestTshark(t *testing.T) {
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("tshark is not installed: apt-get install tshark")
	}
	const frames = 10_000
	for _, st := range stacks {
		t.Run(st.name, func(t *testing.T) {
			spec := specOf(st.name)
			spec.Size, spec.Flows = "118-300", 100
			for _, f := range st.fields {
				switch f {
				case "icmp.type", "icmp.code", "ipv4.flags", "ipv4.fragment_offset", "tcp.flags", "arp.op", "tcp.ack", "vlan.dei":
					continue // other types have other contents
				}
				if !strings.HasPrefix(f, "payload") && len(spec.Vary) < 3 {
					spec.Vary = append(spec.Vary, Vary{Field: f, Mode: "random", Per: []string{"flow", "frame"}[len(spec.Vary)%2]})
				}
			}
			if bad := judge(t, spec, frames); bad != 0 {
				t.Errorf("%d of %d frames are bad", bad, frames)
			}
		})
	}
	for _, layer := range []string{"ipv4", "udp", "tcp", "icmp"} {
		t.Run("wrong "+layer, func(t *testing.T) {
			stack := "ethernet/ipv4/" + layer
			if layer == "ipv4" {
				stack = "ethernet/ipv4/udp"
			}
			spec := specOf(stack)
			spec.Size, spec.Flows, spec.Checksum = "118-300", 100, map[string]string{layer: "wrong"}
			if bad := judge(t, spec, 1000); bad != 1000 {
				t.Errorf("%d of 1000 frames are bad, need all", bad)
			}
		})
	}
}

// judge returns how many of the stream's first n frames tshark finds fault with.
func judge(t *testing.T, spec Spec, n uint64) int {
	t.Helper()
	p := compileOne(t, spec).Plan
	path := filepath.Join(t.TempDir(), "frames.pcap")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := bufio.NewWriter(f)
	w := pcapgo.NewWriter(out)
	if err := w.WriteFileHeader(65535, layers.LinkTypeEthernet); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, p.MaxLen())
	for i := range n {
		b := buf[:p.Write(buf, i, int64(i)*1000)]
		ci := gopacket.CaptureInfo{Timestamp: time.Unix(1, int64(i)*1000), CaptureLength: len(b), Length: len(b)}
		if err := w.WritePacket(ci, b); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("tshark", "-n", "-r", path,
		"-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE",
		"--disable-protocol", "discard", "-d", "udp.port==0-65535,data", "-d", "tcp.port==0-65535,data",
		"-Y", `ip.checksum.status=="Bad" || udp.checksum.status=="Bad" || tcp.checksum.status=="Bad" || icmp.checksum.status=="Bad" || icmpv6.checksum.status=="Bad" || _ws.malformed`)
	var errs strings.Builder
	cmd.Stderr = &errs
	got, err := cmd.Output()
	if err != nil {
		t.Fatalf("tshark: %v: %s", err, errs.String())
	}
	lines := strings.Count(string(got), "\n")
	if lines > 0 && len(spec.Checksum) == 0 {
		t.Logf("the first: %.300s", got)
	}
	return lines
}
