// Package pace says when the next frame is due. It is arithmetic: a Schedule
// maps a frame's number to nanoseconds from the start of the run, in integers
// that hold for weeks, and never by adding up gaps, so nothing drifts. A Pacer
// walks a schedule: given the time, it answers how many frames may go now or
// until when to wait, and bounds how far a stalled sender may catch up.
//
//	          due now: a batch           asleep                spin
//	──┬──┬──┬──┬─────────────────────────────────────────┬───────────┬──►
//	  i i+1 i+2 now                                       due-margin  due(i+3)
//
// Only clock.go knows what time it is and how to wait. Everything else takes
// the time as an argument, so its tests need no sleeping.
//
// Schedules are values and may be shared. A Pacer belongs to one goroutine.
package pace
