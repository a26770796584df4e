package impair

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"squall/internal/plan"
)

func TestParse(t *testing.T) {
	tests := []struct {
		text string
		want Rule
	}{
		{"drop 2/100", Rule{Kind: plan.Drop, K: 2, N: 100}},
		{"drop 50%", Rule{Kind: plan.Drop, Chance: 1 << 63}},
		{"drop 0.0000000000000000001%", Rule{Kind: plan.Drop, Chance: 1}},
		{"drop at 100,200-210", Rule{Kind: plan.Drop, Places: []Range{{100, 100}, {200, 210}}}},
		{" duplicate  1/1000 ", Rule{Kind: plan.Duplicate, K: 1, N: 1000, Copies: 1}},
		{"duplicate 1/1000 x3", Rule{Kind: plan.Duplicate, K: 1, N: 1000, Copies: 3}},
		{"swap 1/50", Rule{Kind: plan.Swap, K: 1, N: 50}},
		{"hold 1/100 by 5", Rule{Kind: plan.Hold, K: 1, N: 100, By: 5}},
		{"hold 1% by 3ms", Rule{Kind: plan.Hold, Chance: 184467440737095516, For: 3 * time.Millisecond}},
		{"reorder 16/1000", Rule{Kind: plan.Reorder, K: 1, N: 1000, Burst: 16}},
		{"reorder 16/1000 reverse", Rule{Kind: plan.Reorder, K: 1, N: 1000, Burst: 16}},
		{"reorder 16/1000 rotate", Rule{Kind: plan.Reorder, K: 1, N: 1000, Burst: 16, Order: Rotate, Turn: 1}},
		{"reorder 16/1000 rotate 4", Rule{Kind: plan.Reorder, K: 1, N: 1000, Burst: 16, Order: Rotate, Turn: 4}},
		{"reorder 4 50% shuffle", Rule{Kind: plan.Reorder, Chance: 1 << 63, Burst: 4, Order: Shuffle}},
		{"reorder 4 at 7,11", Rule{Kind: plan.Reorder, Places: []Range{{7, 7}, {11, 11}}, Burst: 4}},
		{"corrupt 1/500", Rule{Kind: plan.Corrupt, K: 1, N: 500, Spot: plan.Payload}},
		{"corrupt 1/500 header", Rule{Kind: plan.Corrupt, K: 1, N: 500, Spot: plan.Header}},
		{"corrupt at 9 checksum", Rule{Kind: plan.Corrupt, Places: []Range{{9, 9}}, Spot: plan.Checksum}},
		{"corrupt 1/500 ip-checksum", Rule{Kind: plan.Corrupt, K: 1, N: 500, Spot: plan.IPChecksum}},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			rs, err := Parse(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Text = tt.text
			if diff := cmp.Diff(Rules{tt.want}, rs); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		text   string
		column int
		says   string
	}{
		{"", 1, `"": need drop, duplicate`},
		{"lose 1/2", 1, `"lose": need drop`},
		{"drop", 5, "where? Need K/N"},
		{"drop 5", 6, `"5": need K/N`},
		{"drop 2/1", 6, "2 in every 1 are more than there are"},
		{"drop 0/10", 6, `have "0", need a whole number, 1 to`},
		{"drop 1/x", 6, `have "x"`},
		{"drop 1/2000000", 6, "at most every 1048576"},
		{"drop 3/3", 6, "3 in every 3 are all"},
		{"drop 100%", 6, "above 0 and below 100"},
		{"drop 0%", 6, "above 0 and below 100"},
		{"drop at", 8, "counted from 1"},
		{"drop at 0", 9, "counted from 1"},
		{"drop at 9-7", 9, "have \"7\", need a whole number of at least 9"},
		{"drop at 9,9", 9, "places overlap"},
		{"drop at 2000000", 9, "at most frame 1048576"},
		{"drop 1/10 x2", 11, `"x2": nothing may follow`},
		{"duplicate 1/10 x0", 16, "need copies"},
		{"duplicate 1/10 3", 16, `"3": nothing may follow`},
		{"swap 2/3", 6, "have 2 of 2 frames each in every 3"},
		{"swap at 5-9", 9, "places overlap: each takes up 2"},
		{"hold 1/100", 11, `"": need by`},
		{"hold 1/100 by", 14, "need frames, as 5, or a time"},
		{"hold 1/100 by 0", 15, "need a time above 0"},
		{"hold 1/100 by -3ms", 15, "need a time above 0"},
		{"hold 1/100 by soon", 15, "with its unit"},
		{"reorder 1/1000", 9, `have "1", need a whole number, 2 to`},
		{"reorder 16", 11, "where? Need 16/N"},
		{"reorder 16/10", 9, "have 1 of 16 frames each in every 10"},
		{"reorder 16/1000 up", 17, "need reverse, rotate or shuffle"},
		{"reorder 16/1000 rotate 16", 24, "1 to 15"},
		{"corrupt 1/9 tail", 13, "need payload"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			_, err := Parse("swap 1/2", tt.text)
			var at *SyntaxError
			if !errors.As(err, &at) {
				t.Fatalf("have %v, need a syntax error", err)
			}
			if at.Column != tt.column || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("column %d, need %d: %v, need %q", at.Column, tt.column, err, tt.says)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"drop 2/100", "hold 1% by 3ms", "reorder 16 at 7,100-99 rotate 4", "corrupt at 1-5,9 header", "duplicate 1/1 x65536", "swap\t 1/2", "drop 1e999%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		rs, err := Parse(s)
		if err != nil {
			if !strings.Contains(err.Error(), "impairment, column ") {
				t.Errorf("error without a place: %v", err)
			}
			return
		}
		// What is accepted does what it says on any list, or says why not.
		due := make([]int64, 100)
		for i := range due {
			due[i] = int64(i) * 1e6
		}
		x, err := rs.Script(100, 1, due)
		if err != nil {
			return
		}
		for i := range x.Due {
			if i > 0 && x.Due[i] < x.Due[i-1] {
				t.Fatalf("%q: times fall at %d", s, i)
			}
		}
		check(t, &x.Block)
	})
}
