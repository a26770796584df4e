package acks

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// opening is a handshake: client at 1,000, server at 5,000, windows of 1,000.
var opening = []line{
	{flags: "-S", seq: 999, win: 1000},
	{server: true, flags: "S", seq: 4999, ack: 1000, win: 1000},
	{seq: 1000, ack: 5000, win: 1000},
}

func open(rest ...line) []line { return append(append([]line(nil), opening...), rest...) }

// data is what the server sends, got what the client acknowledges.
func data(seq uint32) line { return line{server: true, seq: seq, ack: 1000, n: 100, win: 1000} }
func got(ack uint32) line  { return line{seq: 1000, ack: ack, win: 1000} }

func with(l line, change func(*line)) line {
	change(&l)
	return l
}

func TestFindings(t *testing.T) {
	window := func(l *line) { l.win = 900 }
	for _, tt := range []struct {
		name  string
		lines []line
		want  []Finding // of the last ones
		runs  []uint64
	}{
		{"a hole: three duplicates", open(data(5000), got(5100), data(5200), got(5100), data(5300), got(5100), data(5400), got(5100), data(5100), got(5500)),
			[]Finding{Data, New, Data, Duplicate, Data, Duplicate, Data, Duplicate, Data, New}, []uint64{3}},
		{"the first segment is missing", open(data(5100), got(5000), data(5200), got(5000)), []Finding{Data, Duplicate, Data, Duplicate}, []uint64{2}},
		{"nothing outstanding", open(data(5000), got(5100), got(5100), got(5100)), []Finding{Data, New, Settled, Settled}, []uint64{}},
		{"a copy of data long acknowledged", open(data(5000), got(5100), data(5000), got(5100)), []Finding{Data, New, Data, Settled}, []uint64{}},
		{"a window update does not count and does not end a run", open(data(5100), got(5000), with(got(5000), window), with(got(5000), window)),
			[]Finding{Data, Duplicate, Window, Duplicate}, []uint64{2}},
		{"data with the number does not count and does not end a run", open(data(5100), got(5000), with(got(5000), func(l *line) { l.n = 10 }),
			with(got(5000), func(l *line) { l.seq = 1010 })), []Finding{Data, Duplicate, Data, Duplicate}, []uint64{2}},
		{"data that moves the number ends a run", open(data(5100), got(5000), data(5000), with(got(5200), func(l *line) { l.n = 10 }), data(5300),
			with(got(5200), func(l *line) { l.seq = 1010 })), []Finding{Data, Duplicate, Data, Data, Data, Duplicate}, []uint64{1, 1}},
		{"an overtaken ACK", open(data(5000), data(5100), got(5200), got(5100), got(5100)), []Finding{Data, Data, New, Older, Older}, []uint64{}},
		{"an overtaken ACK does not end a run", open(data(5000), got(5100), data(5200), got(5100), got(5000), got(5100)),
			[]Finding{Data, New, Data, Duplicate, Older, Duplicate}, []uint64{2}},
		{"SYN, FIN and RST", open(data(5100), with(got(5000), func(l *line) { l.flags = "F" }), with(got(5000), func(l *line) { l.flags = "R" })),
			[]Finding{Data, Control, Control}, []uint64{}},
		{"keep-alives and their answers", open(data(5000), got(5100), with(data(5099), func(l *line) { l.n = 0 }), got(5100), with(data(5099), func(l *line) { l.n = 1 }), got(5100)),
			// The server's are ACKs too, of nothing of the client's.
			[]Finding{Data, New, Settled, Settled, Data, Settled}, []uint64{}},
		{"window probes", open(data(5000), with(got(5100), func(l *line) { l.win = 0 }), with(data(5100), func(l *line) { l.n = 1 }), with(got(5100), func(l *line) { l.win = 0 })),
			[]Finding{Data, New, Data, Duplicate}, []uint64{1}},
		{"FIN is outstanding", open(with(data(5000), func(l *line) { l.flags = "F" }), got(5100), got(5100)), []Finding{Control, New, Duplicate}, []uint64{1}},
		{"begins in mid-conversation", []line{got(5100), got(5100), data(5200), got(5100), got(5100)}, []Finding{New, Duplicate, Data, Duplicate, Duplicate}, []uint64{3}},
		{"begins with the end of the other side known", []line{with(data(5000), func(l *line) { l.n = 0 }), got(5000), got(5000)}, []Finding{New, New, Settled}, []uint64{}},
		{"one direction only", []line{got(5100), got(5100), got(5100), got(5200)}, []Finding{New, Duplicate, Duplicate, New}, []uint64{2}},
		{"data lost by the capture", open(got(5300), got(5300)), []Finding{New, Settled}, []uint64{}},
		{"data lost by the capture, proved by SACK", open(got(5300), with(got(5300), func(l *line) { l.sack = []uint32{5400, 5500} })), []Finding{New, Duplicate}, []uint64{1}},
		{"SACK far beyond a window proves nothing", open(got(5300), with(got(5300), func(l *line) { l.sack = []uint32{5400, 1 << 31} })), []Finding{New, Settled}, []uint64{}},
		{"numbers wrap", []line{
			{flags: "-S", seq: 999, win: 1000}, {server: true, flags: "S", seq: 1<<32 - 151, ack: 1000, win: 1000}, got(1<<32 - 150),
			data(1<<32 - 150), got(1<<32 - 50), data(50), got(1<<32 - 50), data(150), got(1<<32 - 50), data(1<<32 - 50), got(250), data(350), got(250),
		}, []Finding{NoAck, Control, New, Data, New, Data, Duplicate, Data, Duplicate, Data, New, Data, Duplicate}, []uint64{2, 1}},
		{"scaled windows: a SYN's is not", []line{
			{flags: "-S", seq: 999, win: 1000, scale: 3}, {server: true, flags: "S", seq: 4999, ack: 1000, win: 1000, scale: 3},
			{server: true, seq: 5000, ack: 1000, win: 1000}, {server: true, seq: 5000, ack: 1000, win: 125},
		}, []Finding{NoAck, Control, Window, Window}, []uint64{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := NewDupAcks(Config{})
			var all []Finding
			play(t, tt.lines, func(f *Frame) { all = append(all, d.Add(f)) })
			if diff := cmp.Diff(tt.want, all[max(0, len(all)-len(tt.want)):]); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			report := d.Report()
			runs := []uint64{}
			for _, r := range report.Runs {
				runs = append(runs, r.Length)
			}
			if diff := cmp.Diff(tt.runs, runs); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
			closes(t, report)
		})
	}
}

// closes checks that the figures of a report add up.
func closes(t *testing.T, r DupAckReport) {
	t.Helper()
	var segments, dups, runs, inRuns, atLeast uint64
	for _, d := range r.Directions {
		f := d.Findings
		if sum := f.NoAck + f.Control + f.Data + f.New + f.Older + f.Window + f.Settled + f.Duplicate + f.Unlike; sum != d.Segments {
			t.Errorf("%s: findings add up to %d, have %d segments", d.From, sum, d.Segments)
		}
		segments += d.Segments
		dups += d.DuplicateAcks
		runs += d.Runs
		atLeast += d.AtLeast
	}
	var bins uint64
	for _, b := range r.Lengths {
		bins += b.Runs
		inRuns += b.Runs * b.Length
	}
	if segments != r.Segments || dups != r.DuplicateAcks || inRuns != dups || runs != r.RunCount || bins != runs ||
		uint64(len(r.Runs))+r.More != runs || atLeast != r.RunsAtLeast {
		t.Errorf("%d segments, %d duplicates, %d in %d runs, %d by length, %d listed and %d not: they do not add up to %+v",
			segments, dups, inRuns, runs, bins, len(r.Runs), r.More, r)
	}
}

// What is said of a run besides its length.
func TestRunDetails(t *testing.T) {
	sack := func(edges ...uint32) func(*line) {
		return func(l *line) { l.sack = edges }
	}
	at := func(l line, ms int64) line { l.ms = ms; return l }
	lines := open(
		data(5100), at(with(got(5000), sack(5100, 5200)), 10),
		data(5200), at(with(got(5000), sack(5100, 5300)), 20),
		at(with(got(5000), sack(5100, 5300)), 30), // nothing new in it
		with(got(5000), func(l *line) { l.n = 5 }),
		data(5200), at(with(got(5000), func(l *line) { l.seq, l.sack = 1005, []uint32{5200, 5300, 5100, 5300} }), 40), // D-SACK (RFC 2883 section 4)
	)
	d := NewDupAcks(Config{AtLeast: 3})
	play(t, lines, func(f *Frame) { d.Add(f) })
	r := d.Report()
	want := []Run{{From: "192.0.2.1:50000", To: "192.0.2.2:80", Ack: 5000, Length: 4, First: Time{base + 10e6, true}, Last: Time{base + 40e6, true},
		Between: 1, NewSACK: 2, DSACK: 1}}
	if diff := cmp.Diff(want, r.Runs); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if got := r.Directions[0]; got.SACKDuplicates != 2 || got.AtLeast != 1 || got.Longest != 4 {
		t.Errorf("direction %+v, want 2 duplicates by RFC 6675, a run of 4", got)
	}
}

func TestOneSided(t *testing.T) {
	d := NewDupAcks(Config{})
	play(t, []line{got(5100), got(5100)}, func(f *Frame) { d.Add(f) })
	if r := d.Report(); len(r.Directions) != 1 || !r.Directions[0].OneSided {
		t.Errorf("directions %+v, want a single one, one-sided", r.Directions)
	}
	d = NewDupAcks(Config{})
	play(t, open(got(5300), got(5300)), func(f *Frame) { d.Add(f) })
	if r := d.Report(); r.Directions[0].Unseen != 1 || r.Directions[0].OneSided {
		t.Errorf("directions %+v, want one ACK of data that is not there", r.Directions)
	}
}

// The same ACK on both sides of a router is in the capture twice.
func TestCopies(t *testing.T) {
	d := NewDupAcks(Config{})
	id := func(n uint16) line { return with(got(5000), func(l *line) { l.id = n }) }
	play(t, open(data(5100), id(7), id(7), id(8)), func(f *Frame) { d.Add(f) })
	if r := d.Report(); len(r.Runs) != 1 || r.Runs[0].Length != 3 || r.Runs[0].Copies != 1 || r.Directions[0].Copies != 1 {
		t.Errorf("runs %+v, want one of 3 with 1 copy", r.Runs)
	}
}

// Runs that are not kept are counted all the same.
func TestKeep(t *testing.T) {
	lines := open()
	for i := range uint32(10) {
		lines = append(lines, data(5100+i*100), got(5000+i*100), got(5000+i*100), got(5100+i*100))
		lines = append(lines, data(5100+i*100))
	}
	d := NewDupAcks(Config{Keep: 3})
	play(t, lines, func(f *Frame) { d.Add(f) })
	r := d.Report()
	closes(t, r)
	if len(r.Runs) != 3 || r.More == 0 {
		t.Errorf("%d runs kept, %d not, want 3 and more", len(r.Runs), r.More)
	}
}

// The frame of the JSON that other programs rely on.
func TestRunJSON(t *testing.T) {
	b, err := json.Marshal(Run{Conversation: 1, From: "192.0.2.1:5", To: "[2001:db8::1]:6", Ack: 7, Length: 8, First: Time{base + 1, true}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"conversation":1,"from":"192.0.2.1:5","to":"[2001:db8::1]:6","ack":7,"length":8,"first":"2026-01-01T00:00:00.000000001Z","last":"",`
	if !strings.HasPrefix(string(b), want) {
		t.Errorf("have %s, want it to begin with %s", b, want)
	}
}

// What Wireshark's rule does otherwise.
func TestTsharkRule(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lines []line
		want  uint64
	}{
		{"it does not ask what is outstanding", open(data(5000), got(5100), got(5100), got(5100)), 2},
		{"nor which number is the greatest", open(data(5000), data(5100), got(5200), got(5100), got(5100)), 1},
		{"an older number ends a run", open(data(5000), got(5100), data(5200), got(5100), got(5000), got(5100)), 1},
		{"window probes", open(data(5000), with(got(5100), func(l *line) { l.win = 0 }), with(data(5100), func(l *line) { l.n = 1 }), with(got(5100), func(l *line) { l.win = 0 })), 0},
		{"answers to keep-alives", open(data(5000), got(5100), with(data(5099), func(l *line) { l.n = 1 }), got(5100)), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := NewDupAcks(Config{Rule: Tshark})
			play(t, tt.lines, func(f *Frame) { d.Add(f) })
			r := d.Report()
			closes(t, r)
			if r.DuplicateAcks != tt.want {
				t.Errorf("%d duplicate ACKs, want %d: %+v", r.DuplicateAcks, tt.want, r.Runs)
			}
		})
	}
}
