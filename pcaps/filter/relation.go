package filter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// figure is a number that a frame has; false where it has it not.
type figure func(*view) (uint32, bool)

// named are the constants of pcap-filter(7).
var named = map[string]uint32{
	"tcpflags": 13, "icmptype": 0, "icmpcode": 1, "icmp6type": 0, "icmp6code": 1,
	"tcp-fin": 1, "tcp-syn": 2, "tcp-rst": 4, "tcp-push": 8, "tcp-ack": 16, "tcp-urg": 32, "tcp-ece": 64, "tcp-cwr": 128,
	"icmp-echoreply": 0, "icmp-unreach": 3, "icmp-sourcequench": 4, "icmp-redirect": 5, "icmp-echo": 8, "icmp-timxceed": 11, "icmp-paramprob": 12,
	"icmp6-destinationunreach": 1, "icmp6-packettoobig": 2, "icmp6-timeexceeded": 3, "icmp6-parameterproblem": 4, "icmp6-echo": 128, "icmp6-echoreply": 129,
	"icmp6-neighborsolicit": 135, "icmp6-neighboradvert": 136,
}

var relations = []string{"=", "==", "!=", ">", "<", ">=", "<="}

func isRelation(s string) bool { return slices.Contains(relations, s) }

// isFigure reports whether what comes is a figure rather than a primitive.
func (p *parser) isFigure() bool {
	if p.at+1 >= len(p.tokens) {
		return false
	}
	return p.tokens[p.at+1].text == "[" || p.peek() == "len"
}

// relation is two figures and how they compare.
func (p *parser) relation() (test, error) {
	left, err := p.figure()
	if err != nil {
		return nil, err
	}
	op := p.peek()
	if !isRelation(op) {
		return nil, fmt.Errorf("need one of %s", strings.Join(relations, " "))
	}
	p.at++
	right, err := p.figure()
	if err != nil {
		return nil, err
	}
	return func(v *view) bool {
		l, ok := left(v)
		r, there := right(v)
		return ok && there && compare(op, l, r)
	}, nil
}

func compare(op string, l, r uint32) bool {
	switch op {
	case "!=":
		return l != r
	case ">":
		return l > r
	case "<":
		return l < r
	case ">=":
		return l >= r
	case "<=":
		return l <= r
	}
	return l == r
}

// figure is operands joined by & and |, from left to right.
func (p *parser) figure() (figure, error) {
	left, err := p.operand()
	for err == nil {
		and := p.peek() == "&"
		if !p.take("&", "|") {
			return left, nil
		}
		var right figure
		right, err = p.operand()
		l := left
		left = func(v *view) (uint32, bool) {
			a, ok := l(v)
			b, there := right(v)
			if and {
				return a & b, ok && there
			}
			return a | b, ok && there
		}
	}
	return nil, err
}

func (p *parser) operand() (figure, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("more than %d parentheses within each other", maxDepth)
	}
	defer func() { p.depth-- }()
	if p.take("(") {
		f, err := p.figure()
		if err == nil && !p.take(")") {
			err = errors.New("need )")
		}
		return f, err
	}
	w, err := p.word("a number, a name as tcp-syn, or bytes as ip[8]")
	if err != nil {
		return nil, err
	}
	if p.take("[") {
		return p.field(w)
	}
	if w == "len" {
		return func(v *view) (uint32, bool) { return uint32(v.length), true }, nil
	}
	n, err := constant(w)
	if err != nil {
		p.at--
	}
	return func(*view) (uint32, bool) { return n, true }, err
}

func constant(w string) (uint32, error) {
	if n, ok := named[w]; ok {
		return n, nil
	}
	n, err := strconv.ParseUint(w, 0, 32)
	if err != nil {
		return 0, fmt.Errorf("%q: need a number or a name as tcp-syn", w)
	}
	return uint32(n), nil
}

// field is the rest of proto[offset:size].
func (p *parser) field(proto string) (figure, error) {
	w, err := p.word("an offset, as tcp[13] or ip[2:2]")
	if err != nil {
		return nil, err
	}
	text, width, sized := strings.Cut(w, ":")
	offset, err := constant(text)
	size := 1
	if err == nil && sized {
		if size, err = strconv.Atoi(width); err != nil || size != 1 && size != 2 && size != 4 {
			err = fmt.Errorf("%q: a size is 1, 2 or 4 bytes", w)
		}
	}
	begin, e := start(proto)
	if err == nil {
		err = e
	}
	if err == nil && !p.take("]") {
		err = errors.New("need ]")
	}
	if err == nil && offset > 1<<16 {
		err = fmt.Errorf("%q: no frame has such an offset", w)
	}
	return func(v *view) (uint32, bool) {
		at := begin(v)
		from := at + int(offset)
		if at < 0 || from+size > len(v.frame) {
			return 0, false
		}
		switch b := v.frame[from:]; size {
		case 2:
			return uint32(binary.BigEndian.Uint16(b)), true
		case 4:
			return binary.BigEndian.Uint32(b), true
		default:
			return uint32(b[0]), true
		}
	}, err
}

// start returns where a header begins in a frame, below 0 where it has none.
func start(proto string) (func(*view) int, error) {
	if proto == "ether" {
		return func(*view) int { return 0 }, nil
	}
	if et, ok := byEther[proto]; ok {
		return func(v *view) int {
			if v.ether() != et || v.packet.L3 == 0 {
				return -1
			}
			return v.packet.L3
		}, nil
	}
	number, ok := byProto[proto]
	if !ok {
		return nil, fmt.Errorf("%q has no bytes to look at: need ether, ip, ip6, arp, tcp, udp, sctp, icmp, icmp6, igmp", proto)
	}
	return func(v *view) int {
		if !v.proto(number) || v.packet.Offset > 0 {
			return -1
		}
		return v.packet.L4
	}, nil
}
