// Package walk executes a plan over a batch writer: the Sender of every engine
// that puts frames on a port from user space.
//
//	          ┌─ none due: wait ─┐
//	          ▼                  │
//	pace.Pacer.Next ── n due ────┘
//	          │
//	          ▼
//	 plan.Write × n, each stamped with the time it is written
//	          │
//	          ▼
//	BatchWriter.Submit ──► Progress, send error
//
// A batch holds only frames that are due, so at a moderate rate frames go one by
// one and on time, and at full speed in whole batches. No frame goes early.
//
// A walk belongs to one goroutine, which it locks to its thread while it runs.
// Memory is allocated when it starts; walking does not allocate.
package walk
