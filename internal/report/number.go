package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// count writes a number with its thousands parted, as 1,234,567.
func count(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func signed(n int64) string {
	if n < 0 {
		return "-" + count(-uint64(n))
	}
	return count(uint64(n))
}

// decimal writes a rate: two digits behind the point, three below 1,000.
func decimal(f float64) string {
	if f < 999.9995 {
		return strconv.FormatFloat(f, 'f', 3, 64)
	}
	hundredths := uint64(math.Round(f * 100))
	return fmt.Sprintf("%s.%02d", count(hundredths/100), hundredths%100)
}

func percent(ratio float64) string {
	switch {
	case ratio == 0:
		return "0 %"
	case ratio < 0.0001:
		return fmt.Sprintf("%.2g %%", ratio*100)
	}
	return fmt.Sprintf("%.3f %%", ratio*100)
}

// nanoseconds writes a time in the unit that suits it.
func nanoseconds(ns int64) string {
	f := float64(ns)
	switch {
	case ns < 0:
		return "-" + nanoseconds(-ns)
	case ns < 1e3:
		return fmt.Sprintf("%d ns", ns)
	// Three digits, with which 999,500 ns are 1 ms.
	case ns < 999_500:
		return fmt.Sprintf("%.3g us", f/1e3)
	case ns < 999_500_000:
		return fmt.Sprintf("%.3g ms", f/1e6)
	}
	return fmt.Sprintf("%.3f s", f/1e9)
}

// times writes several, a cell each.
func times(ns ...int64) string {
	cells := make([]string, len(ns))
	for i, n := range ns {
		cells[i] = nanoseconds(n)
	}
	return strings.Join(cells, "\t")
}
