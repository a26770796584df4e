// Package library holds the scenarios that are shipped: files as anybody may write,
// each with a header that says whose question it answers.
package library

import (
	"embed"
	"path"
	"slices"
	"strings"
)

//go:embed *.yaml
var files embed.FS

// Names returns the names of the scenarios, sorted.
func Names() (names []string) {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // it is embedded
	}
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(names)
	return names
}

// Text returns the file of that name, and false where there is none.
func Text(name string) ([]byte, bool) {
	if name != path.Base(name) {
		return nil, false
	}
	text, err := files.ReadFile(name + ".yaml")
	return text, err == nil
}
