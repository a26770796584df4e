// Package squall_test holds the rules of the house that no single room can
// test: who may import whom.
package squall_test

import (
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// room is one row of the import table: what of this module a package may
// import, and why so and not more.
type room struct {
	may    []string
	reason string
}

// anything stands for every room.
const anything = "*"

var table = map[string]room{
	"internal/wire":          {nil, "views on memory: the ground everything stands on"},
	"internal/pace":          {nil, "arithmetic of due times, testable without a port"},
	"internal/netns":         {nil, "how to act inside a namespace, for port, probe and lab alike"},
	"internal/strict":        {nil, "files that people write, for gen and scenarios alike"},
	"internal/probe/sshtest": {[]string{"internal/netns", "internal/probe/shell"}, "a real sshd, for tests"},
	"internal/probe/shell":   {[]string{"internal/netns"}, "lines of shell, here or over ssh, in bounded time"},
	"internal/probe":         {[]string{"internal/netns", "internal/probe/shell"}, "what the kernel or the DUT counted must not be coloured by what we believe we sent: never gen, plan or port"},

	"internal/plan":          {[]string{"internal/wire"}, "data and the one frame writer"},
	"internal/port":          {[]string{"internal/wire", "internal/plan", "internal/pace", "internal/netns"}, "the engine interfaces: a job is a plan and a schedule"},
	"internal/port/walk":     {[]string{"internal/port", "internal/wire", "internal/plan", "internal/pace"}, "executes a plan over any batch writer"},
	"internal/port/packet":   {[]string{"internal/port", "internal/port/walk", "internal/wire", "internal/plan", "internal/pace", "internal/netns"}, "an engine"},
	"internal/port/bpf":      {nil, "the C programs and what is generated from them"},
	"internal/port/live":     {[]string{"internal/port", "internal/port/bpf", "internal/wire", "internal/plan", "internal/pace", "internal/netns"}, "an engine"},
	"internal/port/xdp":      {[]string{"internal/port", "internal/port/bpf", "internal/port/walk", "internal/wire", "internal/plan", "internal/pace", "internal/netns"}, "an engine"},
	"internal/port/xdpmeter": {[]string{"internal/port", "internal/port/bpf", "internal/wire", "internal/netns", "internal/meter"}, "the meter's figures, counted in the kernel"},
	"internal/port/porttest": {[]string{"internal/port", "internal/wire", "internal/plan", "internal/pace"}, "an in-memory port for tests"},
	"internal/meter":         {[]string{"internal/wire"}, "what came, whoever sent it and however it came in"},
	"internal/ledger":        {[]string{"internal/meter", "internal/probe"}, "the balance of what was counted"},
	"internal/lab":           {[]string{"internal/netns", "internal/port", "internal/wire", "internal/probe"}, "namespaces and DUT models"},
	"pcaps":                  {[]string{"internal/wire"}, "captures at rest"},
	"internal/convo":         {nil, "conversations of captured frames"},
	"internal/impair":        {[]string{"internal/plan", "internal/pace"}, "what is done to frames on purpose, as arithmetic on their numbers"},
	"pcaps/acks":             {[]string{"pcaps", "internal/convo", "internal/meter", "internal/wire"}, "duplicate ACKs and order of captured conversations"},
	"pcaps/survey":           {[]string{"pcaps", "internal/convo", "internal/wire"}, "what is in a capture"},
	"pcaps/filter":           {[]string{"pcaps", "internal/convo", "internal/wire"}, "expressions as tcpdump has them"},
	"pcaps/compare":          {[]string{"pcaps", "internal/convo", "internal/wire"}, "two captures of the same frames"},
	"gen/conversation":       {[]string{"internal/wire", "internal/pace"}, "whole TCP conversations, played through"},
	"replay/rewrite":         {[]string{"internal/wire"}, "one frame's headers"},
	"replay/fit":             {[]string{"internal/wire"}, "one frame's length"},
	"replay/sides":           {[]string{"internal/convo", "internal/pace", "internal/plan", "internal/wire"}, "who is client and who server"},
	"replay/lockstep":        {[]string{"internal/convo", "internal/pace", "internal/plan", "internal/wire", "internal/meter", "internal/port", "replay/sides"}, "frames that wait for each other: no plan, so it has the batch interface"},
	"gen":                    {[]string{"internal/wire", "internal/plan", "internal/pace", "internal/strict", "internal/impair"}, "streams to plans; rates only to weigh streams against each other"},
	"replay":                 {[]string{"pcaps", "replay/rewrite", "replay/fit", "internal/impair", "internal/wire", "internal/plan", "internal/pace"}, "captures to plans and their schedules"},
	"scenarios":              {[]string{"gen", "replay", "replay/rewrite", "replay/sides", "replay/lockstep", "internal/impair", "pcaps", "internal/plan", "internal/port", "internal/port/packet", "internal/port/xdp", "internal/port/live", "internal/port/xdpmeter", "internal/pace", "internal/meter", "internal/probe", "internal/ledger", "internal/lab", "internal/netns", "internal/wire"}, "the runner; with cmd the only one to name an engine"},
	"scenarios/file":         {[]string{"gen", "internal/pace", "internal/strict"}, "what a scenario says, whoever runs it"},
	"scenarios/library":      {nil, "the scenarios that are shipped, as text"},
	"scenarios/metrics":      {nil, "expressions over figures, whoever has them"},
	"scenarios/trials":       {nil, "samples of settings, compared"},
	"internal/report":        {[]string{"scenarios", "internal/meter", "internal/probe", "internal/ledger"}, "what is kept and drawn of a result"},
	"cmd/squall":             {[]string{anything}, "flags, wiring and printing"},
	"bench":                  {[]string{anything}, "measures the program from outside"},
}

// forbidden are standard packages that nothing below cmd may use, with the
// reason.
var forbidden = map[string]string{
	"flag": "flags are read in cmd",
	"log":  "nothing below cmd logs: it returns errors and calls observers",
}

type pkg struct {
	ImportPath string
	Imports    []string
}

func TestImportTable(t *testing.T) {
	const module = "squall"
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := 0
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if name == module {
			continue // this test
		}
		row, ok := table[name]
		if !ok {
			t.Errorf("%s is not in the import table: give it a row, with its reason", name)
			continue
		}
		seen++
		top := strings.HasPrefix(name, "cmd/") || name == "bench"
		for _, i := range p.Imports {
			if why := forbidden[i]; why != "" && !top {
				t.Errorf("%s imports %s: %s", name, i, why)
			}
			ours, ok := strings.CutPrefix(i, module+"/")
			if ok && !slices.Contains(row.may, ours) && !slices.Contains(row.may, anything) {
				t.Errorf("%s imports %s, which its row does not allow (%s)", name, ours, row.reason)
			}
		}
	}
	if seen != len(table) {
		t.Errorf("the import table has %d rows, the module %d packages: take out what is gone", len(table), seen)
	}
}
