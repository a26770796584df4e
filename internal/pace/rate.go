package pace

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"
)

// Unit is what a rate counts.
type Unit uint8

const (
	// Unlimited: as fast as the engine can.
	Unlimited Unit = iota
	// Frames a second.
	Frames
	// Layer1 bits a second: frame with FCS, preamble and inter-frame gap.
	Layer1
	// Layer2 bits a second: frame with FCS.
	Layer2
	// Percent of the link's speed, on layer 1.
	Percent
)

// Rate is a rate as asked for: 1.2Mpps, 940Mbit, 940Mbit/l2, 80%, max. The zero
// value is max.
type Rate struct {
	Unit  Unit
	Value *big.Rat // frames or bits a second, or percent; nil for max
	text  string
}

// String returns the rate as it was written.
func (r Rate) String() string {
	if r.text == "" {
		return "max"
	}
	return r.text
}

// ParseRate reads a rate. The number may have a decimal fraction or an
// exponent; k, M and G are powers of 1000. A number without a unit is refused:
// other tools' bare numbers mean frames, layer 2 or payload bits in turn.
func ParseRate(text string) (Rate, error) {
	s := strings.TrimSpace(text)
	if s == "max" {
		return Rate{text: "max"}, nil
	}
	bad := func(why string) (Rate, error) {
		return Rate{}, fmt.Errorf("rate %q: %s; write 1.2Mpps, 940Mbit (layer 1), 940Mbit/l2, 80%% or max", text, why)
	}
	unit := strings.IndexAny(s, "kKMGpb%")
	if unit < 0 {
		return bad("no unit")
	}
	digits, suffix := strings.TrimSpace(s[:unit]), s[unit:]
	value, ok := Number(digits)
	if !ok {
		return bad("not a number with a unit")
	}
	scale := int64(1)
	switch suffix[0] {
	case 'k', 'K':
		scale = 1e3
	case 'M':
		scale = 1e6
	case 'G':
		scale = 1e9
	}
	if scale > 1 {
		suffix = suffix[1:]
	}
	r := Rate{Value: value.Mul(value, new(big.Rat).SetInt64(scale)), text: s}
	switch suffix {
	case "pps":
		r.Unit = Frames
	case "bit", "bit/l1", "bit/s", "bps":
		r.Unit = Layer1
	case "bit/l2":
		r.Unit = Layer2
	case "%":
		if scale > 1 {
			return bad("unknown unit")
		}
		r.Unit = Percent
		if r.Value.Cmp(big.NewRat(100, 1)) > 0 {
			return bad("a link has 100 %")
		}
	default:
		return bad("unknown unit")
	}
	if r.Value.Sign() <= 0 {
		return bad("a rate is above 0")
	}
	return r, nil
}

var number = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,2})?$`)

// Number reads a decimal number exactly. (big.Rat alone would take 0x10, 0b1
// and 1/3 for numbers too, and an exponent of a million.)
func Number(text string) (*big.Rat, bool) {
	if len(text) > 64 || !number.MatchString(text) {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// FramesPerSecond turns the rate into frames a second. A rate in bits needs the
// mean length of a frame: bytes without FCS of n frames; a rate in percent
// needs the link's speed in bits a second as well. It returns nil for max.
func (r Rate) FramesPerSecond(bytes, n, link uint64) (*big.Rat, error) {
	const fcs, overhead = 4, 20 // IEEE 802.3: check sequence; preamble, delimiter and gap
	var extra uint64
	bits := new(big.Rat)
	switch r.Unit {
	case Unlimited:
		return nil, nil
	case Frames:
		return new(big.Rat).Set(r.Value), nil
	case Layer2:
		extra, bits = fcs, r.Value
	case Layer1:
		extra, bits = fcs+overhead, r.Value
	case Percent:
		if link == 0 {
			return nil, fmt.Errorf("rate %q: the port does not say how fast its link is; give the rate in bits or frames", r)
		}
		extra = fcs + overhead
		bits.SetFrac(new(big.Int).SetUint64(link), big.NewInt(100))
		bits.Mul(bits, r.Value)
	}
	mean := new(big.Rat).SetFrac(new(big.Int).SetUint64(8*(bytes+extra*n)), new(big.Int).SetUint64(n))
	return new(big.Rat).Quo(bits, mean), nil
}

// Every returns the schedule of pps frames a second: exactly that rate where
// its fraction, in ns, fits into 62 bits, otherwise with the first 62 bits. The
// rate may be up to 10^12; below some 10^-9 it is out of range.
func Every(pps *big.Rat) (Constant, error) {
	// pps = num/den: num frames in den seconds.
	t := new(big.Rat).SetFrac(pps.Num(), new(big.Int).Mul(pps.Denom(), big.NewInt(1e9)))
	num, ns := new(big.Int).Set(t.Num()), new(big.Int).Set(t.Denom())
	if over := max(num.BitLen(), ns.BitLen()) - 62; over > 0 {
		num.Rsh(num, uint(over))
		ns.Rsh(ns, uint(over))
	}
	if num.Sign() <= 0 || ns.Sign() <= 0 || pps.Cmp(new(big.Rat).SetInt64(1e12)) > 0 {
		f, _ := pps.Float64()
		return Constant{}, fmt.Errorf("rate of %g frames a second: out of range", f)
	}
	return Constant{Frames: num.Uint64(), Ns: ns.Uint64()}, nil
}
