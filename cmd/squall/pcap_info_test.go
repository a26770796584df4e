package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestPcapInfo(t *testing.T) {
	in := shared(t, "dupack-runs.pcap")
	t.Chdir(t.TempDir())
	o := run("pcap", "info", in, "--conversations", "1")
	if o.code != exitPass || o.stderr != "" {
		t.Fatalf("%+v", o)
	}
	for _, say := range []string{
		"pcap 2.4, little endian, microseconds", "3049, 246720 bytes without FCS", "duration       0.007721000 s", "394.9 kpps",
		"1094 IPv4 headers have a wrong one", "all frames would be sent at an MTU of 1500", "    TCP   3046    246540", "10.101.0.2:34962",
	} {
		if !strings.Contains(o.stdout, say) {
			t.Errorf("the report lacks %q:\n%s", say, o.stdout)
		}
	}
	if strings.Contains(o.stdout, "34963") {
		t.Errorf("more than one conversation is listed:\n%s", o.stdout)
	}
	// One JSON object a capture.
	o = run("pcap", "info", in, in, "--json")
	d := json.NewDecoder(strings.NewReader(o.stdout))
	for range 2 {
		var r infoJSON
		if err := d.Decode(&r); err != nil || r.Frames != 3049 || r.Path != in || r.Conversations.Total != 2 {
			t.Fatalf("%v, %+v", err, r)
		}
	}
	if d.More() {
		t.Error("more than two objects")
	}
}

func TestPcapInfoOdd(t *testing.T) {
	t.Chdir(t.TempDir())
	ten(t)
	if o := run("pcap", "info", "ten.pcapng"); o.code != exitPass || !strings.Contains(o.stdout, "invalid time   1 frames") {
		t.Errorf("%+v", o)
	}
	b, err := os.ReadFile("ten.pcapng")
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, b []byte) {
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("cut.pcapng", b[:len(b)-20])
	write("none.pcapng", b[:28+32])
	write("text.pcap", []byte("this is no capture"))
	if o := run("pcap", "info", "cut.pcapng"); o.code != exitPass || !strings.Contains(o.stderr, "ends within this record") || !strings.Contains(o.stdout, "frames         9,") {
		t.Errorf("%+v", o)
	}
	if o := run("pcap", "info", "none.pcapng"); o.code != exitPass || !strings.Contains(o.stdout, "frames   0,") {
		t.Errorf("%+v", o)
	}
	if o := run("pcap", "info", "none.pcapng", "--json"); o.code != exitPass || strings.Contains(o.stdout, `"rates": {`) {
		t.Errorf("%+v", o)
	}
	for _, tt := range []struct{ args, say string }{
		{"text.pcap", "no pcap or pcapng capture"},
		{"nowhere.pcap", "no such file"},
		{"", "need at least one capture"},
		{"ten.pcapng --mtu 67", "need at least 68"},
		{"ten.pcapng --conversations -1", "need 0 or more"},
		{"ten.pcapng --client-net 10", "need a network"},
	} {
		if o := run(append([]string{"pcap", "info"}, strings.Fields(tt.args)...)...); o.code != exitUsage || !strings.Contains(o.stderr, tt.say) {
			t.Errorf("%q: %+v, want code 2 and %q", tt.args, o, tt.say)
		}
	}
}

// What info says that replay would do, replay does.
func TestPcapInfoReplay(t *testing.T) {
	in := shared(t, "gtpu-truncated.pcapng")
	t.Chdir(t.TempDir())
	if o := run("pcap", "info", in); !strings.Contains(o.stdout, "54 frames would be sent; left out: 28 cut by the snap length") {
		t.Errorf("%+v", o)
	}
	o := run("replay", in, "-w", "sent.pcap")
	if o.code != exitPass {
		t.Skipf("replay -w is not to be had: %+v", o)
	}
	if n := len(content(t, "sent.pcap")); n != 54 {
		t.Errorf("replay writes %d frames, want 54", n)
	}
}

// Standard input is read like a file, packed or not.
func TestPcapInfoStdin(t *testing.T) {
	in := shared(t, "dupack-runs.pcap")
	dir := t.TempDir()
	packed := filepath.Join(dir, "x.pcap.zst")
	if o := run("pcap", "convert", in, packed); o.code != exitPass {
		t.Fatalf("%+v", o)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{in, packed} {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		c := exec.Command(self, "pcap", "info", "-")
		c.Env, c.Stdin, c.Dir = append(os.Environ(), asCommand+"=1"), f, dir
		out, err := c.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "3049, 246720 bytes") {
			t.Errorf("%s: %v\n%s", path, err, out)
		}
	}
}
