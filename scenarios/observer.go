package scenarios

import (
	"sync"
	"time"
)

// Observer is told how a run goes. Its methods are called one at a time.
type Observer interface {
	// Sample comes once a second and once at the end of every phase.
	Sample(Sample)
	Event(Event)
}

// Sample is the account of a phase so far: one line of samples.ndjson.
type Sample struct {
	Time       time.Time `json:"time"`
	Pair       string    `json:"pair,omitempty"` // where a run has several
	Phase      string    `json:"phase"`
	Seconds    float64   `json:"seconds"` // since the phase began
	Sent       uint64    `json:"sent"`
	SentBytes  uint64    `json:"sent_bytes"`
	Retries    uint64    `json:"retries"`
	Received   uint64    `json:"received"`
	Lost       uint64    `json:"lost"` // as far as known: later frames have come
	Duplicated uint64    `json:"duplicated"`
	Reordered  uint64    `json:"reordered"`
	// PPS and RxPPS are since the sample before.
	PPS   float64 `json:"pps"`
	RxPPS float64 `json:"rx_pps"`
}

// The kinds of events.
const (
	EventPhase  = "phase"  // one begins
	EventLoss   = "loss"   // a drop burst is over and settled; its Time is when it began
	EventLink   = "link"   // carrier lost or back, port gone
	EventStop   = "stop"   // the run was asked to stop
	EventError  = "error"  // something of squall's own did not work
	EventSettle = "settle" // sending is over
	// EventImpairment is what squall did to frames on purpose in the second that is
	// over: a line each, or one for all.
	EventImpairment = "impairment"
)

// Event is something that happened: one line of events.ndjson.
type Event struct {
	Time   time.Time `json:"time"`
	Event  string    `json:"event"`
	Pair   string    `json:"pair,omitempty"`
	Phase  string    `json:"phase,omitempty"`
	Port   string    `json:"port,omitempty"`
	Text   string    `json:"text,omitempty"`
	Frames uint64    `json:"frames,omitempty"`
	// First is the sequence number of the first frame of a loss or impairment event,
	// Until when the first frame behind it arrived.
	First uint64     `json:"first,omitempty"`
	Until *time.Time `json:"until,omitempty"`
}

// teller serialises an Observer.
type teller struct {
	mu sync.Mutex
	o  Observer
}

func (t *teller) sample(s Sample) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.o != nil {
		t.o.Sample(s)
	}
}

func (t *teller) event(e Event) {
	if e.Time.IsZero() {
		e.Time = time.Now().UTC()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.o != nil {
		t.o.Event(e)
	}
}
