package probe

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Format takes the numbers out of a text. It leaves Where to the probe. A text
// without any number is an error: something else answered.
type Format func(text []byte) ([]Counter, error)

// ParseFormat reads a format's name: lines, json, sysctl, prometheus, or a
// regular expression between slashes. Empty: lines.
func ParseFormat(s string) (Format, error) {
	switch s {
	case "", "lines":
		return Lines, nil
	case "json":
		return JSON, nil
	case "sysctl":
		return Sysctl, nil
	case "prometheus":
		return Prometheus, nil
	}
	if len(s) > 1 && s[0] == '/' && s[len(s)-1] == '/' {
		return Pattern(s[1 : len(s)-1])
	}
	return nil, fmt.Errorf("format %q: need lines, json, sysctl, prometheus or /REGULAR EXPRESSION/", s)
}

// Levels returns the format with the counters of matching names taken for
// levels. A text does not say which of its numbers are states; where nothing
// else was said a format takes whole numbers for counts, and what has a sign, a
// fraction or a percent sign for a level. See also [Fell].
func (f Format) Levels(names *regexp.Regexp) Format { return f.mark(names, true) }

// Counts returns the format with the counters of matching names taken for
// counts, fractions and all: seconds spent, for one.
func (f Format) Counts(names *regexp.Regexp) Format { return f.mark(names, false) }

func (f Format) mark(names *regexp.Regexp, level bool) Format {
	return func(text []byte) ([]Counter, error) {
		counters, err := f(text)
		for i := range counters {
			if names.MatchString(counters[i].Name) {
				counters[i].Level = level
			}
		}
		return counters, err
	}
}

// found collects what a format finds, and gives a name that is there twice the
// number of its turn: drops, drops#2.
type found struct {
	counters []Counter
	seen     map[string]int
}

func (f *found) add(c Counter) {
	if f.seen == nil {
		f.seen = map[string]int{}
	}
	for name := c.Name; f.seen[c.Name] > 0; {
		f.seen[name]++
		c.Name = fmt.Sprintf("%s#%d", name, f.seen[name])
	}
	f.seen[c.Name] = 1
	f.counters = append(f.counters, c)
}

// result is the end of a format: what was found, or what it looked for.
func (f *found) result(wanted string) ([]Counter, error) {
	if len(f.counters) == 0 {
		return nil, fmt.Errorf("no number in the text: need %s", wanted)
	}
	return f.counters, nil
}

// number reads a number as texts have them: decimal, with sign, fraction and
// exponent, or 0x and hexadecimal digits. NaN and infinities are none.
func number(s string) (c Counter, ok bool) {
	if hex, is := strings.CutPrefix(s, "0x"); is {
		v, err := strconv.ParseUint(hex, 16, 64)
		return Counter{Value: v}, err == nil
	}
	if v, err := strconv.ParseUint(s, 10, 64); err == nil {
		return Counter{Value: v}, true
	}
	if strings.Trim(s, "0123456789+-.eE") != "" {
		return Counter{}, false // ParseFloat also takes inf, nan, 0x1p-2 and 1_000
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return Counter{}, false
	}
	c.Level = true
	c.set(v)
	return c, true
}
