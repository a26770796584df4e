package probe

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Prometheus is the text format of Prometheus, version 0.0.4
// (https://prometheus.io/docs/instrumenting/exposition_formats/). A counter is
// named as on the page, labels included: node_cpu_seconds_total{cpu="0",mode="user"}.
// What the page calls a counter is a count, fractions and all; so are the
// buckets, sums and counts of histograms and summaries. All else is a level.
// Samples that are no number (NaN, infinities) are passed over, timestamps too.
func Prometheus(text []byte) ([]Counter, error) {
	var f found
	kinds := map[string]string{}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if line[0] == '#' {
			if w := strings.Fields(line); len(w) == 4 && w[1] == "TYPE" {
				kinds[w[2]] = w[3]
			}
			continue
		}
		name, rest, err := promName(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		w := strings.Fields(rest)
		if len(w) == 0 {
			return nil, fmt.Errorf("line %d: %s: no value", n, name)
		}
		// Floats as of Go's ParseFloat, says the format.
		v, err := strconv.ParseFloat(w[0], 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return nil, fmt.Errorf("line %d: %s: %w", n, name, err)
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		c := Counter{Name: name, Level: !promCounts(kinds, name)}
		if whole, err := strconv.ParseUint(w[0], 10, 64); err == nil {
			c.Value = whole
		} else {
			c.set(v)
		}
		f.add(c)
	}
	return f.result("metrics of Prometheus")
}

// promName cuts the name, with its labels, off a sample.
func promName(line string) (name, rest string, err error) {
	end := strings.IndexAny(line, "{ \t")
	if end < 0 {
		return "", "", fmt.Errorf("have %q, need a name and a value", line)
	}
	if line[end] != '{' {
		return line[:end], line[end:], nil
	}
	quoted := false
	for i := end; i < len(line); i++ {
		switch c := line[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == '}' && !quoted:
			return line[:i+1], line[i+1:], nil
		}
	}
	return "", "", fmt.Errorf("have %q, need the end of its labels", line)
}

func promCounts(kinds map[string]string, sample string) bool {
	name, _, _ := strings.Cut(sample, "{")
	if kind, ok := kinds[name]; ok && kind != "summary" && kind != "histogram" {
		return kind == "counter"
	}
	for _, suffix := range [...]string{"_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, suffix); ok && (kinds[base] == "histogram" || kinds[base] == "summary") {
			return true
		}
	}
	return false
}
