package main

import (
	"fmt"
	"io"
	"net/netip"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"squall/internal/convo"
	"squall/pcaps/survey"
)

// infoJSON is the report of one capture.
type infoJSON struct {
	survey.File
	*survey.Report
}

func newPcapInfo() *cobra.Command {
	var (
		o         survey.Options
		clientNet []string
		asJSON    bool
		command   = &cobra.Command{
			Use:   "info CAPTURE... [flags]",
			Short: "Say what is in captures",
			Long: `info says what is in each capture: its format, link types, times and mean rates,
sizes, protocols, conversations, wrong IPv4 header checksums, and what replay would
leave out. "-" is standard input.

Frames in the tree of protocols count for every protocol above theirs as well. Bytes
are as captured on the wire, without FCS; sizes count the 4-byte FCS. JSON is one
object a capture.`,
			Example: `  squall pcap info calls.pcap
  squall pcap info --conversations 3 *.pcapng
  squall pcap info calls.pcap.zst --json | jq .protocols`,
			Args: func(c *cobra.Command, args []string) error {
				if len(args) == 0 {
					return fmt.Errorf("have no argument, need at least one capture; see %s --help", c.CommandPath())
				}
				return nil
			},
		}
	)
	fs := command.Flags()
	fs.IntVar(&o.Top, "conversations", 10, "list this `number` of conversations, those of the most bytes")
	fs.IntVar(&o.MTU, "mtu", 1500, "of the port that replay would send to, in `bytes`")
	fs.StringSliceVar(&clientNet, "client-net", nil, "networks of clients, as `10.0.0.0/8` (default who opened the conversation)")
	fs.BoolVar(&asJSON, "json", false, "print JSON")
	command.RunE = func(c *cobra.Command, args []string) (err error) {
		switch {
		case o.Top < 0:
			return fmt.Errorf("--conversations %d: need 0 or more", o.Top)
		case o.MTU < 68: // RFC 791 section 3.2
			return fmt.Errorf("--mtu %d: need at least 68", o.MTU)
		}
		if o.Convo, err = convoOptions(clientNet); err != nil {
			return err
		}
		ctx, stop := interruptible()
		defer stop()
		for i, path := range args {
			f, r, err := survey.Read(ctx, path, o)
			if err != nil {
				return err
			}
			if f.EndedEarly != "" {
				fmt.Fprintf(c.ErrOrStderr(), "squall: %s; what is in front of it counts\n", f.EndedEarly)
			}
			if asJSON {
				err = printJSON(c.OutOrStdout(), infoJSON{f, r})
			} else {
				if i > 0 {
					fmt.Fprintln(c.OutOrStdout())
				}
				err = infoText(c.OutOrStdout(), &f, r)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return command
}

// convoOptions reads --client-net.
func convoOptions(nets []string) (o convo.Options, err error) {
	for _, n := range nets {
		p, err := netip.ParsePrefix(n)
		if err != nil {
			return o, fmt.Errorf("--client-net %q: need a network, as 10.0.0.0/8", n)
		}
		o.ClientNet = append(o.ClientNet, p)
	}
	return o, nil
}

func infoText(w io.Writer, f *survey.File, r *survey.Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	row("capture", "%s", f.Path)
	row("format", "%s", formatText(f))
	for _, l := range r.LinkTypes {
		what := ""
		if len(r.LinkTypes) > 1 {
			what = fmt.Sprintf(": interface %d, %d frames", l.Interface, l.Frames)
		}
		row("link type", "%s%s", l.Name, what)
	}
	row("frames", "%d, %d bytes without FCS (%d captured)", r.Frames, r.Bytes, r.Captured)
	timesText(row, &r.Times)
	if r.Rates != nil {
		row("mean rate", "%s; layer 1 %s, layer 2 %s, IP %s", si(r.Rates.Frames, "pps"), si(r.Rates.L1, "bit/s"), si(r.Rates.L2, "bit/s"), si(r.Rates.L3, "bit/s"))
	}
	if r.Sizes != nil {
		row("size with FCS", "%d to %d bytes, mean %.1f", r.Sizes.Min, r.Sizes.Max, r.Sizes.Mean)
	}
	if r.BadChecksums > 0 {
		row("checksums", "%d IPv4 headers have a wrong one", r.BadChecksums)
	}
	if r.Frames > 0 {
		row("replay", "%s", replayText(&r.Replay))
	}
	if err := t.Flush(); err != nil || r.Frames == 0 {
		return err
	}
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	if r.Sizes != nil {
		fmt.Fprint(t, "\nSIZE\tFRAMES\t\n")
		for _, b := range r.Sizes.Buckets {
			if b.Frames > 0 {
				fmt.Fprintf(t, "%s\t%d\t\n", b.Size, b.Frames)
			}
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "\nPROTOCOL\tFRAMES\tBYTES\n")
	protocolsText(t, r.Protocols, 0)
	if err := t.Flush(); err != nil {
		return err
	}
	return conversationsText(w, &r.Conversations)
}

func formatText(f *survey.File) string {
	parts := []string{strings.TrimSpace(f.Format + " " + f.Version), f.ByteOrder + " endian"}
	switch f.Resolution {
	case "us":
		parts = append(parts, "microseconds")
	case "ns":
		parts = append(parts, "nanoseconds")
	}
	if f.SnapLen > 0 {
		parts = append(parts, fmt.Sprintf("snap length %d", f.SnapLen))
	}
	if f.Compression != "none" {
		parts = append(parts, f.Compression)
	}
	if f.Bytes > 0 {
		parts = append(parts, fmt.Sprintf("%d bytes", f.Bytes))
	}
	return strings.Join(parts, ", ")
}

func timesText(row func(name, format string, args ...any), t *survey.Times) {
	if t.First != "" {
		row("first frame", "%s", t.First)
		row("last frame", "%s", t.Last)
		row("duration", "%d.%09d s; longest gap %v", t.Duration/1e9, t.Duration%1e9, time.Duration(t.LargestGap))
	}
	if t.Backwards > 0 {
		row("out of order", "%d frames are earlier than the one in front, at most by %v", t.Backwards, time.Duration(t.LargestBack))
	}
	if t.None > 0 {
		row("without time", "%d frames", t.None)
	}
	if t.Invalid > 0 {
		row("invalid time", "%d frames", t.Invalid)
	}
}

// replayText says what replay would do by its defaults.
func replayText(r *survey.Replay) string {
	var why []string
	for _, reason := range []struct {
		n    uint64
		what string
	}{
		{r.Truncated, "cut by the snap length"},
		{r.Oversize, fmt.Sprintf("above an MTU of %d", r.MTU)},
		{r.Short, "shorter than 14 bytes"},
		{r.LinkType, "not to be sent on Ethernet"},
	} {
		if reason.n > 0 {
			why = append(why, fmt.Sprintf("%d %s", reason.n, reason.what))
		}
	}
	if len(why) == 0 {
		return fmt.Sprintf("all frames would be sent at an MTU of %d", r.MTU)
	}
	return fmt.Sprintf("%d frames would be sent; left out: %s", r.Sent, strings.Join(why, ", "))
}

func protocolsText(w io.Writer, list []survey.Protocol, depth int) {
	for _, p := range list {
		fmt.Fprintf(w, "%s%s\t%d\t%d\n", strings.Repeat("  ", depth), p.Name, p.Frames, p.Bytes)
		protocolsText(w, p.Within, depth+1)
	}
}

func conversationsText(w io.Writer, c *survey.Conversations) error {
	if c.Total == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "\nCONVERSATIONS\tNUMBER\tFRAMES\tBYTES\n")
	for _, p := range c.ByProtocol {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\n", p.Protocol, p.Conversations, p.Frames, p.Bytes)
	}
	fmt.Fprintf(t, "all\t%d\t\t\n", c.Total)
	if c.Untracked > 0 {
		fmt.Fprintf(t, "not kept\t\t%d\t\n", c.Untracked)
	}
	if len(c.Top) > 0 {
		fmt.Fprint(t, "\nCONV\tPROTOCOL\tCLIENT\tSERVER\tFRAMES >\tBYTES >\tFRAMES <\tBYTES <\n")
		for _, x := range c.Top {
			fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%d\t%d\t%d\t%d\n", x.ID, x.Protocol, x.Client, x.Server, x.ClientFrames, x.ClientBytes, x.ServerFrames, x.ServerBytes)
		}
	}
	return t.Flush()
}

// si writes a figure with four digits and a prefix.
func si(v float64, unit string) string {
	for _, p := range []struct {
		from   float64
		prefix string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= p.from {
			return fmt.Sprintf("%.4g %s%s", v/p.from, p.prefix, unit)
		}
	}
	return fmt.Sprintf("%.4g %s", v, unit)
}
