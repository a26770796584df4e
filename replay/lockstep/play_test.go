package lockstep

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"squall/internal/meter"
	"squall/internal/pace"
	"squall/internal/wire"
	"squall/replay/sides"
)

const c, s = sides.Client, sides.Server

// chat is a capture of so many conversations of so many frames, mixed, each with its
// sides in random order after a handshake; some frames are alike.
func chat(conversations, length int, seed uint64) (talks []talk) {
	r := rand.New(rand.NewPCG(seed, 1))
	left := make([]int, conversations)
	for range conversations * length {
		k := r.IntN(conversations)
		for left[k] == length {
			k = (k + 1) % conversations
		}
		x := talk{client: fmt.Sprintf("10.0.%d.%d:%d", k/200, 1+k%200, 40000+k), server: "192.0.2.1:443", payload: fmt.Sprint(r.IntN(3))}
		switch n := left[k]; {
		case n == 0:
			x.syn = true
		case n == 1:
			x.from, x.syn = s, true
		default:
			x.from = sides.Side(r.IntN(2))
		}
		left[k]++
		talks = append(talks, x)
	}
	return talks
}

func compile(t testing.TB, learn bool, frames ...[]byte) *Script {
	t.Helper()
	script, err := Compile(capture(t, frames...), sides.Options{}, learn)
	if err != nil {
		t.Fatal(err)
	}
	return script
}

// counts compares the counts of an account.
func counts(t *testing.T, want Account, got *Account) {
	t.Helper()
	if diff := cmp.Diff(want, *got, cmpopts.IgnoreFields(Account{}, "Sent", "Strays", "Broken")); diff != "" {
		t.Errorf("account (-want +got):\n%s", diff)
	}
	if got.Conversations != got.Complete+got.Incomplete+got.Abandoned {
		t.Errorf("%d conversations are not the sum of %+v", got.Conversations, got)
	}
	if got.Frames != got.Arrived+got.GivenUp+got.Unsent {
		t.Errorf("%d frames are not the sum of %+v", got.Frames, got)
	}
}

// Nothing leaves before what precedes it in its conversation has left its own side
// and arrived from the other.
func TestOrder(t *testing.T) {
	for name, latency := range map[string]func(sides.Side, int, []byte) (int, int64){
		"even":    nil,
		"uneven":  func(_ sides.Side, n int, _ []byte) (int, int64) { return 1, int64(n%7) * 30_000 },
		"one way": func(from sides.Side, n int, _ []byte) (int, int64) { return 1, int64(from) * 2_000_000 },
	} {
		t.Run(name, func(t *testing.T) {
			all := frames(t, chat(23, 40, 7)...)
			script := compile(t, false, all...)
			n := newNetwork()
			n.dut, n.trace = latency, true
			a, err := n.play(t, t.Context(), script, Options{})
			if err != nil {
				t.Fatal(err)
			}
			counts(t, Account{Conversations: 23, Complete: 23, Frames: 920, Arrived: 920}, a)
			ordered(t, all, n.log, script)
		})
	}
}

// ordered checks the log of a play without losses.
func ordered(t *testing.T, all [][]byte, log []event, script *Script) {
	t.Helper()
	index := map[string]int{}
	for i, f := range all {
		index[string(f)] = i // they differ in their identification
	}
	left, here := map[int]bool{}, map[int]bool{}
	last := [2]map[uint32]int{{}, {}}
	for _, e := range log {
		i, ok := index[e.frame]
		if !ok {
			t.Fatal("a frame that is not of the capture")
		}
		if !e.sent {
			here[i] = true
			continue
		}
		left[i] = true
		last[e.from][script.conv[i]] = i
		for j := range i {
			if script.conv[j] != script.conv[i] {
				continue
			}
			if script.side[j] == e.from && !left[j] || script.side[j] != e.from && !here[j] {
				t.Fatalf("frame %d (%v) left before frame %d (%v) was there", i, e.from, j, script.side[j])
			}
		}
	}
	if len(left) != len(all) || len(here) != len(all) {
		t.Errorf("%d left, %d arrived, want %d", len(left), len(here), len(all))
	}
}

// Every k-th frame that leaves is dropped: each is sent again.
func TestRetries(t *testing.T) {
	const k = 50
	all := frames(t, chat(8, 100, 3)...)
	n := newNetwork()
	drops := [2]uint64{}
	n.dut = func(from sides.Side, i int, _ []byte) (int, int64) {
		if i%k == 0 {
			drops[from]++
			return 0, 0
		}
		return 1, 0
	}
	meters := [2]*meter.Stream{newMeter(t), newMeter(t)}
	a, err := n.play(t, t.Context(), compile(t, false, all...), Options{Meters: meters})
	if err != nil {
		t.Fatal(err)
	}
	counts(t, Account{Conversations: 8, Complete: 8, Frames: 800, Arrived: 800, Retries: drops[0] + drops[1]}, a)
	if drops[0] == 0 || drops[1] == 0 || a.Sent[0].Frames+a.Sent[1].Frames != 800+a.Retries {
		t.Errorf("sent %d and %d, want 800 and the %v dropped", a.Sent[0].Frames, a.Sent[1].Frames, drops)
	}
	for side, m := range meters {
		m.Finish(a.Sent[side].Frames)
		if r := m.Report(); r.Lost != drops[side] || r.Received+r.Lost != a.Sent[side].Frames || r.Duplicated != 0 {
			t.Errorf("%v: received %d, lost %d, duplicated %d of %d, want %d lost", sides.Side(side), r.Received, r.Lost, r.Duplicated, r.Sent, drops[side])
		}
	}
}

func newMeter(t *testing.T) *meter.Stream {
	t.Helper()
	m, err := meter.NewStream(meter.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestGivenUp(t *testing.T) {
	dead := func(sides.Side, int, []byte) (int, int64) { return 0, 0 }
	// The third frame of the first conversation never passes.
	bad := func(all [][]byte, which int) func(sides.Side, int, []byte) (int, int64) {
		print := wire.Fingerprint(all[which])
		return func(_ sides.Side, _ int, f []byte) (int, int64) {
			if wire.Fingerprint(f) == print {
				return 0, 0
			}
			return 1, 0
		}
	}
	one := frames(t,
		talk{client: "10.0.0.1:1025", server: "10.0.1.1:80", syn: true},
		talk{client: "10.0.0.1:1025", server: "10.0.1.1:80", syn: true, from: s},
		talk{client: "10.0.0.1:1025", server: "10.0.1.1:80", payload: "a"},
		talk{client: "10.0.0.1:1025", server: "10.0.1.1:80", payload: "b"},
		talk{client: "10.0.0.1:1025", server: "10.0.1.1:80", payload: "c", from: s},
		talk{client: "10.0.0.2:1025", server: "10.0.1.1:80", syn: true},
		talk{client: "10.0.0.2:1025", server: "10.0.1.1:80", syn: true, from: s},
	)
	late := func(sides.Side, int, []byte) (int, int64) { return 1, 60e6 }
	for _, row := range []struct {
		name   string
		dut    func(sides.Side, int, []byte) (int, int64)
		o      Options
		want   Account
		broken []Broken
	}{
		{"dead", dead, Options{}, Account{Conversations: 2, Abandoned: 2, Frames: 7, GivenUp: 2, Unsent: 5, Retries: 6}, nil},
		{"dead, no retries", dead, Options{Retries: -1}, Account{Conversations: 2, Abandoned: 2, Frames: 7, GivenUp: 2, Unsent: 5}, nil},
		{"dead, goes on", dead, Options{GoOn: true, Retries: 1}, Account{Conversations: 2, Incomplete: 2, Frames: 7, GivenUp: 7, Retries: 7}, nil},
		{"one frame", bad(one, 2), Options{}, Account{Conversations: 2, Complete: 1, Abandoned: 1, Frames: 7, Arrived: 5, GivenUp: 1, Unsent: 1, Retries: 3},
			[]Broken{{ID: 0, Proto: 6, Client: netip.MustParseAddrPort("10.0.0.1:1025"), Server: netip.MustParseAddrPort("10.0.1.1:80"), Abandoned: true, Frames: 5, Arrived: 3, GivenUp: 1, At: 2}}},
		{"one frame, goes on", bad(one, 2), Options{GoOn: true}, Account{Conversations: 2, Complete: 1, Incomplete: 1, Frames: 7, Arrived: 6, GivenUp: 1, Retries: 3},
			[]Broken{{ID: 0, Proto: 6, Client: netip.MustParseAddrPort("10.0.0.1:1025"), Server: netip.MustParseAddrPort("10.0.1.1:80"), Frames: 5, Arrived: 4, GivenUp: 1, At: 2}}},
		// 60 ms is more than a try of 50 ms and less than all of them.
		{"slow", late, Options{}, Account{Conversations: 2, Complete: 2, Frames: 7, Arrived: 7, Retries: 7}, nil},
		{"too slow", late, Options{GiveUp: 40 * time.Millisecond, Retries: -1}, Account{Conversations: 2, Abandoned: 2, Frames: 7, GivenUp: 2, Unsent: 5, Late: 2}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			n := newNetwork()
			n.dut = row.dut
			meters := [2]*meter.Stream{newMeter(t), newMeter(t)}
			row.o.Meters = meters
			began := n.now
			a, err := n.play(t, t.Context(), compile(t, false, one...), row.o)
			if err != nil {
				t.Fatal(err)
			}
			counts(t, row.want, a)
			if row.broken != nil {
				if diff := cmp.Diff(row.broken, a.Broken, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
					t.Errorf("broken (-want +got):\n%s", diff)
				}
			}
			// The wait that is asked for, the settling, and little else.
			if took := time.Duration(n.now - began); row.name == "dead" && (took < 500*time.Millisecond || took > 510*time.Millisecond) {
				t.Errorf("took %v, want 200 ms and 300 ms to settle", took)
			}
			for k, m := range meters {
				m.Finish(a.Sent[k].Frames)
				if r := m.Report(); r.Received+r.Lost != a.Sent[k].Frames || r.Duplicated > 0 {
					t.Errorf("%v: %d received, %d lost, %d twice of %d", sides.Side(k), r.Received, r.Lost, r.Duplicated, r.Sent)
				}
			}
		})
	}
}

// A DUT that copies frames does not confuse the play.
func TestDuplicates(t *testing.T) {
	all := frames(t, chat(5, 60, 9)...)
	n := newNetwork()
	n.dut = func(_ sides.Side, i int, _ []byte) (int, int64) { return 1 + i%2, 0 }
	meters := [2]*meter.Stream{newMeter(t), newMeter(t)}
	a, err := n.play(t, t.Context(), compile(t, false, all...), Options{Meters: meters})
	if err != nil {
		t.Fatal(err)
	}
	counts(t, Account{Conversations: 5, Complete: 5, Frames: 300, Arrived: 300}, a)
	var twice uint64
	for k, m := range meters {
		m.Finish(a.Sent[k].Frames)
		twice += m.Report().Duplicated
	}
	if want := (a.Sent[0].Frames+1)/2 + (a.Sent[1].Frames+1)/2; twice != want {
		t.Errorf("%d duplicates, want %d", twice, want)
	}
}

func TestStrays(t *testing.T) {
	n := newNetwork()
	arp := make([]byte, 60)
	binary.BigEndian.PutUint16(arp[12:], wire.EtherTypeARP)
	n.carry(s, arp)
	other := talk{client: "10.9.9.9:1", server: "10.9.9.8:2", payload: "x"}.frame(t, 1)
	n.carry(c, other)
	a, err := n.play(t, t.Context(), compile(t, false, frames(t, chat(1, 10, 1)...)...), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := [2]map[uint16]uint64{{wire.EtherTypeARP: 1}, {wire.EtherTypeIPv4: 1}}
	if diff := cmp.Diff(want, a.Strays); diff != "" {
		t.Errorf("strays (-want +got):\n%s", diff)
	}
}

// At most a window is under way from each side.
func TestWindow(t *testing.T) {
	var talks []talk
	for i := range 500 {
		talks = append(talks, talk{client: fmt.Sprintf("10.0.0.%d:1025", i%100), server: "10.0.1.1:80", payload: fmt.Sprint(i), udp: true})
	}
	n := newNetwork()
	n.trace = true
	_, err := n.play(t, t.Context(), compile(t, false, frames(t, talks...)...), Options{Window: 10})
	if err != nil {
		t.Fatal(err)
	}
	under, most := 0, 0
	for _, e := range n.log {
		if e.sent {
			under++
			most = max(most, under)
		} else {
			under--
		}
	}
	if most != 10 {
		t.Errorf("at most %d frames were under way, want 10", most)
	}
}

// With a schedule nothing leaves before its time; without loss and latency, not much
// after either.
func TestSchedule(t *testing.T) {
	all := frames(t, chat(3, 20, 5)...)
	p := capture(t, all...)
	script, err := Compile(p, sides.Options{}, false)
	if err != nil {
		t.Fatal(err)
	}
	n := newNetwork()
	n.trace = true
	sched := pace.Captured{Times: p.Due, Num: 1, Den: 1, Period: 61e6}
	a, err := n.play(t, t.Context(), script, Options{Schedule: sched, Passes: 2})
	if err != nil {
		t.Fatal(err)
	}
	counts(t, Account{Conversations: 6, Complete: 6, Frames: 120, Arrived: 120}, a)
	var i uint64
	for _, e := range n.log {
		if !e.sent {
			continue
		}
		if late := e.at - a.Sent[0].Start - sched.Due(i); late < 0 || late > 200_000 {
			t.Errorf("frame %d left %d ns after its time", i, late)
		}
		i++
	}
}

func TestDuration(t *testing.T) {
	all := frames(t, chat(1, 20, 5)...)
	n := newNetwork()
	a, err := n.play(t, t.Context(), compile(t, false, all...), Options{Passes: -1, Duration: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if a.Complete < 2 || a.Complete != a.Conversations || a.Frames != 20*a.Complete {
		t.Errorf("account %+v: want several passes, all whole", a)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := newNetwork()
	n.dut = func(from sides.Side, i int, _ []byte) (int, int64) {
		if from == c && i == 5 {
			cancel()
		}
		return 1, 0
	}
	a, err := n.play(t, ctx, compile(t, false, frames(t, chat(2, 40, 5)...)...), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if a.Incomplete != a.Conversations || a.GivenUp != 0 || a.Unsent == 0 || a.Arrived+a.Unsent != a.Frames {
		t.Errorf("account %+v: want all incomplete, and nothing lost", a)
	}
}

// A port that fails in the middle of a batch ends the play with a right account.
func TestPortFails(t *testing.T) {
	gone := errors.New("the port is gone")
	n := newNetwork()
	calls := 0
	n.submit = func(from sides.Side, k int) (int, error) {
		if calls++; calls == 4 {
			return k / 2, gone
		}
		return k, nil
	}
	meters := [2]*meter.Stream{newMeter(t), newMeter(t)}
	a, err := n.play(t, t.Context(), compile(t, false, frames(t, chat(12, 40, 5)...)...), Options{Meters: meters})
	if !errors.Is(err, gone) {
		t.Fatalf("error %v, want %v", err, gone)
	}
	if a.Sent[0].Failed+a.Sent[1].Failed != 1 || a.Arrived == 0 || a.Unsent == 0 || a.Frames != a.Arrived+a.GivenUp+a.Unsent {
		t.Errorf("account %+v", a)
	}
	if sent := a.Sent[0].Frames + a.Sent[1].Frames; sent != uint64(n.ends[0].sent+n.ends[1].sent) {
		t.Errorf("sent %d, the ports took %d and %d", sent, n.ends[0].sent, n.ends[1].sent)
	}
}

// Two conversations of the same addresses and ports follow each other.
func TestSameTuple(t *testing.T) {
	one := talk{client: "10.0.0.1:1025", server: "10.0.1.1:80"}
	var talks []talk
	for range 2 {
		for _, x := range []talk{{syn: true}, {syn: true, from: s}, {payload: "a"}, {fin: true}, {fin: true, from: s}, {}} {
			x.client, x.server = one.client, one.server
			talks = append(talks, x)
		}
	}
	all := frames(t, talks...)
	script := compile(t, false, all...)
	n := newNetwork()
	n.trace = true
	a, err := n.play(t, t.Context(), script, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if a.Complete != a.Conversations || a.Arrived != 12 {
		t.Errorf("account %+v", a)
	}
	last := -1
	for _, e := range n.log {
		if i := int(binary.BigEndian.Uint16([]byte(e.frame)[18:])); e.sent {
			if i < last {
				t.Errorf("frame %d left after %d", i, last)
			}
			last = i
		}
	}
}

// A pass costs no memory: what many cost more than one is nothing.
func TestAllocations(t *testing.T) {
	for _, learn := range []bool{false, true} {
		script := compile(t, learn, frames(t, chat(10, 50, 2)...)...)
		n := newNetwork()
		ctx := t.Context()
		passes := func(k int) float64 {
			return testing.AllocsPerRun(5, func() {
				if _, err := n.play(t, ctx, script, Options{Passes: k, Settle: time.Millisecond}); err != nil {
					t.Fatal(err)
				}
			})
		}
		one, many := passes(1), passes(20)
		if many > one {
			t.Errorf("learn %v: 20 passes of 500 frames allocate %g times, one %g", learn, many, one)
		}
	}
}
