package report

import (
	"time"

	"squall/internal/ledger"
	"squall/internal/meter"
	"squall/scenarios"
)

// began is when all results of these tests began.
var began = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)

func storm() *scenarios.Result {
	r := &scenarios.Result{
		Schema: scenarios.Schema, Name: "demo", Version: "0.1.0", Host: "box", Started: began, TX: "lab-a:va", RX: "lab-b:vb",
		Phases: []scenarios.PhaseResult{
			{
				Name: "baseline", Engine: "packet", Asked: "5kpps", AskedPPS: 5000, AchievedPPS: 5000, AchievedMbit: 3.36, Seconds: 5,
				Sent: 25000, SentBytes: 1600000, Received: 25000,
				LossPeriods: []scenarios.LossPeriod{}, Bursts: []scenarios.Burst{},
				Latency:   scenarios.Latency{Min: 4000, P50: 9000, P99: 31000, P999: 999_600, Max: 1_200_000},
				SendError: scenarios.SendError{P50: 900, P99: 12000, P999: 80000, Max: 2_000_000},
			},
			{
				Name: "storm", Engine: "packet", Asked: "20kpps", AskedPPS: 20000, AchievedPPS: 19999.98, AchievedMbit: 13.44, Seconds: 5,
				Sent: 100000, SentBytes: 6400000, Received: 51000, Lost: 49000,
				LossPeriods: []scenarios.LossPeriod{
					{At: began.Add(5100 * time.Millisecond), Until: began.Add(5101 * time.Millisecond), First: 2000, Frames: 1, Stream: 2},
					{At: began.Add(5200 * time.Millisecond), Until: began.Add(10 * time.Second), First: 2003, Frames: 48999, Stream: 2},
				},
				LossPeriodCount: 2,
				Bursts:          []scenarios.Burst{{At: began.Add(5100 * time.Millisecond), Seconds: 4.9, Frames: 49000, Periods: 2, Longest: 48999, First: 2000, Stream: 2}},
				BurstCount:      1,
				Latency:         scenarios.Latency{Min: 4000, P50: 100_000_000, P99: 101_000_000, P999: 102_000_000, Max: 1_500_000_000},
				SendError:       scenarios.SendError{P50: 900, P99: 12000, P999: 80000, Max: 2_000_000},
				Streams:         []scenarios.StreamResult{{Stream: 2, Name: "storm", Sent: 100000, Meter: meter.Report{Sent: 100000, Received: 51000, Lost: 49000}}},
			},
		},
		Ledger: ledger.Ledger{Sent: 125000, Received: 76000, Named: []ledger.Term{
			{Where: "lab-a:va", Counter: "tx_dropped", Frames: 2, Also: []ledger.Seen{{Where: "lab-r:in", Counter: "rx_dropped", Moved: 2}, {Where: "softnet", Counter: "dropped", Moved: 2}}},
			{Where: "lab-r:out", Counter: "qdisc.drops", Frames: 48998},
		}},
	}
	r.Verdict = scenarios.Verdict{Result: scenarios.Pass, Reasons: []string{}, Checks: []scenarios.Check{
		{Metric: "baseline.loss_ratio", Asked: "<= 0", Seen: "0", Result: scenarios.Pass},
		{Metric: "ledger.unexplained", Asked: "== 0", Seen: "0", Result: scenarios.Pass},
	}}
	return r
}

func failed() *scenarios.Result {
	r := storm()
	r.Verdict = scenarios.Verdict{Result: scenarios.Fail, Reasons: []string{"storm.loss_ratio: asked <= 0, seen 0.49"}, Checks: []scenarios.Check{
		{Metric: "storm.loss_ratio", Asked: "<= 0", Seen: "0.49", Result: scenarios.Fail},
		{Metric: "ledger.unexplained", Asked: "== 0", Seen: "0", Result: scenarios.Pass},
	}}
	return r
}

func void() *scenarios.Result {
	r := storm()
	r.Phases = r.Phases[:1]
	r.Stopped = true
	p := &r.Phases[0]
	p.AchievedPPS, p.Sent, p.Received, p.Slipped, p.Retries, p.Failed = 4200, 21000, 21000, 800_000_000, 12345, 1
	r.Ledger = ledger.Ledger{Sent: 21000, Received: 21000, Named: []ledger.Term{}, Moved: []ledger.Seen{{Where: "lab-a:va", Counter: "tx_dropped", Moved: 12345}}}
	r.Verdict = scenarios.Verdict{Result: scenarios.Void, Reasons: []string{"port lab-a:va: link lost", "baseline: 1 frames could not be handed to the kernel"}, Checks: []scenarios.Check{}}
	return r
}

func onlySent() *scenarios.Result {
	r := storm()
	r.RX = ""
	r.Phases = r.Phases[:1]
	p := &r.Phases[0]
	p.Asked, p.AskedPPS, p.Received, p.Latency, p.SendError = "max", 0, 0, scenarios.Latency{}, scenarios.SendError{}
	r.Ledger = ledger.Ledger{Sent: 25000, Named: []ledger.Term{{Where: "squall", Counter: ledger.NoReceiver, Frames: 25000}}}
	r.Verdict = scenarios.Verdict{Result: scenarios.Pass, Reasons: []string{}, Checks: []scenarios.Check{}}
	return r
}

func unexplained() *scenarios.Result {
	r := failed()
	r.Ledger.Named = r.Ledger.Named[:1]
	r.Ledger.Unexplained = 48998
	r.Ledger.Gaps = []ledger.Gap{{From: "lab-r:in rx_packets", To: "lab-r:out tx_packets", Before: 124998, After: 76000}}
	r.Ledger.Moved = []ledger.Seen{
		{Where: "lab-r:out", Counter: "rx_no_buffer_count", Moved: 1_234_567},
		{Where: "lab-r:out", Counter: "carrier_changes", Moved: 2, Note: "reset"},
	}
	return r
}

// overNamed has more named than is missing.
func overNamed() *scenarios.Result {
	r := failed()
	r.Ledger.Named[1].Frames += 1000
	r.Ledger.Unexplained = -1000
	return r
}

func apart() *scenarios.Result {
	r := storm()
	r.Phases = r.Phases[:1]
	r.Phases[0].Reordered = 3
	r.Phases[0].Latency = scenarios.Latency{} // counted by identification
	m := meter.Report{Sent: 25000, Received: 25000, Reordered: 3, Reordering: meter.ReorderingReport{Extent: meter.Summary{Count: 3, Min: 1, Mean: 2.5, Max: 4}}}
	m.DupAcks.NReordered[2], m.DupAcks.AtLeast3 = 2, 2
	r.Phases[0].Streams = []scenarios.StreamResult{{Stream: 1, Name: "even", Sent: 1}, {Stream: 2, Name: "odd", Sent: 25000, Meter: m}}
	r.Ledger = ledger.Ledger{Sent: 25000, Received: 25000, Named: []ledger.Term{}}
	r.Foreign = 1234
	r.Strays = map[string]uint64{"0x88cc": 2, "0x0806": 17}
	r.Warnings = []string{"link gone: no such device", `run directory "x" is incomplete: no space left on device`}
	return r
}

func manyBursts() *scenarios.Result {
	r := failed()
	p := &r.Phases[1]
	p.Bursts = nil
	for i := range 30 {
		p.Bursts = append(p.Bursts, scenarios.Burst{
			At: began.Add(time.Duration(i) * time.Second), Seconds: float64(i) / 100, Frames: uint64(i * 1000), Periods: uint64(i), Longest: 1000, First: uint64(i * 5000), Stream: 2,
		})
	}
	p.BurstCount = 5000
	return r
}

// whole has a value in every field.
func whole() *scenarios.Result {
	r := unexplained()
	a := apart()
	r.Stopped, r.Foreign, r.Strays, r.Warnings = true, a.Foreign, a.Strays, a.Warnings
	r.Phases[0].Streams = a.Phases[0].Streams
	m := &r.Phases[0].Streams[1].Meter
	m.LossPattern.Periods = []meter.LossPeriod{{Stream: 2, At: 1, Until: 2, First: 3, Frames: 4}}
	m.Density = &meter.DensityReport{Threshold: 1, Frequency: []uint64{1, 2, 1}, Density: []float64{0.25, 0.5, 0.25}}
	m.Occupancy = &meter.OccupancyReport{Threshold: 1, Frequency: []uint64{3, 1}, Density: []float64{0.75, 0.25}}
	m.Variation = &meter.VariationReport{Min: -5, Max: 7}
	r.Ledger.Named[0].Also[0].Note = "wrapped"
	return r
}

// impaired has a phase that was impaired and one that was and had no receiver.
func impaired() *scenarios.Result {
	r := storm()
	r.Phases = r.Phases[:1]
	a := scenarios.Arrivals{Lost: 500, Duplicated: 75, Reordered: 480, ExtentMean: 8.75, ExtentMax: 20}
	seen := a
	seen.Reordered++
	r.Phases[0].Impaired = &scenarios.Impaired{
		Made:     scenarios.Made{Dropped: 500, Duplicated: 75, Swapped: 10, Held: 20, Reordered: 450, Corrupted: 12_345},
		Expected: &a, Seen: &seen,
	}
	r.Phases = append(r.Phases, scenarios.PhaseResult{Name: "sent", Asked: "max", Impaired: &scenarios.Impaired{Made: scenarios.Made{Dropped: 1}}})
	return r
}

// replayed has records of which something became.
func replayed() *scenarios.Result {
	r := storm()
	r.Phases = r.Phases[:1]
	r.Capture = &scenarios.Capture{
		Files: []string{"one.pcap", "two.pcapng.gz"}, Records: 12_345, Frames: 24_680, Bytes: 1_579_520, Passes: 2, Spooled: true,
		LeftOut:   []scenarios.Fate{{Reason: "shorter than an Ethernet header", Records: 5}},
		Changed:   []scenarios.Fate{{Reason: "given an Ethernet header", Records: 12_340}},
		Rewritten: []scenarios.Fate{{Reason: "TTL", Records: 24_680}},
	}
	return r
}
