// Package plan is the compiled form of what is sent: gen compiles streams to
// plans, replay compiles captures to plans, and every engine executes plans.
//
// A plan answers one question: which bytes is frame i? It is a pure function
// of i, so that any worker, engine or test can make any frame at any time:
//
//	             Order (cyclic)              Sizes.Class(j)
//	frame i ──► stream, j ──┬──► flow, head    length n
//	                        │        │            │
//	                        ▼        ▼            ▼
//	            ┌───────────────────────┬────────────────────┬───────────┐
//	            │ head of the flow      │ body of the stream │ tag       │
//	            └──▲──────▲──────▲──────┴────────────────────┴─────▲─────┘
//	               lengths patches sums (RFC 1624)         sequence j, time
//
// A generated stream has one prebuilt head a flow, one body for all, and
// patches. A captured stream is a table of whole frames without patches, and
// the plan then has due times as well.
//
// A Script, where there is one, stands in front: it says which frame leaves as
// number i, so that frames can be left out, doubled, moved and corrupted.
//
// Everything in a plan is data: a program engine copies the tables into kernel
// maps and does what Stream.Write does, field by field.
//
// Lifetime and concurrency: a plan is built once (New) and read-only from then
// on; any number of goroutines may write frames from it. Write does not
// allocate. Lengths are without FCS.
package plan
