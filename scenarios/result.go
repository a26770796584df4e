package scenarios

import (
	"time"

	"squall/internal/ledger"
	"squall/internal/meter"
)

// Schema names the form of run.json. Fields may be added under one name; none
// is renamed or changes its meaning.
const Schema = "squall.run/1"

// Result is a run: what run.json holds.
type Result struct {
	Schema  string    `json:"schema"`
	Name    string    `json:"name"`
	Version string    `json:"version"`
	Host    string    `json:"host"`
	Started time.Time `json:"started"`
	TX      string    `json:"tx"`
	RX      string    `json:"rx,omitempty"`
	// Pairs are the results of the single pairs of ports, where there are several;
	// the figures beside it are then their sum, or the worst of them.
	Pairs []*Result `json:"pairs,omitempty"`
	// Stopped: the run was ended by the user before its phases were over.
	Stopped bool `json:"stopped"`

	Verdict Verdict       `json:"verdict"`
	Phases  []PhaseResult `json:"phases"`
	Ledger  ledger.Ledger `json:"ledger"`
	// Capture is what became of the records of a replay's captures.
	Capture *Capture `json:"capture,omitempty"`
	// Conversations are those of a replay in lockstep.
	Conversations *Conversations `json:"conversations,omitempty"`
	// Foreign are frames with the tag of another run.
	Foreign uint64 `json:"foreign"`
	// Strays are frames that came in on the receiving port and are not squall's,
	// by EtherType.
	Strays map[string]uint64 `json:"strays,omitempty"`
	// Warnings are things of squall's own that did not work and do not touch the
	// figures.
	Warnings []string `json:"warnings,omitempty"`
}

// PhaseResult is the account of one phase. Times are ns unless a name says
// otherwise; bytes count the FCS; bit rates are of layer 1.
type PhaseResult struct {
	Name   string `json:"name"`
	Engine string `json:"engine"`
	Asked  string `json:"asked"`

	AskedPPS     float64 `json:"asked_pps"` // 0: as fast as possible
	AchievedPPS  float64 `json:"achieved_pps"`
	AchievedMbit float64 `json:"achieved_mbit"`
	Seconds      float64 `json:"seconds"`
	// Began and Ended are when its sending did.
	Began time.Time `json:"began"`
	Ended time.Time `json:"ended"`

	Sent       uint64 `json:"sent"`
	SentBytes  uint64 `json:"sent_bytes"`
	Retries    uint64 `json:"retries"` // ENOBUFS: sent again
	Failed     uint64 `json:"failed"`
	Received   uint64 `json:"received"` // each frame once
	Lost       uint64 `json:"lost"`
	Duplicated uint64 `json:"duplicated"`
	Reordered  uint64 `json:"reordered"` // RFC 4737
	Late       uint64 `json:"late"`
	Foreign    uint64 `json:"foreign"` // of other runs, while this phase was sent

	// LossPeriods and Bursts hold the first 4,096 one by one.
	LossPeriods     []LossPeriod `json:"loss_periods"`
	LossPeriodCount uint64       `json:"loss_period_count"`
	Bursts          []Burst      `json:"bursts"`
	BurstCount      uint64       `json:"burst_count"`

	Latency   Latency   `json:"latency_ns"`
	SendError SendError `json:"send_error_ns"`
	Slipped   int64     `json:"slipped_ns"` // schedule given up after stalls

	// Impaired is what was done to the frames on purpose. Lost, Duplicated, Reordered
	// and the loss periods are then what happened beyond it.
	Impaired *Impaired `json:"impaired,omitempty"`

	// Streams have every figure of the meter, one by one.
	Streams []StreamResult `json:"streams,omitempty"`
}

// StreamResult is one stream's account.
type StreamResult struct {
	Stream uint16 `json:"stream"`
	Name   string `json:"name"`
	Sent   uint64 `json:"sent"`
	// Copies are duplicates that arrived and were made on purpose.
	Copies uint64       `json:"copies,omitempty"`
	Meter  meter.Report `json:"meter"`
}

// LossPeriod is a run of frames lost in a row (RFC 3357 section 2.2).
type LossPeriod struct {
	At     time.Time `json:"at"`    // the last frame before it arrived; of a stream of which none did, when its sending began
	Until  time.Time `json:"until"` // the first frame behind it arrived; At where none did, the end of sending where none at all did
	First  uint64    `json:"first"` // sequence number
	Frames uint64    `json:"frames"`
	Stream uint16    `json:"stream"`
}

// Latency is the distribution of one-way delay; all 0 where no frame tells.
type Latency struct {
	Min  int64 `json:"min"`
	P50  int64 `json:"p50"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p999"`
	Max  int64 `json:"max"`
}

// SendError is the distribution of how late frames were handed over.
type SendError struct {
	P50  int64 `json:"p50"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p999"`
	Max  int64 `json:"max"`
}

// LossRatio is the share of the frames sent that did not arrive (RFC 2544
// section 26.3), 0 to 1.
func (p *PhaseResult) LossRatio() float64 {
	if p.Sent == 0 {
		return 0
	}
	return float64(p.Lost) / float64(p.Sent)
}
