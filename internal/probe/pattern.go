package probe

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Pattern is the format of a regular expression (https://pkg.go.dev/regexp/syntax),
// of which every match in the text counts; ^ and $ are the ends of a line. Its
// groups say what they catch:
//
//	(?P<name>\S+)\s+(?P<value>\d+)     a number and its name
//	(\S+)\s+(\d+)                      the same, shorter: two groups without names
//	drops (?P<drops>\d+)               a number, named as the group, any number of groups
//
// A group that caught no number is passed over.
func Pattern(expr string) (Format, error) {
	re, err := regexp.Compile("(?m)" + expr)
	if err != nil {
		return nil, err
	}
	groups := re.SubexpNames()
	name, value := re.SubexpIndex("name"), re.SubexpIndex("value")
	named := slices.ContainsFunc(groups, func(s string) bool { return s != "" })
	switch {
	case !named && len(groups) == 3:
		name, value = 1, 2
	case !named:
		return nil, fmt.Errorf("regular expression %q: have %d groups without names, need two (name and value) or groups with names: (?P<drops>\\d+)", expr, len(groups)-1)
	case (name < 0) != (value < 0):
		return nil, fmt.Errorf("regular expression %q: the groups name and value need each other", expr)
	}
	return func(text []byte) ([]Counter, error) {
		var f found
		for _, m := range re.FindAllSubmatch(text, -1) {
			if name >= 0 {
				if c, ok := number(string(m[value])); ok {
					c.Name = strings.TrimSpace(string(m[name]))
					f.add(c)
				}
			}
			for i, group := range groups {
				if group == "" || i == name || i == value {
					continue
				}
				if c, ok := number(string(m[i])); ok {
					c.Name = group
					f.add(c)
				}
			}
		}
		return f.result(fmt.Sprintf("a match of %q", expr))
	}, nil
}
