// Package replay turns a capture into a plan and says when its frames go.
//
//	capture ──► Compile ──► plan (whole frames, due times) ──► engine
//	                │           │
//	             Summary    Schedule: the capture's own times, a rate, top speed
//
// The plan is one stream whose table holds the frames as captured, byte for
// byte. A frame that cannot go out as it was is left out and counted, never cut
// or changed. The frames carry no tag: a receiver knows them by their
// Fingerprints.
//
// A pass is the capture once through. The next pass begins one period after the
// one before: the time from the first frame to the last and one mean gap more,
// so that a pass's first frame does not coincide with the last of the pass
// before, and the mean rate of many passes is that of one.
//
// Functions keep no state. The whole capture is held in memory; Options.Limit
// bounds it.
package replay
