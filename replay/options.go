package replay

import (
	"fmt"
	"net"
	"time"

	"squall/internal/impair"
	"squall/pcaps"
	"squall/replay/fit"
	"squall/replay/rewrite"
)

// DefaultLimit is how much memory, in bytes, the frames of a plan may take unless told
// otherwise.
const DefaultLimit = 2 << 30

// Truncated is what becomes of a frame that the snap length cut.
type Truncated uint8

const (
	// TruncatedSkip leaves it out.
	TruncatedSkip Truncated = iota
	// TruncatedPad sends it at its length, with zeros for what was not captured.
	TruncatedPad
	// TruncatedSend sends what was captured. Its headers say that there is more.
	TruncatedSend
)

// ParseTruncated reads skip, pad or send.
func ParseTruncated(word string) (Truncated, error) {
	for i, w := range []string{"skip", "pad", "send"} {
		if w == word {
			return Truncated(i), nil
		}
	}
	return 0, fmt.Errorf("have %q, need skip, pad or send", word)
}

// Options say what a plan is to hold. The zero value is ready: one pass, what cannot go
// as it is is left out.
type Options struct {
	// Merge plays several captures at once, by their time stamps, instead of in turn.
	Merge bool
	// MTU of the port, in bytes; 0: no bound.
	MTU int

	// Limit bounds the memory of the frames, in bytes; 0: DefaultLimit. Beyond it they
	// go to a file without a name in Dir (empty: the system's for temporary files).
	Limit uint64
	Dir   string

	// Header makes Ethernet headers; nil: with the default addresses. NextHop is asked
	// for a destination where that has none, once a frame needs it; nil: nobody is.
	Header  *pcaps.Reframer
	NextHop func() (net.HardwareAddr, error)
	// Rewrite changes frames; nil: nothing.
	Rewrite *rewrite.Rewriter
	// Copies of each frame leave at its time, each rewritten by its number; 0: one.
	Copies uint64
	// Passes are compiled one behind the other, each rewritten by its number, PassGap
	// further apart than passes are; 0: one. Standard input has one. With FewPasses
	// there are no more than fit into Limit.
	Passes    uint64
	FewPasses bool
	PassGap   time.Duration

	Truncated Truncated
	// Oversize is what becomes of a frame that is too long for the MTU, IgnoreDF has
	// it fragmented whatever its don't-fragment bit says.
	Oversize fit.Policy
	IgnoreDF bool
	// Times is what becomes of a frame whose time stamp is missing, impossible, before
	// that of the frame in front of it, or more than a day behind it.
	Times pcaps.TimePolicy
	// MaxGap shortens what is longer between two frames; 0: nothing.
	MaxGap time.Duration

	// Impair and Seed are applied last, to each pass.
	Impair impair.Rules
	Seed   uint64
}

func (o Options) defaults() Options {
	if o.Limit == 0 {
		o.Limit = DefaultLimit
	}
	if o.Header == nil {
		o.Header = new(pcaps.Reframer)
	}
	o.Copies, o.Passes = max(o.Copies, 1), max(o.Passes, 1)
	return o
}
