package scenarios

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"squall/internal/ledger"
	"squall/internal/meter"
	"squall/internal/pace"
	"squall/internal/port"
	"squall/internal/probe"
	"squall/internal/wire"
)

// balance closes the accounts: phases, then the ledger.
func (r *run) balance(sent [][]port.Sent, changes []probe.Change) {
	in := ledger.Input{Changes: changes}
	var retries uint64
	for i, cores := range sent {
		s := together(cores)
		p := r.phase(i, s, cores)
		for _, x := range p.Streams {
			m := x.Meter
			m.Received += x.Copies // they were sent too
			in.Streams = append(in.Streams, m)
		}
		in.Sent += s.Frames
		retries += s.Retries
		r.result.Phases = append(r.result.Phases, p)
	}
	in.Way = append(in.Way, ledger.Hop{Kind: ledger.Out, Where: r.result.TX, Driver: r.pair.TXInfo.Driver, Bypass: true, Redirected: r.pair.Engine == "live", Retried: retries, Joined: r.Joined})
	in.Way = append(in.Way, r.DUT...)
	if r.pair.RX != nil {
		in.Receiver = r.result.RX
		in.Foreign = r.accounts.foreigners()
		in.Way = append(in.Way,
			ledger.Hop{Kind: ledger.In, Where: r.result.RX, Driver: r.pair.RXInfo.Driver, Metered: r.pair.reader == nil})
		if r.pair.reader != nil {
			in.Way = append(in.Way, ledger.Hop{Kind: ledger.Ring, Where: r.result.RX})
			in.Changes = append(in.Changes, r.ring())
		}
		if err := r.accounts.fault(); err != nil {
			r.void = append(r.void, err.Error())
		}
		r.apart()
	}
	r.result.Ledger = ledger.Balance(in)
}

// ring returns what the receiver's own ring has lost.
func (r *run) ring() probe.Change {
	stats, err := r.pair.reader.Stats()
	if err != nil {
		r.warn(fmt.Errorf("statistics of the receiver: %w", err))
	}
	return probe.Change{Where: r.result.RX, Name: ledger.RingDrops, After: stats.Drops, Moved: stats.Drops}
}

// apart notes the frames that are on no stream's account.
func (r *run) apart() {
	a := r.accounts.apart()
	for _, s := range a.Strays {
		if r.result.Strays == nil {
			r.result.Strays = map[string]uint64{}
		}
		r.result.Strays[fmt.Sprintf("0x%04x", s.EtherType)] = s.Frames
	}
	r.result.Foreign = r.accounts.foreigners()
}

// phase makes the account of phase i.
func (r *run) phase(i int, s port.Sent, cores []port.Sent) PhaseResult {
	p := &r.Phases[i]
	seconds := r.seconds(p, s)
	x := PhaseResult{
		Name: p.Name, Engine: r.pair.Engine, Asked: p.Asked,
		AskedPPS: asked(p, s.Frames, seconds), Seconds: seconds,
		Began: r.time(s.Start), Ended: r.time(s.Start + int64(seconds*1e9)),
		Sent: s.Frames, SentBytes: s.Bytes, Retries: s.Retries, Failed: s.Failed,
		SendError: SendError(s.Error), Slipped: s.Slipped,
		LossPeriods: []LossPeriod{}, Bursts: []Burst{},
	}
	if seconds > 0 {
		x.AchievedPPS = float64(s.Frames) / seconds
		x.AchievedMbit = float64(s.Bytes+s.Frames*wire.Overhead) * 8 / seconds / 1e6
	}
	for c, n := range r.intents[i] {
		if n != nil {
			n.left.Store(cores[c].Frames)
		}
	}
	if r.pair.RX == nil {
		x.Impaired = r.impaired(i, &x, cores)
		return x
	}
	k := 0 // stream of the phase, plan by plan
	for c, pl := range p.Plans {
		for j, stream := range pl.Streams {
			n := pl.Sent(j, cores[c].Frames)
			m := r.accounts.phases[i][k]
			r.bursts[i][k].sent(s.Start, s.End)
			m.Finish(pl.Numbers(j, cores[c].Frames))
			x.Streams = append(x.Streams, StreamResult{Stream: stream.ID, Name: stream.Name, Sent: n, Meter: m.Report()})
			done, count := r.bursts[i][k].finish()
			x.Bursts = append(x.Bursts, done...)
			x.BurstCount += count
			k++
		}
	}
	slices.SortStableFunc(x.Bursts, func(a, b Burst) int { return a.At.Compare(b.At) })
	x.Bursts = x.Bursts[:min(len(x.Bursts), burstsKept)]
	x.Foreign = r.foreign[i]
	if i > 0 {
		x.Foreign -= r.foreign[i-1]
	}
	t := r.accounts.total(i)
	x.Received, x.Lost, x.Duplicated, x.Reordered, x.Late = t.Received, t.Lost, t.Duplicated, t.Reordered, t.Late
	x.Latency = Latency{Min: t.Latency.Min, P50: t.Latency.P50, P99: t.Latency.P99, P999: t.Latency.P999, Max: t.Latency.Max}
	periods, count := t.LossPattern.Periods, t.LossPattern.Count
	if x.Impaired = r.impaired(i, &x, cores); x.Impaired != nil {
		x.subtract(x.Impaired)
		periods, count = r.periods(i)
	}
	for _, l := range periods[:min(len(periods), periodsKept)] {
		l = within(l, s.Start, s.End)
		x.LossPeriods = append(x.LossPeriods, LossPeriod{At: r.time(l.At), Until: r.time(l.Until), First: l.First, Frames: l.Frames, Stream: l.Stream})
	}
	x.LossPeriodCount = count
	return x
}

// seconds is how long a phase took: n frames at a rate take until frame n would
// be due, not just until the last of them has gone.
func (r *run) seconds(p *Phase, s port.Sent) float64 {
	end := s.End
	if p.Count > 0 && s.Frames == p.Count {
		if due := p.Schedule.Due(p.Count); due < pace.Never {
			end = max(end, s.Start+s.Slipped+due)
		}
	}
	return float64(end-s.Start) / 1e9
}

func (r *run) time(mono int64) time.Time { return time.Unix(0, mono+r.wall).UTC() }

// within gives a loss period of a stream of which nothing arrived, and which so
// has no times, those of its sending.
func within(l meter.LossPeriod, start, end int64) meter.LossPeriod {
	if l.At == 0 && l.Until == 0 {
		l.At, l.Until = start, end
	}
	return l
}

// asked returns the mean rate, in frames a second, that a phase asks for over
// the time it took: that of a ramp or a capture depends on how much of it was
// played.
func asked(p *Phase, sent uint64, seconds float64) float64 {
	rate := p.Schedule.Rate()
	switch p.Schedule.(type) {
	case pace.Ramp, pace.Captured:
	default:
		return rate
	}
	if rate == 0 || seconds <= 0 {
		return rate
	}
	if due := p.Schedule.Due(p.Count); p.Count > 0 && sent == p.Count && due > 0 && due < pace.Never {
		return float64(p.Count) / float64(due) * 1e9
	}
	end := int64(math.Round(seconds * 1e9))
	due := sort.Search(wire.MaxSeq, func(i int) bool { return p.Schedule.Due(uint64(i)) >= end })
	return float64(due) / seconds
}
