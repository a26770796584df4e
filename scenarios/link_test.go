package scenarios

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"squall/gen"
	"squall/internal/lab"
)

// set sets an end's link up or down, or deletes it.
func set(t *testing.T, e lab.End, how func(netlink.Link) error) {
	t.Helper()
	err := e.NS.Do(func() error {
		l, err := netlink.LinkByName(e.Iface)
		if err != nil {
			return err
		}
		return how(l)
	})
	if err != nil {
		t.Error(err)
	}
}

func TestLinkLost(t *testing.T) {
	tests := []struct {
		name string
		end  func(bed) lab.End
		how  func(netlink.Link) error
		rx   bool
		say  string
	}{
		{"sender set down", func(b bed) lab.End { return b.tx }, netlink.LinkSetDown, true, "pair-a:va"},
		{"receiver set down", func(b bed) lab.End { return b.rx }, netlink.LinkSetDown, true, "pair-b:vb"},
		{"sender deleted", func(b bed) lab.End { return b.tx }, netlink.LinkDel, true, "pair-a:va"},
		{"other end deleted, no receiver", func(b bed) lab.End { return b.rx }, netlink.LinkDel, false, "pair-a:va"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newCable(t, lab.Config{})
			p := b.open(t, tt.rx)
			ph := b.phase(t, p, 1, gen.Simple{Name: "cut", Size: "64", Rate: "5kpps"})
			ph.Duration = time.Minute
			never := b.phase(t, p, 2, gen.Simple{Name: "never", Size: "64", Rate: "5kpps"})
			never.Count = 1
			var cut time.Time
			var done sync.WaitGroup
			w := &watcher{begun: func(string) {
				done.Go(func() {
					time.Sleep(200 * time.Millisecond)
					cut = time.Now()
					set(t, tt.end(b), tt.how)
				})
			}}
			c := b.config
			c.Name, c.Phases, c.Observer = "cut", []Phase{ph, never}, w
			r, err := Run(t.Context(), p, c)
			took := time.Since(cut)
			if err != nil {
				t.Fatal(err)
			}
			done.Wait()
			if took > 10*time.Second {
				t.Errorf("the run ended %v after the link was lost", took)
			}
			if r.Verdict.Result != Void || !strings.Contains(strings.Join(r.Verdict.Reasons, "\n"), tt.say) {
				t.Errorf("verdict %+v, want void for %s", r.Verdict, tt.say)
			}
			if len(r.Phases) != 1 || r.Phases[0].Sent == 0 {
				t.Errorf("phases %+v, want the first only, with frames", r.Phases)
			}
			links := w.of(EventLink)
			if len(links) == 0 || links[0].Time.Sub(cut) > 2*time.Second {
				t.Errorf("link events %+v, want one within 2 s of %v", links, cut)
			}
		})
	}
}

// A link that is lost when all is sent may cost frames that are under way.
func TestLinkLostWhileSettling(t *testing.T) {
	b := newCable(t, lab.Config{})
	p := b.open(t, true)
	ph := b.phase(t, p, 1, gen.Simple{Name: "short", Size: "64", Rate: "5kpps"})
	ph.Count = 10
	o := &settling{do: func() { set(t, b.tx, netlink.LinkSetDown) }}
	r, err := Run(t.Context(), p, Config{Phases: []Phase{ph}, Joined: true, Observer: o, Settle: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict.Result != Void || r.Stopped {
		t.Errorf("verdict %+v, stopped %v, want void", r.Verdict, r.Stopped)
	}
}

// settling does something when a run settles.
type settling struct {
	watcher
	do func()
}

func (s *settling) Event(e Event) {
	if e.Event == EventSettle {
		s.do()
	}
	s.watcher.Event(e)
}
