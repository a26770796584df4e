package filter

import (
	"errors"
	"fmt"
	"strings"
)

// maxDepth bounds parentheses and negations within each other.
const maxDepth = 100

// parser goes through the tokens of an expression.
type parser struct {
	tokens []token
	at     int
	depth  int
	// last is what the primitive in front said of itself, for one that says nothing.
	last qualifiers
}

// Compile reads an expression. An empty one is true of every frame.
func Compile(expression string) (*Filter, error) {
	if strings.TrimSpace(expression) == "" {
		return &Filter{test: func(*view) bool { return true }}, nil
	}
	tokens, err := lex(expression)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	t, err := p.expression()
	if err == nil && p.at < len(tokens) {
		err = fmt.Errorf("need and, or, or the end, have %q", tokens[p.at].text)
	}
	if err != nil {
		where := "at its end"
		if p.at < len(tokens) {
			where = fmt.Sprintf("at byte %d", tokens[p.at].at)
		}
		return nil, fmt.Errorf("filter %q %s: %w", expression, where, err)
	}
	return &Filter{test: t}, nil
}

// peek returns the next token; "" at the end.
func (p *parser) peek() string {
	if p.at < len(p.tokens) {
		return p.tokens[p.at].text
	}
	return ""
}

// take takes the next token if it is one of these.
func (p *parser) take(texts ...string) bool {
	for _, t := range texts {
		if p.peek() == t {
			p.at++
			return true
		}
	}
	return false
}

// word takes the next token, a word; what says what is needed.
func (p *parser) word(what string) (string, error) {
	if p.at >= len(p.tokens) || !p.tokens[p.at].word {
		return "", fmt.Errorf("need %s", what)
	}
	p.at++
	return p.tokens[p.at-1].text, nil
}

// expression is terms joined by and and or, which bind alike (pcap-filter(7)).
func (p *parser) expression() (test, error) {
	left, err := p.term()
	for err == nil {
		var right test
		switch {
		case p.take("and", "&&"):
			if right, err = p.term(); err == nil {
				l := left
				left = func(v *view) bool { return l(v) && right(v) }
			}
		case p.take("or", "||"):
			if right, err = p.term(); err == nil {
				l := left
				left = func(v *view) bool { return l(v) || right(v) }
			}
		default:
			return left, nil
		}
	}
	return nil, err
}

func (p *parser) term() (test, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("more than %d parentheses and negations within each other", maxDepth)
	}
	defer func() { p.depth-- }()
	switch {
	case p.take("not", "!"):
		t, err := p.term()
		return func(v *view) bool { return !t(v) }, err
	case p.peek() == "(":
		begin := *p
		p.at++
		t, err := p.expression()
		if err == nil && !p.take(")") {
			err = errors.New("need )")
		}
		if err == nil && !isRelation(p.peek()) {
			return t, nil
		}
		// It may be the parenthesis of a figure: (tcp[13] & 2) != 0.
		far := *p
		*p = begin
		if t, e := p.relation(); e == nil {
			return t, nil
		}
		*p = far
		return nil, err
	case p.isFigure():
		return p.relation()
	}
	return p.primitive()
}
