package probe

import (
	"regexp"
	"strings"
)

const reNumber = `([-+]?(?:0x[0-9a-fA-F]+|\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+))`

var (
	// A name of any words, a colon or an equals sign, the number, at most one
	// word of unit.
	lineNamed = regexp.MustCompile(`^\s*(\S.*?)\s*[:=]\s*` + reNumber + `\s*(%|[a-zA-Z][a-zA-Z/]*)?\s*$`)
	lineTable = regexp.MustCompile(`^\s*(\S+)\s+` + reNumber + `\s*(%|[a-zA-Z][a-zA-Z/]*)?\s*$`)
	lineList  = regexp.MustCompile(`([^\s=,;]+)=` + reNumber + `(%|[a-zA-Z][a-zA-Z/]*)?(?:[\s,;]+|$)`)
)

// Lines is the format of most commands: a number a line, with its name before it
// and at most one word of unit behind, or several name=value on a line. Lines of
// other shapes (headings, sentences) are passed over.
//
//	     rx_drops: 7          rx_drops                7
//	MemFree:  123 kB          MemFree                 123
//	flow.revived=12           flow.revived            12
//	OutNoRoutes  3            OutNoRoutes             3
//	rx=5 tx=6,err=0           rx, tx, err             5, 6, 0
func Lines(text []byte) ([]Counter, error) {
	var f found
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		m := lineNamed.FindStringSubmatch(line)
		if m != nil && strings.Count(line, "=") > 1 || m == nil && strings.Contains(line, "=") {
			if list(&f, line) {
				continue
			}
		}
		if m == nil {
			m = lineTable.FindStringSubmatch(line)
		}
		if m != nil {
			take(&f, m)
		}
	}
	return f.result("name: value, name=value or name value")
}

// list takes a line that consists of nothing but name=value, several of them.
func list(f *found, line string) bool {
	rest := strings.TrimSpace(line)
	all := lineList.FindAllStringSubmatchIndex(rest, -1)
	at := 0
	for _, m := range all {
		if m[0] != at {
			return false
		}
		at = m[1]
	}
	if len(all) == 0 || at != len(rest) {
		return false
	}
	for _, m := range lineList.FindAllStringSubmatch(rest, -1) {
		take(f, m)
	}
	return true
}

// take adds a match of name, number and unit.
func take(f *found, m []string) {
	c, ok := number(m[2])
	if !ok {
		return
	}
	c.Name, c.Level = m[1], c.Level || m[3] == "%"
	f.add(c)
}
