// Package impair makes what is wrong with a sequence of frames on purpose: frames
// that are dropped, doubled, swapped, held back, put in another order or corrupted,
// each at a known place and exactly counted.
//
//	"drop 2/100" ──► Parse ──► Rules ──┬─► Script: a list of frames (a capture)
//	                                   └─► Loop:   frames without end (streams)
//	                                          │
//	             plan.Script: what leaves, in order, and an Event for each impairment
//
// Rules are boxes in a row: each counts, from 1, the frames that come to it, does
// its work and hands on what is left.
//
//	frames ──► drop 1/10 ──► swap 1/50 ──► corrupt 1% ──► leave
//
// An impairment that needs more frames than there are (a hold whose place lies
// behind the end) is not made and not counted. What is random comes from a seed
// and the place alone: the same rules and seed give the same script.
//
// Everything here is arithmetic on numbers of frames; the frames themselves are
// touched by plan.Flip only. Nothing is kept, so all of it may be used from any
// goroutine.
package impair
