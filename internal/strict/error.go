package strict

import (
	"fmt"
	"strings"
)

// Error is an error in a file: what is wrong and where. Lines
// and columns begin at 1.
type Error struct {
	File         string
	Line, Column int
	Text         string // the line itself
	Err          error
}

// Error returns the place, the error, the line and a mark below the column:
//
//	streams.yaml:12:7: unknown key "flwos", did you mean "flows"?
//	      flwos: 64
//	      ^
func (e *Error) Error() string {
	pad := []rune(e.Text)
	pad = pad[:min(max(e.Column-1, 0), len(pad))]
	for i, r := range pad {
		if r != '\t' {
			pad[i] = ' '
		}
	}
	return fmt.Sprintf("%s:%d:%d: %v\n%s\n%s^", e.File, e.Line, e.Column, e.Err, e.Text, string(pad))
}

// Unwrap returns what is wrong, without the place.
func (e *Error) Unwrap() error { return e.Err }

// Nearest returns a hint at the known word that name is most like, if any is.
func Nearest(name string, known []string) string {
	best, least := "", len(name)/2+1
	for _, k := range known {
		if d := distance(name, k); d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return ": need one of " + strings.Join(known, ", ")
	}
	return fmt.Sprintf(", did you mean %q?", best)
}

// distance is how many letters must be changed, put in, taken out or swapped
// with their neighbour to make b of a (optimal string alignment).
func distance(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
