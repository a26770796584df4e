package scenarios

import (
	"fmt"
	"net/netip"
	"strings"
)

// Conversations is what became of those of a lockstep replay that began:
// total = complete + incomplete + abandoned, and of their frames,
// frames = arrived + given_up + unsent.
type Conversations struct {
	Total      uint64 `json:"total"`
	Complete   uint64 `json:"complete"`
	Incomplete uint64 `json:"incomplete"`
	Abandoned  uint64 `json:"abandoned"`
	// Translated arrived with other addresses or ports (--learn).
	Translated uint64 `json:"translated"`

	Frames  uint64 `json:"frames"` // each once, however often it was sent
	Arrived uint64 `json:"arrived"`
	GivenUp uint64 `json:"given_up"`
	Unsent  uint64 `json:"unsent"`
	Late    uint64 `json:"late"` // of the given up
	Retries uint64 `json:"retries"`

	LeftOut ConversationsLeftOut `json:"left_out"`
	// Broken are the first 64 that are not complete.
	Broken []BrokenConversation `json:"broken"`
}

// ConversationsLeftOut counts frames of the capture that lockstep does not play.
type ConversationsLeftOut struct {
	NoIP       uint64 `json:"no_ip"`
	Fragments  uint64 `json:"fragments"`   // with --learn
	ICMPErrors uint64 `json:"icmp_errors"` // with --learn
}

// BrokenConversation is one that is not complete.
type BrokenConversation struct {
	Conversation int    `json:"conversation"` // number in the capture, from 0
	Proto        uint8  `json:"proto"`        // IP protocol
	Client       string `json:"client"`
	Server       string `json:"server"`
	Result       string `json:"result"` // incomplete or abandoned
	Frames       uint64 `json:"frames"`
	Arrived      uint64 `json:"arrived"`
	GivenUp      uint64 `json:"given_up"`
	At           uint64 `json:"at"` // number of the first frame given up or not sent, from 0
}

// conversations is the account of a script for the result.
func (s *step) conversations() *Conversations {
	a, left := s.account, s.Script.Left
	c := &Conversations{
		Total: a.Conversations, Complete: a.Complete, Incomplete: a.Incomplete, Abandoned: a.Abandoned, Translated: a.Translated,
		Frames: a.Frames, Arrived: a.Arrived, GivenUp: a.GivenUp, Unsent: a.Unsent, Late: a.Late, Retries: a.Retries,
		LeftOut: ConversationsLeftOut{NoIP: left.NoIP, Fragments: left.Fragments, ICMPErrors: left.ICMPErrors},
		Broken:  []BrokenConversation{},
	}
	for _, b := range a.Broken {
		x := BrokenConversation{
			Conversation: b.ID, Proto: b.Proto, Client: endpoint(b.Client), Server: endpoint(b.Server), Result: "incomplete",
			Frames: b.Frames, Arrived: b.Arrived, GivenUp: b.GivenUp, At: b.At,
		}
		if b.Abandoned {
			x.Result = "abandoned"
		}
		c.Broken = append(c.Broken, x)
	}
	return c
}

// endpoint writes an address, with its port where it has one.
func endpoint(a netip.AddrPort) string {
	if a.Port() == 0 {
		return a.Addr().String()
	}
	return a.String()
}

// complete asks that all conversations are.
func (v *Verdict) complete(c *Conversations) {
	check := Check{Metric: "conversations.complete", Asked: fmt.Sprintf("== %d", c.Total), Seen: fmt.Sprint(c.Complete), Result: Pass}
	if c.Total == 0 {
		v.Result = Void
		v.Reasons = append(v.Reasons, "no conversation began")
	}
	if c.Complete != c.Total {
		check.Result = Fail
		why := []string{}
		for _, x := range []struct {
			n    uint64
			what string
		}{{c.Abandoned, "abandoned"}, {c.Incomplete, "incomplete"}} {
			if x.n > 0 {
				why = append(why, fmt.Sprintf("%d %s", x.n, x.what))
			}
		}
		v.Reasons = append(v.Reasons, fmt.Sprintf("%s: asked %s, seen %s (%s)", check.Metric, check.Asked, check.Seen, strings.Join(why, ", ")))
		if v.Result == Pass {
			v.Result = Fail
		}
	}
	v.Checks = append(v.Checks, check)
}
