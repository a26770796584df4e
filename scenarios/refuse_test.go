package scenarios

import (
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"squall/gen"
	"squall/internal/lab"
	"squall/internal/netns"
	"squall/internal/pace"
	"squall/internal/port"
)

func TestRefused(t *testing.T) {
	b := newCable(t, lab.Config{})
	p := b.open(t, true)
	untagged := b.phase(t, p, 1, gen.Simple{Name: "untagged", Size: "64", Tag: "none"})
	untagged.Count = 1
	replayed := b.replayPhase(t, p, 3, 4, 1)
	again := b.replayPhase(t, p, 4, 4, 1)
	tests := []struct {
		name   string
		phases []Phase
		say    string
	}{
		{"no phases", nil, "without phases"},
		{"no plan", []Phase{{Name: "p", Schedule: pace.Max{}}}, `"p"`},
		{"no schedule", []Phase{{Name: "p", Plans: untagged.Plans}}, `"p"`},
		{"no tag to count by", []Phase{untagged}, `"untagged"`},
		{"one stream ID twice", []Phase{replayed, {Name: "q", Plans: replayed.Plans, Schedule: pace.Max{}}}, "replay"},
		{"two replays", []Phase{replayed, again}, "one replay"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Run(t.Context(), p, Config{Phases: tt.phases})
			if err == nil || !strings.Contains(err.Error(), tt.say) {
				t.Errorf("result %+v, error %v, want one with %q", r, err, tt.say)
			}
		})
	}
}

func TestOpenPairRefused(t *testing.T) {
	b := newCable(t, lab.Config{})
	ns := map[string]*netns.NS{"a": b.tx.NS, "b": b.rx.NS}
	va, vb := port.Ref{NetNS: "a", Iface: "va"}, port.Ref{NetNS: "b", Iface: "vb"}
	set(t, b.rx, netlink.LinkSetDown)
	tests := []struct {
		name   string
		tx, rx port.Ref
		engine string
		say    []string
	}{
		{"no such interface", port.Ref{NetNS: "a", Iface: "eth9"}, va, "auto", []string{"eth9", "va"}},
		{"no such namespace", port.Ref{NetNS: "nowhere", Iface: "va"}, va, "auto", []string{"nowhere"}},
		{"down", vb, va, "auto", []string{"vb", "is down", "ip link set vb up"}},
		{"no carrier", va, vb, "auto", []string{"va", "no link"}},
		{"loopback", port.Ref{NetNS: "a", Iface: "lo"}, va, "auto", []string{"lo"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := OpenPair(PairConfig{TX: tt.tx, RX: &tt.rx, Engine: tt.engine, Namespaces: ns})
			if err == nil {
				p.Close()
				t.Fatal("no error")
			}
			for _, s := range tt.say {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("error %q does not say %q", err, s)
				}
			}
		})
	}
	set(t, b.rx, netlink.LinkSetUp)
	_, err := OpenPair(PairConfig{TX: va, RX: &va, Engine: "auto", Namespaces: ns})
	if err == nil || !strings.Contains(err.Error(), "are the same") {
		t.Errorf("one port twice: error %v", err)
	}
	_, err = OpenPair(PairConfig{TX: va, Engine: "warp", Namespaces: ns})
	if err == nil || !strings.Contains(err.Error(), `"warp"`) || !strings.Contains(err.Error(), "packet") {
		t.Errorf("unknown engine: error %v", err)
	}
}
