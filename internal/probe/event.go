package probe

import "fmt"

// State is how a polled probe stands.
type State uint8

// The states. A probe that is asked for the first time is Present.
const (
	Present State = iota // its last reading was whole
	Partial              // its last reading came with an error
	Absent               // its last reading failed, or has not come in time
)

// String returns the state's name.
func (s State) String() string {
	switch s {
	case Partial:
		return "partial"
	case Absent:
		return "absent"
	}
	return "present"
}

// Event is a change of a polled probe's state: one when it began, none for each
// reading that finds it still so.
type Event struct {
	Probe string // its name
	At    int64  // CLOCK_MONOTONIC in ns, when it was noticed
	Since int64  // when the last reading before it came, 0: none has
	State State  // from now on
	What  string // why, in words: the error, or how long it was away
}

// String returns the event as a line, without the time.
func (e Event) String() string { return fmt.Sprintf("%s: %s: %s", e.Probe, e.State, e.What) }
