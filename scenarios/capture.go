package scenarios

import (
	"squall/replay"
	"squall/replay/rewrite"
)

// Capture is what became of the records of a replay's captures on the way into its
// plan: records = those that are in it + those left out.
type Capture struct {
	Files   []string `json:"files"`
	Records uint64   `json:"records"`
	Frames  uint64   `json:"frames"` // of all passes that differ, before impairments
	Bytes   uint64   `json:"bytes"`  // of these, without FCS
	Passes  uint64   `json:"passes"` // that differ
	Spooled bool     `json:"spooled"`
	// LeftOut are the records that are not in the plan, Changed those that are, but not
	// as captured, by reason.
	LeftOut []Fate `json:"left_out"`
	Changed []Fate `json:"changed"`
	// Rewritten are the copies of frames that each rule changed.
	Rewritten []Fate `json:"rewritten"`
}

// Fate is a number of records of which the same became.
type Fate struct {
	Reason  string `json:"reason"`
	Records uint64 `json:"records"`
}

// CaptureOf makes the account of captures.
func CaptureOf(files []string, sum *replay.Summary) *Capture {
	c := &Capture{
		Files: files, Records: sum.Records, Frames: sum.Frames, Bytes: sum.Bytes, Passes: sum.Passes, Spooled: sum.Spooled,
		LeftOut: []Fate{}, Changed: []Fate{}, Rewritten: []Fate{},
	}
	sum.Each(func(reason string, left bool, n uint64) {
		to := &c.Changed
		if left {
			to = &c.LeftOut
		}
		*to = append(*to, Fate{reason, n})
	})
	rewritten(&sum.Rewritten, &c.Rewritten)
	return c
}

func rewritten(counts *rewrite.Counts, to *[]Fate) {
	counts.Each(func(rule string, n uint64) { *to = append(*to, Fate{rule, n}) })
}
