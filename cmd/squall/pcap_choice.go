package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// moment is a time on a capture's clock.
type moment struct {
	ns     int64 // since 1970
	behind int64 // ns since the first frame, until begin is told of that; below 0: not so
}

// parseMoment reads a time, or nothing.
func parseMoment(s string) (*moment, error) {
	if s == "" {
		return nil, nil
	}
	if rest, ok := strings.CutPrefix(s, "+"); ok {
		d, err := time.ParseDuration(rest)
		if err != nil || d < 0 {
			return nil, fmt.Errorf("%q: need a time behind the first frame, as +1.5s", s)
		}
		return &moment{ns: math.MaxInt64, behind: int64(d)}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			if t.Unix() < 0 || t.Unix() >= math.MaxInt64/1_000_000_000 {
				return nil, fmt.Errorf("%q: need a time of the years 1970 to 2262", s)
			}
			return &moment{t.UnixNano(), -1}, nil
		}
	}
	whole, fraction, _ := strings.Cut(s, ".")
	seconds, err := strconv.ParseUint(whole, 10, 33)
	nanos, bad := strconv.ParseUint((fraction + "000000000")[:max(9, len(fraction))], 10, 30)
	if err != nil || bad != nil || len(fraction) > 9 {
		return nil, fmt.Errorf("%q: need a time, as 2006-01-02T15:04:05.5Z, 1136214245.5 (seconds since 1970) or +1.5s (behind the first frame)", s)
	}
	return &moment{int64(seconds*1e9 + nanos), -1}, nil
}

// begin tells the time of the first frame; later ones do not count.
func (m *moment) begin(first int64) {
	if m == nil || m.behind < 0 {
		return
	}
	m.ns = first + min(m.behind, math.MaxInt64-first)
	m.behind = -1
}

// spans are numbers from 1; nil: all.
type spans []span

type span struct{ first, last uint64 }

// parseSpans reads numbers as 1,10-20,30- or nothing.
func parseSpans(s string) (list spans, _ error) {
	if s == "" {
		return nil, nil
	}
	for _, one := range strings.Split(s, ",") {
		from, to, ranged := strings.Cut(strings.TrimSpace(one), "-")
		x := span{1, math.MaxUint64}
		var err, bad error
		if from != "" || !ranged {
			x.first, err = strconv.ParseUint(from, 10, 64)
		}
		switch {
		case !ranged:
			x.last = x.first
		case to != "":
			x.last, bad = strconv.ParseUint(to, 10, 64)
		case from == "":
			bad = strconv.ErrSyntax
		}
		switch {
		case err != nil || bad != nil:
			return nil, fmt.Errorf("%q: need numbers and ranges, as 1,10-20,30-", one)
		case x.first == 0 || x.last == 0:
			return nil, fmt.Errorf("%q: frames are numbered from 1", one)
		case x.first > x.last:
			return nil, fmt.Errorf("%q: ends before it begins", one)
		}
		list = append(list, x)
	}
	return list, nil
}

// have reports whether a number is one of these.
func (s spans) have(n uint64) bool {
	for _, x := range s {
		if x.first <= n && n <= x.last {
			return true
		}
	}
	return s == nil
}

// passed reports whether none of these is n or more.
func (s spans) passed(n uint64) bool {
	for _, x := range s {
		if x.last >= n {
			return false
		}
	}
	return s != nil
}
