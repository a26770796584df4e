package ledger

// gaps follows the packet counters along the way and returns the stretches on
// which more frames went missing than the points between them name. A port's
// counter has strays in it as well (ARP, neighbour discovery), so a gap is a
// place to look at and its number an estimate. What is left over on one stretch
// (strays that came in, frames that were counted before they were lost) is what
// the next one may lose.
func gaps(in Input, moved map[View]uint64, losses []loss) []Gap {
	type mark struct {
		name  string
		count uint64
	}
	last := mark{"squall sent", in.Sent}
	var named uint64
	var out []Gap
	next := 0 // of losses
	step := func(m mark) {
		g := Gap{From: last.name, To: m.name, Before: last.count, After: m.count, Named: named}
		if g.Missing() > 0 {
			out = append(out, g)
		}
		last, named = m, uint64(max(0, -g.Missing()))
	}
	for i, h := range in.Way {
		n := len(points(in.Way[:i+1]))
		for ; next < n; next++ {
			named += losses[next].frames
		}
		counter := map[Kind]string{Out: "tx_packets", In: "rx_packets"}[h.Kind]
		if count, ok := moved[View{h.Where, counter}]; ok {
			step(mark{h.Where + " " + counter, count})
		}
	}
	received := in.Foreign
	for _, s := range in.Streams {
		received += s.Received + s.Late + s.Duplicated + s.Wild
	}
	if in.Receiver != "" {
		step(mark{in.Receiver + " received", received})
	}
	return out
}
