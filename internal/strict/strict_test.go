package strict

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

type value struct {
	Name  string
	Count uint64
	Seed  uint64
	List  []string
}

func read(text string) (value, *Marks, error) {
	var v value
	f, root, err := Parse("x.yaml", []byte(text))
	if err != nil || root == nil {
		return v, nil, err
	}
	m := NewMarks(f)
	return v, m, m.Mapping(root, "", Keys{
		"name": m.Text(&v.Name), "count": m.Count(&v.Count), "seed": m.Number(&v.Seed),
		"list": m.List(func(n *yaml.Node, path string) error {
			var item string
			err := m.Text(&item)(n, path)
			v.List = append(v.List, item)
			return err
		}),
	})
}

func TestErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"unknown key", "name: a\nlst: []\n", "x.yaml:2:1: unknown key \"lst\", did you mean \"list\"?\nlst: []\n^"},
		{"twice", "name: a\nname: b\n", "x.yaml:2:1: key \"name\" is there twice\nname: b\n^"},
		{"no list", "list: a\n", "x.yaml:1:7: list: have \"a\", need a list\nlist: a\n      ^"},
		{"nothing in a list", "list: [a, ]\nname:\n", "x.yaml:2:6: name: have nothing, need a value\nname:\n     ^"},
		{"none", "count: 0\n", "x.yaml:1:8: count: have 0, need 1 or more\ncount: 0\n       ^"},
		{"below none", "seed: -1\n", "x.yaml:1:7: seed: have \"-1\", need a whole number\nseed: -1\n      ^"},
		{"too large", "seed: 18446744073709551616\n", "x.yaml:1:7: seed: have \"18446744073709551616\", need a whole number\nseed: 18446744073709551616\n      ^"},
		{"a mapping needed", "- a\n", "x.yaml:1:1: have a list, need keys and values\n- a\n^"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := read(tt.text)
			var at *Error
			if !errors.As(err, &at) {
				t.Fatalf("error %v, want an *Error", err)
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMarks(t *testing.T) {
	_, m, err := read("name: a\nlist:\n  - b\n  - c\n")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]Mark{"": {1, 1}, "name": {1, 7}, "list[1]": {4, 5}, "list[1].x.y": {4, 5}, "other": {1, 1}} {
		if got := m.At(path); got != want {
			t.Errorf("%q is at %v, want %v", path, got, want)
		}
	}
}
