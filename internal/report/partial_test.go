package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"squall/scenarios"
)

// ndjson writes lines of events or samples as a run does.
func ndjson[T any](t testing.TB, all ...T) string {
	t.Helper()
	var b strings.Builder
	for _, x := range all {
		line, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	return b.String()
}

// left makes a directory that has these files; "" is none.
func left(t testing.TB, scenario, events, samples string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"scenario.yaml": scenario, "events.ndjson": events, "samples.ndjson": samples} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func after(seconds float64) time.Time {
	return began.Add(time.Duration(seconds * float64(time.Second)))
}

func begins(pair, phase string, at float64) scenarios.Event {
	return scenarios.Event{Time: after(at), Event: scenarios.EventPhase, Pair: pair, Phase: phase, Text: "5kpps"}
}

func lost(pair, phase string, at float64, frames uint64) scenarios.Event {
	until := after(at + 0.25)
	return scenarios.Event{Time: after(at), Event: scenarios.EventLoss, Pair: pair, Phase: phase, Frames: frames, First: 123, Until: &until, Text: "in words"}
}

func sampled(pair, phase string, at, seconds float64, sent, received, lost uint64) scenarios.Sample {
	return scenarios.Sample{
		Time: after(at), Pair: pair, Phase: phase, Seconds: seconds, Sent: sent, SentBytes: 64 * sent, Received: received, Lost: lost,
		Duplicated: 1, Reordered: 2, PPS: 5001, RxPPS: 4001.5,
	}
}

// The stories of runs that died.
func stories(t testing.TB) map[string]string {
	settle := scenarios.Event{Time: after(4), Event: scenarios.EventSettle}
	link := scenarios.Event{Time: after(1.5), Event: scenarios.EventLink, Port: "lab-b:vb", Text: "carrier lost"}
	done := scenarios.Event{Time: after(0.5), Event: scenarios.EventImpairment, Phase: "storm", Frames: 1, Text: "drop: frame 3 of stream 1"}
	events := ndjson(t, begins("", "baseline", 0), begins("", "storm", 2), done, lost("", "storm", 2.1, 400), link)
	samples := ndjson(t, sampled("", "baseline", 1, 1, 5000, 5000, 0), sampled("", "baseline", 2, 2, 10000, 10000, 0), sampled("", "storm", 3, 1, 20000, 19000, 400))
	a, b := "lab-a:va -> lab-b:vb", "lab-c:va -> lab-d:vb"
	return map[string]string{
		"killed":        left(t, "# squall gen --tx lab-a:va\n", events, samples),
		"half-lines":    left(t, "what: ever\n", events+`{"time":"2026-01-`, samples+`{"time":"2026-01-02T15:04:08Z","phase":"sto`),
		"broken-middle": left(t, "", events, "\x00\x00\x00\n"+samples+"null\n"+ndjson(t, sampled("", "storm", 4, 2, 40000, 39000, 500))),
		"no-samples":    left(t, "# squall gen --tx lab-a:va\n", ndjson(t, begins("", "gen", 0)), ""),
		"nothing-began": left(t, "# squall gen --tx lab-a:va\n", "", ""),
		"settling":      left(t, "", events+ndjson(t, settle), samples),
		"no-events":     left(t, "", "", samples),
		"several": left(t, "", ndjson(t, begins(a, "gen", 0), begins(b, "gen", 0), lost(b, "gen", 0.5, 7)),
			ndjson(t, sampled(a, "gen", 1, 1, 5000, 5000, 0), sampled(b, "gen", 1, 1, 5000, 4993, 7))),
		"one-name": left(t, "", ndjson(t, begins("", "gen", 0), begins("", "gen", 2), lost("", "gen", 2.5, 9)),
			ndjson(t, sampled("", "gen", 1, 1, 5000, 5000, 0), sampled("", "gen", 3, 0.9, 4000, 3991, 9))),
		"many-losses": left(t, "", ndjson(t, manyLosses()...), samples),
	}
}

func manyLosses() []scenarios.Event {
	all := []scenarios.Event{begins("", "baseline", 0), begins("", "storm", 2)}
	for i := range lossesKept + 4 {
		all = append(all, lost("", "storm", 2+float64(i)/100, uint64(i+1)))
	}
	return all
}

func TestPartialText(t *testing.T) {
	for name, dir := range stories(t) {
		t.Run(name, func(t *testing.T) {
			r, err := LoadPartial(dir)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := PartialText(&b, "runs/one", r); err != nil {
				t.Fatal(err)
			}
			golden(t, "partial-"+name+".txt", b.Bytes())
			if name == "many-losses" { // 4,096 lines of JSON show nothing more
				if x := r.Phases[1]; len(x.Losses) != lossesKept || x.LossCount != lossesKept+4 {
					t.Errorf("%d losses of %d, want %d of %d", len(x.Losses), x.LossCount, lossesKept, lossesKept+4)
				}
				return
			}
			b.Reset()
			if err := JSON(&b, r); err != nil {
				t.Fatal(err)
			}
			golden(t, "partial-"+name+".json", b.Bytes())
		})
	}
}

// Wherever the last write ended, all lines before it count, and what is left of the
// last is said.
func TestEveryCut(t *testing.T) {
	samples := ndjson(t, sampled("", "storm", 1, 1, 5000, 5000, 0), sampled("", "storm", 2, 2, 10000, 9000, 17))
	first := strings.Index(samples, "\n") + 1
	for n := first; n <= len(samples); n++ {
		r, err := LoadPartial(left(t, "", ndjson(t, begins("", "storm", 0)), samples[:n]))
		if err != nil {
			t.Fatal(err)
		}
		whole := n >= len(samples)-1 // without its newline it is whole too
		want := uint64(5000)
		if whole {
			want = 10000
		}
		if said := len(r.Damage) == 1; len(r.Phases) != 1 || r.Phases[0].Sent != want || said != (!whole && n > first) {
			t.Errorf("cut at byte %d: sent %d, damage %q, want %d", n, r.Phases[0].Sent, r.Damage, want)
		}
	}
}

func TestLoadPartialRefuses(t *testing.T) {
	empty := t.TempDir()
	file := filepath.Join(empty, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"no run directory": empty, "a file": file, "nowhere": filepath.Join(empty, "nowhere")} {
		t.Run(name, func(t *testing.T) {
			r, err := LoadPartial(path)
			if err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("%+v, error %v, want one that names %s", r, err, path)
			}
		})
	}
	if _, err := Load(empty); !errors.Is(err, ErrNoResult) {
		t.Errorf("error %v, want %v", err, ErrNoResult)
	}
}

// What a Dir has written so far is what LoadPartial finds.
func TestPartialOfDir(t *testing.T) {
	d := create(t, filepath.Join(t.TempDir(), "run"))
	defer d.Close()
	d.Scenario([]byte("# squall gen\n"))
	d.Event(begins("", "storm", 0))
	for i := range 5 {
		s := sampled("", "storm", float64(i+1), float64(i+1), uint64(i*1000), uint64(i*999), uint64(i))
		d.Sample(s)
		r, err := LoadPartial(d.Path)
		if err != nil {
			t.Fatal(err)
		}
		x := r.Phases[0]
		if diff := cmp.Diff([]uint64{s.Sent, s.Received, s.Lost, 0}, []uint64{x.Sent, x.Received, x.Lost, x.Outstanding()}); diff != "" || !r.LastSample.Equal(s.Time) {
			t.Errorf("sample %d, the last of %v (-want +got):\n%s", i, r.LastSample, diff)
		}
	}
}

// Whatever stands in the files, it is reported or refused.
func FuzzLoadPartial(f *testing.F) {
	for _, dir := range stories(f) {
		events, _ := os.ReadFile(filepath.Join(dir, "events.ndjson"))
		samples, _ := os.ReadFile(filepath.Join(dir, "samples.ndjson"))
		scenario, _ := os.ReadFile(filepath.Join(dir, "scenario.yaml"))
		if len(events) < 1<<12 {
			f.Add(scenario, events, samples)
		}
	}
	f.Fuzz(func(t *testing.T, scenario, events, samples []byte) {
		r, err := LoadPartial(left(t, string(scenario)+"\n", string(events), string(samples)))
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict.Result != Incomplete {
			t.Errorf("verdict %q", r.Verdict.Result)
		}
		var b bytes.Buffer
		if err := errors.Join(PartialText(&b, "x", r), JSON(&b, r)); err != nil {
			t.Error(err)
		}
		side := SideOfPartial("x", r)
		if err := ComparisonText(&b, Compare(side, side)); err != nil {
			t.Error(err)
		}
	})
}
