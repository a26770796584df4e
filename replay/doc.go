// Package replay turns captures into a plan and says when its frames go.
//
//	files, in turn  ┐                                     ┌► plan: whole frames, due times
//	or merged by    ├─► header ─► rewrite ─► fits? ─► due ─┤
//	time            ┘   made if   copies     fate     time └► Summary: every record's fate
//	                    it has none
//
// The plan is one stream whose table holds the frames byte for byte as they will
// leave. What happens to a frame on its way there was asked for in Options, and each
// thing that happens has a counter in Summary: a frame that cannot go out as it was is
// left out unless a policy says what to make of it. The frames carry no tag: a receiver
// knows them by their Fingerprints.
//
// A pass is the captures once through. The next pass begins one period after the one
// before: the time from the first frame to the last and one mean gap more, so that a
// pass's first frame does not coincide with the last of the pass before, and the mean
// rate of many passes is that of one. Files in turn follow each other likewise.
//
// A plan that takes more memory than Options.Limit is written to a file without a name
// and mapped, so that a frame may still be asked for by its number; ReadAhead has the
// kernel fetch what comes next. Only 8 bytes and a due time of each frame stay in
// memory.
//
// Functions keep no state.
package replay
