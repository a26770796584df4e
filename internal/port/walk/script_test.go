package walk_test

import (
	"testing"

	"squall/internal/pace"
	"squall/internal/plan"
	"squall/internal/port"
	"squall/internal/port/porttest"
	"squall/internal/port/walk"
)

// TestScript: what leaves is what the script says, and the send time of a frame is
// that of the first of its copies, under the number that it has without a script.
func TestScript(t *testing.T) {
	s := &plan.Stream{ID: 1}
	for k := range 4 {
		f := make([]byte, 60)
		f[0] = byte(k)
		s.Heads.Append(f)
	}
	script := &plan.Script{Loop: plan.Block{In: 4, Moves: []plan.Move{{Frame: 2}, {Frame: 0}, {Frame: 3}, {Frame: 3, Copy: true}}}}
	p, err := plan.New(plan.Plan{Streams: []*plan.Stream{s}, Script: script, Pass: 4, Due: []int64{0, 1, 2, 3}})
	if err != nil {
		t.Fatal(err)
	}
	w := &porttest.Writer{}
	stamps := port.NewStamps(16)
	sent, err := walk.Walk(t.Context(), w, port.Job{Plan: p, Schedule: pace.Max{}, Count: 8, Stamps: stamps})
	if err != nil || sent.Frames != 8 {
		t.Fatalf("%+v, %v", sent, err)
	}
	var got []byte
	for _, f := range w.Frames() {
		got = append(got, f.Data[0])
	}
	if want := []byte{2, 0, 3, 3, 2, 0, 3, 3}; string(got) != string(want) {
		t.Errorf("frames %v left, need %v", got, want)
	}
	for seq, known := range []bool{true, false, true, true, true, false, true, true} {
		if at, ok := stamps.SentAt(uint64(seq)); (ok && at != 0) != known {
			t.Errorf("number %d: sent at %d, %v", seq, at, ok)
		}
	}
	first, _ := stamps.SentAt(2)
	second, _ := stamps.SentAt(0)
	third, _ := stamps.SentAt(3)
	if !(first <= second && second <= third) {
		t.Errorf("sent at %d, %d, %d: not in the order of leaving", first, second, third)
	}
}
