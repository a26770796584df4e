package probe

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"squall/internal/probe/shell"
)

// Kind is a probe of a Linux machine that reads text: files of /proc and /sys,
// and for what stands in no file the output of a tool. So it can be read on
// another machine too, see [Remote]. A network namespace that it names is one of
// this machine and is passed over there.
type Kind interface {
	Probe
	sources() []source
	parse(texts) ([]Counter, error)
}

// source is what a kind reads: a path, in which * stands for any name, or a
// line for sh(1). What is missing is left out of the texts; the parser knows
// what it cannot do without.
type source struct {
	glob string
	line string
}

// quoted is the glob for sh(1), of which only the * are special.
func (s source) quoted() string {
	parts := strings.Split(s.glob, "*")
	for i, p := range parts {
		if p != "" {
			parts[i] = shell.Quote(p)
		}
	}
	return strings.Join(parts, "*")
}

// texts are what was read, by path or line.
type texts map[string][]byte

// need returns a text that must be there.
func (t texts) need(name string) (*bytes.Reader, error) {
	if text, ok := t[name]; ok {
		return bytes.NewReader(text), nil
	}
	if said, ok := t[failed+name]; ok {
		return nil, fmt.Errorf("%s: %s", name, said)
	}
	return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
}

// failed goes before a line that did not end well; its text is what it said.
const failed = "!"

// under yields the paths that match a glob, sorted, which for numbers of several
// digits is not the order of the numbers.
func (t texts) under(glob string) []string {
	paths := slices.DeleteFunc(slices.Collect(maps.Keys(t)), func(path string) bool {
		match, err := filepath.Match(glob, path)
		return err != nil || !match
	})
	slices.Sort(paths)
	return paths
}

// readKind reads the files of a kind on this machine.
func readKind(k Kind) (Reading, error) {
	t, err := localTexts(k.sources())
	if err != nil {
		return Reading{}, fmt.Errorf("%s: %w", k.Name(), err)
	}
	r := Reading{At: now()}
	if r.Counters, err = k.parse(t); err != nil {
		err = fmt.Errorf("%s: %w", k.Name(), err)
	}
	return r, err
}

func localTexts(sources []source) (texts, error) {
	t := texts{}
	for _, s := range sources {
		if s.line != "" {
			continue // what has a line is read in another way here
		}
		for _, path := range expand(s.glob) {
			text, err := os.ReadFile(path)
			switch {
			case errors.Is(err, fs.ErrNotExist): // gone since
			case err != nil && !strings.HasPrefix(path, "/sys/"):
				return nil, err
			default:
				t[path] = text // sysfs answers EINVAL where there is nothing to say: an empty text
			}
		}
	}
	return t, nil
}

// expand lists the paths of a glob. Unlike filepath.Glob it leaves the .. of
// paths through symbolic links alone.
func expand(glob string) []string {
	paths := []string{""}
	for _, name := range strings.Split(glob, "/")[1:] {
		var longer []string
		for _, p := range paths {
			if !strings.Contains(name, "*") {
				longer = append(longer, p+"/"+name)
				continue
			}
			entries, err := os.ReadDir(p)
			if err != nil {
				continue // no such directory: no paths
			}
			for _, e := range entries {
				if match, _ := filepath.Match(name, e.Name()); match {
					longer = append(longer, p+"/"+e.Name())
				}
			}
		}
		paths = longer
	}
	return paths
}
