package survey

import "squall/pcaps"

// times says what the time stamps are worth; in ns since 1970 and ns.
type times struct {
	sound         uint64
	none, invalid uint64
	first, last   int64 // the earliest and the latest
	before        int64 // of the frame in front
	backwards     uint64
	back, gap     int64 // the largest steps
}

func (t *times) add(rec *pcaps.Record) {
	switch rec.Clock {
	case pcaps.ClockNone:
		t.none++
		return
	case pcaps.ClockInvalid:
		t.invalid++
		return
	}
	if t.sound++; t.sound == 1 {
		t.first, t.last, t.before = rec.Time, rec.Time, rec.Time
		return
	}
	step := rec.Time - t.before
	if step < 0 {
		t.backwards++
		t.back = max(t.back, -step)
	} else {
		t.gap = max(t.gap, step)
	}
	t.before = rec.Time
	t.first, t.last = min(t.first, rec.Time), max(t.last, rec.Time)
}
