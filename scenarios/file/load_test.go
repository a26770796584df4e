package file

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"squall/internal/strict"
)

const whole = `
name: example
about: all keys
vars: {base: 2kpps, more: "${base}", n: 7}
pairs:
  - {tx: a:va, rx: b:vb}
  - {name: back, tx: b:vb, rx: a:va, dst_mac: "02:00:00:00:00:01"}
engine: live
receiver: auto
cores: 2
streams:
  - {name: short, size: 64, flows: "${n}"}
  - {name: long, size: 1518, flows: "${n}"}
replays:
  - {name: call, file: call.pcap, speed: 0.5, loop: 3}
phases:
  - {name: calm, streams: short, rate: "${base}", for: 10s, max_loss: 0.1 %}
  - {name: rising, streams: [short, long], ramp_from: 1kpps, ramp_over: 2s, rate: "${more}", for: 2s}
  - {name: bursts, streams: [long], rate: 1kpps, burst: 16, count: 1000}
  - {name: again, replay: call}
probes:
  - {name: cpu, kind: cpu, every: 500ms}
  - {name: dut, kind: command, ssh: root@dut, command: "sysctl dev.x", match: '(\S+): (\d+)', counts: {drops: drops}}
before: ["true"]
after: "true"
settings:
  - {name: a, vars: {base: 3kpps}, before: ssh dut sysctl x=0}
  - {name: b}
repeat: 16
order: shuffle
seed: 9
verdict: [calm.loss_ratio == 0]
compare: [calm.received, {metric: calm.lost, above: 300000}]
lab: {vars: {base: 100pps}, limit: 20Mbit, queues: 2, misbehave: [drop every 10]}
`

func TestLoad(t *testing.T) {
	little, above := 0.001, 300000.0
	want := &Scenario{
		Name: "example", About: "all keys",
		Vars:   []Var{{"base", "2kpps"}, {"more", "2kpps"}, {"n", "7"}},
		Pairs:  []Pair{{Name: "p1", TX: "a:va", RX: "b:vb"}, {Name: "back", TX: "b:vb", RX: "a:va", DstMAC: "02:00:00:00:00:01"}},
		Engine: "live", Receiver: "auto", Cores: 2,
		Replays: []Replay{{Name: "call", File: "call.pcap", Speed: "0.5", Loop: 3}},
		Phases: []Phase{
			{Name: "calm", Streams: []string{"short"}, Rate: "2kpps", For: 10 * time.Second, MaxLoss: &little},
			{Name: "rising", Streams: []string{"short", "long"}, Rate: "2kpps", RampFrom: "1kpps", RampOver: 2 * time.Second, For: 2 * time.Second},
			{Name: "bursts", Streams: []string{"long"}, Rate: "1kpps", Burst: 16, Count: 1000},
			{Name: "again", Replay: "call"},
		},
		Probes: []Probe{
			{Name: "cpu", Kind: "cpu", Every: 500 * time.Millisecond},
			{Name: "dut", Kind: "command", SSH: "root@dut", Command: "sysctl dev.x", Match: `(\S+): (\d+)`, Counts: map[string]string{"drops": "drops"}, Every: time.Second},
		},
		Before: []string{"true"}, After: []string{"true"},
		Settings: []Setting{{Name: "a", Vars: []Var{{"base", "3kpps"}}, Before: []string{"ssh dut sysctl x=0"}}, {Name: "b"}},
		Repeat:   16, Order: "shuffle", Seed: 9,
		Verdict: []Check{{"calm.loss_ratio == 0"}},
		Compare: []Compared{{Metric: "calm.received"}, {"calm.lost", &above}},
		Lab:     Lab{Vars: []Var{{"base", "100pps"}}, Limit: "20Mbit", Queues: 2, Misbehave: []string{"drop every 10"}},
	}
	got, err := Load("x.yaml", []byte(whole), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Scenario{}), cmpopts.IgnoreFields(Scenario{}, "Streams")); diff != "" {
		t.Errorf("scenario (-want +got):\n%s", diff)
	}
	var flows []uint64
	for _, s := range got.Streams {
		flows = append(flows, s.Flows)
	}
	if diff := cmp.Diff([]uint64{7, 7}, flows); diff != "" {
		t.Errorf("flows (-want +got):\n%s", diff)
	}
}

// Which value a variable has: --set before a setting's before the lab's before the
// file's own.
func TestVars(t *testing.T) {
	tests := []struct {
		name string
		o    Options
		want string
	}{
		{"own", Options{}, "2kpps"},
		{"lab", Options{Lab: true}, "100pps"},
		{"setting", Options{Setting: "a", Lab: true}, "3kpps"},
		{"setting without", Options{Setting: "b", Lab: true}, "100pps"},
		{"set", Options{Setting: "a", Lab: true, Set: []Var{{"base", "5kpps"}}}, "5kpps"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Load("x.yaml", []byte(whole), tt.o)
			if err != nil {
				t.Fatal(err)
			}
			if s.Phases[0].Rate != tt.want || s.Phases[1].Rate != tt.want {
				t.Errorf("rates %q and, of a variable of a variable, %q, want %q", s.Phases[0].Rate, s.Phases[1].Rate, tt.want)
			}
		})
	}
}

func TestTimeScale(t *testing.T) {
	s, err := Load("x.yaml", []byte(whole), Options{TimeScale: 0.02})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Phases[0].For; got != 200*time.Millisecond {
		t.Errorf("10s at a scale of 0.02 are %v", got)
	}
	if got := s.Probes[0].Every; got != 500*time.Millisecond {
		t.Errorf("a probe's clock is stretched to %v", got)
	}
}

// TestErrors: what is wrong and where.
func TestErrors(t *testing.T) {
	const head = "name: x\npairs: [{tx: a}]\nstreams: [{name: s}]\n"
	tests := []struct{ name, text, want string }{
		{"nothing", "", "1:1: no scenario"},
		{"unknown key", head + "phasse: []\n", "4:1: unknown key \"phasse\", did you mean \"phases\"?\nphasse: []\n^"},
		{"no phases", head, "1:1: no phases"},
		{"no pairs", "name: x\nphases: [{name: p, for: 1s}]\n", "1:1: no pairs"},
		{"stream named nowhere", head + "phases:\n  - name: p\n    streams: [t]\n    for: 1s\n", "6:15: no stream \"t\": need one of s"},
		{"replay named nowhere", head + "phases:\n  - {name: p, replay: r}\n", "5:23: no replay \"r\": the file has no replays"},
		{"wrong unit", head + "phases:\n  - {name: p, rate: 5parsec, for: 1s}\n", "5:21: phases[0].rate: "},
		{"wrong time", head + "phases:\n  - {name: p, for: 15}\n", "5:20: phases[0].for: have \"15\", need a time above 0 such as 500ms, 15s or 40m"},
		{"no end", head + "phases:\n  - {name: p}\n", "5:5: phase \"p\" has no end: need for or count"},
		{"name twice", head + "phases: [{name: p, for: 1s}, {name: p, for: 1s}]\n", "4:37: the name \"p\" is used twice"},
		{"name that is none", head + "phases: [{name: a-b, for: 1s}]\n", "4:17: phases[0].name: have \"a-b\", need a word"},
		{"reserved name", head + "phases: [{name: ledger, for: 1s}]\n", "4:17: the name \"ledger\" means something else"},
		{"share above all", head + "phases: [{name: p, for: 1s, max_loss: 101 %}]\n", "4:39: phases[0].max_loss: have \"101 %\""},
		{"half a ramp", head + "phases: [{name: p, for: 1s, rate: 1kpps, ramp_over: 1s}]\n", "4:10: ramp_from and ramp_over belong together"},
		{"no such variable", head + "phases: [{name: p, for: \"${tiem}\"}]\n", "4:25: no variable \"tiem\""},
		{"no such variable in a setting", head + "phases: [{name: p, for: 1s}]\nvars: {time: 1s}\nsettings: [{name: a, vars: {tiem: 2s}}, {name: b}]\n", "no variable \"tiem\", did you mean \"time\"?"},
		{"unknown kind of probe", head + "phases: [{name: p, for: 1s}]\nprobes: [{name: q, kind: cpus}]\n", "5:26: probes[0].kind: unknown word \"cpus\", did you mean \"cpu\"?"},
		{"probe without its port", head + "phases: [{name: p, for: 1s}]\nprobes: [{name: q, kind: qdisc}]\n", "5:10: probe \"q\" of the kind qdisc has no port"},
		{"probe with a port", head + "phases: [{name: p, for: 1s}]\nprobes: [{name: q, kind: cpu, port: eth0}]\n", "5:37: probes of the kind cpu have no port"},
		{"one setting", head + "phases: [{name: p, for: 1s}]\nsettings: [{name: a}]\n", "5:11: one setting"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{}
			if strings.Contains(tt.name, "setting") && tt.name != "one setting" {
				o.Setting = "a"
			}
			_, err := Load("x.yaml", []byte(tt.text), o)
			var at *strict.Error
			if !errors.As(err, &at) {
				t.Fatalf("error %v, want a *strict.Error", err)
			}
			if !strings.HasPrefix(err.Error(), "x.yaml:"+tt.want) && !(strings.Contains(err.Error(), tt.want) && tt.want[0] == 'n') {
				t.Errorf("error\n%v\nwant it to begin with\nx.yaml:%s", err, tt.want)
			}
		})
	}
}

func TestSetUnknown(t *testing.T) {
	_, err := Load("x.yaml", []byte(whole), Options{Set: []Var{{"bsae", "1kpps"}}})
	if err == nil || !strings.Contains(err.Error(), `--set bsae: the scenario has no such variable, did you mean "base"?`) {
		t.Errorf("error %v", err)
	}
}

// Every scenario of the library is sound, as it is, in the lab, and scaled.
func TestLibrary(t *testing.T) {
	paths, err := filepath.Glob("../library/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("library: %v, %v", paths, err)
	}
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []Options{{}, {Lab: true}, {TimeScale: 0.02, Lab: true}} {
			s, err := Load(p, text, o)
			if err != nil {
				t.Errorf("%+v: %v", o, err)
				continue
			}
			if want := strings.TrimSuffix(filepath.Base(p), ".yaml"); s.Name != want {
				t.Errorf("%s: name %q, want %q", p, s.Name, want)
			}
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(whole), "base=1kpps")
	f.Add([]byte("vars: {a: '${a}'}\nname: ${a}\n"), "a=$${b}")
	f.Add([]byte("vars: &v {a: b}\nlab: {vars: *v}\nsettings: [{vars: *v}]"), "")
	f.Fuzz(func(t *testing.T, data []byte, set string) {
		var o Options
		if v, err := ParseVar(set); err == nil {
			o.Set = []Var{v}
		}
		_, err := Load("x.yaml", data, o)
		var at *strict.Error
		if err != nil && !errors.As(err, &at) {
			t.Errorf("error without a place: %v", err)
		}
	})
}
