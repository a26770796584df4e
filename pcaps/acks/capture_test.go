package acks

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// row is one direction of a table of runs.
type row struct {
	From              string
	Runs, Ten, DupAck uint64
	Longest           uint64
}

func rows(r DupAckReport) (rows []row) {
	for _, d := range r.Directions {
		rows = append(rows, row{fmt.Sprint(d.Conversation, " ", d.From), d.Runs, d.AtLeast, d.DuplicateAcks, d.Longest})
	}
	return rows
}

// By Wireshark's rule squall counts what tshark counts, by RFC 5681 what the
// documentation says; and each frame that differs has its reason.
func TestRealCapture(t *testing.T) {
	path := captures(t, "dupack-runs.pcap")
	reports := map[Rule]DupAckReport{}
	rfc, wireshark := NewDupAcks(Config{}), NewDupAcks(Config{Rule: Tshark})
	type reason struct{ from, why string }
	reasons := map[reason]int{}
	ours := map[uint64]bool{} // frames that are duplicates by Wireshark's rule
	walk(t, path, func(f *Frame) {
		before := missed(wireshark, f)
		a, b := rfc.Add(f), wireshark.Add(f)
		ours[f.Number] = b == Duplicate
		why := "both"
		switch {
		case a != Duplicate && b != Duplicate:
			return
		case b != Duplicate:
			why = "RFC 5681 only: " + before
		case a != Duplicate:
			why = "tshark only: " + a.String()
		}
		reasons[reason{name(f.Packet.Src()), why}]++
	})
	for d, rule := range map[*DupAcks]Rule{rfc: RFC5681, wireshark: Tshark} {
		reports[rule] = d.Report()
		closes(t, reports[rule])
	}
	for _, tt := range []struct {
		rule Rule
		want []row
	}{
		{Tshark, []row{
			{"0 10.101.0.2:34962", 63, 20, 510, 56},
			{"0 10.102.0.2:1024", 78, 22, 642, 53},
			{"1 10.101.0.2:34963", 39, 10, 280, 24},
			{"1 10.102.0.9:1024", 44, 8, 253, 25},
		}},
		{RFC5681, []row{
			{"0 10.101.0.2:34962", 0, 0, 0, 0},
			{"0 10.102.0.2:1024", 63, 19, 542, 59},
			{"1 10.101.0.2:34963", 0, 0, 0, 0},
			{"1 10.102.0.9:1024", 35, 8, 226, 25},
		}},
	} {
		if diff := cmp.Diff(tt.want, rows(reports[tt.rule])); diff != "" {
			t.Errorf("by %v (-want +got):\n%s", tt.rule, diff)
		}
	}
	want := map[reason]int{
		{"10.101.0.2:34962", "tshark only: nothing outstanding"}:                                510,
		{"10.101.0.2:34963", "tshark only: nothing outstanding"}:                                280,
		{"10.102.0.2:1024", "both"}:                                                             493,
		{"10.102.0.2:1024", "tshark only: nothing outstanding"}:                                 144,
		{"10.102.0.2:1024", "tshark only: older ACK number"}:                                    5,
		{"10.102.0.2:1024", "RFC 5681 only: behind an older ACK"}:                               26,
		{"10.102.0.2:1024", "RFC 5681 only: its sequence number is not the next of its sender"}: 23,
		{"10.102.0.9:1024", "both"}:                                                             219,
		{"10.102.0.9:1024", "tshark only: nothing outstanding"}:                                 34,
		{"10.102.0.9:1024", "RFC 5681 only: behind an older ACK"}:                               7,
	}
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Errorf("frames by reason (-want +got):\n%s", diff)
	}

	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("no tshark to compare each frame with")
	}
	out, err := exec.Command("tshark", "-n", "-r", path, "-Y", "tcp.analysis.duplicate_ack", "-T", "fields", "-e", "frame.number").Output()
	if err != nil {
		t.Fatal(err)
	}
	theirs := map[uint64]bool{}
	for _, s := range strings.Fields(string(out)) {
		var n uint64
		fmt.Sscan(s, &n)
		theirs[n] = true
	}
	for n, dup := range ours {
		if dup != theirs[n] {
			t.Errorf("frame %d is a duplicate by the rule: %v, by tshark: %v", n, dup, theirs[n])
		}
	}
}

// missed says which of its conditions, if any, Wireshark's rule will find not
// met in an ACK that repeats the greatest number.
func missed(d *DupAcks, f *Frame) string {
	p := d.pairs[f.Conversation]
	if p == nil {
		return ""
	}
	e := &p.ends[0].tshark
	if !f.FromClient {
		e = &p.ends[1].tshark
	}
	switch {
	case f.Packet.Ack != e.ack:
		return "behind an older ACK"
	case f.Packet.Seq != e.next:
		return "its sequence number is not the next of its sender"
	}
	return ""
}
