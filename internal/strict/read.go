package strict

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// A Reader takes the value at path.
type Reader func(n *yaml.Node, path string) error

// Keys are the keys that a mapping may have.
type Keys map[string]Reader

// Mapping reads a mapping that has no other keys than these.
func (m *Marks) Mapping(n *yaml.Node, path string, known Keys) error {
	n = Behind(n)
	m.at[path] = At(n)
	if n.Kind != yaml.MappingNode {
		return m.File.Errorf(At(n), "have %s, need keys and values", Describe(n))
	}
	seen := make(map[string]bool)
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		read := known[key.Value]
		if read == nil {
			return m.File.Errorf(At(key), "unknown key %q%s", key.Value, Nearest(key.Value, slices.Sorted(maps.Keys(known))))
		}
		if seen[key.Value] {
			return m.File.Errorf(At(key), "key %q is there twice", key.Value)
		}
		seen[key.Value] = true
		if err := read(n.Content[i+1], Join(path, key.Value)); err != nil {
			return err
		}
	}
	return nil
}

// List reads a list, item by item.
func (m *Marks) List(item Reader) Reader {
	return func(n *yaml.Node, path string) error {
		n = Behind(n)
		m.at[path] = At(n)
		if n.Kind != yaml.SequenceNode {
			return m.File.Errorf(At(n), "%s: have %s, need a list", path, Describe(n))
		}
		for i, c := range n.Content {
			if err := item(c, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
		return nil
	}
}

// Text reads any one value as it was written.
func (m *Marks) Text(to *string) Reader {
	return func(n *yaml.Node, path string) error {
		n = Behind(n)
		m.at[path] = At(n)
		if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" || n.Value == "" {
			return m.File.Errorf(At(n), "%s: have %s, need a value", path, Describe(n))
		}
		*to = n.Value
		return nil
	}
}

// Number reads a whole number.
func (m *Marks) Number(to *uint64) Reader {
	return func(n *yaml.Node, path string) (err error) {
		n = Behind(n)
		m.at[path] = At(n)
		if *to, err = parseUint(n.Value); n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil {
			return m.File.Errorf(At(n), "%s: have %s, need a whole number", path, Describe(n))
		}
		return nil
	}
}

func parseUint(s string) (uint64, error) {
	if digits, ok := strings.CutPrefix(s, "0x"); ok {
		return strconv.ParseUint(digits, 16, 64)
	}
	return strconv.ParseUint(s, 10, 64)
}

// Count reads a whole number above 0.
func (m *Marks) Count(to *uint64) Reader {
	return func(n *yaml.Node, path string) error {
		if err := m.Number(to)(n, path); err != nil {
			return err
		}
		if *to == 0 {
			return m.File.Errorf(m.at[path], "%s: have 0, need 1 or more", path)
		}
		return nil
	}
}

// Join returns the path of a key of the mapping at path.
func Join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Behind follows an alias to what it stands for.
func Behind(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// Describe says what a node is, for an error.
func Describe(n *yaml.Node) string {
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
