package acks

import (
	"math/rand/v2"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"squall/internal/convo"
	"squall/internal/meter"
	"squall/internal/wire"
)

func at(l line, ms int64) line        { l.ms = ms; return l }
func stamped(l line, ts uint32) line  { l.ts = ts; return l }
func numbered(l line, id uint16) line { l.id = id; return l }

// figures are those of an Order that a test looks at.
type figures struct {
	Arrived, Reordered, Retransmitted, Copies, Undecided, Before uint64
	ByTimestamp, ByID, ByTime                                    uint64
	Missing                                                      uint64
	Extent                                                       int64 // the greatest
	Late                                                         int64 // ms, the greatest
}

func figuresOf(o Order) figures {
	return figures{o.Arrived, o.Reordered, o.Retransmitted, o.Copies, o.Undecided, o.Before,
		o.ByTimestamp, o.ByID, o.ByTime, o.MissingBytes, o.Extent.Max, o.LateTime.Max / 1e6}
}

func addsUp(t *testing.T, o Order) {
	t.Helper()
	if sum := o.Arrived + o.Retransmitted + o.Copies + o.Undecided + o.Before; sum != o.Segments {
		t.Errorf("%s: %d segments by kind, have %d", o.From, sum, o.Segments)
	}
	if o.Reordered > o.Arrived || o.Extent.Count != o.Reordered {
		t.Errorf("%s: %d reordered of %d, %d extents", o.From, o.Reordered, o.Arrived, o.Extent.Count)
	}
}

// The server's data in all kinds of order; the round trip of the opening is 10 ms.
func TestOrder(t *testing.T) {
	shake := []line{opening[0], at(opening[1], 4), at(opening[2], 10)}
	open := func(rest ...line) []line { return append(append([]line(nil), shake...), rest...) }
	run := func(step func(i int, l line) line) (all []line) { // five segments in order
		for i := range 5 {
			all = append(all, step(i, at(data(5000+uint32(i)*100), 20)))
		}
		return all
	}
	ids := func(i int, l line) line { return numbered(l, uint16(100+i)) }
	for _, tt := range []struct {
		name  string
		lines []line
		want  figures // SYN-ACK included
	}{
		{"in order", open(at(data(5000), 20), at(data(5100), 21)), figures{Arrived: 3}},
		{"within a round trip", open(at(data(5100), 20), at(data(5200), 22), at(data(5000), 29)), figures{Arrived: 4, Reordered: 1, ByTime: 1, Extent: 2, Late: 9}},
		{"after a round trip", open(at(data(5100), 20), at(data(5000), 30)), figures{Arrived: 2, Retransmitted: 1, ByTime: 1}},
		{"older timestamp", open(stamped(at(data(5100), 20), 50), stamped(at(data(5000), 90), 49)), figures{Arrived: 3, Reordered: 1, ByTimestamp: 1, Extent: 1, Late: 70}},
		{"younger timestamp", open(stamped(at(data(5100), 20), 50), stamped(at(data(5000), 21), 51)), figures{Arrived: 2, Retransmitted: 1, ByTimestamp: 1}},
		{"the same timestamp, and a younger one since", open(stamped(at(data(5100), 20), 50), stamped(at(data(5200), 21), 51), stamped(at(data(5000), 90), 50)),
			figures{Arrived: 4, Reordered: 1, ByTimestamp: 1, Extent: 2, Late: 70}},
		{"the same timestamp alone leaves it to the time", open(stamped(at(data(5100), 20), 50), stamped(at(data(5000), 21), 50)),
			figures{Arrived: 3, Reordered: 1, ByTime: 1, Extent: 1, Late: 1}},
		{"timestamps wrap", open(stamped(at(data(5100), 20), 5), stamped(at(data(5000), 90), 1<<32-5)), figures{Arrived: 3, Reordered: 1, ByTimestamp: 1, Extent: 1, Late: 70}},
		{"older identification", append(open(run(ids)...), numbered(at(data(5600), 30), 106), numbered(at(data(5500), 90), 105)),
			figures{Arrived: 8, Reordered: 1, ByID: 1, Extent: 1, Late: 60}},
		{"younger identification", append(open(run(ids)...), numbered(at(data(5600), 30), 106), numbered(at(data(5500), 31), 107)),
			figures{Arrived: 7, Retransmitted: 1, ByID: 1}},
		{"identifications that do not rise are no sign", append(open(run(func(i int, l line) line { return numbered(l, uint16(i*i*7919)) })...),
			numbered(at(data(5600), 30), 7), numbered(at(data(5500), 31), 9)), figures{Arrived: 8, Reordered: 1, ByTime: 1, Extent: 1, Late: 1}},
		{"nothing decides", []line{data(5000), at(data(5200), 20), at(data(5100), 21)}, figures{Arrived: 2, Undecided: 1}},
		{"sent again", open(data(5000), data(5000)), figures{Arrived: 2, Retransmitted: 1}},
		{"the same frame again", open(numbered(data(5000), 7), numbered(data(5000), 7)), figures{Arrived: 2, Copies: 1}},
		{"sent again in one with more", open(data(5000), with(data(5000), func(l *line) { l.n = 200 }), data(5200)), figures{Arrived: 3, Retransmitted: 1}},
		{"never came", open(at(data(5100), 20), at(data(5400), 21), at(data(5300), 22)), figures{Arrived: 4, Reordered: 1, ByTime: 1, Missing: 200, Extent: 1, Late: 1}},
		{"a hole filled from its middle", open(at(data(5300), 20), at(data(5100), 21), at(data(5000), 22), at(data(5200), 23)),
			figures{Arrived: 5, Reordered: 3, ByTime: 3, Extent: 3, Late: 3}},
		{"a piece over two holes", open(at(data(5100), 20), at(data(5300), 20), at(with(data(5000), func(l *line) { l.n = 300 }), 21)),
			figures{Arrived: 4, Reordered: 1, ByTime: 1, Extent: 2, Late: 1}},
		{"before the capture", []line{data(5000), data(4900)}, figures{Arrived: 1, Before: 1}},
		{"RST and bare ACKs are no part of it", open(data(5000), with(data(9999), func(l *line) { l.n, l.flags = 0, "R" }), with(data(9999), func(l *line) { l.n = 0 }), data(5100)), figures{Arrived: 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := NewReorder()
			play(t, tt.lines, r.Add)
			for _, o := range r.Report().Directions {
				addsUp(t, o)
				if o.From == "192.0.2.2:80" {
					if diff := cmp.Diff(tt.want, figuresOf(o)); diff != "" {
						t.Errorf("(-want +got):\n%s", diff)
					}
				}
			}
		})
	}
}

// Random orders against RFC 4737's definitions, taken literally. They pass 2^32.
func TestAgainstDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4737))
	for range 50 {
		const n = 60
		first := uint32(1<<32 - 3000)
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		for range r.IntN(10) { // move some back or forth
			i, j := r.IntN(n), r.IntN(n)
			v := order[i]
			order = append(order[:i], order[i+1:]...)
			order = append(order[:j], append([]int{v}, order[j:]...)...)
		}
		// The first of all comes first, or the capture begins behind it.
		for i, v := range order {
			if v == 0 {
				copy(order[1:i+1], order[:i])
				order[0] = 0
			}
		}
		var lines []line
		for i, v := range order {
			lines = append(lines, stamped(at(data(first+uint32(v)*100), int64(i)), uint32(v+1)))
		}
		var want Order
		extent := int64(0)
		for i, v := range order {
			j := 0
			for j < i && order[j] < v {
				j++
			}
			if j == i {
				continue
			}
			want.Reordered++
			extent = max(extent, int64(i-j))
			for k := 1; k <= meter.MaxN && k <= i && order[i-k] > v; k++ {
				want.NReordered[k-1]++
			}
		}
		a := NewReorder()
		play(t, lines, a.Add)
		got := a.Report().Directions[0]
		addsUp(t, got)
		if got.Arrived != n || got.Extent.Max != extent {
			t.Errorf("%d arrived, extent %d, want %d, %d", got.Arrived, got.Extent.Max, n, extent)
		}
		if diff := cmp.Diff(want, Order{Reordered: got.Reordered, NReordered: got.NReordered}); diff != "" {
			t.Errorf("order %v (-want +got):\n%s", order, diff)
		}
	}
}

// Holes are bounded however often one is split.
func TestManyHoles(t *testing.T) {
	var e orderEnd
	for i := range uint32(10 * maxHoles) {
		e.segment(&segment{seq: 1000 + 2*i, n: 1, scale: -1}, 0)
	}
	if len(e.holes) != maxHoles || e.Forgotten != 10*maxHoles-1-maxHoles {
		t.Errorf("%d holes, %d forgotten, want %d and %d", len(e.holes), e.Forgotten, maxHoles, 10*maxHoles-1-maxHoles)
	}
	e = orderEnd{}
	e.segment(&segment{seq: 1000, n: 1, scale: -1}, 0)
	e.segment(&segment{seq: 1000 + 8*maxHoles, n: 1, scale: -1}, 0)
	for i := range uint32(4 * maxHoles) {
		e.segment(&segment{seq: 1002 + 2*i, n: 1, scale: -1}, 0)
	}
	if len(e.holes) > maxHoles {
		t.Errorf("%d holes, want at most %d", len(e.holes), maxHoles)
	}
}

// Tagged frames go by their stream's numbers, whatever their flow.
func TestTagged(t *testing.T) {
	r := NewReorder()
	table := convo.NewTable(convo.Options{})
	var p convo.Packet
	for i, seq := range []uint64{0, 1, 3, 4, 5, 2, 2, 8} {
		payload := make([]byte, wire.TagLen)
		wire.Tag{Run: 7, Stream: 3, Seq: seq}.Put(payload)
		f := Frame{Number: uint64(i + 1), Data: udp(t, uint16(1000+i), payload), At: Time{base + int64(i)*1e6, true}, Packet: &p}
		f.Len = len(f.Data)
		p.Decode(f.Data)
		f.Conversation, f.FromClient = table.Find(&p)
		r.Add(&f)
	}
	want := []StreamOrder{{Run: 7, Stream: 3, Received: 7, Duplicated: 1, Missing: 2, Reordered: 1, Ratio: 1. / 7}}
	got := r.Report().Streams
	if len(got) == 1 {
		if got[0].Extent.Max != 3 || got[0].LateTime.Max != 3e6 || got[0].NReordered[2] != 1 || got[0].NReordered[3] != 0 {
			t.Errorf("stream %+v, want one frame late by 3 frames and 3 ms", got[0])
		}
		got[0].Extent, got[0].LateTime, got[0].NReordered = meter.Summary{}, meter.Summary{}, [meter.MaxN]uint64{}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("streams (-want +got):\n%s", diff)
	}
}

func udp(t *testing.T, port uint16, payload []byte) []byte {
	t.Helper()
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: net.IP{192, 0, 2, 1}, DstIP: net.IP{192, 0, 2, 2}}
	u := &layers.UDP{SrcPort: layers.UDPPort(port), DstPort: 9}
	u.SetNetworkLayerForChecksum(ip)
	buf := gopacket.NewSerializeBuffer()
	err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		&layers.Ethernet{SrcMAC: make([]byte, 6), DstMAC: make([]byte, 6), EthernetType: layers.EthernetTypeIPv4}, ip, u, gopacket.Payload(payload))
	if err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}
