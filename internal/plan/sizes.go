package plan

// Sizes says how long each frame is. The zero value is fixed: every frame is as
// long as its entry in the table.
type Sizes struct {
	// Lens are the lengths that occur, the size classes, without FCS.
	Lens []int
	// Cycle gives the class of each frame in turn. Empty: drawn at random from
	// the seed, all classes alike.
	Cycle []uint16
}

// Fixed reports whether frames have the lengths of their table entries.
func (z *Sizes) Fixed() bool { return len(z.Lens) == 0 }

// Min returns the least length.
func (z *Sizes) Min() int {
	m := 0
	for i, n := range z.Lens {
		if i == 0 || n < m {
			m = n
		}
	}
	return m
}

// Max returns the largest length.
func (z *Sizes) Max() int {
	m := 0
	for _, n := range z.Lens {
		m = max(m, n)
	}
	return m
}

// Mean returns the mean length as a fraction: total bytes of n frames. Over a
// whole number of cycles it is exact; for random sizes it is the expectation.
func (z *Sizes) Mean() (total, n uint64) {
	if len(z.Cycle) == 0 {
		for _, l := range z.Lens {
			total += uint64(l)
		}
		return total, uint64(len(z.Lens))
	}
	for _, c := range z.Cycle {
		total += uint64(z.Lens[c])
	}
	return total, uint64(len(z.Cycle))
}

// class returns the size class of the stream's frame j.
//
// Flows and sizes both go round. Were the class simply j mod cycle, a flow
// count that shares a factor with the cycle would give each flow only some of
// the sizes; so the cycle is turned by one after each common multiple of both.
// Every such span still has the exact mix.
func (s *Stream) class(j uint64) uint64 {
	z := &s.Sizes
	if len(z.Lens) == 1 {
		return 0
	}
	n := uint64(len(z.Cycle))
	if n == 0 {
		return Random(s.Seed^sizeSalt, j) % uint64(len(z.Lens))
	}
	return uint64(z.Cycle[(j+j/s.turn)%n])
}

// sizeSalt keeps the draw of sizes apart from the draw of flows.
const sizeSalt = 0x73697a65

func lcm(a, b uint64) uint64 {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}
