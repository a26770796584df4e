package impair

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"squall/internal/pace"
	"squall/internal/plan"
)

// SyntaxError is a rule that is not one.
type SyntaxError struct {
	Rule   string // as it was written
	Column int    // of the word that is wrong, from 1; behind the end where one is missing
	Err    error
}

// Error returns the error, the rule and a mark below the place:
//
//	impairment, column 6: 2 in every 1 are more than there are
//	  drop 2/1
//	       ^
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("impairment, column %d: %v\n  %s\n  %s^", e.Column, e.Err, e.Rule, strings.Repeat(" ", e.Column-1))
}

// Unwrap returns what is wrong, without the place.
func (e *SyntaxError) Unwrap() error { return e.Err }

// Parse reads rules, each a text of its own; docs/impairments.md has the grammar.
// Errors are a *SyntaxError.
//
//	rule   = "drop" where
//	       | "duplicate" where [ "x" copies ]
//	       | "swap" where
//	       | "hold" where "by" ( frames | time )
//	       | "reorder" burst ( "/" every | chance | "at" places ) [ "reverse" | "rotate" [ frames ] | "shuffle" ]
//	       | "corrupt" where [ "payload" | "header" | "checksum" | "ip-checksum" ]
//	where  = k "/" every | chance | "at" places
//	chance = number "%"
//	places = range { "," range }
//	range  = frame [ "-" frame ]
func Parse(specs ...string) (Rules, error) {
	var rs Rules
	for _, s := range specs {
		p := &parser{text: s}
		r, err := p.rule()
		if err == nil {
			p.back(p.where)
			err = r.check()
		}
		if err != nil {
			return nil, &SyntaxError{Rule: s, Column: p.at + 1, Err: err}
		}
		rs = append(rs, r)
	}
	return rs, nil
}

// parser goes through the words of a rule.
type parser struct {
	text  string
	at    int // where the last word began
	next  int // where the next may begin
	where int // where the word began that says where
}

// word returns the next word, "" at the end.
func (p *parser) word() string {
	rest := strings.TrimLeft(p.text[p.next:], " \t")
	p.at = len(p.text) - len(rest)
	n := strings.IndexAny(rest, " \t")
	if n < 0 {
		n = len(rest)
	}
	p.next = p.at + n
	return rest[:n]
}

// back goes back to the word that began there.
func (p *parser) back(at int) { p.at, p.next = at, at }

// peek returns the next word and leaves it where it is.
func (p *parser) peek() string {
	at, next := p.at, p.next
	w := p.word()
	p.at, p.next = at, next
	return w
}

func (p *parser) rule() (Rule, error) {
	r := Rule{Text: p.text}
	name := p.word()
	known := false
	for k := range plan.Kinds {
		if plan.Kind(k).String() == name {
			r.Kind, known = plan.Kind(k), true
		}
	}
	if !known {
		return r, fmt.Errorf("%q: need drop, duplicate, swap, hold, reorder or corrupt", name)
	}
	if r.Kind == plan.Reorder {
		if err := p.burst(&r); err != nil {
			return r, err
		}
	} else if err := p.place(&r); err != nil {
		return r, err
	}
	var err error
	switch r.Kind {
	case plan.Duplicate:
		err = p.copies(&r)
	case plan.Hold:
		err = p.hold(&r)
	case plan.Reorder:
		err = p.order(&r)
	case plan.Corrupt:
		err = p.spot(&r)
	}
	if err != nil {
		return r, err
	}
	if w := p.word(); w != "" {
		return r, fmt.Errorf("%q: nothing may follow", w)
	}
	return r, nil
}

// place reads K/N, P% or at PLACES.
func (p *parser) place(r *Rule) (err error) {
	w := p.word()
	p.where = p.at
	k, n, share := strings.Cut(w, "/")
	switch {
	case w == "at":
		return p.places(r)
	case share:
		if r.K, err = number(k, 1, plan.MaxOrder); err == nil {
			r.N, err = number(n, 1, math.MaxInt64)
		}
	case strings.HasSuffix(w, "%"):
		r.Chance, err = chance(w)
	case w == "":
		return fmt.Errorf("where? Need K/N (K in every N frames), P%% (by chance) or at PLACES")
	default:
		return fmt.Errorf("%q: need K/N (K in every N frames), P%% (by chance) or at PLACES", w)
	}
	if err != nil {
		return fmt.Errorf("%q: %w", w, err)
	}
	return nil
}

// burst reads what place does, of a burst: B/N, B P% or B at PLACES.
func (p *parser) burst(r *Rule) (err error) {
	w := p.word()
	p.where = p.at
	b, n, share := strings.Cut(w, "/")
	if r.Burst, err = number(b, 2, plan.MaxOrder); err == nil && share {
		r.K = 1
		r.N, err = number(n, 1, math.MaxInt64)
	}
	if err != nil {
		return fmt.Errorf("%q: need the frames of a burst, as in 16/1000, 16 1%% or 16 at 100: %w", w, err)
	}
	if share {
		return nil
	}
	if next := p.peek(); next != "at" && !strings.HasSuffix(next, "%") {
		p.word()
		return fmt.Errorf("where? Need %s/N (in every N frames), %s P%% (by chance) or %s at PLACES", w, w, w)
	}
	return p.place(r)
}

func (p *parser) places(r *Rule) error {
	w := p.word()
	p.where = p.at
	for _, q := range strings.Split(w, ",") {
		from, to, wide := strings.Cut(q, "-")
		a, err := number(from, 1, math.MaxInt64)
		b := a
		if err == nil && wide {
			b, err = number(to, a, math.MaxInt64)
		}
		if err != nil {
			return fmt.Errorf("%q: need frames counted from 1, as 100,200-210: %w", w, err)
		}
		r.Places = append(r.Places, Range{a, b})
	}
	return nil
}

func (p *parser) copies(r *Rule) (err error) {
	r.Copies = 1
	if w := p.peek(); strings.HasPrefix(w, "x") {
		p.word()
		if r.Copies, err = number(w[1:], 1, 1<<16); err != nil {
			return fmt.Errorf("%q: need copies beside the frame itself, as x3: %w", w, err)
		}
	}
	return nil
}

func (p *parser) hold(r *Rule) (err error) {
	if w := p.word(); w != "by" {
		return fmt.Errorf("%q: need by and how long: by 5 (frames) or by 3ms", w)
	}
	w := p.word()
	if r.By, err = number(w, 1, plan.MaxOrder); err == nil {
		return nil
	}
	d, bad := time.ParseDuration(w)
	switch {
	case bad != nil && w != "" && strings.Trim(w, "0123456789") != "":
		return fmt.Errorf("%q: need frames, as 5, or a time with its unit, as 3ms", w)
	case bad != nil:
		return fmt.Errorf("%q: need frames, as 5, or a time, as 3ms: %w", w, err)
	case d <= 0:
		return fmt.Errorf("%q: need a time above 0", w)
	}
	r.By, r.For = 0, d
	return nil
}

func (p *parser) order(r *Rule) (err error) {
	switch w := p.word(); w {
	case "", "reverse":
	case "shuffle":
		r.Order = Shuffle
	case "rotate":
		r.Order, r.Turn = Rotate, 1
		if w := p.peek(); w != "" {
			p.word()
			if r.Turn, err = number(w, 1, r.Burst-1); err != nil {
				return fmt.Errorf("%q: need how many frames go to the end: %w", w, err)
			}
		}
	default:
		return fmt.Errorf("%q: need reverse, rotate or shuffle", w)
	}
	return nil
}

func (p *parser) spot(r *Rule) error {
	switch w := p.word(); w {
	case "", "payload":
		r.Spot = plan.Payload
	case "header":
		r.Spot = plan.Header
	case "checksum":
		r.Spot = plan.Checksum
	case "ip-checksum":
		r.Spot = plan.IPChecksum
	default:
		return fmt.Errorf("%q: need payload, header, checksum or ip-checksum", w)
	}
	return nil
}

// number reads a whole number from least to most.
func number(text string, least, most uint64) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n < least || n > most {
		if most > 1<<32 {
			return 0, fmt.Errorf("have %q, need a whole number of at least %d", text, least)
		}
		return 0, fmt.Errorf("have %q, need a whole number, %d to %d", text, least, most)
	}
	return n, nil
}

// chance reads a percentage above 0 and below 100 as a share of 2^64.
func chance(text string) (uint64, error) {
	v, ok := pace.Number(strings.TrimSuffix(text, "%"))
	if !ok || v.Sign() <= 0 || v.Cmp(big.NewRat(100, 1)) >= 0 {
		return 0, fmt.Errorf("need a percentage above 0 and below 100")
	}
	v.Mul(v, new(big.Rat).SetFrac(new(big.Int).Lsh(big.NewInt(1), 64), big.NewInt(100)))
	n := new(big.Int).Quo(v.Num(), v.Denom())
	return max(n.Uint64(), 1), nil
}
