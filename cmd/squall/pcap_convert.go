package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"

	"github.com/spf13/cobra"

	"squall/pcaps"
)

// convertFlags say what a capture is made into.
type convertFlags struct {
	format   string
	compress string
	ethernet bool
	smac     string
	dmac     string
	snaplen  int
	times    string
	json     bool
}

func newPcapConvert() *cobra.Command {
	var f convertFlags
	c := &cobra.Command{
		Use:   "convert IN OUT [flags]",
		Short: "Write a capture in another format",
		Long: `convert writes the frames of the capture IN, in their order, to the capture OUT.
IN is pcap, pcapng or either packed with gzip or zstd; "-" is standard input.

OUT's name says its format unless the flags do: .pcap (nanoseconds) or .pcapng,
with .gz or .zst behind it. OUT gets its name when it is whole; until then what was
there stays.

With --ethernet, frames of other link types (RAW, NULL, LOOP, Linux cooked, IP over
PPP, PPPoE) get an Ethernet header. What cannot have one is left out and counted.`,
		Example: `  squall pcap convert old.pcap new.pcapng
  squall pcap convert any.pcapng any.pcap.zst --ethernet --dmac 02:00:00:00:00:09
  tcpdump -i eth1 -w - | squall pcap convert - eth1.pcapng.gz
  squall pcap convert long.pcap short.pcap --snaplen 96 --format pcap-us`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("have %d arguments, need two: the capture to read and the one to write; see %s --help", len(args), c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.exec(c, args[0], args[1]) },
	}
	fs := c.Flags()
	fs.StringVar(&f.format, "format", "", "`pcap|pcap-us|pcapng`: nanoseconds, microseconds, nanoseconds (default by OUT's name)")
	fs.StringVar(&f.compress, "compress", "", "`none|gzip|zstd` (default by OUT's name)")
	fs.BoolVar(&f.ethernet, "ethernet", false, "give frames of other link types an Ethernet header")
	fs.StringVar(&f.smac, "smac", "", "source MAC `address` of headers that are made (default the sender's that Linux cooked frames carry, or "+pcaps.DefaultSrc.String()+")")
	fs.StringVar(&f.dmac, "dmac", "", "destination MAC `address` of these (default "+pcaps.DefaultDst.String()+")")
	fs.IntVar(&f.snaplen, "snaplen", 0, "write at most this many `bytes` of a frame (default 262144)")
	fs.StringVar(&f.times, "time-errors", "clamp", "frames without a time, or with an impossible one: `clamp|skip|stop`")
	fs.BoolVar(&f.json, "json", false, "print JSON")
	return c
}

// parse checks the flags.
func (f *convertFlags) parse(c *cobra.Command, out string) (format pcaps.Format, conv pcaps.Conversion, err error) {
	format, known := pcaps.FormatOf(out)
	if f.format != "" {
		if format.Container, err = pcaps.ParseContainer(f.format); err != nil {
			return format, conv, fmt.Errorf("--format: %w", err)
		}
	} else if !known {
		return format, conv, fmt.Errorf("%q does not end in .pcap or .pcapng, with .gz or .zst behind it: name it so, or give --format", out)
	}
	if f.compress != "" {
		if format.Compression, err = pcaps.ParseCompression(f.compress); err != nil {
			return format, conv, fmt.Errorf("--compress: %w", err)
		}
	}
	if c.Flags().Changed("snaplen") && f.snaplen < 1 {
		return format, conv, fmt.Errorf("--snaplen %d: need at least one byte", f.snaplen)
	}
	format.SnapLen = f.snaplen
	conv.Ethernet = f.ethernet
	if conv.Times, err = pcaps.ParseTimePolicy(f.times); err != nil {
		return format, conv, fmt.Errorf("--time-errors: %w", err)
	}
	for name, mac := range map[string]*net.HardwareAddr{"smac": &conv.Reframer.Src, "dmac": &conv.Reframer.Dst} {
		given := c.Flag(name).Value.String()
		switch {
		case given == "":
			continue
		case !f.ethernet:
			return format, conv, fmt.Errorf("--%s is of headers that are made: give --ethernet as well", name)
		}
		if *mac, err = net.ParseMAC(given); err != nil || len(*mac) != 6 {
			return format, conv, fmt.Errorf("--%s %q: need an address of 6 bytes, as 02:00:00:00:00:01", name, given)
		}
	}
	return format, conv, nil
}

func (f *convertFlags) exec(c *cobra.Command, in, out string) error {
	format, conv, err := f.parse(c, out)
	if err != nil {
		return err
	}
	r, err := pcaps.Open(in)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := pcaps.CreateAs(out, format)
	if err != nil {
		return err
	}
	defer w.Abort()
	ctx, stop := interruptible()
	defer stop()
	sum, err := pcaps.Convert(ctx, w, r, conv)
	early := error(nil)
	switch {
	case errors.Is(err, pcaps.ErrTruncated) && sum.Written > 0:
		early = err
	case err != nil:
		return err
	case sum.Written == 0:
		return fmt.Errorf("capture %q: no frame can be written: %s", in, reasons(sum.Left))
	}
	if err := w.Close(); err != nil {
		return err
	}
	if early != nil {
		fmt.Fprintf(c.ErrOrStderr(), "squall: %v; what is in front of it was converted\n", early)
	}
	if f.json {
		return convertJSON(c.OutOrStdout(), in, out, format, sum, early)
	}
	return convertText(c.OutOrStdout(), in, out, format, sum)
}

// reasons returns what was left out, the most frequent first.
func reasons(left map[string]uint64) string {
	text := ""
	for i, why := range byCount(left) {
		if i > 0 {
			text += "; "
		}
		text += fmt.Sprintf("%d: %s", left[why], why)
	}
	return text
}

func byCount(left map[string]uint64) []string {
	return slices.SortedFunc(maps.Keys(left), func(a, b string) int {
		return cmp.Or(cmp.Compare(left[b], left[a]), cmp.Compare(a, b))
	})
}

func convertText(w io.Writer, in, out string, format pcaps.Format, sum pcaps.Converted) error {
	packed := ""
	if format.Compression != pcaps.Plain {
		packed = ", " + format.Compression.String()
	}
	text := fmt.Sprintf("%s: %d frames\n%s: %d frames (%v%s)\n", in, sum.Read, out, sum.Written, format.Container, packed)
	for _, line := range []struct {
		n    uint64
		what string
	}{
		{sum.Reframed, "got an Ethernet header"},
		{sum.Cut, fmt.Sprintf("cut to %d bytes", cmp.Or(format.SnapLen, pcaps.MaxFrame))},
		{sum.Excess, "said that more was captured than there was: cut to their length"},
		{sum.Clamped, "had a wrong time stamp, or none: set to the nearest that is not before the frame in front"},
		{sum.Rounded, "lost their nanoseconds: the format has microseconds"},
	} {
		if line.n > 0 {
			text += fmt.Sprintf("  %d %s\n", line.n, line.what)
		}
	}
	for _, why := range byCount(sum.Left) {
		text += fmt.Sprintf("  %d left out: %s\n", sum.Left[why], why)
	}
	_, err := io.WriteString(w, text)
	return err
}

func convertJSON(w io.Writer, in, out string, format pcaps.Format, sum pcaps.Converted, early error) error {
	type leftOut struct {
		Why    string `json:"why"`
		Frames uint64 `json:"frames"`
	}
	result := struct {
		In          string    `json:"in"`
		Out         string    `json:"out"`
		Format      string    `json:"format"`
		Compression string    `json:"compression"`
		Read        uint64    `json:"read"`
		Written     uint64    `json:"written"`
		Reframed    uint64    `json:"reframed"`
		Cut         uint64    `json:"cut"`
		Excess      uint64    `json:"excess"`
		Clamped     uint64    `json:"clamped"`
		Rounded     uint64    `json:"rounded"`
		LeftOut     []leftOut `json:"left_out"`
		EndedEarly  string    `json:"ended_early,omitempty"`
	}{in, out, format.Container.String(), format.Compression.String(), sum.Read, sum.Written, sum.Reframed, sum.Cut, sum.Excess, sum.Clamped, sum.Rounded, []leftOut{}, ""}
	for _, why := range byCount(sum.Left) {
		result.LeftOut = append(result.LeftOut, leftOut{why, sum.Left[why]})
	}
	if early != nil {
		result.EndedEarly = early.Error()
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(result)
}
