package gen

import (
	"errors"
	"fmt"
	"math/big"
	"slices"

	"squall/internal/impair"
	"squall/internal/pace"
	"squall/internal/plan"
)

// impair makes the script of a plan; nil where the streams leave as they are.
func (src *Source) impair(specs []Spec, p *plan.Plan, t Target) (*plan.Script, error) {
	first := &specs[0]
	for k := range specs[1:] {
		if !slices.Equal(first.Impair, specs[k+1].Impair) {
			return nil, errors.New("impairments are of all streams together: all need the same")
		}
	}
	rules, err := impair.Parse(first.Impair...)
	if err != nil || len(rules) == 0 {
		return nil, err
	}
	if rules.Timed() {
		pps, err := src.pps(p, t)
		if err != nil {
			return nil, err
		}
		rules = rules.AtRate(pps)
	}
	return rules.Loop(uint64(len(p.Order)), plan.Random(first.Seed, impairSalt))
}

// impairSalt keeps the draws of impairments apart from those of the streams.
const impairSalt = 0x696d706169

// pps returns the frames a second that turn a time into frames. Holding frames back
// does not change their mean size.
func (src *Source) pps(p *plan.Plan, t Target) (*big.Rat, error) {
	pps := src.Rate
	if t.Rate != "" {
		r, err := pace.ParseRate(t.Rate)
		if err != nil {
			return nil, err
		}
		bytes, n := p.Mean()
		if pps, err = r.FramesPerSecond(bytes, n, t.LinkBits); err != nil {
			return nil, err
		}
	}
	if pps == nil {
		return nil, fmt.Errorf("impairments: frames held back by a time need a rate that stays the same; give one, or say by how many frames")
	}
	return new(big.Rat).Quo(pps, big.NewRat(int64(max(t.Cores, 1)), 1)), nil
}
