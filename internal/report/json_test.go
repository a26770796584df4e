package report

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"squall/internal/meter"
	"squall/scenarios"
)

func TestJSONGolden(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, whole()); err != nil {
		t.Fatal(err)
	}
	golden(t, "run.json", b.Bytes())
}

func TestJSONRoundTrip(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := JSON(f, whole()); err != nil {
		t.Fatal(err)
	}
	f.Close()
	got, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole(), got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

// frame is what other programs rely on: these names, these kinds.
type frame struct {
	Schema  string `json:"schema"`
	Verdict struct {
		Result  string            `json:"result"`
		Reasons []string          `json:"reasons"`
		Checks  []json.RawMessage `json:"checks"`
	} `json:"verdict"`
	Phases []struct {
		Name        string  `json:"name"`
		Engine      string  `json:"engine"`
		AskedPPS    float64 `json:"asked_pps"`
		AchievedPPS float64 `json:"achieved_pps"`
		Seconds     float64 `json:"seconds"`
		Sent        uint64  `json:"sent"`
		Received    uint64  `json:"received"`
		Lost        uint64  `json:"lost"`
		Duplicated  uint64  `json:"duplicated"`
		Reordered   uint64  `json:"reordered"`
		Foreign     uint64  `json:"foreign"`
		LossPeriods []struct {
			At     time.Time `json:"at"`
			Frames uint64    `json:"frames"`
		} `json:"loss_periods"`
		Latency struct {
			Min  int64 `json:"min"`
			P50  int64 `json:"p50"`
			P99  int64 `json:"p99"`
			P999 int64 `json:"p999"`
			Max  int64 `json:"max"`
		} `json:"latency_ns"`
		SendError struct {
			P50  int64 `json:"p50"`
			P99  int64 `json:"p99"`
			P999 int64 `json:"p999"`
			Max  int64 `json:"max"`
		} `json:"send_error_ns"`
	} `json:"phases"`
	Ledger struct {
		Sent     uint64 `json:"sent"`
		Received uint64 `json:"received"`
		Named    []struct {
			Where   string `json:"where"`
			Counter string `json:"counter"`
			Frames  uint64 `json:"frames"`
		} `json:"named"`
		Unexplained int64 `json:"unexplained"`
	} `json:"ledger"`
}

// Whatever may be left out of a result, the frame's keys are always there.
func TestJSONFrame(t *testing.T) {
	least := &scenarios.Result{Schema: scenarios.Schema, Phases: []scenarios.PhaseResult{{LossPeriods: []scenarios.LossPeriod{{}}}}}
	least.Verdict.Reasons, least.Verdict.Checks = []string{}, []scenarios.Check{}
	least.Ledger.Named = storm().Ledger.Named[1:]
	for name, r := range map[string]*scenarios.Result{"least": least, "whole": whole()} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := JSON(&b, r); err != nil {
				t.Fatal(err)
			}
			var f frame
			if err := json.Unmarshal(b.Bytes(), &f); err != nil {
				t.Fatal(err)
			}
			again, err := json.Marshal(f)
			if err != nil {
				t.Fatal(err)
			}
			var want, got any
			if err := json.Unmarshal(again, &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(b.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			within(t, "run.json", want, got)
		})
	}
}

// within checks that got has all that want has; it may have more keys.
func within(t *testing.T, path string, want, got any) {
	t.Helper()
	switch w := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		for k, v := range w {
			have, ok := g[k]
			if !ok {
				t.Errorf("%s has no %q", path, k)
				continue
			}
			within(t, path+"."+k, v, have)
		}
	case []any:
		g, _ := got.([]any)
		if g == nil || len(g) != len(w) {
			t.Errorf("%s is %v, want %v", path, got, want)
			return
		}
		for i := range w {
			within(t, path+"[]", w[i], g[i])
		}
	default:
		if !reflect.DeepEqual(want, got) {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
}

// The page on run.json has each key of a result, sample and event, in its place,
// and no other.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/run-json.md")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string][]string{}
	section := ""
	heading, row := regexp.MustCompile("^##+ `?([^`]*)`?$"), regexp.MustCompile("^\\| `([a-z0-9_]+)` \\|")
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		if m := heading.FindStringSubmatch(line); m != nil {
			section = m[1]
		} else if m := row.FindStringSubmatch(line); m != nil {
			have[section] = append(have[section], m[1])
			if cells := strings.Count(line, " |"); cells != 4 {
				t.Errorf("%s: row of %q has %d cells, want 4", section, m[1], cells)
			}
		}
	}
	want := map[string][]string{}
	keys(want, "run.json", reflect.TypeFor[scenarios.Result]())
	keys(want, "Lines of samples.ndjson", reflect.TypeFor[scenarios.Sample]())
	keys(want, "Lines of events.ndjson", reflect.TypeFor[scenarios.Event]())
	for _, m := range []map[string][]string{have, want} {
		for k := range m {
			slices.Sort(m[k])
		}
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("docs/run-json.md (-want +got):\n%s", diff)
	}
}

// keys collects the JSON keys of a type and of those in it, by their section of
// the page.
func keys(all map[string][]string, section string, of reflect.Type) {
	all[section] = nil
	for i := range of.NumField() {
		f := of.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		all[section] = append(all[section], key)
		path, typ := key, f.Type
		if section != "run.json" {
			path = section + "." + key
		}
		switch typ.Kind() {
		case reflect.Slice:
			path, typ = path+"[]", typ.Elem()
		case reflect.Pointer:
			typ = typ.Elem()
		}
		switch {
		case typ.Kind() != reflect.Struct || typ == reflect.TypeFor[time.Time]() || path == "ledger.moved[]":
		case typ == reflect.TypeFor[meter.Summary]():
			keys(all, "summary", typ)
		default:
			keys(all, path, typ)
		}
	}
}

// The page on reports has each key of a run that died and of a comparison.
func TestReportsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/reports.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []reflect.Type{
		reflect.TypeFor[Partial](), reflect.TypeFor[UnderWay](), reflect.TypeFor[PartialPhase](), reflect.TypeFor[Comparison](), reflect.TypeFor[Side](),
		reflect.TypeFor[AccountDifference](), reflect.TypeFor[PhaseDifference](), reflect.TypeFor[Difference](), reflect.TypeFor[LedgerRow](), reflect.TypeFor[CheckDifference](),
	} {
		for i := range of.NumField() {
			key, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if key != "" && !regexp.MustCompile("`[a-z_.\\[\\]]*\\b"+key+"(\\[\\])?`").Match(page) {
				t.Errorf("docs/reports.md lacks %q of %v", key, of)
			}
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	tests := []struct {
		name, text, say string
	}{
		{"no run.json", "", "did not come to its end"},
		{"half a run.json", `{"schema": "squall.run/1",`, "run.json"},
		{"another schema", `{"schema": "squall.run/2"}`, `"squall.run/2"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if tt.text != "" {
				if err := os.WriteFile(filepath.Join(dir, "run.json"), []byte(tt.text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			_, err := Load(dir)
			if err == nil || !strings.Contains(err.Error(), tt.say) || !strings.Contains(err.Error(), dir) {
				t.Errorf("error %v, want one with %q", err, tt.say)
			}
		})
	}
}
