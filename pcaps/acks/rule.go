package acks

import "fmt"

// Rule says what a duplicate ACK is.
type Rule uint8

const (
	// RFC5681 is the definition of RFC 5681 section 2: (a) the receiver of the
	// ACK has outstanding data, (b) it carries no data, (c) SYN and FIN are off
	// (and RST, which is no acknowledgment at all), (d) its number is the greatest
	// received, (e) its window is that of the last ACK. A run lasts until an ACK
	// moves SND.UNA (section 3.2): data, window updates and older ACKs in between
	// do not end it.
	RFC5681 Rule = iota
	// Tshark is what Wireshark calls tcp.analysis.duplicate_ack: no data, SYN,
	// FIN and RST off, the number and the window of the last segment, a window
	// above 0, the next sequence number, and no answer to a keep-alive. It does
	// not ask whether anything is outstanding, and takes a number that goes back
	// for a new one. A run lasts until the number changes.
	Tshark
)

// Rules by name.
var rules = []string{RFC5681: "rfc5681", Tshark: "tshark"}

func (r Rule) String() string { return rules[r] }

// ParseRule reads rfc5681 or tshark.
func ParseRule(name string) (Rule, error) {
	for r, n := range rules {
		if n == name {
			return Rule(r), nil
		}
	}
	return 0, fmt.Errorf("rule %q: need rfc5681 or tshark", name)
}

// Finding says what a segment is as an acknowledgment: by RFC5681 the first
// condition that it does not meet, in this order.
type Finding uint8

const (
	NoSegment Finding = iota // no whole TCP segment
	NoAck                    // the ACK flag is off
	Control                  // SYN, FIN or RST
	Data                     // carries data
	New                      // moves SND.UNA, or is the first of its direction
	Older                    // below the greatest number: the ACK was overtaken
	Window                   // the number again, with another window
	Settled                  // the number again, with nothing outstanding
	Duplicate
	Unlike // by another rule than RFC 5681: a duplicate by that one, not by this
	findings
)

// String names the finding in a few words.
func (f Finding) String() string {
	return [...]string{"no TCP segment", "no ACK flag", "SYN, FIN or RST", "carries data", "new ACK number",
		"older ACK number", "window changed", "nothing outstanding", "duplicate ACK", "duplicate ACK by RFC 5681 only"}[f]
}
