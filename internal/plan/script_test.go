package plan

import (
	"bytes"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"squall/internal/wire"
)

// moves returns the moves of these frames; one that comes again is a copy.
func moves(frames ...uint32) []Move {
	var all []Move
	seen := map[uint32]bool{}
	for _, f := range frames {
		all = append(all, Move{Frame: f, Copy: seen[f]})
		seen[f] = true
	}
	return all
}

// TestScript walks a plan frame by frame and counts by hand what Source, Entry,
// Sent, Covered and Numbers work out.
func TestScript(t *testing.T) {
	loop := Block{In: 6, Moves: moves(0, 2, 1, 1, 4)} // 3 and 5 never leave
	tests := []struct {
		name    string
		streams int
		order   []uint16
		script  Script
	}{
		{"one stream", 1, nil, Script{Loop: loop}},
		{"a first block", 1, nil, Script{First: Block{In: 4, Moves: moves(3, 3, 0)}, Loop: loop}},
		{"two streams", 2, []uint16{0, 1}, Script{First: Block{In: 4, Moves: moves(3, 0)}, Loop: loop}},
		{"three streams, weights", 3, []uint16{0, 1, 0, 2, 0, 0}, Script{Loop: loop}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p Plan
			for k := range tt.streams {
				p.Streams = append(p.Streams, bare(t, uint16(k+1), 1, Stream{}))
			}
			p.Order = tt.order
			plain, err := New(p)
			if err != nil {
				t.Fatal(err)
			}
			p.Script = &tt.script
			made, err := New(p)
			if err != nil {
				t.Fatal(err)
			}
			var leave []uint64 // by hand: frames in the order of leaving
			var ends []uint64  // how many have had their turn behind each
			base := uint64(0)
			for turn := range 4 {
				b := &tt.script.Loop
				if turn == 0 {
					b = &tt.script.First
				}
				var most uint64
				for i, m := range b.Moves {
					leave = append(leave, base+uint64(m.Frame))
					most = max(most, uint64(m.Frame)+1)
					if i == len(b.Moves)-1 {
						most = b.In
					}
					ends = append(ends, base+most)
				}
				base += b.In
			}
			sent := make([]uint64, tt.streams)
			for i, f := range leave {
				n := uint64(i)
				if have, _ := made.Source(n); have != f {
					t.Fatalf("frame %d leaves as number %d, need %d", have, i, f)
				}
				s, j := plain.Entry(f)
				if hs, hj := made.Entry(n); hs != s || hj != j {
					t.Fatalf("number %d: have stream %d frame %d, need %d %d", i, hs.ID, hj, s.ID, j)
				}
				k, hj := made.Number(f)
				if made.Streams[k] != s || hj != j || made.Frame(k, hj) != f {
					t.Fatalf("frame %d is number %d of stream %d, which is frame %d", f, hj, k, made.Frame(k, hj))
				}
				for k := range sent {
					if have := made.Sent(k, n); have != sent[k] {
						t.Fatalf("stream %d: sent %d of %d, need %d", k, have, i, sent[k])
					}
					if have, want := made.Numbers(k, n+1), plain.Sent(k, ends[i]); have != want {
						t.Fatalf("stream %d: %d numbers after %d, need %d", k, have, i+1, want)
					}
				}
				if have := made.Covered(n + 1); have != ends[i] {
					t.Fatalf("covered %d after %d, need %d", have, i+1, ends[i])
				}
				sent[k]++
			}
			if have, want := tt.script.Reach(), uint32(3); len(tt.script.First.Moves) > 0 && have != want {
				t.Errorf("reach %d, need %d", have, want)
			}
		})
	}
}

func TestScriptOfPasses(t *testing.T) {
	s := &Stream{ID: 1}
	for k := range 4 {
		s.Heads.Append(bytes.Repeat([]byte{byte(k + 1)}, 20+k))
	}
	script := &Script{Loop: Block{In: 4, Moves: []Move{{Frame: 1}, {Frame: 0, Flip: NewFlip(Payload, 9)}, {Frame: 3}, {Frame: 3, Copy: true}}}}
	p, err := New(Plan{Streams: []*Stream{s}, Script: script, Pass: 4, Due: []int64{0, 1, 2, 3}})
	if err != nil {
		t.Fatal(err)
	}
	frame := make([]byte, p.MaxLen())
	for i, want := range []struct {
		first byte
		n     int
		seq   uint64
	}{{2, 21, 1}, {1, 20, 0}, {4, 23, 3}, {4, 23, 3}, {2, 21, 5}, {1, 20, 4}} {
		n := p.Write(frame, uint64(i), 0)
		_, seq := p.Entry(uint64(i))
		if frame[0] != want.first || n != want.n || seq != want.seq {
			t.Errorf("number %d: %d bytes of %d, frame %d, need %+v", i, n, frame[0], seq, want)
		}
	}
	if n := p.Original(frame, 2, 0); n != 22 || p.Originals() != 4 {
		t.Errorf("original has %d bytes, pass %d", n, p.Originals())
	}
	if b, n := p.Mean(); big.NewRat(int64(b), int64(n)).Cmp(big.NewRat(21+20+23+23, 4)) != 0 {
		t.Errorf("mean %d/%d", b, n)
	}
}

func TestScriptRefused(t *testing.T) {
	a := bare(t, 1, 1, Stream{})
	tests := []struct {
		name string
		plan Plan
		says string
	}{
		{"nothing leaves", Plan{Script: &Script{Loop: Block{In: 1}}}, "no frame is left"},
		{"a frame beyond", Plan{Script: &Script{Loop: Block{In: 1, Moves: moves(0, 1)}}}, "move 1 is of frame 1 of 1"},
		{"half a cycle", Plan{Order: []uint16{0, 0}, Script: &Script{Loop: Block{In: 3, Moves: moves(0)}}}, "whole number of cycles of 2"},
		{"another pass", Plan{Pass: 3, Script: &Script{Loop: Block{In: 2, Moves: moves(0, 1)}}}, "a pass has 3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.plan.Streams = []*Stream{a}
			if _, err := New(tt.plan); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("have %v, need %q", err, tt.says)
			}
		})
	}
}

// TestMeanOfScript compares with the mean of so many frames that all has come round.
func TestMeanOfScript(t *testing.T) {
	sizes := Sizes{Lens: []int{60, 590, 1514}, Cycle: []uint16{0, 1, 0, 2}}
	for _, in := range []uint64{4, 6, 8, 12, 16, 20, 32} {
		for _, flows := range []int{1, 2, 3} {
			for _, order := range [][]uint16{nil, {0, 1}, {0, 0, 0, 1}} {
				p := Plan{Streams: []*Stream{bare(t, 1, flows, Stream{Sizes: sizes})}, Order: order}
				if order != nil {
					p.Streams = append(p.Streams, bare(t, 2, 1, Stream{}))
				}
				if n := uint64(len(order)); n > 0 && in%n != 0 {
					continue
				}
				b := Block{In: in}
				for f := range uint32(in) {
					if f != 2 && f != 3 {
						b.Moves = append(b.Moves, Move{Frame: f})
					}
				}
				p.Script = &Script{Loop: b}
				made, err := New(p)
				if err != nil {
					t.Fatal(err)
				}
				rounds := uint64(len(b.Moves)) * 4 * 4 * 3 * 5 // of blocks, sizes, turns of sizes and flows
				frame := make([]byte, made.MaxLen())
				var sum uint64
				for i := range rounds {
					sum += uint64(made.Write(frame, i, 0))
				}
				want := new(big.Rat).SetFrac64(int64(sum), int64(rounds))
				bytes, n := made.Mean()
				if got := big.NewRat(int64(bytes), int64(n)); got.Cmp(want) != 0 {
					t.Errorf("loop of %d, %d flows, order %v: mean %v, need %v", in, flows, order, got.FloatString(3), want.FloatString(3))
				}
			}
		}
	}
}

func TestScriptDoesNotAllocate(t *testing.T) {
	p, err := New(Plan{Streams: []*Stream{bare(t, 1, 1, Stream{})}, Script: &Script{Loop: Block{In: 2, Moves: []Move{{Frame: 1, Flip: NewFlip(Header, 3)}, {Frame: 0}}}}})
	if err != nil {
		t.Fatal(err)
	}
	frame := make([]byte, p.MaxLen())
	i := uint64(0)
	if n := testing.AllocsPerRun(1000, func() { p.Write(frame, i, 0); i++ }); n != 0 {
		t.Errorf("%v allocations a frame", n)
	}
}

// frames for flips: what each byte is, by hand.
func udp(payload int, tag bool) []byte {
	f := make([]byte, 14+20+8+payload)
	f[12], f[13] = 8, 0
	f[14], f[16], f[17], f[23] = 0x45, byte((28+payload)>>8), byte(28+payload), 17
	if tag {
		wire.Tag{Run: 1}.Put(f[len(f)-wire.TagLen:])
	}
	return f
}

func TestFlip(t *testing.T) {
	tcp := make([]byte, 14+20+24+2)
	tcp[12], tcp[14], tcp[17], tcp[23], tcp[46] = 8, 0x45, 46, 6, 0x60
	arp := make([]byte, 14+28)
	arp[12], arp[13] = 8, 6
	vlan := append(append(append([]byte{}, udp(30, false)[:12]...), 0x81, 0, 0, 7), udp(30, false)[12:]...)
	fragment := udp(30, false)
	fragment[20] = 0x20 // more fragments
	padded := append(udp(1, false), make([]byte, 17)...)
	tests := []struct {
		name     string
		frame    []byte
		spot     Spot
		from, to int // bytes that may change
		not      int // but for the two bytes there
	}{
		{"payload", udp(30, false), Payload, 42, 72, 0},
		{"payload in front of the tag", udp(30, true), Payload, 42, 54, 0},
		{"payload, padded", padded, Payload, 42, 43, 0},
		{"no payload but the tag: the length of UDP", udp(18, true), Payload, 38, 40, 0},
		{"header of UDP", udp(30, true), Header, 38, 40, 0},
		{"checksum of UDP", udp(30, true), Checksum, 40, 42, 0},
		{"IP checksum", udp(30, true), IPChecksum, 24, 26, 0},
		{"header of TCP, without its checksum", tcp, Header, 38, 58, 50},
		{"checksum of TCP", tcp, Checksum, 50, 52, 0},
		{"payload of TCP", tcp, Payload, 58, 60, 0},
		{"behind a VLAN tag", vlan, Checksum, 44, 46, 0},
		{"ARP", arp, Checksum, 14, 42, 0},
		{"a fragment", fragment, Header, 34, 72, 0},
		{"an Ethernet header alone", make([]byte, 14), Payload, 13, 14, 0},
		{"less than that", make([]byte, 5), Checksum, 4, 5, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			hit := map[int]bool{}
			for r := range uint64(4000) {
				f := NewFlip(tt.spot, Random(1, r))
				got := bytes.Clone(tt.frame)
				f.Apply(got)
				at := -1
				for i := range got {
					if x := got[i] ^ tt.frame[i]; x != 0 {
						if at >= 0 || x&(x-1) != 0 {
							t.Fatalf("more than one bit: %s", cmp.Diff(tt.frame, got))
						}
						at = i
						hit[8*i+bitOf(x)] = true
					}
				}
				if at < tt.from || at >= tt.to || tt.not > 0 && (at == tt.not || at == tt.not+1) {
					t.Fatalf("byte %d is wrong, need one of %d to %d", at, tt.from, tt.to-1)
				}
			}
			want := 8 * (tt.to - tt.from)
			if tt.not > 0 {
				want -= 16
			}
			if len(hit) != want {
				t.Errorf("%d bits are hit, need all %d", len(hit), want)
			}
		})
	}
	if NewFlip(Payload, 0).Bit(nil) != -1 || Flip(0).Bit(tcp) != -1 {
		t.Error("a bit of nothing")
	}
}

func bitOf(x byte) int {
	for i := range 8 {
		if x == 0x80>>i {
			return i
		}
	}
	return -1
}

// FuzzFlip: of any frame exactly one bit changes, and nothing panics.
func FuzzFlip(f *testing.F) {
	f.Add(udp(30, true), uint32(NewFlip(Payload, 7)))
	f.Add(udp(0, false), uint32(NewFlip(Header, 1<<27)))
	f.Add([]byte{1}, uint32(NewFlip(IPChecksum, 0)))
	f.Fuzz(func(t *testing.T, frame []byte, flip uint32) {
		at := Flip(flip)
		if at.Spot() < Payload || at.Spot() > IPChecksum || len(frame) == 0 {
			return
		}
		was := bytes.Clone(frame)
		at.Apply(frame)
		n := 0
		for i := range frame {
			for x := frame[i] ^ was[i]; x != 0; x &= x - 1 {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d bits changed", n)
		}
	})
}
