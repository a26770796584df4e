// Package file reads scenario files: ports, streams, phases, probes, settings to
// alternate, and what counts as a pass, in YAML.
//
//	text ──► variables put in ──► Scenario ──► names checked
//	          ${base}, --set       known keys     a phase's streams, a verdict's phases
//
// A Scenario is plain data: nothing is opened, compiled or run here. Times, rates
// and expressions are checked for their form; what only a port can tell (a link's
// speed, an MTU) is for whoever runs it, and Scenario.Errorf gives such an error
// its place in the file.
//
// A Scenario may be read from any goroutine once Load has returned it.
package file
