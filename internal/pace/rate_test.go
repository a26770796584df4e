package pace_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"squall/internal/pace"
)

func TestParseRate(t *testing.T) {
	tests := []struct {
		text  string
		unit  pace.Unit
		value string
	}{
		{"max", pace.Unlimited, ""},
		{"1pps", pace.Frames, "1"},
		{"1.2Mpps", pace.Frames, "1200000"},
		{"0.001pps", pace.Frames, "1/1000"},
		{" 10 kpps ", pace.Frames, "10000"},
		{"1e3pps", pace.Frames, "1000"},
		{"2.5E-1pps", pace.Frames, "1/4"},
		{".5pps", pace.Frames, "1/2"},
		{"5.pps", pace.Frames, "5"},
		{"1Gpps", pace.Frames, "1000000000"},
		{"1Kpps", pace.Frames, "1000"},
		{"940Mbit", pace.Layer1, "940000000"},
		{"940Mbit/l1", pace.Layer1, "940000000"},
		{"940Mbit/s", pace.Layer1, "940000000"},
		{"940Mbps", pace.Layer1, "940000000"},
		{"2.5Gbit", pace.Layer1, "2500000000"},
		{"8bit", pace.Layer1, "8"},
		{"940Mbit/l2", pace.Layer2, "940000000"},
		{"80%", pace.Percent, "80"},
		{"0.1%", pace.Percent, "1/10"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			r, err := pace.ParseRate(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if r.Value != nil {
				got = r.Value.RatString()
			}
			if r.Unit != tt.unit || got != tt.value {
				t.Errorf("unit %d, value %q; want %d, %q", r.Unit, got, tt.unit, tt.value)
			}
			if want := strings.TrimSpace(tt.text); r.String() != want {
				t.Errorf("String() = %q, want %q", r, want)
			}
		})
	}
	if got := (pace.Rate{}).String(); got != "max" {
		t.Errorf("zero value is %q, want max", got)
	}
}

func TestParseRateRefuses(t *testing.T) {
	tests := []struct{ text, why string }{
		{"", "no unit"},
		{"1000", "no unit"},
		{"fast", "no unit"},
		{"0pps", "above 0"},
		{"-5Mpps", "above 0"},
		{"0%", "above 0"},
		{"pps", "not a number"},
		{"1,5Mpps", "not a number"},
		{"1/2Mpps", "not a number"},
		{"1.2.3pps", "not a number"},
		{"0x10pps", "not a number"},
		{"0b1pps", "unknown unit"},
		{"1_000pps", "not a number"},
		{"infpps", "not a number"},
		{"NaNpps", "not a number"},
		{"1e999999pps", "not a number"},
		{"5mpps", "not a number"},
		{"5M", "unknown unit"},
		{"5k%", "unknown unit"},
		{"5%%", "unknown unit"},
		{"5Mbit/l3", "unknown unit"},
		{"5MMpps", "unknown unit"},
		{"5pps/l1", "unknown unit"},
		{"maxpps", "not a number"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			r, err := pace.ParseRate(tt.text)
			if err == nil {
				t.Fatalf("taken for %v", r)
			}
			if !strings.Contains(err.Error(), tt.why) || !strings.Contains(err.Error(), "1.2Mpps") {
				t.Errorf("error %q, want %q and an example", err, tt.why)
			}
		})
	}
}

func TestFramesPerSecond(t *testing.T) {
	const m100, g1, g25 = 100_000_000, 1_000_000_000, 2_500_000_000
	tests := []struct {
		name  string
		rate  string
		bytes uint64 // without FCS
		n     uint64
		link  uint64
		want  string // rounded down
		exact string // as a fraction
	}{
		{"64 at 100 Mbit/s", "100%", 60, 1, m100, "148809", "3125000/21"},
		{"64 at 1 Gbit/s", "1Gbit", 60, 1, 0, "1488095", "31250000/21"},
		{"64 at 2.5 Gbit/s", "100%", 60, 1, g25, "3720238", "78125000/21"},
		{"82 at 2.5 Gbit/s", "2.5Gbit", 78, 1, 0, "3063725", "156250000/51"},
		{"1518 at 1 Gbit/s", "1Gbit", 1514, 1, 0, "81274", "62500000/769"},
		{"64, layer 2", "1Gbit/l2", 60, 1, 0, "1953125", "1953125"},
		{"half a link", "50%", 60, 1, g1, "744047", "15625000/21"},
		// 12 frames are 4,294 bytes, on layer 1 24 more each: 36,656 bits.
		{"IMIX 7:4:1 at 1 Gbit/s", "1Gbit", 7*60 + 4*590 + 1514, 12, 0, "327367", "750000000/2291"},
		{"frames as they are", "1.2Mpps", 60, 1, 0, "1200000", "1200000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := pace.ParseRate(tt.rate)
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.FramesPerSecond(tt.bytes, tt.n, tt.link)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.exact, got.RatString()); diff != "" {
				t.Errorf("frames a second (-want +got):\n%s", diff)
			}
			whole := new(big.Int).Quo(got.Num(), got.Denom())
			if diff := cmp.Diff(tt.want, whole.String()); diff != "" {
				t.Errorf("whole frames a second (-want +got):\n%s", diff)
			}
		})
	}

	r, _ := pace.ParseRate("80%")
	if _, err := r.FramesPerSecond(60, 1, 0); err == nil || !strings.Contains(err.Error(), "80%") {
		t.Errorf("percent of an unknown link: error %v, want one that names the rate", err)
	}
	if got, err := (pace.Rate{}).FramesPerSecond(60, 1, 0); got != nil || err != nil {
		t.Errorf("max = %v, %v; want nil", got, err)
	}
}

func TestEvery(t *testing.T) {
	tests := []struct {
		pps  string
		want pace.Constant
	}{
		{"1", pace.Constant{Frames: 1, Ns: 1_000_000_000}},
		{"150000", pace.Constant{Frames: 3, Ns: 20_000}},
		{"3125000/21", pace.Constant{Frames: 1, Ns: 6_720}},
		{"1/3600", pace.Constant{Frames: 1, Ns: 3_600_000_000_000}},
		{"1000000000000", pace.Constant{Frames: 1000, Ns: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.pps, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, every(t, tt.pps)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}

	// More digits than fit: the rate is right to a few parts in 10^9.
	c := every(t, "0.12345678901234567890123456789")
	if got, want := c.Rate(), 0.12345678901234567890123456789; got < want*(1-1e-8) || got > want*(1+1e-8) {
		t.Errorf("rate %v, want %v", got, want)
	}

	for _, pps := range []string{"1e13", "1e-25", "1e90"} {
		r, _ := new(big.Rat).SetString(pps)
		if c, err := pace.Every(r); err == nil {
			t.Errorf("%s frames a second is taken for %+v", pps, c)
		}
	}
}

func FuzzParseRate(f *testing.F) {
	for _, s := range []string{"max", "1.2Mpps", "940Mbit/l2", "80%", "1e-99Gbit", "9999999999999999999999pps", "0x1pps", "%", "1/3pps", "1e99%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := pace.ParseRate(s)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "rate ") {
				t.Errorf("error %q does not say what it is about", err)
			}
			return
		}
		again, err := pace.ParseRate(r.String())
		if err != nil {
			t.Fatalf("%q reads, what it prints as, %q, does not: %v", s, r, err)
		}
		if r.Unit != again.Unit || (r.Value == nil) != (again.Value == nil) || r.Value != nil && r.Value.Cmp(again.Value) != 0 {
			t.Fatalf("%q prints as %q, which is another rate", s, r)
		}
		if r.Unit == pace.Unlimited {
			return
		}
		pps, err := r.FramesPerSecond(60, 1, 1e9)
		if err != nil || pps.Sign() <= 0 {
			t.Fatalf("%q is %v frames a second, %v", s, pps, err)
		}
		if c, err := pace.Every(pps); err == nil && (c.Frames < 1 || c.Ns < 1 || c.Due(1) < 0) {
			t.Fatalf("%q makes the schedule %+v", s, c)
		}
	})
}
