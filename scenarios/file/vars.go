package file

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"squall/internal/strict"
)

// reference is ${name}, or ${env:NAME} for a variable of the environment; $${
// stands for ${ itself.
var reference = regexp.MustCompile(`\$?\$\{[^}]*\}`)

// substitute puts the variables into the values of the file. A variable's value
// may have those before it.
func (l *loader) substitute(root *yaml.Node, s *Scenario, o Options) error {
	values := make(map[string]string)
	own := child(root, "vars")
	var have []Var
	if own != nil {
		if err := l.vars(&have)(own, "vars"); err != nil {
			return err
		}
	}
	for _, v := range have {
		s.Vars = append(s.Vars, v)
		values[v.Name] = v.Value
	}
	over := func(vs []Var, path string) error {
		for _, v := range vs {
			if _, ok := values[v.Name]; !ok {
				names := slices.Sorted(maps.Keys(values))
				if path == "" {
					return l.File.Errorf(strict.Mark{Line: 1, Column: 1}, "--set %s: the scenario has no such variable%s", v.Name, strict.Nearest(v.Name, names))
				}
				return l.Errorf(strict.Join(path, v.Name), "the scenario has no variable %q%s", v.Name, strict.Nearest(v.Name, names))
			}
			values[v.Name] = v.Value
		}
		return nil
	}
	if o.Lab {
		if err := l.overrides(child(child(root, "lab"), "vars"), "lab.vars", over); err != nil {
			return err
		}
	}
	if o.Setting != "" {
		if err := l.overrides(settingVars(root, o.Setting), "settings.vars", over); err != nil {
			return err
		}
	}
	if err := over(o.Set, ""); err != nil {
		return err
	}
	known := make(map[string]string)
	for i, v := range s.Vars {
		value, err := l.expand(values[v.Name], known, l.At("vars."+v.Name))
		if err != nil {
			return err
		}
		s.Vars[i].Value, known[v.Name] = value, value
	}
	return l.walk(root, known)
}

func (l *loader) overrides(n *yaml.Node, path string, over func([]Var, string) error) error {
	if n == nil {
		return nil
	}
	var vs []Var
	if err := l.vars(&vs)(n, path); err != nil {
		return err
	}
	return over(vs, path)
}

// walk puts values into all nodes but those that say what the variables are.
func (l *loader) walk(n *yaml.Node, known map[string]string) error {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i < len(n.Content); i += 2 {
			if n.Content[i].Value == "vars" {
				continue
			}
			if err := l.walk(n.Content[i+1], known); err != nil {
				return err
			}
		}
	case yaml.SequenceNode:
		for _, c := range n.Content {
			if err := l.walk(c, known); err != nil {
				return err
			}
		}
	case yaml.ScalarNode:
		if !strings.Contains(n.Value, "${") {
			return nil
		}
		value, err := l.expand(n.Value, known, strict.At(n))
		if err != nil {
			return err
		}
		n.Value = value
		// A number in a variable is a number, though "${n}" must often be quoted.
		n.Tag = "!!str"
		var plain yaml.Node
		if yaml.Unmarshal([]byte(value), &plain) == nil && len(plain.Content) == 1 && plain.Content[0].Kind == yaml.ScalarNode {
			n.Tag, n.Style = plain.Content[0].Tag, plain.Content[0].Style
		}
	}
	return nil
}

func (l *loader) expand(text string, known map[string]string, at strict.Mark) (string, error) {
	var err error
	return reference.ReplaceAllStringFunc(text, func(ref string) string {
		if strings.HasPrefix(ref, "$$") {
			return ref[1:]
		}
		name := ref[2 : len(ref)-1]
		if env, ok := strings.CutPrefix(name, "env:"); ok {
			v, ok := os.LookupEnv(env)
			if !ok && err == nil {
				err = l.File.Errorf(at, "the environment has no variable %q", env)
			}
			return v
		}
		v, ok := known[name]
		if !ok && err == nil {
			err = l.File.Errorf(at, "no variable %q%s", name, strict.Nearest(name, slices.Sorted(maps.Keys(known))))
		}
		return v
	}), err
}

// child returns the value of a key; nil where there is none.
func child(n *yaml.Node, key string) *yaml.Node {
	if n == nil || strict.Behind(n).Kind != yaml.MappingNode {
		return nil
	}
	n = strict.Behind(n)
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// settingVars returns the variables of a setting.
func settingVars(root *yaml.Node, name string) *yaml.Node {
	list := child(root, "settings")
	if list == nil {
		return nil
	}
	for _, s := range strict.Behind(list).Content {
		if n := child(s, "name"); n != nil && n.Value == name {
			return child(s, "vars")
		}
	}
	return nil
}
