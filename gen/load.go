package gen

import (
	"go.yaml.in/yaml/v4"

	"squall/internal/impair"
	"squall/internal/strict"
)

// Load reads a file of streams; name is what errors call it. Errors about the
// content are a *strict.Error. The streams know where they stand in the file, so
// Compile's errors are too.
func Load(name string, data []byte) ([]Spec, error) {
	f, root, err := strict.Parse(name, data)
	if err != nil {
		return nil, err
	}
	if root == nil {
		return nil, f.Errorf(strict.Mark{Line: 1, Column: 1}, "no streams: need a list under the key streams")
	}
	var streams []Spec
	var seed uint64
	var impairments []string
	top := strict.NewMarks(f)
	if err := top.Mapping(root, "", strict.Keys{"seed": top.Number(&seed), "impair": Impair(top, &impairments), "streams": Streams(top, &streams)}); err != nil {
		return nil, err
	}
	if len(streams) == 0 {
		return nil, f.Errorf(strict.At(root), "no streams: need a list under the key streams")
	}
	for k := range streams {
		streams[k].Seed, streams[k].Impair = seed, impairments
	}
	return streams, nil
}

// Impair reads a list of impairments from a part of a file.
func Impair(of *strict.Marks, to *[]string) strict.Reader {
	return of.List(func(n *yaml.Node, path string) error {
		var rule string
		if err := of.Text(&rule)(n, path); err != nil {
			return err
		}
		if _, err := impair.Parse(rule); err != nil {
			return of.Errorf(path, "%w", err)
		}
		*to = append(*to, rule)
		return nil
	})
}

// Streams reads a list of streams, whose names differ, from a part of a file.
func Streams(of *strict.Marks, to *[]Spec) strict.Reader {
	names := make(map[string]bool)
	return of.List(func(n *yaml.Node, _ string) error {
		l := &loader{strict.NewMarks(of.File)}
		s := Spec{marks: l.Marks}
		if err := l.stream(n, &s); err != nil {
			return err
		}
		if s.Name != "" && names[s.Name] {
			return s.errorf("name", "the name %q is used twice", s.Name)
		}
		names[s.Name] = true
		*to = append(*to, s)
		return nil
	})
}

// loader turns the nodes of one stream into a Spec and marks where they stand.
type loader struct{ *strict.Marks }

func (l *loader) stream(n *yaml.Node, s *Spec) error {
	return l.Mapping(n, "", strict.Keys{
		"name":       l.Text(&s.Name),
		"layers":     l.List(func(n *yaml.Node, path string) error { return l.layer(n, path, s) }),
		"size":       l.Text(&s.Size),
		"flows":      l.Count(&s.Flows),
		"flow_run":   l.Count(&s.FlowRun),
		"flow_order": l.Text(&s.FlowOrder),
		"rate":       l.Text(&s.Rate),
		"weight":     l.Count(&s.Weight),
		"vary": l.List(func(n *yaml.Node, path string) error {
			var v Vary
			err := l.Mapping(n, path, strict.Keys{
				"field": l.Text(&v.Field),
				"mode":  l.Text(&v.Mode),
				"start": l.Text(&v.Start),
				"step":  l.Text(&v.Step),
				"count": l.Count(&v.Count),
				"values": l.List(func(n *yaml.Node, path string) error {
					var value string
					err := l.Text(&value)(n, path)
					v.Values = append(v.Values, value)
					return err
				}),
				"every": l.Count(&v.Every),
				"per":   l.Text(&v.Per),
			})
			if err == nil && v.Field == "" {
				err = l.File.Errorf(strict.At(n), "no field: need its name, like udp.src")
			}
			s.Vary = append(s.Vary, v)
			return err
		}),
		"checksum": l.texts(&s.Checksum),
		"tag":      l.Text(&s.Tag),
	})
}

// layer reads a name, or a name with what belongs to it: fields, or for payload
// and raw one word.
func (l *loader) layer(n *yaml.Node, path string, s *Spec) error {
	n = strict.Behind(n)
	var layer Layer
	switch {
	case n.Kind == yaml.ScalarNode:
		if err := l.Text(&layer.Name)(n, path); err != nil {
			return err
		}
	case n.Kind == yaml.MappingNode && len(n.Content) == 2:
		key, value := n.Content[0], strict.Behind(n.Content[1])
		layer.Name = key.Value
		l.Set(path, strict.At(key))
		switch {
		case value.Kind == yaml.ScalarNode && value.ShortTag() == "!!null":
		case value.Kind == yaml.ScalarNode && layer.Name == "payload":
			layer.Fields = map[string]string{value.Value: ""}
			l.Set(path+"."+value.Value, strict.At(value))
		case value.Kind == yaml.ScalarNode && layer.Name == "raw":
			layer.Fields = map[string]string{"hex": value.Value}
			l.Set(path+".hex", strict.At(value))
		default:
			if err := l.texts(&layer.Fields)(value, path); err != nil {
				return err
			}
			l.Set(path, strict.At(key))
		}
	default:
		return l.File.Errorf(strict.At(n), "have %s, need one layer: its name, or its name and fields as in {vlan: {id: 7}}", strict.Describe(n))
	}
	s.Layers = append(s.Layers, layer)
	return nil
}

// texts reads a mapping of any keys to values: Compile knows which there are.
func (l *loader) texts(to *map[string]string) strict.Reader {
	return func(n *yaml.Node, path string) error {
		*to = make(map[string]string)
		known := make(strict.Keys)
		if n = strict.Behind(n); n.Kind == yaml.MappingNode {
			for i := 0; i < len(n.Content); i += 2 {
				key := n.Content[i]
				known[key.Value] = func(n *yaml.Node, path string) error {
					var value string
					err := l.Text(&value)(n, path)
					(*to)[key.Value] = value
					l.Set(path, strict.At(key))
					return err
				}
			}
		}
		return l.Mapping(n, path, known)
	}
}
