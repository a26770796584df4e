package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"squall/internal/convo"
	"squall/pcaps"
	"squall/pcaps/acks"
)

// dupacksJSON is the report; other programs rely on "runs".
type dupacksJSON struct {
	Capture string      `json:"capture"`
	Walked  acks.Walked `json:"walked"`
	acks.DupAckReport
}

func newPcapDupacks() *cobra.Command {
	var (
		config  acks.Config
		rule    string
		only    int
		asJSON  bool
		command = &cobra.Command{
			Use:   "dupacks CAPTURE [flags]",
			Short: "Find every run of duplicate ACKs",
			Long: `dupacks finds the runs of duplicate ACKs of every TCP conversation in a capture, by
the definition of RFC 5681 section 2: the ACK repeats the greatest number so far,
carries no data, SYN or FIN, leaves the window as it was, and comes while data is
outstanding. A run lasts until an ACK with a greater number.

For each direction the segments are counted by what they are as ACKs, so that every
one has a reason why it is a duplicate or none. --rule tshark counts what Wireshark
calls tcp.analysis.duplicate_ack instead.`,
			Example: `  squall pcap dupacks calls.pcap
  squall pcap dupacks calls.pcap --at-least 3 --conversation 0
  squall pcap dupacks calls.pcap --json`,
			Args: oneArg("a capture"),
		}
	)
	fs := command.Flags()
	fs.IntVar(&config.AtLeast, "at-least", 10, "count apart, and list, the runs of `N` or more; --json lists all")
	fs.IntVar(&only, "conversation", -1, "only the conversation of this `number`")
	fs.StringVar(&rule, "rule", "rfc5681", "what a duplicate ACK is: `rfc5681|tshark`")
	fs.BoolVar(&asJSON, "json", false, "print JSON")
	command.RunE = func(c *cobra.Command, args []string) (err error) {
		if config.AtLeast < 1 {
			return fmt.Errorf("--at-least %d: need 1 or more", config.AtLeast)
		}
		if err := checkConversation(c, only); err != nil {
			return err
		}
		if config.Rule, err = acks.ParseRule(rule); err != nil {
			return fmt.Errorf("--%w", err)
		}
		d := acks.NewDupAcks(config)
		walked, err := walkCapture(c, args[0], only, func(f *acks.Frame) { d.Add(f) })
		if err != nil {
			return err
		}
		report := d.Report()
		if asJSON {
			return printJSON(c.OutOrStdout(), dupacksJSON{args[0], walked, report})
		}
		return dupacksText(c.OutOrStdout(), &report)
	}
	return command
}

func checkConversation(c *cobra.Command, only int) error {
	if c.Flags().Changed("conversation") && only < 0 {
		return fmt.Errorf("--conversation %d: they are numbered from 0; see squall pcap info", only)
	}
	return nil
}

// walkCapture shows the frames of one conversation (all, where only is below 0)
// to visit, and says on stderr what was not looked at.
func walkCapture(c *cobra.Command, path string, only int, visit func(*acks.Frame)) (acks.Walked, error) {
	r, err := pcaps.Open(path)
	if err != nil {
		return acks.Walked{}, err
	}
	defer r.Close()
	ctx, stop := interruptible()
	defer stop()
	found := false
	w, err := acks.Walk(ctx, r, convo.Options{}, func(f *acks.Frame) {
		if only < 0 || f.Conversation != nil && f.Conversation.ID == only {
			found = true
			visit(f)
		}
	})
	if err != nil {
		return w, err
	}
	if only >= 0 && !found {
		return w, fmt.Errorf("capture %q has no conversation %d; squall pcap info lists them", path, only)
	}
	for _, note := range []struct {
		n    uint64
		what string
	}{
		{w.Foreign, "frames of a link type or protocol that is not read"},
		{w.Fragments, "IP fragments, whose TCP segments are not looked at"},
		{w.NoTime, "frames without a sound time stamp, whose times are left out"},
	} {
		if note.n > 0 {
			fmt.Fprintf(c.ErrOrStderr(), "squall: %d %s\n", note.n, note.what)
		}
	}
	if w.Truncated {
		fmt.Fprintf(c.ErrOrStderr(), "squall: capture %q ends in mid-record: what is before it counts\n", path)
	}
	return w, nil
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func dupacksText(w io.Writer, r *acks.DupAckReport) error {
	fmt.Fprintf(w, "%d TCP segments, %d duplicate ACKs (%s) in %d runs, %d of them of %d or more\n",
		r.Segments, r.DuplicateAcks, r.Rule, r.RunCount, r.RunsAtLeast, r.AtLeast)
	if r.Segments == 0 {
		return nil
	}
	unlike := func(cell any) string { // a column of other rules
		if r.Rule == acks.RFC5681.String() {
			return ""
		}
		return fmt.Sprintf("%v\t", cell)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\nCONV\tFROM\tTO\tDUP ACKS\tRUNS\t>= %d\tLONGEST\tNEW\tOLDER\tWINDOW\tSETTLED\tDATA\tSYN FIN RST\tNO ACK\t%s\n", r.AtLeast, unlike("RFC 5681 ONLY"))
	for i := range r.Directions {
		d := &r.Directions[i]
		f := &d.Findings
		fmt.Fprintf(t, "%d\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", d.Conversation, d.From, d.To, d.DuplicateAcks, d.Runs,
			d.AtLeast, d.Longest, f.New, f.Older, f.Window, f.Settled, f.Data, f.Control, f.NoAck, unlike(f.Unlike))
	}
	if len(r.Lengths) > 0 {
		fmt.Fprint(t, "\nLENGTH\tRUNS\t\n")
		for _, b := range r.Lengths {
			fmt.Fprintf(t, "%d\t%d\t\n", b.Length, b.Runs)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	runs := slices.DeleteFunc(slices.Clone(r.Runs), func(x acks.Run) bool { return x.Length < uint64(r.AtLeast) })
	if len(runs) > 0 {
		fmt.Fprint(t, "\nCONV\tFROM\tTO\tACK\tLENGTH\tFIRST\tLAST\t\n")
		for _, x := range runs {
			fmt.Fprintf(t, "%d\t%s\t%s\t%d\t%d\t%s\t%s\t\n", x.Conversation, x.From, x.To, x.Ack, x.Length, x.First, x.Last)
		}
	}
	return errors.Join(t.Flush(), dupacksNotes(w, r))
}

// dupacksNotes says what qualifies the figures.
func dupacksNotes(w io.Writer, r *acks.DupAckReport) error {
	var unseen, copies uint64
	sided := 0
	for i := range r.Directions {
		d := &r.Directions[i]
		unseen += d.Unseen
		copies += d.Copies
		if d.OneSided {
			sided++
		}
	}
	var err error
	note := func(format string, args ...any) {
		_, e := fmt.Fprintf(w, "\n"+format+"\n", args...)
		err = errors.Join(err, e)
	}
	if copies > 0 {
		note("%d of the duplicate ACKs are in the capture twice (same IPv4 identification): it seems to be taken at two places.", copies)
	}
	if unseen > 0 {
		note("%d ACKs are of data that the capture does not have: it misses frames, or begins late.", unseen)
	}
	if sided > 0 {
		note("%d directions have nothing coming the other way: data was taken to be outstanding throughout.", sided)
	}
	if r.More > 0 {
		note("%d further runs are counted, but not kept.", r.More)
	}
	return err
}
