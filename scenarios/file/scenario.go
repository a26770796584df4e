package file

import (
	"time"

	"squall/gen"
	"squall/internal/strict"
)

// Scenario is a file as it was written, with its variables put in.
type Scenario struct {
	Name  string
	About string // whose question it answers, and how to point it at real ports
	// Vars are the variables with the values that were put in.
	Vars []Var

	Pairs []Pair
	// Engine, Receiver and Cores are as the flags of squall gen.
	Engine, Receiver string
	Cores            uint64 // 0: one
	Streams          []gen.Spec
	Replays          []Replay
	// Phases follow each other without a break in the sending.
	Phases []Phase
	Probes []Probe
	// Before and After are commands around the whole; those of a setting are
	// around each of its trials.
	Before, After []string
	Settings      []Setting
	// Repeat is how many trials each setting has; 0: one.
	Repeat uint64
	// Order is alternate (A B A B, also where empty) or shuffle (by Seed, in
	// blocks of one trial of each).
	Order string
	Seed  uint64
	// Verdict has the expressions that must hold.
	Verdict []Check
	// Compare names the metrics that settings are compared by.
	Compare []Compared
	// Lab is what stands in for the ports with --lab.
	Lab Lab

	marks *strict.Marks
}

// Errorf returns an error about the part at path, such as phases[1].rate, with its
// place in the file.
func (s *Scenario) Errorf(path, format string, args ...any) error {
	return s.marks.Errorf(path, format, args...)
}

// Var is a variable and its value: ${Name} in the file.
type Var struct{ Name, Value string }

// Pair is a port that sends and one that receives.
type Pair struct {
	Name   string // in metrics; default its number from 1
	TX, RX string // [NETNS:]IFACE; RX may be empty
	DstMAC string // default the receiving port's address
}

// Replay is a capture that phases may send.
type Replay struct {
	Name, File string
	Speed      string
	Rate       string
	Loop       uint64 // 0: once
}

// Phase is a span of a trial.
type Phase struct {
	Name    string
	Streams []string // empty: all, or none where it has a replay
	Replay  string
	// Rate is of all streams together; empty: the streams' own, or max.
	Rate string
	// RampFrom is where a rate begins that goes to Rate over RampOver.
	RampFrom string
	RampOver time.Duration
	// Burst frames go back to back, at the mean Rate.
	Burst uint64
	// For and Count bound it.
	For   time.Duration
	Count uint64
	// MaxLoss is the share of frames that may be lost, as 0.1 %; nil: any. It is
	// short for a verdict.
	MaxLoss *float64
}

// Probe is a reader of counters, on its own clock.
type Probe struct {
	Name  string
	Kind  string // see Kinds
	Every time.Duration
	Port  string // of kinds that read one
	SSH   string // [USER@]HOST[:PORT]: read there
	// Command, URL and File are where text comes from.
	Command, URL string
	// Parse is names (name: value, name=value, name value), json, sysctl or prometheus,
	// Match a regular expression; empty: names.
	Parse, Match string
	// Counts says what counters of the probe are: drops take part in the ledger.
	Counts map[string]string
}

// Kinds are the kinds of probes.
var Kinds = []string{"port", "ethtool", "qdisc", "cpu", "softirqs", "interrupts", "softnet", "memory", "frequency", "perf", "command", "prometheus"}

// Setting is one of the things that are compared.
type Setting struct {
	Name string
	// Vars are put in instead of the file's own, in its trials.
	Vars          []Var
	Before, After []string
}

// Check is an expression that must hold.
type Check struct{ Expr string }

// Compared is a metric that settings are compared by.
type Compared struct {
	Metric string
	Above  *float64 // runs above it are counted
}

// Lab is the network of namespaces that stands in for real ports.
type Lab struct {
	// Vars are put in instead of the file's own.
	Vars   []Var
	Limit  string // of the router's way out, as 20Mbit; empty: none
	Queues uint64 // of each port; 0: one
	// Misbehave is what the router does wrong; empty: nothing.
	Misbehave []string
}
