package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"squall/internal/lab"
)

// Bad input: exit code 2, the thing is named on stderr, and nothing is done.
func TestRefused(t *testing.T) {
	p, tx, rx := cable(t)
	shared := filepath.Join(t.TempDir(), "x")
	write := func(name, text string) string {
		path := filepath.Join(filepath.Dir(shared), name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	capture := filepath.Join(filepath.Dir(shared), "whole.pcap")
	if o := run("gen", "-w", capture, "--count", "10", "--tag", "none"); o.code != exitPass {
		t.Fatalf("%+v", o)
	}
	whole, err := os.ReadFile(capture)
	if err != nil {
		t.Fatal(err)
	}
	key := write("key.yaml", "streams:\n  - name: one\n    sise: 64\n")
	value := write("value.yaml", "streams:\n  - name: one\n    size: 64\n    rate: -3pps\n")
	small := write("small.yaml", "streams:\n  - layers: [ethernet, ipv6, tcp]\n    tag: end\n    size: 64\n")
	blank := write("empty.yaml", "")
	nothing := write("nothing.pcap", "")
	header := write("header.pcap", string(whole[:24]))
	cutRecord := write("cut.pcap", string(whole[:len(whole)-7]))
	cutHeader := write("cuthead.pcap", string(whole[:10]))
	text := write("text.pcap", "this is no capture")
	relay := write("relay.pcap", string(whole[:20])+"\xb6\x00\x00\x00"+string(whole[24:])) // LINKTYPE_MFR
	full := filepath.Dir(key)
	ports := []string{"--tx", tx, "--rx", rx, "--count", "10"}
	gen := func(args ...string) []string { return append(append([]string{"gen"}, ports...), args...) }
	play := func(file string, args ...string) []string {
		return append([]string{"replay", file, "--tx", tx, "--rx", rx}, args...)
	}
	tests := []struct {
		name string
		args []string
		say  []string
	}{
		{"unknown command", []string{"stormm"}, []string{`"stormm"`}},
		{"unknown flag", gen("--sise", "64"), []string{"--sise", "squall gen --help"}},
		{"flag without a value", gen("--size"), []string{"--size"}},
		{"flag of the wrong kind", gen("--flows", "many"), []string{"--flows", "many"}},
		{"argument too many", gen("extra"), []string{`"extra"`}},
		{"unknown YAML key", gen("-f", key), []string{key + ":3:5", "sise: 64"}},
		{"bad YAML value", gen("-f", value), []string{value + ":4:", "rate: -3pps"}},
		{"YAML size below the layers' need", gen("-f", small), []string{small + ":4:", "size: 64"}},
		{"YAML without streams", gen("-f", blank), []string{blank}},
		{"no such stream file", gen("-f", "nowhere.yaml"), []string{"nowhere.yaml"}},
		{"flag and stream file", gen("-f", key, "--size", "64"), []string{"--size", "-f"}},
		{"no port to send from", []string{"gen", "--count", "1"}, []string{"--tx"}},
		{"port does not exist", []string{"gen", "--tx", p.A.NS.Path() + ":eth9", "--count", "1"}, []string{"eth9", "va"}},
		{"receiving port does not exist", []string{"gen", "--tx", tx, "--rx", p.A.NS.Path() + ":eth9", "--count", "1"}, []string{"eth9"}},
		{"namespace does not exist", []string{"gen", "--tx", "nowhere:va", "--count", "1"}, []string{`"nowhere"`}},
		{"no port at all", []string{"gen", "--tx", "lab-a:", "--count", "1"}, []string{"lab-a:"}},
		{"both ports the same", []string{"gen", "--tx", tx, "--rx", tx, "--count", "1"}, []string{tx, "are the same"}},
		{"unknown engine", gen("--engine", "warp"), []string{`"warp"`, "packet"}},
		{"size below the smallest frame", gen("--size", "60"), []string{"60", "64"}},
		{"size below the layers' need", gen("--proto", "tcp", "--tag", "end", "--size", "64"), []string{"64", "tag", "76"}},
		{"size above the MTU", gen("--size", "1519"), []string{"1519", "1518"}},
		{"size range above the MTU", gen("--size", "64-9000"), []string{"9000", "1518"}},
		{"size that is none", gen("--size", "big"), []string{`"big"`}},
		{"rate 0", gen("--rate", "0"), []string{`"0"`}},
		{"rate 0 with a unit", gen("--rate", "0pps"), []string{`"0pps"`, "above 0"}},
		{"rate below 0", gen("--rate", "-5kpps"), []string{`"-5kpps"`}},
		{"rate that is none", gen("--rate", "fast"), []string{`"fast"`}},
		{"count 0", []string{"gen", "--tx", tx, "--count", "0"}, []string{"--count 0"}},
		{"duration 0", gen("--duration", "0s"), []string{"--duration 0s"}},
		{"duration below 0", gen("--duration", "-1s"), []string{"--duration -1s"}},
		{"burst without a pause", gen("--burst", "8"), []string{"--burst"}},
		{"gap without a burst", gen("--gap", "1ms"), []string{"--gap"}},
		{"gap and rate", gen("--burst", "8", "--gap", "1ms", "--rate", "1kpps"), []string{"--gap", "--rate"}},
		{"ramp without an end", gen("--ramp-from", "1kpps", "--ramp-over", "1s"), []string{"--rate"}},
		{"ramp without a time", gen("--ramp-from", "1kpps", "--rate", "2kpps"), []string{"--ramp-over"}},
		{"ramp from max", gen("--ramp-from", "max", "--ramp-over", "1s", "--rate", "2kpps"), []string{"--ramp-from"}},
		{"no flows", gen("--flows", "0"), []string{"--flows 0"}},
		{"VLAN ID out of range", gen("--vlan", "4096"), []string{"--vlan 4096", "4095"}},
		{"addresses of two families", gen("--src", "198.18.0.1", "--dst", "2001:2::1"), []string{"198.18.0.1", "2001:2::1"}},
		{"protocol", gen("--proto", "sctp"), []string{`"sctp"`}},
		{"tolerance 0", gen("--tolerance", "0"), []string{"--tolerance 0"}},
		{"tolerance that is no number", gen("--tolerance", "NaN"), []string{"--tolerance NaN"}},
		{"loss above all", gen("--max-loss", "101"), []string{"--max-loss 101"}},
		{"settling for no time", gen("--settle", "0s"), []string{"--settle 0s"}},
		{"catching up on nothing", gen("--catch-up", "-1s"), []string{"--catch-up -1s"}},
		{"frames that a receiver cannot count", gen("--tag", "none"), []string{"tag"}},
		{"flows that a receiver cannot tell apart", gen("--proto", "tcp", "--size", "64", "--flows", "2", "--flow-order", "random"), []string{"tag"}},
		{"run directory that is not empty", gen("--out", full), []string{full, "--out"}},
		{"run directory below a file", gen("--out", filepath.Join(key, "x")), []string{key}},
		{"a port and a file", gen("-w", "out.pcap"), []string{"tx", "write"}},
		{"a file without end", []string{"gen", "-w", "out.pcap"}, []string{"-w", "--count"}},
		{"a file, and no directory for it", []string{"gen", "-w", "no/out.pcap", "--count", "1"}, []string{"no/out.pcap"}},
		{"no capture", []string{"replay", "--tx", tx}, []string{"arg"}},
		{"no such capture", play("nowhere.pcap"), []string{"nowhere.pcap"}},
		{"empty capture file", play(nothing), []string{nothing, "empty"}},
		{"capture without records", play(header), []string{header}},
		{"capture truncated in mid-record", play(cutRecord), []string{cutRecord, "record 10"}},
		{"capture truncated in its header", play(cutHeader), []string{cutHeader}},
		{"no capture but text", play(text), []string{text}},
		{"capture of a link type that Ethernet does not carry", play(relay), []string{relay, "cannot be sent on Ethernet"}},
		{"two timings", play(capture, "--speed", "2", "--topspeed"), []string{"speed"}},
		{"speed 0", play(capture, "--speed", "0"), []string{`"0"`}},
		{"no pass", play(capture, "--loop", "0"), []string{"--loop 0"}},
		{"gap between passes below 0", play(capture, "--loop-gap", "-1s"), []string{"-1s"}},
		{"replay at rate 0", play(capture, "--rate", "0"), []string{`"0"`}},
		{"report of no run", []string{"report", full}, []string{full, "run.json"}},
		{"lab's rate", []string{"lab", "up", "sqtestx", "--limit", "80%"}, []string{"--limit 80%"}},
		{"no lab", []string{"lab", "down", "sqtestx"}, []string{"sqtestx"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := run(tt.args...)
			if o.code != exitUsage {
				t.Errorf("exit code %d, want %d", o.code, exitUsage)
			}
			for _, s := range tt.say {
				if !strings.Contains(o.stderr, s) {
					t.Errorf("stderr does not say %q:\n%s", s, o.stderr)
				}
			}
			if o.stdout != "" {
				t.Errorf("stdout is %q, want nothing", o.stdout)
			}
			empty(t)
		})
	}
}

func TestRefusedInterfaceDown(t *testing.T) {
	p, tx, rx := cable(t)
	err := p.A.NS.Do(func() error {
		l, err := netlink.LinkByName(p.A.Iface)
		if err != nil {
			return err
		}
		return netlink.LinkSetDown(l)
	})
	if err != nil {
		t.Fatal(err)
	}
	o := run("gen", "--tx", tx, "--rx", rx, "--count", "1")
	if o.code != exitUsage || !strings.Contains(o.stderr, tx) || !strings.Contains(o.stderr, "is down") {
		t.Errorf("%+v, want exit code %d and %s named", o, exitUsage, tx)
	}
	empty(t)
}

// Without CAP_NET_RAW the capability is named.
func TestRefusedCapability(t *testing.T) {
	_, tx, rx := cable(t)
	o := process(t, nil, []string{"setpriv", "--bounding-set", "-net_raw", "--inh-caps", "-net_raw"}, "gen", "--engine", "packet", "--tx", tx, "--rx", rx, "--count", "1")
	if o.code != exitUsage || !strings.Contains(o.stderr, "CAP_NET_RAW") || !strings.Contains(o.stderr, tx) {
		t.Errorf("%+v, want exit code %d and CAP_NET_RAW named", o, exitUsage)
	}
	empty(t)
}

// A port that the machine is reached by is not sent into, unless told so.
func TestRefusedManagement(t *testing.T) {
	needRoot(t)
	t.Chdir(t.TempDir())
	l, err := lab.New(lab.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	err = l.A().Do(func() error {
		link, err := netlink.LinkByName(l.VA.Iface)
		if err != nil {
			return err
		}
		return netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Gw: l.In.IPv4.Addr().AsSlice()})
	})
	if err != nil {
		t.Fatal(err)
	}
	// A process of that host: its namespace is the machine's own to it.
	for _, args := range [][]string{{"gen", "--tx", "va", "--count", "1"}, {"replay", "x.pcap", "--tx", "va"}} {
		o := process(t, l.A(), nil, args...)
		if o.code != exitUsage || !strings.Contains(o.stderr, `"va"`) || !strings.Contains(o.stderr, "--allow-management") {
			t.Errorf("%v: %+v, want exit code %d and --allow-management named", args, o, exitUsage)
		}
		empty(t)
	}
	o := process(t, l.A(), nil, "gen", "--tx", "va", "--count", "10", "--allow-management", "--dst-mac", l.In.MAC.String(), "--dst", "198.18.1.2")
	if o.code != exitPass {
		t.Errorf("allowed: %+v", o)
	}
}
