package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"squall/internal/meter"
	"squall/pcaps/acks"
)

// reorderJSON is the report.
type reorderJSON struct {
	Capture string      `json:"capture"`
	Walked  acks.Walked `json:"walked"`
	acks.ReorderReport
}

func newPcapReorder() *cobra.Command {
	var (
		only    int
		asJSON  bool
		command = &cobra.Command{
			Use:   "reorder CAPTURE [flags]",
			Short: "Measure reordering (RFC 4737), told from retransmission",
			Long: `reorder measures for each direction of every TCP conversation in a capture how its
segments are reordered (RFC 4737): ratio, extent, late-time offset, n-reordering.

A segment whose first byte was seen before was retransmitted, or is the same frame
once more. One that fills a hole was reordered if it was sent before the segment
that came in its stead, by TCP timestamp or else by the IPv4 identification, where
that rises; or else if it came within a round trip, before its sender can have
known of the loss. What nothing decides is counted as undecided.

Frames with a squall tag that are not TCP are measured by their stream's sequence
numbers.`,
			Example: `  squall pcap reorder calls.pcap
  squall pcap reorder calls.pcap --conversation 0 --json`,
			Args: oneArg("a capture"),
		}
	)
	fs := command.Flags()
	fs.IntVar(&only, "conversation", -1, "only the conversation of this `number`")
	fs.BoolVar(&asJSON, "json", false, "print JSON")
	command.RunE = func(c *cobra.Command, args []string) error {
		if err := checkConversation(c, only); err != nil {
			return err
		}
		r := acks.NewReorder()
		walked, err := walkCapture(c, args[0], only, r.Add)
		if err != nil {
			return err
		}
		report := r.Report()
		if asJSON {
			return printJSON(c.OutOrStdout(), reorderJSON{args[0], walked, report})
		}
		return reorderText(c.OutOrStdout(), &report)
	}
	return command
}

func reorderText(w io.Writer, r *acks.ReorderReport) error {
	if len(r.Directions)+len(r.Streams) == 0 {
		_, err := fmt.Fprintln(w, "no TCP segments with data, SYN or FIN, and no tagged frames")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	if len(r.Directions) > 0 {
		fmt.Fprint(t, "CONV\tFROM\tTO\tSEGMENTS\tREORDERED\tRATIO\tRETRANSMITTED\tCOPIES\tUNDECIDED\tEXTENT P50/MAX\tLATE P50/MAX\tN-REORDERED 1 3 10\t\n")
	}
	for i := range r.Directions {
		o := &r.Directions[i]
		fmt.Fprintf(t, "%d\t%s\t%s\t%d\t%d\t%s\t%d\t%d\t%d\t%s\t%s\t%s\t\n", o.Conversation, o.From, o.To, o.Segments, o.Reordered,
			ratio(o.Ratio), o.Retransmitted, o.Copies, o.Undecided, spread(&o.Extent), spreadTime(&o.LateTime), degrees(&o.NReordered))
	}
	if len(r.Streams) > 0 {
		fmt.Fprint(t, "\nRUN\tSTREAM\tRECEIVED\tREORDERED\tRATIO\tDUPLICATED\tMISSING\tEXTENT P50/MAX\tLATE P50/MAX\tN-REORDERED 1 3 10\t\n")
	}
	for i := range r.Streams {
		o := &r.Streams[i]
		fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%s\t%d\t%d\t%s\t%s\t%s\t\n", o.Run, o.Stream, o.Received, o.Reordered, ratio(o.Ratio),
			o.Duplicated, o.Missing, spread(&o.Extent), spreadTime(&o.LateTime), degrees(&o.NReordered))
	}
	return t.Flush()
}

func ratio(f float64) string { return fmt.Sprintf("%.4g", f) }

func spread(s *meter.Summary) string {
	if s.Count == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d", s.P50, s.Max)
}

func spreadTime(s *meter.Summary) string {
	if s.Count == 0 {
		return "-"
	}
	return fmt.Sprintf("%.4g/%.4g ms", float64(s.P50)/1e6, float64(s.Max)/1e6)
}

func degrees(n *[meter.MaxN]uint64) string { return fmt.Sprintf("%d %d %d", n[0], n[2], n[9]) }
