package meter

// VariationReport is the one-way delay variation of RFC 3393 in ns. The
// selection function takes each pair of consecutive sequence
// numbers that both arrived, whichever came first, while both are in the window.
type VariationReport struct {
	Absolute Summary `json:"absolute"` // of |ipdv|
	Min      int64   `json:"min"`      // signed: a frame that was faster than the one before it
	Max      int64   `json:"max"`      // signed
}

type variation struct {
	absolute tally
	min, max int64
}

func newVariation() variation { return variation{absolute: newTally(timeDigits)} }

func (v *variation) add(ipdv int64) {
	if v.absolute.count == 0 {
		v.min, v.max = ipdv, ipdv
	}
	v.min, v.max = min(v.min, ipdv), max(v.max, ipdv)
	v.absolute.add(max(ipdv, -ipdv), 1)
}

func (v *variation) merge(from *variation) {
	switch {
	case from.absolute.count == 0:
		return
	case v.absolute.count == 0:
		v.min, v.max = from.min, from.max
	}
	v.min, v.max = min(v.min, from.min), max(v.max, from.max)
	v.absolute.merge(&from.absolute)
}

func (v *variation) report() *VariationReport {
	return &VariationReport{Absolute: v.absolute.summary(), Min: v.min, Max: v.max}
}
