// Package metrics judges the figures of a trial by expressions.
//
//	return.cpu.softirq - baseline.cpu.softirq <= 2
//	       │                                  │
//	       └► Figures: values by name,        └► Check: asked, seen, pass, fail or void
//	          series for slope()
//
// The language is expr (github.com/expr-lang/expr): arithmetic, comparisons, and,
// or, not, and functions such as min, max, abs, mean. Besides:
//
//   - a name with dots is a figure, as phase.metric or phase.probe.counter. Counters
//     with other letters in their names are written in brackets:
//     storm.dut["dev.igc.0.mac_stats.crc_errs"];
//   - numbers may have a unit: ns, us, ms, s, m, min and h are times (figures of time
//     are in ns), % is a hundredth, kpps and Mpps are frames a second;
//   - slope(name) is how fast a figure changed while it was sampled, a ns (so it is
//     compared with 2/h): the median of the slopes between all pairs of samples
//     (Theil-Sen).
//
// A figure that is not there makes a check void, not failed: nothing is known.
//
// An Expr is read-only and may be used from any goroutine.
package metrics
