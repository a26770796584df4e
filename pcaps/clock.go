package pcaps

import (
	"fmt"
	"math"
	"math/bits"
)

// Clock says what a record's time is worth.
type Clock uint8

const (
	// ClockSound: the time is right.
	ClockSound Clock = iota
	// ClockNone: there is none (pcapng simple packet block); Time is 0.
	ClockNone
	// ClockInvalid: the fraction of a second is none, and Time the whole seconds;
	// or the time is outside of the years 1970 to 2262, and Time is 0.
	ClockInvalid
)

// String returns the clock in one word: sound, none, invalid.
func (c Clock) String() string {
	switch c {
	case ClockSound:
		return "sound"
	case ClockNone:
		return "none"
	case ClockInvalid:
		return "invalid"
	}
	return fmt.Sprintf("clock %d", uint8(c))
}

// lastSecond is the first one since 1970 whose nanoseconds do not fit.
const lastSecond = math.MaxInt64 / 1_000_000_000

// ticks turns the time stamps of a pcapng interface into ns since 1970: units of
// 10^-n or 2^-n of a second, n from 0 to 127, less an offset in whole seconds.
type ticks struct {
	binary   bool
	exponent uint8
	offset   int64 // seconds

	// Where a unit is a whole number of ns, those of the unit, of the offset, and
	// the last stamp for which that is enough.
	nanos uint64
	add   int64
	last  uint64
}

// pow10 are the powers of ten that 64 bits hold.
var pow10 = func() (p [20]uint64) {
	for i, v := 0, uint64(1); i < len(p); i, v = i+1, v*10 {
		p[i] = v
	}
	return p
}()

// newTicks reads if_tsresol and if_tsoffset (draft-ietf-opsawg-pcapng, section
// 4.2).
func newTicks(resolution byte, offset int64) ticks {
	t := ticks{binary: resolution&0x80 != 0, exponent: resolution & 0x7f, offset: offset}
	if !t.binary && t.exponent <= 9 && offset >= 0 && offset < lastSecond {
		t.nanos = pow10[9-t.exponent]
		t.add = offset * 1e9
		t.last = uint64(lastSecond-offset)*pow10[t.exponent] - 1
	}
	return t
}

func (t *ticks) time(stamp uint64) (int64, Clock) {
	if stamp <= t.last && t.nanos > 0 {
		return int64(stamp*t.nanos) + t.add, ClockSound
	}
	seconds, nanos := t.split(stamp)
	var over uint64
	if t.offset < 0 {
		seconds, over = bits.Sub64(seconds, -uint64(t.offset), 0)
	} else {
		seconds, over = bits.Add64(seconds, uint64(t.offset), 0)
	}
	if over > 0 || seconds >= lastSecond {
		return 0, ClockInvalid
	}
	return int64(seconds)*1e9 + nanos, ClockSound
}

// split returns the whole seconds of a stamp and the rest in ns, rounded down.
func (t *ticks) split(stamp uint64) (seconds uint64, nanos int64) {
	n := int(t.exponent)
	switch {
	case t.binary && n < 64:
		hi, lo := bits.Mul64(stamp&(1<<n-1), 1e9)
		return stamp >> n, int64(hi<<(64-n) | lo>>n)
	case t.binary: // less than a second: a stamp has 64 bits
		hi, _ := bits.Mul64(stamp, 1e9)
		return 0, int64(hi >> (n - 64))
	case n <= 9:
		return stamp / pow10[n], int64(stamp % pow10[n] * pow10[9-n])
	case n < 20:
		return stamp / pow10[n], int64(stamp % pow10[n] / pow10[n-9])
	case n < 29:
		return 0, int64(stamp / pow10[n-9])
	}
	return 0, 0
}
