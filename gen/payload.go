package gen

import (
	"maps"
	"slices"
	"strings"

	"squall/internal/strict"
)

// payload is what stands behind the headers: the literal bytes once, then the
// pattern again and again.
type payload struct {
	none    bool
	literal []byte
	pattern []byte // nil: zeros
}

func (p *payload) read(s *Spec, path string, fields map[string]string) error {
	if len(fields) > 1 {
		return s.errorf(path, "payload: have %s, need one of them", strings.Join(slices.Sorted(maps.Keys(fields)), " and "))
	}
	for name, value := range fields {
		var err error
		switch name {
		case "none":
			p.none = true
		case "zeros":
		case "hex":
			p.literal, err = parseHex(value)
		case "pattern":
			p.pattern, err = parseHex(value)
		case "text":
			p.literal = []byte(value)
		default:
			return s.errorf(path+"."+name, "unknown payload %q%s", name, strict.Nearest(name, []string{"zeros", "none", "hex", "pattern", "text"}))
		}
		if err != nil {
			return s.errorf(path+"."+name, "payload.%s %q: %w", name, value, err)
		}
	}
	return nil
}

// bytes returns the payload's first n bytes.
func (p *payload) bytes(n int) []byte {
	b := make([]byte, n)
	at := copy(b, p.literal)
	if len(p.pattern) > 0 {
		for at < n {
			at += copy(b[at:], p.pattern)
		}
	}
	return b
}

func readRaw(s *Spec, path string, fields map[string]string) ([]byte, error) {
	for name := range fields {
		if name != "hex" {
			return nil, s.errorf(path+"."+name, "unknown field %q of raw%s", name, strict.Nearest(name, []string{"hex"}))
		}
	}
	b, err := parseHex(fields["hex"])
	if err != nil {
		return nil, s.errorf(path+".hex", "raw %q: %w", fields["hex"], err)
	}
	return b, nil
}
