package shell

import (
	"os/exec"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseHost(t *testing.T) {
	tests := []struct {
		in   string
		want Host
		ok   bool
	}{
		{"dut", Host{Name: "dut"}, true},
		{"root@dut", Host{Name: "root@dut"}, true},
		{"root@dut:2222", Host{Name: "root@dut", Port: 2222}, true},
		{"192.0.2.1:22", Host{Name: "192.0.2.1", Port: 22}, true},
		{"2001:db8::1", Host{Name: "2001:db8::1"}, true},
		{"root@fe80::1%eth0", Host{Name: "root@fe80::1%eth0"}, true},
		{"[2001:db8::1]", Host{Name: "2001:db8::1"}, true},
		{"a@[2001:db8::1]:2222", Host{Name: "a@2001:db8::1", Port: 2222}, true},
		{"", Host{}, false},
		{"root@", Host{}, false},
		{"@dut", Host{}, false},
		{"dut:", Host{}, false},
		{"dut:0", Host{}, false},
		{"dut:65536", Host{}, false},
		{"dut:ssh", Host{}, false},
		{"[2001:db8::1", Host{}, false},
		{"[000000:0]", Host{}, false},
		{"[dut]:22", Host{}, false},
		{"a[b]:22", Host{}, false},
		{"[::1]x", Host{}, false},
		{"-oProxyCommand=reboot", Host{}, false},
		{"root@-dut", Host{}, false},
		{"dut; reboot", Host{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			got, err := ParseHost(tt.in)
			if (err == nil) != tt.ok {
				t.Fatalf("error: have %v, want none: %v", err, tt.ok)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("host (-want +got):\n%s", diff)
			}
		})
	}
}

// What ParseHost takes, String writes so that it takes it again; and it is never
// an option of ssh.
func FuzzParseHost(f *testing.F) {
	for _, s := range []string{"dut", "root@dut:22", "[::1]:22", "a@fe80::1%eth0", "-x", "a@[::1]", "[000000:0]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := ParseHost(s)
		if err != nil {
			return
		}
		again, err := ParseHost(h.String())
		if err != nil || again.Name != h.Name || again.Port != h.Port {
			t.Errorf("%q: have %+v, again %+v, %v", s, h, again, err)
		}
		args := h.Command("true").Args
		if at := slices.Index(args, "--"); at < 0 || args[at+1] != h.Name || h.Name[0] == '-' {
			t.Errorf("%q: arguments %q", s, args)
		}
	})
}

// sh(1) makes of a quoted word what it was.
func TestQuote(t *testing.T) {
	for _, word := range []string{"", "eth0", "it's", `a "b" $c \d`, "''", "two\nlines", "*"} {
		out, err := exec.Command("sh", "-c", "printf %s "+Quote(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q: have %q, %v", word, out, err)
		}
	}
}
