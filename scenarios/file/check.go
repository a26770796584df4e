package file

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"squall/gen"
	"squall/internal/strict"
)

// reserved are words of metrics that no phase, pair, probe or setting is called by.
var reserved = []string{"ledger", "probes", "pairs", "slope", "true", "false", "nil", "in", "not", "and", "or", "min", "max", "abs", "mean", "median"}

// check refuses what no single value shows: names that stand twice or nowhere, and
// phases that never end.
func (s *Scenario) check() error {
	if s.Name == "" {
		return s.Errorf("", "no name: need one, such as storm_return")
	}
	for _, need := range []struct {
		key   string
		empty bool
	}{{"pairs", len(s.Pairs) == 0}, {"phases", len(s.Phases) == 0}} {
		if need.empty {
			return s.Errorf("", "no %s: need a list with at least one", need.key)
		}
	}
	for i := range s.Pairs {
		if s.Pairs[i].Name == "" {
			s.Pairs[i].Name = "p" + strconv.Itoa(i+1)
		}
		if s.Pairs[i].TX == "" {
			return s.Errorf(at("pairs", i), "no tx: need the port to send from, [NETNS:]IFACE")
		}
	}
	for _, list := range []struct {
		key   string
		names []string
	}{
		{"pairs", names(s.Pairs, func(p Pair) string { return p.Name })},
		{"replays", names(s.Replays, func(r Replay) string { return r.Name })},
		{"phases", names(s.Phases, func(p Phase) string { return p.Name })},
		{"probes", names(s.Probes, func(p Probe) string { return p.Name })},
		{"settings", names(s.Settings, func(x Setting) string { return x.Name })},
	} {
		for i, n := range list.names {
			path := at(list.key, i)
			switch {
			case n == "":
				return s.Errorf(path, "no name: need one")
			case slices.Contains(reserved, n):
				return s.Errorf(path+".name", "the name %q means something else in expressions: take another", n)
			case slices.Index(list.names, n) < i:
				return s.Errorf(path+".name", "the name %q is used twice", n)
			}
		}
	}
	for i := range s.Phases {
		if err := s.checkPhase(i); err != nil {
			return err
		}
	}
	for i := range s.Probes {
		if err := s.checkProbe(i); err != nil {
			return err
		}
	}
	for i, r := range s.Replays {
		if r.File == "" {
			return s.Errorf(at("replays", i), "no file: need a capture")
		}
	}
	if len(s.Settings) == 1 {
		return s.Errorf("settings", "one setting: need two or more to alternate, or none")
	}
	if len(s.Compare) > 0 && len(s.Settings) < 2 {
		return s.Errorf("compare", "nothing to compare: need two or more settings")
	}
	return nil
}

func (s *Scenario) checkPhase(i int) error {
	p, path := &s.Phases[i], at("phases", i)
	known := names(s.Streams, func(x gen.Spec) string { return x.Name })
	for k, name := range p.Streams {
		if !slices.Contains(known, name) {
			return s.Errorf(fmt.Sprintf("%s.streams[%d]", path, k), "no stream %q%s", name, nearestOr(name, known, "the file has no streams"))
		}
	}
	if p.Replay != "" {
		replays := names(s.Replays, func(r Replay) string { return r.Name })
		switch {
		case !slices.Contains(replays, p.Replay):
			return s.Errorf(path+".replay", "no replay %q%s", p.Replay, nearestOr(p.Replay, replays, "the file has no replays"))
		case len(p.Streams) > 0:
			return s.Errorf(path+".replay", "a phase has streams or a replay: leave one out")
		case p.Rate != "" || p.RampFrom != "" || p.Burst > 0:
			return s.Errorf(path+".replay", "a replay keeps its own time: give its speed or rate under replays")
		}
	} else if len(s.Streams) == 0 {
		return s.Errorf(path, "nothing to send: need streams or a replay")
	}
	switch {
	case p.For == 0 && p.Count == 0 && p.Replay == "":
		return s.Errorf(path, "phase %q has no end: need for or count", p.Name)
	case (p.RampFrom == "") != (p.RampOver == 0):
		return s.Errorf(path, "ramp_from and ramp_over belong together: have one of them")
	case p.RampFrom != "" && (p.Rate == "" || p.Rate == "max"):
		return s.Errorf(path+".ramp_from", "a ramp needs a rate to go to")
	case p.Burst > 0 && (p.Rate == "" || p.Rate == "max" || p.RampFrom != ""):
		return s.Errorf(path+".burst", "bursts need a mean rate and no ramp")
	}
	return nil
}

// sources says what each kind of probe is read from.
var sources = map[string]string{"port": "port", "ethtool": "port", "qdisc": "port", "command": "command", "prometheus": "url"}

func (s *Scenario) checkProbe(i int) error {
	p, path := &s.Probes[i], at("probes", i)
	if p.Kind == "" {
		return s.Errorf(path, "no kind: need one of %s", strings.Join(Kinds, ", "))
	}
	for _, key := range []struct{ name, value string }{{"port", p.Port}, {"command", p.Command}, {"url", p.URL}} {
		need := sources[p.Kind] == key.name || p.Kind == "interrupts" && key.name == "port"
		switch {
		case need && key.value == "" && p.Kind != "interrupts":
			return s.Errorf(path, "probe %q of the kind %s has no %s", p.Name, p.Kind, key.name)
		case !need && key.value != "":
			return s.Errorf(path+"."+key.name, "probes of the kind %s have no %s", p.Kind, key.name)
		}
	}
	switch {
	case p.Kind != "command" && (p.Parse != "" || p.Match != ""):
		return s.Errorf(path, "probes of the kind %s know their own form: leave parse and match out", p.Kind)
	case p.Parse != "" && p.Match != "":
		return s.Errorf(path+".match", "parse and match: need one of them")
	case p.Kind == "prometheus" && p.SSH != "":
		return s.Errorf(path+".ssh", "a page is fetched from here: leave ssh out")
	}
	for name, what := range p.Counts {
		if what != "drops" {
			return s.Errorf(path+".counts."+name, "unknown word %q: need drops", what)
		}
	}
	if p.Every == 0 {
		p.Every = 1e9
	}
	return nil
}

func at(key string, i int) string { return fmt.Sprintf("%s[%d]", key, i) }

func names[T any](list []T, name func(T) string) []string {
	all := make([]string, len(list))
	for i, x := range list {
		all[i] = name(x)
	}
	return all
}

func nearestOr(name string, known []string, none string) string {
	if len(known) == 0 {
		return ": " + none
	}
	return strict.Nearest(name, known)
}
