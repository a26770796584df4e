package port

import (
	"os"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"squall/internal/netns"
)

// A watcher that the kernel no longer tells anything looks for itself.
func TestWatchPolls(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: CAP_SYS_ADMIN and CAP_NET_ADMIN")
	}
	ns, err := netns.New("")
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	setLo := func(change func(netlink.Link) error) {
		t.Helper()
		err := ns.Do(func() error {
			lo, err := netlink.LinkByName("lo")
			if err != nil {
				return err
			}
			return change(lo)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	p, err := Open(Ref{NetNS: ns.Path(), Iface: "lo"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	w := &watcher{p: p, events: make(chan LinkEvent, 16)}
	deaf := make(chan netlink.LinkUpdate)
	close(deaf)
	go w.run(t.Context(), deaf)
	for _, s := range []struct {
		do   func(netlink.Link) error
		want LinkChange
	}{
		{netlink.LinkSetUp, LinkBack},
		{netlink.LinkSetDown, LinkLost},
	} {
		setLo(s.do)
		select {
		case e := <-w.events:
			if e.Change != s.want {
				t.Errorf("event %v, want %v", e.Change, s.want)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("no event, want %v", s.want)
		}
	}
}
