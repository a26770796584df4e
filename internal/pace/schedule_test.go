package pace_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"squall/internal/pace"
)

const (
	second = int64(time.Second)
	day    = 24 * 3600 * second
)

func every(t *testing.T, pps string) pace.Constant {
	t.Helper()
	r, ok := new(big.Rat).SetString(pps)
	if !ok {
		t.Fatalf("%q is no number", pps)
	}
	c, err := pace.Every(r)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// frac returns a*b/c rounded down, at most pace.Never, by arithmetic without
// bounds.
func frac(a, b, c *big.Int) int64 {
	q := new(big.Int).Mul(a, b)
	q.Quo(q, c)
	if q.Cmp(big.NewInt(pace.Never)) > 0 {
		return pace.Never
	}
	return q.Int64()
}

func num(n uint64) *big.Int { return new(big.Int).SetUint64(n) }

func TestConstant(t *testing.T) {
	tests := []struct {
		name string
		pps  string
		i    uint64
		want int64
	}{
		{"first frame", "1", 0, 0},
		{"second frame of 1 pps", "1", 1, second},
		{"a frame an hour", "1/3600", 1, 3600 * second},
		{"three a second", "3", 1, 333_333_333},
		{"three a second, fourth frame", "3", 3, second},
		{"12 days of 150 kpps", "150000", 150_000 * 12 * 24 * 3600, 12 * day},
		{"one frame more", "150000", 150_000*12*24*3600 + 1, 12*day + 6_666},
		{"60 days of 5 Mpps", "5000000", 5_000_000 * 60 * 24 * 3600, 60 * day},
		{"1,488,095.238 a second: 1.25 billion in 840 s", "1250000000/840", 1_250_000_000, 840 * second},
		{"beyond any run", "0.001", math.MaxUint64, pace.Never},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := every(t, tt.pps).Due(tt.i); got != tt.want {
				t.Errorf("Due(%d) at %s pps = %d ns, want %d", tt.i, tt.pps, got, tt.want)
			}
		})
	}
}

// No frame in weeks is a nanosecond off, at any rate.
func TestConstantExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		c := pace.Constant{Frames: 1 + r.Uint64()>>(r.Uint64()%63+1), Ns: 1 + r.Uint64()>>(r.Uint64()%63+1)}
		i := r.Uint64() >> (r.Uint64() % 64)
		want := frac(num(i), num(c.Ns), num(c.Frames))
		if got := c.Due(i); got != want {
			t.Fatalf("%+v: Due(%d) = %d, want %d", c, i, got, want)
		}
	}
}

func TestBursts(t *testing.T) {
	b := pace.Bursts{N: 256, Of: every(t, "1000")}
	tests := []struct {
		i    uint64
		want int64
	}{
		{0, 0}, {255, 0}, {256, 1_000_000}, {511, 1_000_000}, {512, 2_000_000},
		{256 * 1000 * 86_400 * 12, 12 * day},
	}
	for _, tt := range tests {
		if got := b.Due(tt.i); got != tt.want {
			t.Errorf("Due(%d) = %d, want %d", tt.i, got, tt.want)
		}
	}
	if got := b.Rate(); got != 256_000 {
		t.Errorf("Rate() = %v frames a second, want 256000", got)
	}
}

// ramped returns how many frames a ramp has sent t ns after its beginning, by
// adding up rate times time in steps, within the ramp and behind it.
func ramped(r pace.Ramp, t int64) float64 {
	const steps = 1_000
	inside := float64(min(t, r.Over))
	dt := inside / steps
	n := r.To * (float64(t) - inside)
	for s := range steps {
		n += (r.From + (r.To-r.From)*(float64(s)+0.5)*dt/float64(r.Over)) * dt
	}
	return n / 1e9
}

func TestRamp(t *testing.T) {
	tests := []struct {
		name string
		ramp pace.Ramp
	}{
		{"up from nothing", pace.Ramp{From: 0, To: 100_000, Over: 2 * second}},
		{"up", pace.Ramp{From: 1_000, To: 50_000, Over: second}},
		{"down", pace.Ramp{From: 50_000, To: 1_000, Over: second}},
		{"level", pace.Ramp{From: 20_000, To: 20_000, Over: second}},
		{"at once", pace.Ramp{From: 0, To: 30_000, Over: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.ramp.Due(0); got != 0 {
				t.Errorf("Due(0) = %d, want 0", got)
			}
			for i := uint64(1); i < 150_000; i = i*5/3 + 1 {
				at := tt.ramp.Due(i)
				// Within a hundredth of a frame of the integral.
				if got := ramped(tt.ramp, at); math.Abs(got-float64(i)) > 0.01+float64(i)*1e-6 {
					t.Errorf("frame %d is due at %d ns, when %.3f frames were to be sent", i, at, got)
				}
			}
			last := int64(0)
			for i := range uint64(150_000) {
				at := tt.ramp.Due(i)
				if at < last {
					t.Fatalf("frame %d is due at %d ns, the one before at %d", i, at, last)
				}
				last = at
			}
		})
	}
}

func TestRampForever(t *testing.T) {
	r := pace.Ramp{From: 1, To: 1, Over: second}
	for _, i := range []uint64{1 << 40, 1 << 62, math.MaxUint64} {
		if got := r.Due(i); got <= 0 || got > pace.Never {
			t.Errorf("Due(%d) = %d, want 1 to Never", i, got)
		}
	}
	if got, want := r.Due(30*86_400), 30*day; got != want {
		t.Errorf("Due after 30 days at 1 pps = %d, want %d", got, want)
	}
}

func TestCaptured(t *testing.T) {
	times := []int64{0, 1_000, 1_000, 7_721_001}
	const period = 10_294_669 // 7,721,001 and a third, rounded up
	tests := []struct {
		name     string
		num, den uint64
		gap      int64
		i        uint64
		want     int64
	}{
		{"as captured, first", 1, 1, 0, 0, 0},
		{"as captured, last of the pass", 1, 1, 0, 3, 7_721_001},
		{"as captured, second pass", 1, 1, 0, 4, period},
		{"as captured, pass 1000", 1, 1, 0, 4*1000 + 1, 1000*period + 1_000},
		{"gap", 1, 1, 500, 4*2 + 3, 2*period + 7_721_001 + 1_000},
		{"half speed", 1, 2, 0, 3, 15_442_002},
		{"half speed, the gap is not stretched", 1, 2, 500, 4, 2*period + 500},
		{"1000 times", 1000, 1, 0, 3, 7_721},
		{"1000 times, pass 1000", 1000, 1, 0, 4 * 1000, period},
		{"0.0000002", 1, 5_000_000, 0, 1, 5 * second},
		{"0.0000002, pass 1000: 1.6 years", 1, 5_000_000, 0, 4 * 1000, 1000 * period * 5_000_000},
		{"beyond any run", 1, 5_000_000, 0, math.MaxUint64, pace.Never},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := pace.Captured{Times: times, Num: tt.num, Den: tt.den, Period: period, Gap: tt.gap}
			if got := c.Due(tt.i); got != tt.want {
				t.Errorf("Due(%d) = %d ns, want %d", tt.i, got, tt.want)
			}
		})
	}
}

// Passes do not drift, whatever the speed: every due time is the fraction,
// rounded once.
func TestCapturedExact(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	bits := func() uint64 { return 1 + r.Uint64()>>(r.Uint64()%63+1) }
	for range 20_000 {
		c := pace.Captured{
			Times: []int64{0, int64(bits() >> 2)}, Num: bits(), Den: bits(),
			Period: int64(bits() >> 1), Gap: int64(bits() >> (r.Uint64()%60 + 2)),
		}
		i := bits() >> (r.Uint64() % 60)
		pass, k := i/2, i%2
		at := new(big.Int).Mul(num(pass), big.NewInt(c.Period))
		at.Add(at, big.NewInt(c.Times[k]))
		want := int64(pace.Never)
		sum := big.NewInt(frac(at, num(c.Den), num(c.Num)))
		sum.Add(sum, new(big.Int).Mul(num(pass), big.NewInt(c.Gap)))
		if sum.Cmp(big.NewInt(pace.Never)) < 0 {
			want = sum.Int64()
		}
		if got := c.Due(i); got != want {
			t.Fatalf("%+v: Due(%d) = %d, want %d", c, i, got, want)
		}
	}
}

func TestCapturedRate(t *testing.T) {
	tests := []struct {
		name string
		c    pace.Captured
		want float64
	}{
		{"as captured", pace.Captured{Times: make([]int64, 10), Num: 1, Den: 1, Period: second}, 10},
		{"half speed and a gap", pace.Captured{Times: make([]int64, 10), Num: 1, Den: 2, Period: second, Gap: 3 * second}, 2},
		{"no time at all", pace.Captured{Times: make([]int64, 10), Num: 1, Den: 1}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.c.Rate(); got != tt.want {
				t.Errorf("Rate() = %v frames a second, want %v", got, tt.want)
			}
		})
	}
}

func TestMax(t *testing.T) {
	if got := (pace.Max{}).Due(math.MaxUint64); got != 0 {
		t.Errorf("Due = %d, want 0", got)
	}
}
