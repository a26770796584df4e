package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"squall/internal/lab"
)

// run measures once and returns thousands of frames a second.
type run func() (float64, error)

// peer is another program to be measured beside squall.
type peer struct {
	run     run
	missing string // why it cannot be; "" where it can
}

func runs(peers []peer) []run {
	var rs []run
	for _, p := range peers {
		if p.missing == "" {
			rs = append(rs, p.run)
		}
	}
	return rs
}

// trafgen sends frames whose port and number run, with checksums computed.
func (e *env) trafgen(pair *lab.Pair, size int) peer {
	if _, err := exec.LookPath("trafgen"); err != nil {
		return peer{missing: "not installed"}
	}
	conf := filepath.Join(e.tmp, fmt.Sprintf("trafgen-%d.cfg", size))
	return peer{run: func() (float64, error) {
		if err := os.WriteFile(conf, trafgenConfig(pair, size), 0o644); err != nil {
			return 0, err
		}
		return measure(pair, e.span, "trafgen", "--dev", "va", "--conf", conf, "--cpus", "1")
	}}
}

// tcpreplay replays a capture of the same stream, preloaded, at top speed.
func (e *env) tcpreplay(pair *lab.Pair, size int) peer {
	if _, err := exec.LookPath("tcpreplay"); err != nil {
		return peer{missing: "not installed"}
	}
	return peer{run: func() (float64, error) {
		path, err := e.capture(pair, fmt.Sprint(size))
		if err != nil {
			return 0, err
		}
		return measure(pair, e.span, "tcpreplay", "--intf1=va", "--topspeed", "-K", "--loop=100000", "--quiet", path)
	}}
}

// capture writes 20,000 frames to a file, once a size.
func (e *env) capture(pair *lab.Pair, size string) (string, error) {
	path := filepath.Join(e.tmp, "frames-"+size+".pcap")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	out, err := exec.Command(e.squall, "gen", "--size", size, "--flows", "1024", "--count", "20000", "--rate", "100kpps", "--quiet",
		"--src-mac", pair.A.MAC.String(), "--dst-mac", pair.B.MAC.String(), "-w", path).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("making a capture: %w: %s", err, out)
	}
	return path, nil
}

// xdpTrafficgen sends one frame over and over with a running port, the nearest
// that it has. Debian's version does not start on every kernel.
func (e *env) xdpTrafficgen(pair *lab.Pair) peer {
	if _, err := exec.LookPath("xdp-trafficgen"); err != nil {
		return peer{missing: "not installed"}
	}
	try := func() (float64, error) {
		return measure(pair, e.span, "xdp-trafficgen", "udp", "va", "-m", pair.B.MAC.String(), "-d", "1024", "-t", "1")
	}
	if _, err := try(); err != nil {
		return peer{missing: "does not start here"}
	}
	return peer{run: try}
}
