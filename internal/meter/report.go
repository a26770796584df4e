package meter

import (
	"cmp"
	"slices"
)

// Report is a stream's account, or the sum of several.
type Report struct {
	Sent       uint64 `json:"sent"`       // as told to Finish; 0 before
	Received   uint64 `json:"received"`   // frames, first arrivals in the window
	Bytes      uint64 `json:"bytes"`      // of the received, FCS included
	Lost       uint64 `json:"lost"`       // settled without them
	Missing    uint64 `json:"missing"`    // gaps in the window: lost, or still to come; 0 after Finish
	Duplicated uint64 `json:"duplicated"` // further arrivals of a number that is here
	Reordered  uint64 `json:"reordered"`  // Type-P-Reordered, RFC 4737 section 3.3
	Late       uint64 `json:"late"`       // older than the window, or after Finish: in no other figure
	Wild       uint64 `json:"wild"`       // numbers that cannot have been sent (Config.Limit): in no other figure
	// Beyond is how far the highest number that arrived lies past Sent-1: not 0
	// means that the sender counts less than it sends, or that a number was
	// changed on its way.
	Beyond uint64 `json:"beyond"`

	LossPattern LossReport       `json:"loss_pattern"`
	Reordering  ReorderingReport `json:"reordering"`
	DupAcks     DupAckReport     `json:"dup_acks"`
	// Density, Occupancy and Variation are nil where they were not counted: see
	// Counts.
	Density   *DensityReport   `json:"reorder_density,omitempty"`
	Occupancy *OccupancyReport `json:"reorder_buffer_density,omitempty"`
	Latency   Summary          `json:"latency_ns"`
	// Negative counts frames that arrived before they were sent: their
	// clocks differ. They are in no latency figure but Variation.
	Negative  uint64           `json:"negative_latency"`
	Variation *VariationReport `json:"delay_variation_ns,omitempty"`
}

// account is what a Stream has counted, apart from the window that counts it.
type account struct {
	config                                                Config
	sent, received, bytes, duplicated, late, wild, beyond uint64

	loss      loss
	order     reordering
	acks      dupAcks
	density   density
	occupancy occupancy
	latency   latency
	variation variation
}

func newAccount(c Config) account {
	return account{
		config:    c,
		loss:      newLoss(c),
		order:     newReordering(),
		density:   newDensity(c.Threshold),
		occupancy: newOccupancy(c.Threshold),
		latency:   newLatency(),
		variation: newVariation(),
	}
}

func (a *account) merge(from *account) {
	a.sent += from.sent
	a.received += from.received
	a.bytes += from.bytes
	a.duplicated += from.duplicated
	a.late += from.late
	a.wild += from.wild
	a.beyond += from.beyond
	a.loss.merge(&from.loss)
	a.order.merge(&from.order)
	a.acks.merge(&from.acks)
	a.density.merge(&from.density)
	a.occupancy.merge(&from.occupancy)
	a.latency.merge(&from.latency)
	a.variation.merge(&from.variation)
}

func (a *account) report() Report {
	return Report{
		Sent:        a.sent,
		Received:    a.received,
		Bytes:       a.bytes,
		Lost:        a.loss.frames,
		Duplicated:  a.duplicated,
		Reordered:   a.order.frames,
		Late:        a.late,
		Wild:        a.wild,
		Beyond:      a.beyond,
		LossPattern: a.loss.report(),
		Reordering:  a.order.report(),
		DupAcks:     a.acks.report(),
		Density:     a.density.report(),
		Occupancy:   a.occupancy.report(),
		Latency:     a.latency.delay.summary(),
		Negative:    a.latency.negative,
		Variation:   a.variation.report(),
	}
}

// Total returns the sum of several streams' accounts: the figures that one
// account would show that had counted each of them by its own sequence. All must
// have the same Threshold and Noticeable. Loss periods are in order of time.
func Total(streams ...*Stream) Report {
	if len(streams) == 0 {
		return Report{}
	}
	sum := newAccount(streams[0].config)
	var missing uint64
	for _, s := range streams {
		sum.merge(&s.account)
		missing += s.missing()
	}
	r := sum.report()
	r.Missing = missing
	slices.SortStableFunc(r.LossPattern.Periods, func(a, b LossPeriod) int { return cmp.Compare(a.At, b.At) })
	return r
}
