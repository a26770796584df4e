package scenarios

import (
	"testing"

	"squall/gen"
	"squall/internal/lab"
	"squall/internal/netns"
)

// threaded has a port's NAPI run in a kernel thread, beside its sender instead of
// in turn with it (Documentation/networking/napi.rst).
func threaded(t *testing.T, e lab.End) {
	t.Helper()
	out, err := e.NS.Command("unshare", "--mount", "sh", "-c",
		"mount -t sysfs sysfs /sys && echo 1 > /sys/class/net/"+e.Iface+"/threaded").CombinedOutput()
	if err != nil {
		t.Fatalf("threaded NAPI of %s: %v\n%s", e.Label(), err, out)
	}
}

// A router that forwards more slowly than it is sent to has the ring of its veth
// overrun: three counters see it, one of them is summed, nothing is unexplained.
func TestRingOverrun(t *testing.T) {
	b, l := newRouter(t, lab.Config{GRO: true})
	threaded(t, l.In)
	p := b.with(t, PairConfig{Engine: "live", Namespaces: map[string]*netns.NS{l.R().String(): l.R()}})
	ph := b.phase(t, p, 1, gen.Simple{Name: "storm", Size: "64", Flows: 8})
	ph.Count = 1_000_000
	r := b.run(t, t.Context(), p, nil, ph)
	x := r.Phases[0]
	if x.Lost == 0 || x.Lost+x.Received != ph.Count {
		t.Fatalf("sent %d, received %d, lost %d: want an overrun", x.Sent, x.Received, x.Lost)
	}
	if n := term(r.Ledger, l.VA.Label(), "tx_queue_N_xdp_xmit_errors"); n != x.Lost || len(r.Ledger.Named) != 1 {
		t.Fatalf("ledger %+v, want all %d lost in one place, the sender's xdp_xmit_errors", r.Ledger, x.Lost)
	}
	views := map[string]uint64{}
	for _, v := range r.Ledger.Named[0].Also {
		views[v.Where+" "+v.Counter] = v.Moved
	}
	for _, name := range []string{l.VA.Label() + " tx_dropped", l.In.Label() + " rx_dropped"} {
		if views[name] != x.Lost {
			t.Errorf("%s saw %d, want %d: %v", name, views[name], x.Lost, views)
		}
	}
}
