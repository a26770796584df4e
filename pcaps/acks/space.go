package acks

// space unwraps the 32-bit sequence numbers of one direction to 64 bits: the
// zero value is ready, and takes the first number for its place.
type space struct {
	last  int64
	known bool
}

// at returns the number nearest to the last one (RFC 1982 section 3.2: within
// 2^31), and moves there.
func (s *space) at(v uint32) int64 {
	if !s.known {
		// Far enough from 0 for what lies before the first number.
		s.last, s.known = 1<<33+int64(v), true
		return s.last
	}
	s.last += int64(int32(v - uint32(s.last)))
	return s.last
}

// A span is the bytes from from up to, not including, to.
type span struct{ from, to int64 }

// maxSpans bounds what one end is remembered of.
const maxSpans = 256

// spans are bytes in ascending order, no two touching.
type spans []span

// add puts in s and reports whether a byte of it is new. Above maxSpans the
// lowest are forgotten.
func (l *spans) add(s span) bool {
	have := *l
	i := 0
	for i < len(have) && have[i].to < s.from {
		i++
	}
	j := i
	fresh := true
	for ; j < len(have) && have[j].from <= s.to; j++ {
		if have[j].from <= s.from && have[j].to >= s.to {
			fresh = false
		}
		s.from, s.to = min(s.from, have[j].from), max(s.to, have[j].to)
	}
	if j == i {
		have = append(have, span{})
		copy(have[i+1:], have[i:])
	} else {
		have = append(have[:i+1], have[j:]...)
	}
	have[i] = s
	if len(have) > maxSpans {
		have = append(have[:0], have[1:]...)
	}
	*l = have
	return fresh
}

// forget drops what lies below at.
func (l *spans) forget(at int64) {
	have := *l
	n := 0
	for n < len(have) && have[n].to <= at {
		n++
	}
	have = append(have[:0], have[n:]...)
	if len(have) > 0 {
		have[0].from = max(have[0].from, at)
	}
	*l = have
}
