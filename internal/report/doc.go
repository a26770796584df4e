// Package report keeps runs and draws them.
//
// A Dir is the directory of one run. While the run lasts it is a scenarios
// Observer: samples and events are appended a line at a time, each with one
// write, and flushed to the disk beside that, so what a killed run or a power cut
// leaves behind is complete up to its last second. run.json appears whole at the
// end or not at all.
//
//	runs/20260102-150405-storm/
//	    scenario.yaml    what was run
//	    samples.ndjson   one line a second (scenarios.Sample)
//	    events.ndjson    drop bursts, links, phases (scenarios.Event)
//	    run.json         the result (scenarios.Result)
//
// A full disk never ends a run: the first error of each file is kept and told
// by Err, and the run goes on without the file.
//
// Load reads a finished run, LoadPartial what one left behind that did not come to
// its end, Compare says where two differ. Text, PartialText and ComparisonText draw
// them for people, JSON for machines.
//
// All are used from one goroutine at a time; a Dir has one of its own for each file
// that is written, until Close.
package report
