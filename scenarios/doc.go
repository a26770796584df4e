// Package scenarios runs phases of plans from one port to another and says what
// became of every frame.
//
// A run goes through these steps:
//
//  1. OpenPair: ports, engines, receiver; everything that can be refused is
//     refused here, before a frame is sent.
//  2. Read all counters.
//  3. Send the phases one after the other, without a break in between, while
//     the receiver counts. Each phase has its own stream IDs, so a frame
//     belongs to the phase that sent it, whenever it arrives.
//  4. Settle: wait until nothing arrives any more.
//  5. Stop the receiver, read all counters again.
//  6. Balance the ledger, judge.
//
// Counters are never read while frames are under way, since such a reading
// belongs to no moment of the receiver's account.
//
// Concurrency: Run owns the sender's and the receiver's threads. It reports
// through an Observer, whose methods are called one at a time, from any
// goroutine.
package scenarios
