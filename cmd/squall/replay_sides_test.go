package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"squall/internal/netns"
	"squall/scenarios"
)

// dupacks finds the capture with runs of duplicate ACKs and makes its checksums right:
// those of the client's frames are not, and a router drops them.
func dupacks(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		found := filepath.Join(dir, "shared/captures/dupack-runs.pcap")
		if _, err := os.Stat(found); err == nil {
			right := filepath.Join(t.TempDir(), "right.pcap")
			if o := run("pcap", "rewrite", found, right, "--fix-checksums"); o.code != exitPass {
				t.Fatalf("%+v", o)
			}
			return right
		}
		if dir == filepath.Dir(dir) {
			t.Skip("shared/captures/dupack-runs.pcap is not here")
		}
	}
}

// sidesLab is a named lab: its ports and its router.
func sidesLab(t *testing.T) (client, server string, router *netns.NS) {
	t.Helper()
	needRoot(t)
	name := fmt.Sprintf("sqsides%d", os.Getpid())
	t.Cleanup(func() { run("lab", "down", name) })
	if o := run("lab", "up", name); o.code != exitPass {
		t.Fatalf("lab up: %+v", o)
	}
	ns, err := netns.Open(name + "-r")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ns.Close() })
	return name + "-a:va", name + "-b:vb", ns
}

func rules(t *testing.T, ns *netns.NS, text string) {
	t.Helper()
	c := ns.Command("nft", "-f", "-")
	c.Stdin = strings.NewReader("flush ruleset\n" + text)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("nft: %v\n%s", err, out)
	}
}

// A real capture through the lab's router in lockstep, with and without a NAT, and
// through one that forwards nothing: exit codes and run.json.
func TestReplayLockstep(t *testing.T) {
	capture := dupacks(t)
	client, server, router := sidesLab(t)
	for _, row := range []struct {
		name  string
		rules string
		args  []string
		code  int
		want  scenarios.Conversations
	}{
		{"router", "", []string{"--give-up", "40s"}, exitPass, scenarios.Conversations{Total: 2, Complete: 2, Frames: 3046, Arrived: 3046}},
		{"twice, not before its time", "", []string{"--give-up", "40s", "--speed", "0.1", "--loop", "2"}, exitPass, scenarios.Conversations{Total: 4, Complete: 4, Frames: 6092, Arrived: 6092}},
		{"masquerade", "table ip nat { chain post { type nat hook postrouting priority 100; oifname \"out\" masquerade; }\n}\n", []string{"--learn", "--give-up", "40s"},
			exitPass, scenarios.Conversations{Total: 2, Complete: 2, Translated: 2, Frames: 3046, Arrived: 3046}},
		{"dead", "table ip dead { chain every { type filter hook forward priority 0; policy drop; }\n}\n", []string{"--give-up", "100ms"},
			exitFail, scenarios.Conversations{Total: 2, Abandoned: 2, Frames: 3046, GivenUp: 2, Unsent: 3044, Retries: 6}},
	} {
		t.Run(row.name, func(t *testing.T) {
			rules(t, router, row.rules)
			o := run(append([]string{"replay", capture, "--client", client, "--server", server, "--mode", "lockstep", "--json", "--quiet", "--out", t.TempDir()}, row.args...)...)
			if o.code != row.code {
				t.Errorf("exit code %d, want %d\n%s", o.code, row.code, o.stderr)
			}
			r := result(t, o)
			got := *r.Conversations
			if len(got.Broken) != int(got.Abandoned) || got.LeftOut.NoIP != 3 {
				t.Errorf("%d broken conversations, %d frames without IP, want %d and 3", len(got.Broken), got.LeftOut.NoIP, got.Abandoned)
			}
			got.Broken, got.LeftOut = nil, scenarios.ConversationsLeftOut{}
			if fmt.Sprint(got) != fmt.Sprint(row.want) {
				t.Errorf("conversations %+v, want %+v", got, row.want)
			}
			if len(r.Pairs) != 2 || r.Pairs[0].TX != client || r.Pairs[1].TX != server {
				t.Errorf("pairs %+v, want the client's and the server's", r.Pairs)
			}
		})
	}
}

// Both sides on the capture's clock: each direction has its account, and what comes
// out of one port is in step with the other.
func TestReplayTimed(t *testing.T) {
	_, client, server := cable(t)
	capture := dupacks(t)
	for _, row := range []struct {
		name string
		args []string
		sent [2]uint64
	}{
		{"stretched", []string{"--speed", "0.02"}, [2]uint64{1097, 1952}},
		{"twice, at a rate", []string{"--rate", "5kpps", "--loop", "2"}, [2]uint64{2194, 3904}},
		{"IP only", []string{"--speed", "0.02", "--ip-only"}, [2]uint64{1094, 1952}},
		{"the other way round", []string{"--speed", "0.02", "--client-net", "10.102.0.0/16"}, [2]uint64{1952, 1097}},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := run(append([]string{"replay", capture, "--client", client, "--server", server, "--engine", "packet", "--json", "--quiet", "--out", t.TempDir()}, row.args...)...)
			r := result(t, o)
			balanced(t, r)
			if len(r.Pairs) != 2 || r.Pairs[0].Phases[0].Sent != row.sent[0] || r.Pairs[1].Phases[0].Sent != row.sent[1] {
				t.Fatalf("pairs %+v, want %v frames", r.Pairs, row.sent)
			}
			for _, one := range r.Pairs {
				if one.Phases[0].Slipped != 0 {
					t.Errorf("%s: gave up %d ns of its schedule", one.TX, one.Phases[0].Slipped)
				}
			}
		})
	}
}

func TestReplaySidesRefused(t *testing.T) {
	for _, row := range []struct {
		args string
		say  string
	}{
		{"--client a:b", "give both"},
		{"--client a:b --server c:d --tx e", "leave out --tx"},
		{"--learn --tx e", "give --client and --server"},
		{"--client a:b --server c:d --learn", "--mode lockstep"},
		{"--client a:b --server c:d --mode fast", "have timed and lockstep"},
		{"--client a:b --server c:d --mode lockstep --retries 256", "need 0 to 255"},
		{"--client a:b --server c:d --mode lockstep --give-up 0s", "need 1ms"},
		{"--client a:b --server c:d --mode lockstep --window 0", "need 1 or more"},
		{"--client a:b --server c:d --client-net 10.0.0.1", "an address and a length"},
		{"--client a:b --server c:d --server-dmac x", "need a MAC address"},
		{"--client a:b --server c:d --cores 2", "each side of a replay has one"},
	} {
		t.Run(row.args, func(t *testing.T) {
			o := run(append([]string{"replay", "none.pcap"}, strings.Fields(row.args)...)...)
			if o.code != exitUsage || !strings.Contains(o.stderr, row.say) {
				t.Errorf("%+v, want %q", o, row.say)
			}
		})
	}
}
