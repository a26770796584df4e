package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"squall/pcaps"
	"squall/pcaps/compare"
	"squall/scenarios"
)

// compareJSON is the report.
type compareJSON struct {
	PathA string `json:"capture_a"`
	PathB string `json:"capture_b"`
	Equal bool   `json:"equal"`
	*compare.Report
}

func newPcapCompare() *cobra.Command {
	var (
		o      compare.Options
		ignore []string
		routed bool
		asJSON bool
	)
	c := &cobra.Command{
		Use:   "compare A B [flags]",
		Short: "Say how one capture differs from another",
		Long: `compare says how the capture B, say what came out of a device, differs from A, what
went in: frames that are missing, extra, duplicated, reordered (RFC 4737) or altered,
and in which fields. Times are not compared. "-" is standard input.

--ignore takes fields that may differ: dst-mac, src-mac, vlan, ethertype, dscp, length,
id, fragment, ttl, protocol, ip-checksum, src-address, dst-address, ip-options,
src-port, dst-port, seq, ack, flags, window, options, checksum, payload, padding; or
macs, checksums, addresses, ports; or routed, all that routers change: macs, vlan, dscp,
ttl, ip-checksum, padding.

Exit code 0: no difference, 1: some.`,
		Example: `  squall pcap compare sent.pcap received.pcap
  squall pcap compare before.pcap behind.pcap --routed
  squall pcap compare a.pcap b.pcap --ignore ttl,macs,vlan,checksums --json`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("have %d arguments, need two captures; see %s --help", len(args), c.CommandPath())
			}
			if args[0] == "-" && args[1] == "-" {
				return fmt.Errorf("standard input is one capture: name a file for A or B")
			}
			return nil
		},
	}
	fs := c.Flags()
	fs.StringSliceVar(&ignore, "ignore", nil, "`fields` that may differ")
	fs.BoolVar(&routed, "routed", false, "ignore all that routers change: --ignore routed")
	fs.IntVar(&o.SnapLen, "snaplen", 0, "compare no more than this many `bytes` of a frame, for captures that are cut")
	fs.IntVar(&o.List, "list", 20, "list this `number` of differences one by one")
	fs.BoolVar(&asJSON, "json", false, "print JSON")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if routed {
			ignore = append(ignore, "routed")
		}
		if o.Ignore, err = compare.ParseSet(ignore); err != nil {
			return fmt.Errorf("--ignore: %w", err)
		}
		switch {
		case o.List < 0:
			return fmt.Errorf("--list %d: need 0 or more", o.List)
		case c.Flags().Changed("snaplen") && o.SnapLen < 14:
			return fmt.Errorf("--snaplen %d: need at least 14 bytes, an Ethernet header", o.SnapLen)
		}
		r, err := compareFiles(args[0], args[1], o)
		if err != nil {
			return err
		}
		for _, early := range []string{r.A.EndedEarly, r.B.EndedEarly} {
			if early != "" {
				fmt.Fprintf(c.ErrOrStderr(), "squall: %s; what is in front of it counts\n", early)
			}
		}
		if asJSON {
			err = printJSON(c.OutOrStdout(), compareJSON{args[0], args[1], r.Equal(), r})
		} else {
			err = compareText(c.OutOrStdout(), args[0], args[1], r)
		}
		if err == nil && !r.Equal() {
			return verdictError{scenarios.Fail}
		}
		return err
	}
	return c
}

func compareFiles(a, b string, o compare.Options) (*compare.Report, error) {
	first, err := pcaps.Open(a)
	if err != nil {
		return nil, err
	}
	defer first.Close()
	second, err := pcaps.Open(b)
	if err != nil {
		return nil, err
	}
	defer second.Close()
	ctx, stop := interruptible()
	defer stop()
	return compare.Captures(ctx, first, second, o)
}

func compareText(w io.Writer, a, b string, r *compare.Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	side := func(name, path string, s *compare.Side) {
		fmt.Fprintf(t, "%s\t%d frames\t%s", name, s.Frames, path)
		if s.LinkType > 0 {
			fmt.Fprintf(t, "; %d not compared: Ethernet does not carry them", s.LinkType)
		}
		if s.Cut > 0 {
			fmt.Fprintf(t, "; %d cut by the snap length, compared as far as they go", s.Cut)
		}
		fmt.Fprintln(t)
	}
	side("A", a, &r.A)
	side("B", b, &r.B)
	fmt.Fprintln(t)
	o := &r.Reordered
	late := ""
	if o.Frames > 0 {
		late = fmt.Sprintf("ratio %.4g, %d of them within their conversation; extent at most %d, on average %.4g; late by at most %v",
			o.Ratio, o.Within, o.MaxExtent, o.MeanExtent, time.Duration(o.MaxLate))
	}
	for _, row := range []struct {
		name string
		n    uint64
		note string
	}{
		{"same", r.Same, ""}, {"altered", r.Altered, alteredText(r.Fields)}, {"missing", r.Missing, ""}, {"extra", r.Extra, ""}, {"duplicated", r.Duplicated, ""}, {"reordered", o.Frames, late},
	} {
		fmt.Fprintf(t, "%s\t%d\t%s\n", row.name, row.n, row.note)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(r.List) > 0 {
		fmt.Fprintln(t, "\nFRAME OF A\tOF B\tDIFFERENCE")
	}
	number := func(n int) string {
		if n == 0 {
			return "-"
		}
		return fmt.Sprint(n)
	}
	for i := range r.List {
		d := &r.List[i]
		fmt.Fprintf(t, "%s\t%s\t%s\n", number(d.A), number(d.B), differenceText(d))
	}
	if r.Unlisted > 0 {
		fmt.Fprintf(t, "and %d more (--list)\n", r.Unlisted)
	}
	return t.Flush()
}

func alteredText(fields []compare.FieldCount) string {
	var parts []string
	for _, f := range fields {
		parts = append(parts, fmt.Sprintf("%s %d", f.Field, f.Frames))
	}
	return strings.Join(parts, ", ")
}

func differenceText(d *compare.Difference) string {
	if d.Extent > 0 {
		return fmt.Sprintf("%s, extent %d", d.Kind, d.Extent)
	}
	var parts []string
	for _, f := range d.Fields {
		if f.A == "" && f.B == "" {
			parts = append(parts, f.Field)
		} else {
			parts = append(parts, fmt.Sprintf("%s %s -> %s", f.Field, f.A, f.B))
		}
	}
	if len(parts) == 0 {
		return d.Kind
	}
	return d.Kind + ": " + strings.Join(parts, ", ")
}
