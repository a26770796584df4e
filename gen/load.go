package gen

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Load reads a file of streams; name is what errors call it. Errors about the
// content are a *SyntaxError. The streams know where they stand in the file, so
// Compile's errors are too.
func Load(name string, data []byte) ([]Spec, error) {
	f := &file{name: name, lines: strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")}
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return nil, f.parserError(err)
	}
	if root.Kind != yaml.DocumentNode || len(root.Content) != 1 {
		return nil, f.errorf(mark{1, 1}, "no streams: need a list under the key streams")
	}
	var streams []Spec
	var seed uint64
	top := &loader{source: &source{file: f, marks: make(map[string]mark)}}
	err := top.mapping(root.Content[0], "", keys{
		"seed": top.number(&seed),
		"streams": top.list(func(n *yaml.Node, _ string) error {
			l := &loader{source: &source{file: f, marks: make(map[string]mark)}}
			s := Spec{src: l.source}
			if err := l.stream(n, &s); err != nil {
				return err
			}
			streams = append(streams, s)
			return nil
		}),
	})
	if err != nil {
		return nil, err
	}
	if len(streams) == 0 {
		return nil, f.errorf(at(root.Content[0]), "no streams: need a list under the key streams")
	}
	names := make(map[string]bool)
	for k := range streams {
		s := &streams[k]
		s.Seed = seed
		if s.Name != "" && names[s.Name] {
			return nil, s.errorf("name", "the name %q is used twice", s.Name)
		}
		names[s.Name] = true
	}
	return streams, nil
}

// loader turns the nodes of one stream into a Spec and marks where they stand.
type loader struct{ *source }

// A reader takes the value at path.
type reader func(n *yaml.Node, path string) error

// keys are the keys that a mapping may have.
type keys map[string]reader

func (l *loader) stream(n *yaml.Node, s *Spec) error {
	return l.mapping(n, "", keys{
		"name":       l.text(&s.Name),
		"layers":     l.list(func(n *yaml.Node, path string) error { return l.layer(n, path, s) }),
		"size":       l.text(&s.Size),
		"flows":      l.count(&s.Flows),
		"flow_run":   l.count(&s.FlowRun),
		"flow_order": l.text(&s.FlowOrder),
		"rate":       l.text(&s.Rate),
		"weight":     l.count(&s.Weight),
		"vary": l.list(func(n *yaml.Node, path string) error {
			var v Vary
			err := l.mapping(n, path, keys{
				"field": l.text(&v.Field),
				"mode":  l.text(&v.Mode),
				"start": l.text(&v.Start),
				"step":  l.text(&v.Step),
				"count": l.count(&v.Count),
				"values": l.list(func(n *yaml.Node, path string) error {
					var value string
					err := l.text(&value)(n, path)
					v.Values = append(v.Values, value)
					return err
				}),
				"every": l.count(&v.Every),
				"per":   l.text(&v.Per),
			})
			if err == nil && v.Field == "" {
				err = l.file.errorf(at(n), "no field: need its name, like udp.src")
			}
			s.Vary = append(s.Vary, v)
			return err
		}),
		"checksum": l.texts(&s.Checksum),
		"tag":      l.text(&s.Tag),
	})
}

// layer reads a name, or a name with what belongs to it: fields, or for payload
// and raw one word.
func (l *loader) layer(n *yaml.Node, path string, s *Spec) error {
	n = behind(n)
	var layer Layer
	switch {
	case n.Kind == yaml.ScalarNode:
		if err := l.text(&layer.Name)(n, path); err != nil {
			return err
		}
	case n.Kind == yaml.MappingNode && len(n.Content) == 2:
		key, value := n.Content[0], behind(n.Content[1])
		layer.Name = key.Value
		l.marks[path] = at(key)
		switch {
		case value.Kind == yaml.ScalarNode && value.ShortTag() == "!!null":
		case value.Kind == yaml.ScalarNode && layer.Name == "payload":
			layer.Fields = map[string]string{value.Value: ""}
			l.marks[path+"."+value.Value] = at(value)
		case value.Kind == yaml.ScalarNode && layer.Name == "raw":
			layer.Fields = map[string]string{"hex": value.Value}
			l.marks[path+".hex"] = at(value)
		default:
			if err := l.texts(&layer.Fields)(value, path); err != nil {
				return err
			}
			l.marks[path] = at(key)
		}
	default:
		return l.file.errorf(at(n), "have %s, need one layer: its name, or its name and fields as in {vlan: {id: 7}}", describe(n))
	}
	s.Layers = append(s.Layers, layer)
	return nil
}

func (l *loader) mapping(n *yaml.Node, path string, known keys) error {
	n = behind(n)
	l.marks[path] = at(n)
	if n.Kind != yaml.MappingNode {
		return l.file.errorf(at(n), "have %s, need keys and values", describe(n))
	}
	seen := make(map[string]bool)
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		read := known[key.Value]
		if read == nil {
			return l.file.errorf(at(key), "unknown key %q%s", key.Value, nearest(key.Value, slices.Sorted(maps.Keys(known))))
		}
		if seen[key.Value] {
			return l.file.errorf(at(key), "key %q is there twice", key.Value)
		}
		seen[key.Value] = true
		if err := read(n.Content[i+1], join(path, key.Value)); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) list(item reader) reader {
	return func(n *yaml.Node, path string) error {
		n = behind(n)
		l.marks[path] = at(n)
		if n.Kind != yaml.SequenceNode {
			return l.file.errorf(at(n), "%s: have %s, need a list", path, describe(n))
		}
		for i, c := range n.Content {
			if err := item(c, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
		return nil
	}
}

func (l *loader) text(to *string) reader {
	return func(n *yaml.Node, path string) error {
		n = behind(n)
		l.marks[path] = at(n)
		if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" || n.Value == "" {
			return l.file.errorf(at(n), "%s: have %s, need a value", path, describe(n))
		}
		*to = n.Value
		return nil
	}
}

// texts reads a mapping of any keys to values: Compile knows which there are.
func (l *loader) texts(to *map[string]string) reader {
	return func(n *yaml.Node, path string) error {
		*to = make(map[string]string)
		known := make(keys)
		if n = behind(n); n.Kind == yaml.MappingNode {
			for i := 0; i < len(n.Content); i += 2 {
				key := n.Content[i]
				known[key.Value] = func(n *yaml.Node, path string) error {
					var value string
					err := l.text(&value)(n, path)
					(*to)[key.Value] = value
					l.marks[path] = at(key)
					return err
				}
			}
		}
		return l.mapping(n, path, known)
	}
}

// number reads a whole number.
func (l *loader) number(to *uint64) reader {
	return func(n *yaml.Node, path string) (err error) {
		n = behind(n)
		l.marks[path] = at(n)
		if *to, err = parseUint(n.Value); n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil {
			return l.file.errorf(at(n), "%s: have %s, need a whole number", path, describe(n))
		}
		return nil
	}
}

// count reads a whole number above 0.
func (l *loader) count(to *uint64) reader {
	return func(n *yaml.Node, path string) error {
		if err := l.number(to)(n, path); err != nil {
			return err
		}
		if *to == 0 {
			return l.file.errorf(l.marks[path], "%s: have 0, need 1 or more", path)
		}
		return nil
	}
}

// parserError gives the parser's own error its place.
func (f *file) parserError(err error) error {
	var e *yaml.LoadError
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	return f.errorf(mark{e.Mark.Line, e.Mark.Column}, "%s", e.Message)
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func at(n *yaml.Node) mark { return mark{n.Line, n.Column} }

// behind follows an alias to what it stands for.
func behind(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "keys and values"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.ShortTag() == "!!null" || n.Value == "":
		return "nothing"
	}
	return fmt.Sprintf("%q", n.Value)
}
