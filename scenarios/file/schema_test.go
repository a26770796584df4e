package file

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// object is what the test reads of a schema.
type object struct {
	Properties map[string]object
	Items      *object
	OneOf      []object
	Enum       []string
}

func (o object) keys() []string { return slices.Sorted(maps.Keys(o.Properties)) }

// The schema has the keys that Load knows, no more and no fewer, in every part.
func TestSchema(t *testing.T) {
	var s object
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	const head = "name: x\npairs: [{tx: a}]\nstreams: [{name: s}]\nphases: [{name: p, for: 1s}]\n"
	tests := []struct {
		part string
		text string
		of   object
	}{
		{"the file", head + "frobnicatedness: 1\n", s},
		{"pairs", "name: x\npairs: [{frobnicatedness: 1}]\n", *s.Properties["pairs"].Items},
		{"replays", head + "replays: [{frobnicatedness: 1}]\n", *s.Properties["replays"].Items},
		{"phases", "name: x\nphases: [{frobnicatedness: 1}]\n", *s.Properties["phases"].Items},
		{"probes", head + "probes: [{frobnicatedness: 1}]\n", *s.Properties["probes"].Items},
		{"settings", head + "settings: [{frobnicatedness: 1}]\n", *s.Properties["settings"].Items},
		{"compare", head + "compare: [{frobnicatedness: 1}]\n", s.Properties["compare"].Items.OneOf[1]},
		{"lab", head + "lab: {frobnicatedness: 1}\n", s.Properties["lab"]},
	}
	known := regexp.MustCompile(`unknown key "frobnicatedness": need one of (.*)`)
	for _, tt := range tests {
		t.Run(tt.part, func(t *testing.T) {
			_, err := Load("x.yaml", []byte(tt.text), Options{})
			m := known.FindStringSubmatch(fmt.Sprint(err))
			if m == nil {
				t.Fatalf("error %v names no keys", err)
			}
			if diff := cmp.Diff(strings.Split(m[1], ", "), tt.of.keys()); diff != "" {
				t.Errorf("keys (-loader +schema):\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff(Kinds, s.Properties["probes"].Items.Properties["kind"].Enum); diff != "" {
		t.Errorf("kinds of probes (-loader +schema):\n%s", diff)
	}
}
