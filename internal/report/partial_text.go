package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"squall/scenarios"
)

// PartialText draws for people what is known of a run that did not come to its end.
// dir is how its directory was named.
func PartialText(w io.Writer, dir string, r *Partial) error {
	p := &page{}
	p.partialHead(dir, r)
	for _, u := range r.UnderWay {
		p.soFar(u, r.Phases)
	}
	p.partialNotes(r)
	p.verdict(&scenarios.Result{Verdict: r.Verdict})
	_, err := io.WriteString(w, p.String())
	return err
}

func clock(t time.Time) string { return t.Local().Format("15:04:05.000") }

func (p *page) partialHead(dir string, r *Partial) {
	p.printf("%s  INCOMPLETE", dir)
	if r.Began != nil {
		p.printf("  began %s", r.Began.Local().Format("2006-01-02 15:04:05"))
	}
	p.printf("\n")
	if r.Scenario != "" {
		p.printf("  %s\n", r.Scenario)
	}
	switch {
	case r.LastSample != nil:
		p.printf("\nlast sample %s: what follows is known up to then, and no further\n", r.LastSample.Local().Format("2006-01-02 15:04:05.000"))
	default:
		p.printf("\nno samples: what was sent and received is not known\n")
	}
	if r.LastEvent != nil {
		p.printf("last event %s\n", r.LastEvent.Local().Format("2006-01-02 15:04:05.000"))
	}
}

// soFar draws the phases of one pair.
func (p *page) soFar(u UnderWay, phases []PartialPhase) {
	if u.Pair != "" {
		p.printf("\n%s\n", u.Pair)
	}
	switch {
	case u.Settling:
		p.printf("\nunder way: sending was over, and what was still to arrive was waited for\n")
	case u.Seconds > 0:
		p.printf("\nunder way: %s, %.3f s into it\n", u.Phase, u.Seconds)
	default:
		p.printf("\nunder way: %s, which has no sample\n", u.Phase)
	}
	p.printf("\nsent so far (rates of layer 1; sizes and bytes count the FCS)\n")
	sent := []string{"phase\tasked\tachieved pps\tMbit/s\tlast pps\tseconds\tframes\tsampled"}
	received := []string{"phase\tframes\tpps\tlast pps\tlost\tnot here yet\tduplicated\treordered"}
	losses := []string{"phase\tat\tseconds\tframes lost\tfirst sequence number"}
	var more []string
	for _, x := range phases {
		if x.Pair != u.Pair {
			continue
		}
		asked := x.Asked
		if asked == "" {
			asked = "-"
		}
		if x.Sampled == nil {
			sent = append(sent, fmt.Sprintf("%s\t%s\t-\t-\t-\t-\t-\tnever", x.Name, asked))
			received = append(received, x.Name+"\t-\t-\t-\t-\t-\t-\t-")
		} else {
			sent = append(sent, fmt.Sprintf("%s\t%s\t%s\t%.1f\t%s\t%.3f\t%s\t%s", x.Name, asked, decimal(x.AchievedPPS), x.AchievedMbit, decimal(x.LastPPS), x.Seconds, count(x.Sent), clock(*x.Sampled)))
			received = append(received, fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", x.Name, count(x.Received), decimal(x.ReceivedPPS), decimal(x.LastRxPPS),
				count(x.Lost), count(x.Outstanding()), count(x.Duplicated), count(x.Reordered)))
		}
		for _, e := range x.Losses[:min(len(x.Losses), burstsShown)] {
			seconds := "-"
			if e.Until != nil {
				seconds = fmt.Sprintf("%.6f", e.Until.Sub(e.Time).Seconds())
			}
			losses = append(losses, fmt.Sprintf("%s\t%s\t%s\t%s\t%d", x.Name, e.Time.Local().Format("15:04:05.000000"), seconds, count(e.Frames), e.First))
		}
		if len(x.Losses) > burstsShown {
			more = append(more, fmt.Sprintf("  %s: %s in all, in events.ndjson\n", x.Name, count(x.LossCount)))
		}
	}
	p.table(sent...)
	p.printf("\nreceived so far (all 0 without a receiving port)\n")
	p.table(received...)
	p.printf("\ndrop bursts that were over (losses less than 100 ms apart)\n")
	if len(losses) == 1 {
		p.printf("  none\n")
		return
	}
	p.table(losses...)
	p.printf("%s", strings.Join(more, ""))
}

// eventsShown bounds the events that are drawn.
const eventsShown = 20

func (p *page) partialNotes(r *Partial) {
	if len(r.Events) > 0 {
		p.printf("\nevents\n")
	}
	for _, e := range r.Events[:min(len(r.Events), eventsShown)] {
		p.printf("  %s  %s\n", clock(e.Time), strings.Join(strings.Fields(strings.Join([]string{e.Event, e.Pair, e.Phase, e.Port, e.Text}, " ")), " "))
	}
	if len(r.Events) > eventsShown {
		p.printf("  %s in all, in events.ndjson\n", count(uint64(len(r.Events))))
	}
	for _, d := range r.Damage {
		p.printf("\n%s\n", d)
	}
}
