package pace_test

import (
	"testing"
	"time"

	"squall/internal/pace"
)

// Wait is never early where it can wait the whole time, whatever the scheduler
// does.
func TestWait(t *testing.T) {
	for _, ns := range []int64{-second, 0, 1, 50_000, 150_000, 2_000_000, 19_900_000} {
		until := pace.Now() + ns
		pace.Wait(until)
		if now := pace.Now(); now < until {
			t.Errorf("waiting %d ns ended %d ns early", ns, until-now)
		}
	}
}

// Realtime turns Now into the time of day.
func TestRealtime(t *testing.T) {
	before := time.Now().UnixNano()
	got := pace.Now() + pace.Realtime()
	after := time.Now().UnixNano()
	// The clocks are read apart by as much as the readings took.
	if slack := after - before; got < before-slack || got > after+slack {
		t.Errorf("Now + Realtime = %d, want %d to %d", got, before, after)
	}
}
