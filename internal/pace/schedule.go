package pace

import (
	"math"
	"math/bits"
)

// Never is the due time of a frame that no schedule reaches: later than any
// run, and safe to add a start time to.
const Never = math.MaxInt64 / 2

// Schedule says when frame i is due, in ns from the start; it never falls as i
// rises. Program engines look at the concrete type and do the same arithmetic
// in the kernel.
type Schedule interface {
	Due(i uint64) int64
	// Rate is the mean rate in frames a second, 0 for "as fast as possible".
	Rate() float64
}

// Max is the schedule of a sender that never waits.
type Max struct{}

// Due is 0 for every frame.
func (Max) Due(uint64) int64 { return 0 }

// Rate is 0: none is asked.
func (Max) Rate() float64 { return 0 }

// Constant sends Frames frames in every Ns nanoseconds, evenly: frame i is due
// at i*Ns/Frames, rounded down. Both are at least 1.
type Constant struct {
	Frames, Ns uint64
}

// Due is exact for any i: the product has 128 bits.
func (c Constant) Due(i uint64) int64 { return muldiv(i, c.Ns, c.Frames) }

// Rate returns frames a second.
func (c Constant) Rate() float64 { return float64(c.Frames) * 1e9 / float64(c.Ns) }

// Bursts sends N frames back to back, and starts the next N when Of says that
// its next "frame" is due. N is at least 1.
type Bursts struct {
	N  uint64
	Of Constant
}

// Due is when the burst of frame i begins.
func (b Bursts) Due(i uint64) int64 { return b.Of.Due(i / b.N) }

// Rate returns frames (not bursts) a second.
func (b Bursts) Rate() float64 { return b.Of.Rate() * float64(b.N) }

// Ramp goes from From to To frames a second in a straight line over Over ns,
// and stays at To afterwards. Neither rate is negative, To is above 0, Over is
// at least 1.
//
//	rate        ┌────── To
//	          ╱ │
//	From ──╱    │
//	       0   Over      t
type Ramp struct {
	From, To float64
	Over     int64
}

// Due inverts the number of frames sent by time t, From*t + (To-From)/2/Over*t².
// Within the ramp the error is that of a float64, far below a nanosecond.
func (r Ramp) Due(i uint64) int64 {
	over := float64(r.Over) / 1e9
	inside := (r.From + r.To) / 2 * over
	n := float64(i)
	if n >= inside {
		return min(r.Over+saturate((n-inside)/r.To*1e9), Never)
	}
	// n = From*t + a*t², in the form that does not cancel where a is small.
	a := (r.To - r.From) / 2 / over
	t := 2 * n / (r.From + math.Sqrt(r.From*r.From+4*a*n))
	if n == 0 {
		t = 0
	}
	return saturate(t * 1e9)
}

// saturate rounds ns down, at most to Never. (A float64 beyond an int64 becomes
// whatever the processor likes.)
func saturate(ns float64) int64 {
	if ns >= Never {
		return Never
	}
	return int64(ns)
}

// Rate returns the rate that the ramp ends at.
func (r Ramp) Rate() float64 { return r.To }

// Captured sends at a capture's own times: frame i of a pass at Times[i]
// stretched by Den/Num (a speed of Num/Den), each pass Period ns, stretched
// alike, after the one before it plus Gap ns, which are not. Times rise, there
// is at least one, and Num and Den are from 1 to 2^63-1.
type Captured struct {
	Times    []int64
	Num, Den uint64
	Period   int64
	Gap      int64
}

// Due is exact for any number of passes: frame k of pass p is due at
//
//	⌊(p*Period + Times[k]) * Den/Num⌋ + p*Gap
//
// With Period*Den = q*Num + r that is p*q + ⌊(p*r + Times[k]*Den)/Num⌋ + p*Gap,
// which 128 bits hold.
func (c Captured) Due(i uint64) int64 {
	n := uint64(len(c.Times))
	p, k := i/n, i%n
	if p == 0 {
		return muldiv(uint64(c.Times[k]), c.Den, c.Num)
	}
	hi, lo := bits.Mul64(uint64(c.Period), c.Den)
	if hi >= c.Num {
		return Never
	}
	q, r := bits.Div64(hi, lo, c.Num)
	whole, carry := bits.Add64(q, uint64(c.Gap), 0)
	over, whole := bits.Mul64(p, whole)

	hi, lo = bits.Mul64(p, r)
	hi2, lo2 := bits.Mul64(uint64(c.Times[k]), c.Den)
	lo, x := bits.Add64(lo, lo2, 0)
	hi, x = bits.Add64(hi, hi2, x)
	if carry|over|x != 0 || hi >= c.Num || whole > Never {
		return Never
	}
	rest, _ := bits.Div64(hi, lo, c.Num)
	return int64(min(whole+min(rest, Never), Never))
}

// Rate returns the mean rate of a pass.
func (c Captured) Rate() float64 {
	step := float64(muldiv(uint64(c.Period), c.Den, c.Num) + c.Gap)
	if step == 0 {
		return 0
	}
	return float64(len(c.Times)) / step * 1e9
}

// muldiv returns a*b/c rounded down, at most Never.
func muldiv(a, b, c uint64) int64 {
	hi, lo := bits.Mul64(a, b)
	if hi >= c {
		return Never
	}
	q, _ := bits.Div64(hi, lo, c)
	return int64(min(q, Never))
}
