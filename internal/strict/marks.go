package strict

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// File is a file that was parsed.
type File struct {
	Name  string
	lines []string
}

// Mark is a place in a file. Lines and columns begin at 1.
type Mark struct{ Line, Column int }

// Parse parses a file; name is what errors call it. The node is the document's
// only value, nil where the file has none. An error about the content is an
// *Error.
func Parse(name string, data []byte) (*File, *yaml.Node, error) {
	f := &File{Name: name, lines: strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")}
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		var e *yaml.LoadError
		if !errors.As(err, &e) {
			return f, nil, fmt.Errorf("%s: %w", name, err)
		}
		return f, nil, f.Errorf(Mark{e.Mark.Line, e.Mark.Column}, "%s", e.Message)
	}
	if root.Kind != yaml.DocumentNode || len(root.Content) != 1 {
		return f, nil, nil
	}
	return f, root.Content[0], nil
}

// Errorf returns an error with its place.
func (f *File) Errorf(m Mark, format string, args ...any) error {
	e := &Error{File: f.Name, Line: m.Line, Column: m.Column, Err: fmt.Errorf(format, args...)}
	if m.Line >= 1 && m.Line <= len(f.lines) {
		e.Text = f.lines[m.Line-1]
	}
	return e
}

// Marks know where the parts of one value stand, by path: size, layers[2].src.
type Marks struct {
	File *File
	at   map[string]Mark
}

// NewMarks returns the marks of a value of a file.
func NewMarks(f *File) *Marks { return &Marks{File: f, at: make(map[string]Mark)} }

// Set notes where a part stands.
func (m *Marks) Set(path string, at Mark) { m.at[path] = at }

// At returns the place of the part at path, or of the nearest part around it that
// has one.
func (m *Marks) At(path string) Mark {
	for p := path; ; p = p[:strings.LastIndexAny(p, ".[")] {
		if at, ok := m.at[p]; ok {
			return at
		}
		if !strings.ContainsAny(p, ".[") {
			return m.at[""]
		}
	}
}

// Errorf returns an error about the part at path.
func (m *Marks) Errorf(path, format string, args ...any) error {
	return m.File.Errorf(m.At(path), format, args...)
}

// At is where a node stands.
func At(n *yaml.Node) Mark { return Mark{n.Line, n.Column} }
