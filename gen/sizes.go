package gen

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"squall/internal/plan"
	"squall/internal/wire"
)

const (
	minSize = wire.MinLen + wire.FCSLen
	// maxSize is an IPv6 packet of 65,535 bytes behind its header, in Ethernet
	// with two tags.
	maxSize = 14 + 8 + 40 + 65535 + wire.FCSLen
	// imix is the "simple" Internet mix that test gear has in common.
	imix = "64:7,594:4,1518:1"
)

// ParseSizes reads frame sizes, in bytes with FCS:
//
//	64                  all alike
//	64,128,256          in turn
//	64:7,594:4,1518:1   with weights, spread as evenly as they go
//	imix                the same as the line above
//	64-1518             drawn from the range at random
//
// The result has lengths, without FCS.
func ParseSizes(text string) (plan.Sizes, error) {
	z, err := parseSizes(text)
	if err != nil {
		return plan.Sizes{}, fmt.Errorf("size %q: %w", text, err)
	}
	return z, nil
}

func parseSizes(text string) (plan.Sizes, error) {
	text = strings.TrimSpace(text)
	if text == "imix" {
		text = imix
	}
	if from, to, ok := strings.Cut(text, "-"); ok {
		return sizeRange(from, to)
	}
	var z plan.Sizes
	var weights []uint64
	for part := range strings.SplitSeq(text, ",") {
		size, weight, weighted := strings.Cut(part, ":")
		n, err := parseSize(size)
		if err != nil {
			return z, err
		}
		w := uint64(1)
		if weighted {
			if w, err = strconv.ParseUint(strings.TrimSpace(weight), 10, 32); err != nil || w == 0 {
				return z, fmt.Errorf("weight %q: need a whole number above 0", weight)
			}
		}
		z.Lens = append(z.Lens, n)
		weights = append(weights, w)
	}
	if len(z.Lens) > maxSizeCycle {
		return z, fmt.Errorf("have %d sizes, at most %d fit", len(z.Lens), maxSizeCycle)
	}
	cycle, err := interleave(weights, maxSizeCycle)
	if err != nil {
		return z, err
	}
	z.Cycle = cycle
	return z, nil
}

// maxSizeCycle bounds the frames after which a mix of sizes begins again.
const maxSizeCycle = 1 << 16

func sizeRange(from, to string) (plan.Sizes, error) {
	var z plan.Sizes
	a, err := parseSize(from)
	if err != nil {
		return z, err
	}
	b, err := parseSize(to)
	if err != nil {
		return z, err
	}
	if a > b {
		return z, errors.New("the range ends below its beginning")
	}
	for n := a; n <= b; n++ {
		z.Lens = append(z.Lens, n)
	}
	if a == b {
		z.Cycle = []uint16{0}
	}
	return z, nil
}

// parseSize returns the length of a size.
func parseSize(text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	switch {
	case err != nil:
		return 0, errors.New("need 64, 64-1518, imix, 64,128,256 or 64:7,594:4,1518:1")
	case n < minSize:
		return 0, fmt.Errorf("have %d, need at least %d, the smallest frame with FCS", n, minSize)
	case n > maxSize:
		return 0, fmt.Errorf("have %d, need at most %d", n, maxSize)
	}
	return n - wire.FCSLen, nil
}

// interleave returns the indices of weights, each as often in a cycle as its
// weight says, in lowest terms, and spread over the cycle as evenly as they go:
// occurrence k of n is meant for the place (k+1/2)/n.
func interleave(weights []uint64, most int) ([]uint16, error) {
	var g, total uint64
	for _, w := range weights {
		g = gcd(g, w)
	}
	for _, w := range weights {
		if w/g > uint64(most)-total {
			return nil, fmt.Errorf("weights %v come round only after more than %d frames: use smaller ones with a common factor", weights, most)
		}
		total += w / g
	}
	type place struct{ k, of, index uint64 }
	places := make([]place, 0, total)
	for i, w := range weights {
		for k := range w / g {
			places = append(places, place{2*k + 1, w / g, uint64(i)})
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.k*b.of, b.k*a.of) })
	order := make([]uint16, total)
	for i, p := range places {
		order[i] = uint16(p.index)
	}
	return order, nil
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
