package gen

import "fmt"

// errorf returns an error about the part of the stream at path: with its place
// where the stream came from a file, else with the stream's name.
func (s *Spec) errorf(path, format string, args ...any) error {
	if s.marks == nil {
		return fmt.Errorf("stream %q: "+format, append([]any{s.Name}, args...)...)
	}
	return s.marks.Errorf(path, format, args...)
}
