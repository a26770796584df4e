package metrics

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"
)

// Point is one sample of a figure.
type Point struct {
	At    int64 // CLOCK_MONOTONIC ns
	Value float64
}

// Figures are what is known of a trial.
type Figures struct {
	Values map[string]float64
	Series map[string][]Point
}

// Results of a Check, as scenarios has them.
const (
	Pass = "pass"
	Fail = "fail"
	Void = "void"
)

// Check is what an expression came to. Where it is a comparison Metric is its left
// side, Asked the rest and Seen the left side's value.
type Check struct{ Metric, Asked, Seen, Result string }

// ErrUnknown: a figure that is not there.
var ErrUnknown = errors.New("no such figure")

// Expr is an expression that must hold.
type Expr struct {
	text, metric, asked string
	whole, left         *vm.Program // left nil: no comparison
	names               []string
	times               bool // its numbers are times
}

// constants are the units that stand alone, as in 1/h.
var constants = map[string]float64{"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9}

// Compile reads an expression. The error says at which column, from 1, it is wrong.
func Compile(text string) (*Expr, error) {
	plain, times, moved := units(text)
	x := &Expr{text: text, metric: text, asked: "holds", times: times}
	var err error
	if x.whole, err = compile(plain, expr.AsBool()); err != nil {
		return nil, place(err, moved)
	}
	x.names = names(x.whole.Node())
	tree, err := parser.Parse(plain)
	if err != nil {
		return nil, place(err, moved)
	}
	if b, ok := tree.Node.(*ast.BinaryNode); ok && slices.Contains([]string{"<", "<=", "==", "!=", ">=", ">"}, b.Operator) {
		if x.left, err = compile(b.Left.String(), expr.AsFloat64()); err != nil {
			x.left = nil // of another type: seen is the whole's
		} else if at := strings.Index(text, b.Operator); at > 0 {
			x.metric, x.asked = strings.TrimSpace(text[:at]), strings.TrimSpace(text[at:])
		}
	}
	return x, nil
}

// Names are the figures that the expression needs, in order of name.
func (x *Expr) Names() []string { return slices.Clone(x.names) }

// Check evaluates the expression.
func (x *Expr) Check(f Figures) Check {
	c := Check{Metric: x.metric, Asked: x.asked}
	env := environment(f)
	v, err := expr.Run(x.whole, env)
	if err != nil {
		c.Result, c.Seen = Void, said(err)
		return c
	}
	c.Result = Fail
	if v.(bool) { // AsBool
		c.Result = Pass
	}
	c.Seen = strconv.FormatBool(v.(bool))
	if x.left == nil {
		return c
	}
	if left, err := expr.Run(x.left, env); err == nil {
		c.Seen = x.format(left.(float64)) // AsFloat64
	}
	return c
}

func (x *Expr) format(v float64) string {
	if x.times && !strings.Contains(x.text, "slope") {
		return time.Duration(v).String()
	}
	if strings.Contains(x.text, "/h") {
		return fmt.Sprintf("%.4g/h", v*constants["h"])
	}
	return fmt.Sprintf("%.4g", v)
}

// figure and slope are the functions that names become.
const figure, slope = "figure", "slope"

func environment(f Figures) map[string]any {
	env := map[string]any{
		figure: func(name string) (float64, error) {
			v, ok := f.Values[name]
			if !ok {
				return 0, fmt.Errorf("%w: %s", ErrUnknown, name)
			}
			return v, nil
		},
		slope: func(name string) (float64, error) {
			t, err := TheilSen(f.Series[name])
			if err != nil {
				return 0, fmt.Errorf("slope of %s: %w", name, err)
			}
			return t.Slope, nil
		},
	}
	for name, v := range constants {
		env[name] = v
	}
	return env
}

func compile(text string, as expr.Option) (*vm.Program, error) {
	return expr.Compile(text, expr.Env(environment(Figures{})), expr.Patch(namer{}), as)
}

// namer makes calls of figure of names with dots. It sees children first, so a.b.c
// is figure("a.b") with a member c by then.
type namer struct{}

func (namer) Visit(n *ast.Node) {
	switch x := (*n).(type) {
	case *ast.MemberNode:
		key, ok := x.Property.(*ast.StringNode)
		if !ok {
			return
		}
		var of string
		switch parent := x.Node.(type) {
		case *ast.IdentifierNode:
			of = parent.Value
		case *ast.CallNode:
			of = named(parent, figure)
		}
		if of != "" {
			ast.Patch(n, call(figure, of+"."+key.Value))
		}
	case *ast.CallNode:
		if callee, ok := x.Callee.(*ast.IdentifierNode); !ok || callee.Value != slope || len(x.Arguments) != 1 {
			return
		}
		if arg, ok := x.Arguments[0].(*ast.CallNode); ok {
			if of := named(arg, figure); of != "" {
				ast.Patch(n, call(slope, of))
			}
		}
	}
}

func call(function, name string) ast.Node {
	return &ast.CallNode{Callee: &ast.IdentifierNode{Value: function}, Arguments: []ast.Node{&ast.StringNode{Value: name}}}
}

// named returns the name of a call of the function; empty: it is none.
func named(c *ast.CallNode, function string) string {
	callee, ok := c.Callee.(*ast.IdentifierNode)
	if !ok || callee.Value != function || len(c.Arguments) != 1 {
		return ""
	}
	if s, ok := c.Arguments[0].(*ast.StringNode); ok {
		return s.Value
	}
	return ""
}

// collector finds the names of a patched tree.
type collector map[string]bool

func (c collector) Visit(n *ast.Node) {
	if x, ok := (*n).(*ast.CallNode); ok {
		for _, function := range []string{figure, slope} {
			if of := named(x, function); of != "" {
				c[of] = true
			}
		}
	}
}

func names(n ast.Node) []string {
	c := make(collector)
	ast.Walk(&n, c)
	all := make([]string, 0, len(c))
	for name := range c {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// unit is a number with a unit behind it. What is behind a % must not be an
// operand, or the % divides.
var unit = regexp.MustCompile(`(^|[^\w.\]"])(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s?(ns|us|ms|min|s|m|h|kpps|Mpps|%)(\s*(?:$|[)\],&|<>=!?:]|and\b|or\b)|\b)`)

var factors = map[string]string{
	"ns": "1", "us": "1e3", "ms": "1e6", "s": "1e9", "m": "60e9", "min": "60e9", "h": "3600e9", "kpps": "1e3", "Mpps": "1e6", "%": "0.01",
}

// shift is by how many columns what stands behind a column has moved.
type shift struct{ from, by int }

// units writes numbers with units as products, and says whether any was a time.
func units(text string) (plain string, times bool, moved []shift) {
	for {
		m := unit.FindStringSubmatchIndex(text)
		if m == nil {
			return plain + text, times, moved
		}
		number, u, behind := text[m[4]:m[5]], text[m[6]:m[7]], text[m[8]:m[9]]
		if u == "%" && behind == "" && m[9] < len(text) {
			plain, text = plain+text[:m[9]], text[m[9]:]
			continue
		}
		times = times || u != "%" && !strings.HasSuffix(u, "pps")
		product := "(" + number + "*" + factors[u] + ")"
		plain += text[:m[4]] + product
		moved = append(moved, shift{from: len(plain), by: len(product) - (m[8] - m[4])})
		text = text[m[8]:]
	}
}

// place is an error with its column, without the library's drawing.
func place(err error, moved []shift) error {
	var at *file.Error
	if !errors.As(err, &at) {
		return err
	}
	column := at.Column
	for _, m := range slices.Backward(moved) {
		if column >= m.from {
			column -= m.by
		}
	}
	return fmt.Errorf("column %d: %s", column+1, at.Message)
}

// said is an error of an evaluation without the library's drawing.
func said(err error) string {
	var at *file.Error
	if errors.As(err, &at) {
		if at.Prev != nil {
			return at.Prev.Error()
		}
		return at.Message
	}
	return err.Error()
}
