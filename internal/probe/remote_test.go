package probe

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"squall/internal/netns"
	"squall/internal/probe/shell"
	"squall/internal/probe/sshtest"
)

// cards are the interfaces of this machine that a device stands behind.
func cards() (names []string) {
	for _, p := range expand("/sys/class/net/*/device/uevent") {
		if _, err := os.Stat(p); err == nil {
			names = append(names, strings.Split(p, "/")[4])
		}
	}
	return names
}

// wired makes a veth va with a small queue in the server's namespace, and puts
// frames through it that the queue does not hold.
func wired(t *testing.T, ns *netns.NS) {
	t.Helper()
	inside(t, ns, func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = "va"
		veth := netlink.NewVeth(attrs)
		veth.PeerName = "vb"
		return errors.Join(netlink.LinkAdd(veth), up("va"), up("vb"))
	})
	if out, err := ns.Command("tc", "qdisc", "add", "dev", "va", "root", "handle", "1:", "tbf", "rate", "8kbit", "burst", "2000", "limit", "3000").CombinedOutput(); err != nil {
		t.Fatalf("tc: %v: %s", err, out)
	}
	send(t, ns, "va", 100)
}

// What is read over ssh lies between two readings taken here, before and after
// it: it is the same table.
func TestRemoteEqualsLocal(t *testing.T) {
	server := sshtest.Start(t)
	wired(t, server.NS)
	inNS := Ethtool{server.NS, "va"}
	kinds := []struct{ local, remote Kind }{
		{CPU{}, CPU{}},
		{Softirqs{}, Softirqs{}},
		{Interrupts{Ports: cards()}, Interrupts{Ports: cards()}},
		{Memory{}, Memory{}},
		{Softnet{}, Softnet{}},
		{IP{server.NS}, IP{}},
		{inNS, Ethtool{Iface: "va"}},
		{Qdisc{server.NS, "va"}, Qdisc{Iface: "va"}},
		{Link{Iface: "lo"}, Link{Iface: "lo"}}, // sysfs is that of the machine, not of the namespace
	}
	for _, card := range cards() {
		kinds = append(kinds, struct{ local, remote Kind }{Link{Iface: card}, Link{Iface: card}})
	}
	for _, k := range kinds {
		t.Run(k.local.Name(), func(t *testing.T) {
			remote := NewRemote(server.Host, "dut", time.Minute, k.remote)
			defer remote.Close()
			read(t, remote) // connects
			before, over, after := read(t, k.local), read(t, remote), read(t, k.local)
			for _, r := range []*Reading{&before, &after} {
				r.Counters = slices.DeleteFunc(r.Counters, func(c Counter) bool { return c.Name == "rx_otherhost_dropped" }) // not in sysfs
			}
			if over.At <= before.At || over.At >= after.At {
				t.Errorf("At: have %d, want it between %d and %d", over.At, before.At, after.At)
			}
			for i := range over.Counters {
				where, ok := strings.CutPrefix(over.Counters[i].Where, "dut/")
				if !ok {
					t.Fatalf("Where: have %q", over.Counters[i].Where)
				}
				switch k.local.(type) {
				case IP, Ethtool, Qdisc: // where: the namespace's name in it
					where = before.Counters[0].Where
				}
				over.Counters[i].Where = where
			}
			if len(before.Counters) == 0 {
				t.Fatal("nothing to compare")
			}
			lower, upper, all := Delta(before, over), Delta(over, after), Delta(before, after)
			for i, c := range all {
				if c.Note == New || c.Note == Gone || i >= len(lower) || i >= len(upper) {
					t.Fatalf("%+v: the table changed by itself; over ssh %d counters", c, len(over.Counters))
				}
				l, u := pick(lower, c), pick(upper, c)
				switch {
				case l.Where == "" || u.Where == "" || l.Note == New || l.Note == Gone:
					t.Errorf("%s: not over ssh", c.Name)
				case l.Note == Fell || u.Note == Fell || l.Note == Reset || u.Note == Reset:
					if !strings.HasSuffix(c.Name, "idle") && !strings.HasSuffix(c.Name, "iowait") {
						t.Errorf("%s: %d here, then %d over ssh, then %d here", c.Name, l.Before, l.After, u.After)
					}
				case c.Level && l.Before == u.After && k.local.Name() == "link lo" && l.After != l.Before:
					t.Errorf("%s: %d here, %d over ssh", c.Name, l.Before, l.After)
				case l.Moved+u.Moved != c.Moved:
					t.Errorf("%s: %d here, then %d over ssh, then %d here", c.Name, l.Before, l.After, u.After)
				}
			}
			if len(over.Counters) != len(before.Counters) {
				t.Errorf("over ssh: have %d counters, want %d", len(over.Counters), len(before.Counters))
			}
		})
	}
	// The queue did drop, or Qdisc above compared zeros.
	if v, _ := read(t, Qdisc{server.NS, "va"}).Value("sshtest:va", "qdisc.drops"); v == 0 {
		t.Error("qdisc.drops: have 0, want some")
	}
}

func pick(changes []Change, like Change) Change {
	for _, c := range changes {
		if c.Where == like.Where && c.Name == like.Name {
			return c
		}
	}
	return Change{}
}

// One reading over ssh is one line of shell, and what cannot be read is named
// beside what can.
func TestRemotePartial(t *testing.T) {
	server := sshtest.Start(t)
	remote := NewRemote(server.Host, "", time.Minute, CPU{}, Link{Iface: "none0"}, Ethtool{Iface: "none1"}, Qdisc{Iface: "none2"}, Frequency{}, Softnet{}, Ethtool{Iface: "lo"})
	defer remote.Close()
	r, err := remote.Read()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`interface "none0": not in`, `ethtool none1: .*No such device`, `qdisc none2: .*none2`} {
		if !regexp.MustCompile(want).MatchString(err.Error()) {
			t.Errorf("error: have %v, want one that matches %q", err, want)
		}
	}
	for _, where := range []string{"127.0.0.1:2222/cpu", "127.0.0.1:2222/softnet"} {
		if !slices.ContainsFunc(r.Counters, func(c Counter) bool { return c.Where == where }) {
			t.Errorf("no counters of %q", where)
		}
	}
	if !errors.Is(err, fs.ErrNotExist) && len(expand(frequencyGlob)) == 0 {
		t.Errorf("error: have %v, want the missing cpufreq in it", err)
	}
}

func TestTC(t *testing.T) {
	text := `[{"kind":"mq","handle":"0:","root":true,"bytes":11,"packets":7,"drops":1,"overlimits":2,"requeues":3,"backlog":4,"qlen":5},
{"kind":"fq_codel","handle":"8001:","parent":":1","options":{"limit":10240},"bytes":1,"packets":1,"drops":9},{"kind":"clsact","handle":"ffff:","parent":"ffff:fff1"}]`
	got, err := parseTC("eth1", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []Counter{
		{Where: "eth1", Name: "qdisc.packets", Value: 7, Bits: 64}, {Where: "eth1", Name: "qdisc.bytes", Value: 11, Bits: 64},
		{Where: "eth1", Name: "qdisc.qlen", Value: 5, Level: true}, {Where: "eth1", Name: "qdisc.backlog", Value: 4, Level: true},
		{Where: "eth1", Name: "qdisc.drops", Value: 1, Bits: 32}, {Where: "eth1", Name: "qdisc.requeues", Value: 3, Bits: 32},
		{Where: "eth1", Name: "qdisc.overlimits", Value: 2, Bits: 32}, {Where: "eth1", Name: "qdisc[fq_codel 8001:].drops", Value: 9, Bits: 32},
		{Where: "eth1", Name: "qdisc[clsact ffff:].drops", Bits: 32},
	}
	if diff := cmp.Diff(want, some(got, want)); diff != "" || len(got) != 21 {
		t.Errorf("%d counters (-want +got):\n%s", len(got), diff)
	}
	if _, err := parseTC("eth1", []byte("Cannot find device")); err == nil {
		t.Error("other text: no error")
	}
}

// This machine is read on while a probe of another hangs, and while the other
// dies and comes back; each absence is told once.
func TestPollerOverSSH(t *testing.T) {
	server := sshtest.Start(t)
	dut := NewRemote(server.Host, "dut", 5*time.Second, CPU{}, Softnet{})
	// A line that no timeout(1) can end in time: it is the poller's to notice.
	file := filepath.Join(t.TempDir(), "pid")
	hung := NewRemoteCommand("hung", "echo $$ >"+file+"; exec sleep 60", server.Host, Lines, 30*time.Second)
	t.Cleanup(func() {
		text, _ := os.ReadFile(file)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			_ = unix.Kill(pid, unix.SIGKILL) // ESRCH: it ended by itself
		}
	})
	here := NewCommand("here", "echo drops: 7", nil, Lines, time.Minute)
	p := NewPoller(nil,
		Entry{Probe: dut, Every: 20 * time.Millisecond, Patience: time.Minute},
		Entry{Probe: hung, Every: 20 * time.Millisecond, Patience: 50 * time.Millisecond},
		Entry{Probe: here, Every: 20 * time.Millisecond, Patience: time.Minute})
	p.Start()
	until(t, "all but the hung one", func() bool {
		_, err := os.Stat(file) // it has begun to hang
		return err == nil && status(p, dut.Name()).Readings > 3 && status(p, hung.Name()).State == Absent && status(p, here.Name()).Readings > 3
	})
	server.Kill()
	until(t, "the host's absence", func() bool { return status(p, dut.Name()).State == Absent })
	had := status(p, here.Name()).Readings
	until(t, "more readings here", func() bool { return status(p, here.Name()).Readings > had+3 })
	until(t, "repeated failures", func() bool { return status(p, dut.Name()).Failed > 3 })
	server.Up("/usr/sbin/sshd")
	until(t, "the host's return", func() bool { return status(p, dut.Name()).State == Present })
	stop(t, p)
	var states []State
	for _, e := range p.Events() {
		if e.Probe == dut.Name() {
			states = append(states, e.State)
		}
		if e.Probe == here.Name() {
			t.Errorf("event here: %v", e)
		}
	}
	if diff := cmp.Diff([]State{Absent, Present}, states); diff != "" {
		t.Errorf("states of the host (-want +got):\n%s\n%v", diff, p.Events())
	}
}

func TestCommand(t *testing.T) {
	ns, err := netns.New("probe-command")
	if err != nil {
		t.Skipf("needs CAP_SYS_ADMIN: %v", err)
	}
	defer ns.Close()
	r := read(t, NewCommand("links", `printf 'links: %s\n' "$(ip -o link | wc -l)"`, ns, Lines, time.Minute))
	if diff := cmp.Diff([]Counter{{Where: "links", Name: "links", Value: 1}}, r.Counters); diff != "" {
		t.Errorf("in a new namespace, which has lo alone (-want +got):\n%s", diff)
	}
	tests := []struct {
		name, line string
		want       error
		words      string
	}{
		{"hangs", "sleep 60", shell.ErrTimeout, "command hangs"},
		{"fails", "echo drops: 1; echo no such oid >&2; exit 1", nil, "command fails: no such oid (exit status 1)"},
		{"is not there", "no-such-command", nil, "not found"},
		{"says nothing", "true", nil, "no number in the text"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			timeout := time.Minute
			if tt.want != nil {
				timeout = 50 * time.Millisecond
			}
			_, err := NewCommand(tt.name, tt.line, nil, Lines, timeout).Read()
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.words) {
				t.Errorf("have %v, want an error with %q", err, tt.words)
			}
		})
	}
}

// FreeBSD's words over ssh: a script in sysctl's place.
func TestRemoteCommandSysctl(t *testing.T) {
	server := sshtest.Start(t)
	file := filepath.Join(t.TempDir(), "ticks")
	ticks := func(s string) {
		if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ticks("kern.cp_time: 100 0 50 10 4000\ndev.igc.0.mac_stats.crc_errs: 4294967290\n")
	c := NewRemoteCommand("dut", "cat "+shell.Quote(file), server.Host, Sysctl, time.Minute)
	defer c.Close()
	before := read(t, c)
	ticks("kern.cp_time: 110 0 60 20 4070\ndev.igc.0.mac_stats.crc_errs: 4\n")
	changes := Delta(before, read(t, c))
	if got := pick(changes, Change{Where: "dut", Name: "cpu.intr"}); got.Share != 10 || got.Moved != 10 {
		t.Errorf("cpu.intr: have %+v, want 10 %%", got)
	}
	if got := pick(changes, Change{Where: "dut", Name: "dev.igc.0.mac_stats.crc_errs"}); got.Moved != 10 || got.Note != Wrapped {
		t.Errorf("crc_errs: have %+v, want 10, wrapped", got)
	}
}
