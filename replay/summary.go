package replay

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"squall/pcaps"
	"squall/replay/rewrite"
)

// Summary says what became of the records of one pass: Records = those that are in the
// plan + Left. Frames of the plan may be more, or of several passes.
type Summary struct {
	Records uint64 // in the captures
	Frames  uint64 // in the plan, before it was impaired
	Bytes   uint64 // of these, without FCS

	// In the plan, but not as captured:
	Reframed   uint64 // given an Ethernet header
	Padded     uint64 // cut by the snap length, filled up with zeros
	SentCut    uint64 // cut by the snap length, sent as they are
	Fragmented uint64 // longer than the port's MTU allows, ...
	Segmented  uint64
	Truncated  uint64
	Rewritten  rewrite.Counts // by rule, of all copies

	// Left out of the plan:
	Cut       uint64                    // by the snap length: fewer bytes captured than the frame had
	Long      uint64                    // longer than the port's MTU allows, also where the policy could not help
	Short     uint64                    // shorter than an Ethernet header, 14 bytes
	Unfit     map[pcaps.LinkType]uint64 // cannot be sent on Ethernet
	OutOfTime uint64                    // with a wrong time stamp, where those are skipped

	// Whose time stamp was wrong and is taken for another: frames of the plan.
	Backwards uint64 // before that of the frame in front: they are due with it
	Jumps     uint64 // more than a day after it: they are due with it
	NoTime    uint64 // none, or not one that can be: they are due with the frame in front
	Shortened uint64 // gaps longer than MaxGap

	// Excess counts records that claim to hold more than the frame had: the rest was
	// ignored.
	Excess uint64

	// First is the time stamp of the first frame, ns since 1970.
	First int64
	// Duration is from the first frame of a pass to its last.
	Duration time.Duration
	// Passes are in the plan, one behind the other.
	Passes uint64
	// Spooled: the frames stand in a file rather than in memory.
	Spooled bool
}

// Left returns how many records are not in the plan.
func (s *Summary) Left() uint64 { return s.Cut + s.Long + s.Short + s.OutOfTime + s.unfit() }

func (s *Summary) unfit() (n uint64) {
	for _, x := range s.Unfit {
		n += x
	}
	return n
}

// Each calls f with every reason for which records are not in the plan as captured, and
// how many these are, those that are left out first.
func (s *Summary) Each(f func(reason string, left bool, n uint64)) {
	tell := func(reason string, left bool, n uint64) {
		if n > 0 {
			f(reason, left, n)
		}
	}
	tell("cut short by the snap length", true, s.Cut)
	tell("longer than the port's MTU allows", true, s.Long)
	tell("shorter than an Ethernet header", true, s.Short)
	for _, t := range slices.Sorted(maps.Keys(s.Unfit)) {
		tell(fmt.Sprintf("of link type %v, which cannot be sent on Ethernet", t), true, s.Unfit[t])
	}
	tell("with a wrong time stamp", true, s.OutOfTime)
	tell("given an Ethernet header", false, s.Reframed)
	tell("cut short by the snap length, filled up with zeros", false, s.Padded)
	tell("cut short by the snap length, sent as captured", false, s.SentCut)
	tell("longer than the port's MTU allows, sent in fragments", false, s.Fragmented)
	tell("longer than the port's MTU allows, sent in segments", false, s.Segmented)
	tell("longer than the port's MTU allows, truncated", false, s.Truncated)
	tell("stamped before the frame in front of them, sent with it", false, s.Backwards)
	tell("stamped more than a day after the frame in front of them, sent with it", false, s.Jumps)
	tell("without a time that can be, sent with the frame in front of them", false, s.NoTime)
	tell("behind a gap that was shortened", false, s.Shortened)
	tell("captured longer than they were, the rest ignored", false, s.Excess)
}

// nothing says why there is no frame to send.
func (s *Summary) nothing(name string) error {
	if s.Records == 0 {
		return fmt.Errorf("capture %q: %w", name, pcaps.ErrNoRecords)
	}
	var why []string
	s.Each(func(reason string, left bool, n uint64) {
		if left {
			why = append(why, fmt.Sprintf("%d %s", n, reason))
		}
	})
	return fmt.Errorf("capture %q: no frame can be sent: of %d, %s", name, s.Records, strings.Join(why, ", "))
}
