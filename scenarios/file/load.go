package file

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"squall/gen"
	"squall/internal/pace"
	"squall/internal/strict"
)

// Options change what a file says.
type Options struct {
	// Set gives variables other values. A name that the file does not have is an
	// error.
	Set []Var
	// Setting is the name of the setting whose variables count; empty: none.
	Setting string
	// Lab has the lab's variables count. Set goes before both.
	Lab bool
	// TimeScale multiplies the times of phases; 0: 1.
	TimeScale float64
}

// Load reads a scenario; name is what errors call the file. Errors about the content
// are a *strict.Error.
func Load(name string, data []byte, o Options) (*Scenario, error) {
	f, root, err := strict.Parse(name, data)
	if err != nil {
		return nil, err
	}
	if root == nil {
		return nil, f.Errorf(strict.Mark{Line: 1, Column: 1}, "no scenario: need at least pairs, streams and phases")
	}
	s := &Scenario{marks: strict.NewMarks(f)}
	l := &loader{Marks: s.marks, scale: o.TimeScale}
	if l.scale == 0 {
		l.scale = 1
	}
	if err := l.substitute(root, s, o); err != nil {
		return nil, err
	}
	if err := l.scenario(root, s); err != nil {
		return nil, err
	}
	return s, s.check()
}

type loader struct {
	*strict.Marks
	scale float64
}

func (l *loader) scenario(n *yaml.Node, s *Scenario) error {
	return l.Mapping(n, "", strict.Keys{
		"name":     l.Text(&s.Name),
		"about":    l.Text(&s.About),
		"vars":     l.vars(new([]Var)), // substitute has read them
		"pairs":    l.List(item(&s.Pairs, l.pair)),
		"engine":   l.oneOf(&s.Engine, "auto", "packet", "xdp", "live"),
		"receiver": l.oneOf(&s.Receiver, "auto", "packet", "xdp", "live"),
		"cores":    l.Count(&s.Cores),
		"streams":  gen.Streams(l.Marks, &s.Streams),
		"replays":  l.List(item(&s.Replays, l.replay)),
		"phases":   l.List(item(&s.Phases, l.phase)),
		"probes":   l.List(item(&s.Probes, l.probe)),
		"before":   l.texts(&s.Before),
		"after":    l.texts(&s.After),
		"settings": l.List(item(&s.Settings, l.setting)),
		"repeat":   l.Count(&s.Repeat),
		"order":    l.oneOf(&s.Order, "alternate", "shuffle"),
		"seed":     l.Number(&s.Seed),
		"verdict": l.List(func(n *yaml.Node, path string) error {
			var c Check
			err := l.Text(&c.Expr)(n, path)
			s.Verdict = append(s.Verdict, c)
			return err
		}),
		"compare": l.List(item(&s.Compare, l.compared)),
		"lab": func(n *yaml.Node, path string) error {
			return l.Mapping(n, path, strict.Keys{
				"vars":      l.vars(&s.Lab.Vars),
				"limit":     l.Text(&s.Lab.Limit),
				"queues":    l.Count(&s.Lab.Queues),
				"misbehave": l.texts(&s.Lab.Misbehave),
			})
		},
	})
}

// item reads one item of a list.
func item[T any](to *[]T, read func(*T) strict.Reader) strict.Reader {
	return func(n *yaml.Node, path string) error {
		var v T
		err := read(&v)(n, path)
		*to = append(*to, v)
		return err
	}
}

func (l *loader) pair(p *Pair) strict.Reader {
	return l.keys(strict.Keys{"name": l.name(&p.Name), "tx": l.Text(&p.TX), "rx": l.Text(&p.RX), "dst_mac": l.Text(&p.DstMAC)})
}

func (l *loader) replay(r *Replay) strict.Reader {
	return l.keys(strict.Keys{"name": l.name(&r.Name), "file": l.Text(&r.File), "speed": l.Text(&r.Speed), "rate": l.rate(&r.Rate), "loop": l.Count(&r.Loop)})
}

func (l *loader) phase(p *Phase) strict.Reader {
	return l.keys(strict.Keys{
		"name":      l.name(&p.Name),
		"streams":   l.texts(&p.Streams),
		"replay":    l.Text(&p.Replay),
		"rate":      l.rate(&p.Rate),
		"ramp_from": l.rate(&p.RampFrom),
		"ramp_over": l.time(&p.RampOver),
		"burst":     l.Count(&p.Burst),
		"for":       l.time(&p.For),
		"count":     l.Count(&p.Count),
		"max_loss":  l.share(&p.MaxLoss),
	})
}

func (l *loader) probe(p *Probe) strict.Reader {
	return l.keys(strict.Keys{
		"name":    l.name(&p.Name),
		"kind":    l.oneOf(&p.Kind, Kinds...),
		"every":   l.span(&p.Every),
		"port":    l.Text(&p.Port),
		"ssh":     l.Text(&p.SSH),
		"command": l.Text(&p.Command),
		"url":     l.Text(&p.URL),
		"parse":   l.oneOf(&p.Parse, "names", "json", "sysctl", "prometheus"),
		"match":   l.Text(&p.Match),
		"counts":  l.table(&p.Counts),
	})
}

func (l *loader) setting(s *Setting) strict.Reader {
	return l.keys(strict.Keys{"name": l.name(&s.Name), "vars": l.vars(&s.Vars), "before": l.texts(&s.Before), "after": l.texts(&s.After)})
}

// compared reads a metric, or one with a threshold.
func (l *loader) compared(c *Compared) strict.Reader {
	return func(n *yaml.Node, path string) error {
		if strict.Behind(n).Kind == yaml.ScalarNode {
			return l.Text(&c.Metric)(n, path)
		}
		return l.keys(strict.Keys{"metric": l.Text(&c.Metric), "above": l.float(&c.Above)})(n, path)
	}
}

func (l *loader) keys(known strict.Keys) strict.Reader {
	return func(n *yaml.Node, path string) error { return l.Mapping(n, path, known) }
}

// name reads what metrics are called by: a word that an expression can hold.
func (l *loader) name(to *string) strict.Reader {
	return func(n *yaml.Node, path string) error {
		if err := l.Text(to)(n, path); err != nil {
			return err
		}
		if !isWord(*to) {
			return l.Errorf(path, "%s: have %q, need a word of letters, digits and _ that begins with a letter", path, *to)
		}
		return nil
	}
}

func isWord(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != "" && s[0] != '_'
}

// oneOf reads one of the words.
func (l *loader) oneOf(to *string, words ...string) strict.Reader {
	return func(n *yaml.Node, path string) error {
		if err := l.Text(to)(n, path); err != nil {
			return err
		}
		if !slices.Contains(words, *to) {
			return l.Errorf(path, "%s: unknown word %q%s", path, *to, strict.Nearest(*to, words))
		}
		return nil
	}
}

// texts reads a list of values, or one.
func (l *loader) texts(to *[]string) strict.Reader {
	return func(n *yaml.Node, path string) error {
		if strict.Behind(n).Kind != yaml.SequenceNode {
			return item(to, l.Text)(n, path)
		}
		return l.List(item(to, l.Text))(n, path)
	}
}

// vars reads names and values, in the order of the file.
func (l *loader) vars(to *[]Var) strict.Reader {
	return func(n *yaml.Node, path string) error {
		n = strict.Behind(n)
		known := make(strict.Keys)
		if n.Kind == yaml.MappingNode {
			for i := 0; i < len(n.Content); i += 2 {
				key := n.Content[i]
				known[key.Value] = func(n *yaml.Node, path string) error {
					v := Var{Name: key.Value}
					if err := l.Text(&v.Value)(n, path); err != nil {
						return err
					}
					if !isWord(v.Name) {
						return l.File.Errorf(strict.At(key), "variable %q: need a word of letters, digits and _", v.Name)
					}
					*to = append(*to, v)
					return nil
				}
			}
		}
		return l.Mapping(n, path, known)
	}
}

// table reads names and values.
func (l *loader) table(to *map[string]string) strict.Reader {
	return func(n *yaml.Node, path string) error {
		*to = make(map[string]string)
		known := make(strict.Keys)
		if n = strict.Behind(n); n.Kind == yaml.MappingNode {
			for i := 0; i < len(n.Content); i += 2 {
				key := n.Content[i].Value
				known[key] = func(n *yaml.Node, path string) error {
					var v string
					err := l.Text(&v)(n, path)
					(*to)[key] = v
					return err
				}
			}
		}
		return l.Mapping(n, path, known)
	}
}

// rate reads a rate.
func (l *loader) rate(to *string) strict.Reader {
	return func(n *yaml.Node, path string) error {
		if err := l.Text(to)(n, path); err != nil {
			return err
		}
		if _, err := pace.ParseRate(*to); err != nil {
			return l.Errorf(path, "%s: %w", path, err)
		}
		return nil
	}
}

// span reads a time above 0, such as 15s or 40m.
func (l *loader) span(to *time.Duration) strict.Reader {
	return func(n *yaml.Node, path string) error {
		var text string
		if err := l.Text(&text)(n, path); err != nil {
			return err
		}
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return l.Errorf(path, "%s: have %q, need a time above 0 such as 500ms, 15s or 40m", path, text)
		}
		*to = d
		return nil
	}
}

// time reads a span of the scenario, which --time-scale stretches.
func (l *loader) time(to *time.Duration) strict.Reader {
	return func(n *yaml.Node, path string) error {
		if err := l.span(to)(n, path); err != nil {
			return err
		}
		*to = max(time.Duration(float64(*to)*l.scale), time.Millisecond)
		return nil
	}
}

// share reads a share: 0.001 or 0.1 %.
func (l *loader) share(to **float64) strict.Reader {
	return func(n *yaml.Node, path string) error {
		var text string
		if err := l.Text(&text)(n, path); err != nil {
			return err
		}
		number, percent := strings.CutSuffix(text, "%")
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if percent {
			v /= 100
		}
		if err != nil || !(v >= 0 && v <= 1) {
			return l.Errorf(path, "%s: have %q, need a share from 0 to 1, or in percent: 0.1 %%", path, text)
		}
		*to = &v
		return nil
	}
}

func (l *loader) float(to **float64) strict.Reader {
	return func(n *yaml.Node, path string) error {
		var text string
		if err := l.Text(&text)(n, path); err != nil {
			return err
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return l.Errorf(path, "%s: have %q, need a number", path, text)
		}
		*to = &v
		return nil
	}
}

// ParseVar reads name=value, as --set takes it.
func ParseVar(text string) (Var, error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || !isWord(name) || value == "" {
		return Var{}, fmt.Errorf("have %q, need NAME=VALUE", text)
	}
	return Var{name, value}, nil
}
