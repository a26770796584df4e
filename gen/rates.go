package gen

import (
	"fmt"
	"math/big"

	"squall/internal/pace"
	"squall/internal/plan"
)

// order returns the order of the streams and sets their rates. Each stream
// comes exactly as often as its rate, in frames a second, or its weight says.
func (src *Source) order(specs []Spec, streams []*plan.Stream, link uint64) ([]uint16, error) {
	shares := make([]*big.Rat, len(specs))
	limited := 0
	for k := range specs {
		s := &specs[k]
		if s.Rate == "" {
			continue
		}
		if s.Weight != 0 {
			return nil, s.errorf("weight", "stream has a rate and a weight: need one of them")
		}
		r, err := pace.ParseRate(s.Rate)
		if err != nil {
			return nil, s.errorf("rate", "%w", err)
		}
		total, n := streams[k].Sizes.Mean()
		pps, err := r.FramesPerSecond(total, n, link)
		if err != nil {
			return nil, s.errorf("rate", "%w", err)
		}
		if pps != nil {
			shares[k] = pps
			limited++
		}
	}
	if limited > 0 {
		src.Rate = new(big.Rat)
	}
	for k := range specs {
		s := &specs[k]
		switch {
		case limited == 0:
			shares[k] = new(big.Rat).SetInt(new(big.Int).SetUint64(max(s.Weight, 1)))
		case shares[k] == nil:
			return nil, s.errorf("rate", "stream %q has no rate of its own, but others have: give every stream a rate, or all of them weights", src.Streams[k].Name)
		default:
			src.Streams[k].Rate = shares[k]
			src.Rate.Add(src.Rate, shares[k])
		}
	}
	if len(specs) == 1 {
		return nil, nil
	}
	return proportion(shares)
}

// proportion returns an order in which index k comes in proportion to
// shares[k].
func proportion(shares []*big.Rat) ([]uint16, error) {
	common := big.NewInt(1) // of the denominators
	for _, r := range shares {
		g := new(big.Int).GCD(nil, nil, common, r.Denom())
		common.Mul(common, new(big.Int).Quo(r.Denom(), g))
	}
	counts := make([]*big.Int, len(shares))
	divisor, total := new(big.Int), new(big.Int)
	for k, r := range shares {
		counts[k] = new(big.Int).Mul(r.Num(), new(big.Int).Quo(common, r.Denom()))
		divisor.GCD(nil, nil, divisor, counts[k])
		total.Add(total, counts[k])
	}
	total.Quo(total, divisor)
	if total.Cmp(big.NewInt(plan.MaxOrder)) > 0 {
		return nil, fmt.Errorf("rates of the streams come round only after %d frames, at most %d fit: give them in pps with a large common factor, or as weights", total, plan.MaxOrder)
	}
	weights := make([]uint64, len(counts))
	for k, n := range counts {
		weights[k] = new(big.Int).Quo(n, divisor).Uint64()
	}
	return interleave(weights, plan.MaxOrder)
}
