package walk_test

import (
	"testing"
	"time"

	"squall/internal/pace"
	"squall/internal/port"
	"squall/internal/port/porttest"
	"squall/internal/port/walk"
)

// Two walks that are given one start keep one clock, whenever each was called: each
// frame goes at or after its time on it, and neither schedule is moved.
func TestWalkStart(t *testing.T) {
	start := pace.Now() + int64(30*time.Millisecond)
	var writers [2]porttest.Writer
	var sent [2]port.Sent
	for k := range writers {
		var err error
		// The second begins when the first is over: it is late for all of its frames.
		sent[k], err = walk.Walk(t.Context(), &writers[k], port.Job{
			Plan: porttest.Plan(60), Schedule: rate(1, time.Millisecond), Start: start, Count: 20, CatchUp: int64(time.Hour),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for k, s := range sent {
		if s.Start != start || s.Slipped != 0 {
			t.Errorf("walk %d: start %d, slipped %d, want %d and 0", k, s.Start, s.Slipped, start)
		}
		for i, f := range writers[k].Frames() {
			if due := start + int64(i)*1e6; f.At < due {
				t.Errorf("walk %d: frame %d went %d ns before it was due", k, i, due-f.At)
			}
		}
	}
	if late := sent[1].Error.Max; late < int64(19*time.Millisecond) {
		t.Errorf("the walk that began 19 ms late says it was %d ns late at most", late)
	}
}
