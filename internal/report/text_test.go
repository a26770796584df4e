package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"squall/scenarios"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The report is drawn in local time.
func TestMain(m *testing.M) {
	time.Local = time.UTC
	os.Exit(m.Run())
}

// golden compares with, or writes, testdata/name.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got), go test -update where got is right:\n%s", path, diff)
	}
}

func TestText(t *testing.T) {
	tests := []struct {
		name string
		r    *scenarios.Result
	}{
		{"storm", storm()},
		{"fail", failed()},
		{"void", void()},
		{"only-sent", onlySent()},
		{"unexplained", unexplained()},
		{"over-named", overNamed()},
		{"apart", apart()},
		{"many-bursts", manyBursts()},
		{"impaired", impaired()},
		{"replayed", replayed()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := Text(&b, tt.r); err != nil {
				t.Fatal(err)
			}
			golden(t, tt.name+".txt", b.Bytes())
		})
	}
}

func TestNumbers(t *testing.T) {
	tests := []struct{ name, got, want string }{
		{"count 0", count(0), "0"},
		{"count of three digits", count(999), "999"},
		{"count of four", count(1000), "1,000"},
		{"count of seven", count(1234567), "1,234,567"},
		{"largest count", count(1<<64 - 1), "18,446,744,073,709,551,615"},
		{"signed", signed(-1234), "-1,234"},
		{"least signed", signed(-1 << 63), "-9,223,372,036,854,775,808"},
		{"decimal 0", decimal(0), "0.000"},
		{"decimal below 1,000", decimal(999.999), "999.999"},
		{"decimal that rounds to 1,000", decimal(999.9999), "1,000.00"},
		{"decimal above", decimal(1488095.238), "1,488,095.24"},
		{"decimal with a small fraction", decimal(12345.049), "12,345.05"},
		{"nothing lost", percent(0), "0 %"},
		{"little lost", percent(0.0000123), "0.0012 %"},
		{"one of a thousand million", percent(1e-9), "1e-07 %"},
		{"some lost", percent(0.123456), "12.346 %"},
		{"all lost", percent(1), "100.000 %"},
		{"0 ns", nanoseconds(0), "0 ns"},
		{"999 ns", nanoseconds(999), "999 ns"},
		{"microseconds", nanoseconds(1234), "1.23 us"},
		{"nearly a millisecond", nanoseconds(999_499), "999 us"},
		{"rounds to a millisecond", nanoseconds(999_500), "1 ms"},
		{"milliseconds", nanoseconds(123_456_789), "123 ms"},
		{"nearly a second", nanoseconds(999_499_999), "999 ms"},
		{"rounds to a second", nanoseconds(999_500_000), "1.000 s"},
		{"seconds", nanoseconds(61_234_567_890), "61.235 s"},
		{"negative", nanoseconds(-1500), "-1.5 us"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.got != tt.want {
				t.Errorf("have %q, want %q", tt.got, tt.want)
			}
		})
	}
}
