package scenarios

import (
	"fmt"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/vishvananda/netlink"

	"squall/internal/lab"
	"squall/internal/ledger"
	"squall/internal/netns"
	"squall/internal/plan"
	"squall/internal/port"
	"squall/pcaps"
	"squall/replay"
	"squall/replay/lockstep"
	"squall/replay/rewrite"
	"squall/replay/sides"
)

// twoSides is a bed for a replay from both ends.
type twoSides struct {
	bed
	back bed
	macs [2]sides.MACs
}

func cableSides(t *testing.T) twoSides {
	b := newCable(t, lab.Config{})
	back := b
	back.tx, back.rx = b.rx, b.tx
	return twoSides{b, back, [2]sides.MACs{{Src: b.tx.MAC, Dst: b.rx.MAC}, {Src: b.rx.MAC, Dst: b.tx.MAC}}}
}

func routerSides(t *testing.T) (twoSides, *lab.Lab) {
	b, l := newRouter(t, lab.Config{})
	back := b
	back.tx, back.rx = b.rx, b.tx
	back.config.DUT = []ledger.Hop{
		{Kind: ledger.In, Where: l.Out.Label(), Driver: "veth"},
		{Kind: ledger.Forward, Where: l.R().String(), Shared: true},
		{Kind: ledger.Out, Where: l.In.Label(), Driver: "veth", Joined: true},
	}
	b.config.DUT[1].Shared = true
	return twoSides{b, back, [2]sides.MACs{{Src: l.VA.MAC, Dst: l.In.MAC}, {Src: l.VB.MAC, Dst: l.Out.MAC}}}, l
}

// play plays a capture in lockstep.
func (b twoSides) play(t *testing.T, engine string, p *plan.Plan, learn bool, o lockstep.Options) *Result {
	t.Helper()
	script, err := lockstep.Compile(p, sides.Options{MACs: b.macs}, learn)
	if err != nil {
		t.Fatal(err)
	}
	var lanes [2]Lane
	for k, way := range []bed{b.bed, b.back} {
		c := PairConfig{Engine: engine, Namespaces: map[string]*netns.NS{way.tx.NS.String(): way.tx.NS, way.rx.NS.String(): way.rx.NS}}
		c.TX = port.Ref{NetNS: way.tx.NS.String(), Iface: way.tx.Iface}
		c.RX = &port.Ref{NetNS: way.rx.NS.String(), Iface: way.rx.Iface}
		pair, err := OpenPair(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { pair.Close() })
		lanes[k] = Lane{Pair: pair, Config: way.config}
	}
	if err := EngageLockstep([2]*Pair{lanes[0].Pair, lanes[1].Pair}); err != nil {
		t.Fatal(err)
	}
	zero := 0.0
	r, err := RunLockstep(t.Context(), lanes, Lockstep{Script: script, Play: o, Asked: "lockstep", MaxLoss: &zero})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// dialogue is a capture of so many TCP connections, each opened, talked over and
// closed, from clients that nobody in a lab owns.
func dialogue(t *testing.T, connections int) *plan.Plan {
	t.Helper()
	var all records
	type side struct {
		addr netip.AddrPort
		seq  uint32
	}
	at := int64(0)
	send := func(from, to *side, flags func(*layers.TCP), payload string) {
		ip := &layers.IPv4{Version: 4, TTL: 64, Id: uint16(len(all)), Protocol: layers.IPProtocolTCP, SrcIP: from.addr.Addr().AsSlice(), DstIP: to.addr.Addr().AsSlice()}
		tcp := &layers.TCP{SrcPort: layers.TCPPort(from.addr.Port()), DstPort: layers.TCPPort(to.addr.Port()), Seq: from.seq, Ack: to.seq, ACK: true, Window: 65000}
		flags(tcp)
		tcp.SetNetworkLayerForChecksum(ip)
		b := gopacket.NewSerializeBuffer()
		if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
			&layers.Ethernet{SrcMAC: make([]byte, 6), DstMAC: make([]byte, 6), EthernetType: layers.EthernetTypeIPv4}, ip, tcp, gopacket.Payload(payload)); err != nil {
			t.Fatal(err)
		}
		f := append([]byte(nil), b.Bytes()...)
		all = append(all, pcaps.Record{Data: f, Len: len(f), Time: at, LinkType: pcaps.Ethernet})
		at += 100_000
		from.seq += uint32(len(payload))
		if tcp.SYN || tcp.FIN {
			from.seq++
		}
	}
	plain := func(*layers.TCP) {}
	ends := make([][2]side, connections)
	for k := range ends {
		ends[k] = [2]side{
			{netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 18, 0, byte(10 + k%200)}), uint16(40000+k)), 1000},
			{netip.MustParseAddrPort("198.18.1.80:80"), 5000},
		}
	}
	for step := range 12 {
		for k := range ends {
			c, s := &ends[k][0], &ends[k][1]
			switch step {
			case 0:
				send(c, s, func(h *layers.TCP) { h.SYN, h.ACK, h.Ack = true, false, 0 }, "")
			case 1:
				send(s, c, func(h *layers.TCP) { h.SYN = true }, "")
			case 2:
				send(c, s, plain, "")
			case 9:
				send(c, s, func(h *layers.TCP) { h.FIN = true }, "")
			case 10:
				send(s, c, func(h *layers.TCP) { h.FIN = true }, "")
			case 11:
				send(c, s, plain, "")
			default:
				send(c, s, plain, fmt.Sprintf("question %d of %d", step, k))
				send(s, c, plain, strings.Repeat("answer ", 20))
				send(s, c, plain, strings.Repeat("more ", 20))
			}
		}
	}
	p, _, err := replay.CompileFrom(&all, "dialogue", replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// dialogueFrames is how many frames a connection of a dialogue has.
const dialogueFrames = 6 + 6*3

// dupacks is the capture with runs of duplicate ACKs, its checksums made right: those
// of the client's frames are not, and a router drops them.
func dupacks(t *testing.T) *plan.Plan {
	t.Helper()
	for dir := "."; ; dir = filepath.Join("..", dir) {
		found, _ := filepath.Glob(filepath.Join(dir, "shared/captures/dupack-runs.pcap"))
		if len(found) == 1 {
			fix, err := rewrite.Rules{FixChecksums: true}.Compile()
			if err != nil {
				t.Fatal(err)
			}
			p, _, err := replay.Compile(found[0], replay.Options{Rewrite: fix})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		if strings.Count(dir, "..") > 6 {
			t.Skip("shared/captures/dupack-runs.pcap is not here")
		}
	}
}

// nft loads rules into a namespace.
func nft(t *testing.T, ns *netns.NS, rules string) {
	t.Helper()
	if _, err := exec.LookPath("nft"); err != nil {
		t.Skip("needs nft")
	}
	c := ns.Command("nft", "-f", "-")
	c.Stdin = strings.NewReader(rules)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("nft: %v\n%s", err, out)
	}
}

const (
	masquerade = `table ip nat {
	chain post {
		type nat hook postrouting priority 100
		oifname "out" meta l4proto tcp masquerade to :20000-60000 random
	}
}
`
	stateful = `table ip firewall {
	chain every {
		type filter hook forward priority 0; policy drop
		ct state established counter accept
		iifname "in" ct state new tcp flags & (syn | ack) == syn counter accept
	}
}
`
	every50 = `table ip lossy {
	chain every {
		type filter hook forward priority 0
		numgen inc mod 50 == 49 counter drop
	}
}
`
	forwarding = `table ip nat {
	chain pre {
		type nat hook prerouting priority -100
		iifname "in" meta l4proto tcp dnat to 198.18.1.99:8080
	}
}
`
)

// settled ignores what a plain account is not about.
var settled = cmpopts.IgnoreFields(Conversations{}, "LeftOut", "Broken")

func TestLockstep(t *testing.T) {
	for _, row := range []struct {
		name   string
		engine string
		rules  string // of the router; none: a cable
		learn  bool
		dupack bool
	}{
		{"cable", "xdp", "", false, false},
		{"cable, packet", "packet", "", false, false},
		{"cable, real capture", "xdp", "", false, true},
		{"router, real capture", "xdp", "\n", false, true},
		{"router, packet", "packet", "\n", false, false},
		{"firewall", "xdp", stateful, false, false},
		{"masquerade", "xdp", masquerade, true, false},
		{"masquerade, packet", "packet", masquerade, true, false},
		{"masquerade, real capture", "xdp", masquerade, true, true},
		{"port forwarding", "xdp", forwarding, true, false},
		{"learn without NAT", "xdp", "\n", true, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			needRoot(t)
			const connections = 40
			p, want := dialogue(t, connections), &Conversations{Total: connections, Complete: connections, Frames: connections * dialogueFrames, Arrived: connections * dialogueFrames}
			if row.dupack {
				p, want = dupacks(t), &Conversations{Total: 2, Complete: 2, Frames: 3046, Arrived: 3046}
			}
			if row.rules == masquerade || row.rules == forwarding {
				want.Translated = want.Total
			}
			var b twoSides
			if row.rules == "" {
				b = cableSides(t)
			} else {
				var l *lab.Lab
				b, l = routerSides(t)
				nft(t, l.R(), row.rules)
			}
			// A machine that stalls makes retries, not losses: a wait that no stall
			// outlasts.
			r := b.play(t, row.engine, p, row.learn, lockstep.Options{GiveUp: 40 * time.Second})
			if diff := cmp.Diff(want, r.Conversations, settled); diff != "" {
				t.Errorf("conversations (-want +got):\n%s", diff)
			}
			if r.Verdict.Result != Pass {
				t.Errorf("verdict %+v", r.Verdict)
			}
			for _, one := range r.Pairs {
				balanced(t, one)
			}
			if sent := r.Ledger.Sent; sent != want.Frames || r.Ledger.Received != want.Frames {
				t.Errorf("sent %d, received %d, want %d", sent, r.Ledger.Received, want.Frames)
			}
		})
	}
}

// Every 50th frame is dropped on the way: each is sent again, and each loss is seen.
func TestLockstepLossy(t *testing.T) {
	b, l := routerSides(t)
	nft(t, l.R(), every50)
	const connections = 40
	r := b.play(t, "xdp", dialogue(t, connections), false, lockstep.Options{GiveUp: 2 * time.Second, Retries: 19})
	drops := dropped(t, l.R())
	all := uint64(connections * dialogueFrames)
	want := &Conversations{Total: connections, Complete: connections, Frames: all, Arrived: all, Retries: drops}
	if diff := cmp.Diff(want, r.Conversations, settled); diff != "" {
		t.Errorf("conversations (-want +got):\n%s", diff)
	}
	if (all+drops)/50 != drops || drops == 0 {
		t.Errorf("%d frames were dropped of %d", drops, all+drops)
	}
	var lost uint64
	for _, one := range r.Pairs {
		p := one.Phases[0]
		lost += p.Lost
		if p.Sent != p.Received+p.Lost || uint64(one.Ledger.Unexplained) != p.Lost {
			t.Errorf("sent %d, received %d, lost %d, unexplained %d", p.Sent, p.Received, p.Lost, one.Ledger.Unexplained)
		}
	}
	if lost != drops {
		t.Errorf("lost %d, want %d", lost, drops)
	}
	if r.Verdict.Result != Fail {
		t.Errorf("verdict %+v, want a fail: frames were lost", r.Verdict)
	}
}

// dropped returns how many frames the rule with a counter has dropped.
func dropped(t *testing.T, ns *netns.NS) (frames uint64) {
	t.Helper()
	out, err := ns.Command("nft", "list", "ruleset").Output()
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(out), "counter packets ")
	if _, err := fmt.Sscan(text, &frames); !ok || err != nil {
		t.Fatalf("no counter in\n%s", out)
	}
	return frames
}

// Through a DUT that forwards nothing every conversation is abandoned.
func TestLockstepDead(t *testing.T) {
	b, l := routerSides(t)
	nft(t, l.R(), "table ip dead { chain every { type filter hook forward priority 0; policy drop; }\n}\n")
	r := b.play(t, "xdp", dialogue(t, 3), false, lockstep.Options{GiveUp: 40 * time.Millisecond, Retries: 1})
	want := &Conversations{Total: 3, Abandoned: 3, Frames: 3 * dialogueFrames, GivenUp: 3, Unsent: 3*dialogueFrames - 3, Retries: 3}
	if diff := cmp.Diff(want, r.Conversations, settled); diff != "" {
		t.Errorf("conversations (-want +got):\n%s", diff)
	}
	if len(r.Conversations.Broken) != 3 || r.Conversations.Broken[1].Client != "198.18.0.11:40001" || r.Conversations.Broken[1].Result != "abandoned" {
		t.Errorf("broken: %+v", r.Conversations.Broken)
	}
	if r.Verdict.Result != Fail || r.Ledger.Sent != 6 || r.Ledger.Received != 0 {
		t.Errorf("verdict %+v, sent %d, received %d, want a fail, 6 and 0", r.Verdict, r.Ledger.Sent, r.Ledger.Received)
	}
}

// A port that goes down in the middle voids the run, and its account stands.
func TestLockstepLinkLost(t *testing.T) {
	b := cableSides(t)
	p := dialogue(t, 50)
	down := make(chan error, 1)
	go func() {
		time.Sleep(50 * time.Millisecond)
		down <- b.rx.NS.Do(func() error {
			link, err := netlink.LinkByName(b.rx.Iface)
			if err != nil {
				return err
			}
			return netlink.LinkSetDown(link)
		})
	}()
	r := b.play(t, "packet", p, false, lockstep.Options{Passes: -1, Duration: 20 * time.Second})
	if err := <-down; err != nil {
		t.Fatal(err)
	}
	if r.Verdict.Result != Void || r.Conversations.Incomplete+r.Conversations.Abandoned == 0 {
		t.Errorf("verdict %+v, conversations %+v", r.Verdict, r.Conversations)
	}
}

func TestLockstepRefuses(t *testing.T) {
	b := cableSides(t)
	p := b.open(t, true)
	back := b.back.open(t, true)
	p.config.Engine = "live"
	if err := EngageLockstep([2]*Pair{p, back}); err == nil || !strings.Contains(err.Error(), "cannot wait for arrivals") {
		t.Errorf("live: %v", err)
	}
}
