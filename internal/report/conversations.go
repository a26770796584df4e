package report

import (
	"fmt"

	"squall/scenarios"
)

// brokenShown bounds the conversations that Text draws one by one; run.json has more.
const brokenShown = 20

// conversations draws what became of those of a lockstep replay.
func (p *page) conversations(r *scenarios.Result) {
	c := r.Conversations
	if c == nil {
		return
	}
	p.printf("\nconversations\n")
	p.table("all\tcomplete\tincomplete\tabandoned\ttranslated\tframes\tarrived\tgiven up\tunsent\tretries",
		fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", count(c.Total), count(c.Complete), count(c.Incomplete), count(c.Abandoned), count(c.Translated),
			count(c.Frames), count(c.Arrived), count(c.GivenUp), count(c.Unsent), count(c.Retries)))
	if c.Late > 0 {
		p.printf("  %s frames arrived after they had been given up (--give-up)\n", count(c.Late))
	}
	for _, x := range []struct {
		n    uint64
		what string
	}{
		{c.LeftOut.NoIP, "without IP"},
		{c.LeftOut.Fragments, "fragments (--learn)"},
		{c.LeftOut.ICMPErrors, "ICMP errors (--learn)"},
	} {
		if x.n > 0 {
			p.printf("  left out: %s %s\n", count(x.n), x.what)
		}
	}
	if len(c.Broken) == 0 {
		return
	}
	if c.Translated == 0 && ipStrays(r) > 0 {
		p.printf("  %s IP frames came in that are none of the capture's: does something between the ports translate addresses or change frames? (--learn follows a NAT)\n", count(ipStrays(r)))
	}
	p.printf("\nnot complete\n")
	rows := []string{"conversation\tclient\tserver\tprotocol\tresult\tframes\tarrived\tgiven up\tstopped at frame"}
	for _, b := range c.Broken[:min(len(c.Broken), brokenShown)] {
		rows = append(rows, fmt.Sprintf("%d\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%d", b.Conversation, b.Client, b.Server, b.Proto, b.Result,
			count(b.Frames), count(b.Arrived), count(b.GivenUp), b.At))
	}
	p.table(rows...)
	if all := c.Abandoned + c.Incomplete; all > uint64(len(rows)-1) {
		p.printf("  %s in all, the first %d in run.json\n", count(all), len(c.Broken))
	}
}

// ipStrays counts the IP frames that came in and are nobody's.
func ipStrays(r *scenarios.Result) (n uint64) {
	for _, pair := range r.Pairs {
		n += pair.Strays["0x0800"] + pair.Strays["0x86dd"]
	}
	return n
}
