package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"squall/internal/wire"
	"squall/pcaps"
	"squall/replay/fit"
	"squall/replay/rewrite"
)

func newPcapRewrite() *cobra.Command {
	var (
		f        rewriteFlags
		w        rewriteJob
		oversize string
		asJSON   bool
	)
	c := &cobra.Command{
		Use:   "rewrite IN OUT",
		Short: "Change the headers of a capture's frames",
		Long: `rewrite reads the capture IN ("-": standard input) and writes OUT, a nanosecond
pcap or what its name says (.pcapng, .gz, .zst), with addresses, ports, VLAN tags,
TTL, DSCP, tunnel identifiers and sequence numbers changed and every checksum
following. What each rule changed, and what was left out and why, is printed.
See docs/rewriting.md.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("have %d arguments, need two: the capture to read and the one to write; see %s --help", len(args), c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) (err error) {
			if w.limit.MTU < 0 || w.limit.MTU > 0 && w.limit.MTU < 68 || w.limit.MTU > 65535 {
				return fmt.Errorf("--mtu %d: need 68 to 65535", w.limit.MTU) // RFC 791: every link carries 68
			}
			if w.limit.MTU == 0 && (c.Flags().Changed("oversize") || w.limit.IgnoreDF) {
				return errors.New("--oversize: too long for what? give --mtu as well")
			}
			if w.policy, err = fit.ParsePolicy(oversize); err != nil {
				return fmt.Errorf("--oversize %w", err)
			}
			if w.copies == 0 {
				return errors.New("--copies 0: need at least one")
			}
			if w.copies > 1 {
				f.unique()
			}
			rules, err := f.rules()
			if err != nil {
				return err
			}
			if w.rewriter, err = rules.Compile(); err != nil {
				return err
			}
			w.frames = f.reframer()
			if err := w.run(args[0], args[1], c.ErrOrStderr()); err != nil {
				return err
			}
			if asJSON {
				return w.json(c.OutOrStdout())
			}
			return w.text(c.OutOrStdout(), args[0], args[1])
		},
	}
	f.add(c)
	fs := c.Flags()
	fs.Uint64Var(&w.copies, "copies", 1, "write every frame `N` times, copy after copy with its addresses stepped")
	fs.IntVar(&w.limit.MTU, "mtu", 0, "what a port can carry behind the Ethernet header and one VLAN tag, in `bytes`; 0: anything")
	fs.StringVar(&oversize, "oversize", "skip", "what becomes of frames too long for the MTU: `skip|fragment|segment|truncate`")
	fs.BoolVar(&w.limit.IgnoreDF, "ignore-df", false, "fragment IPv4 even where its don't-fragment bit is set")
	fs.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// rewriteJob is one capture on its way into another.
type rewriteJob struct {
	rewriter *rewrite.Rewriter
	frames   *pcaps.Reframer
	limit    fit.Limit
	policy   fit.Policy
	copies   uint64

	records, written, made uint64
	cut                    uint64 // of those written, frames that the snap length had cut
	fitted, pieces         uint64 // frames too long, and what was made of them
	counts                 rewrite.Counts
	left                   tally
}

// tally counts by reason, in the order of the first of each.
type tally struct {
	reasons []string
	n       map[string]uint64
}

func (t *tally) add(why string) {
	if t.n == nil {
		t.n = map[string]uint64{}
	}
	if t.n[why] == 0 {
		t.reasons = append(t.reasons, why)
	}
	t.n[why]++
}

// run writes what the rules make of the capture in to out. A capture that ends
// in mid-record is written up to there, with a warning.
func (j *rewriteJob) run(in, out string, warn io.Writer) error {
	r, err := pcaps.Open(in)
	if err != nil {
		return err
	}
	defer r.Close()
	format, _ := pcaps.FormatOf(out)
	w, err := pcaps.CreateAs(out, format)
	if err != nil {
		return err
	}
	defer w.Abort()
	var (
		buf    []byte
		pieces fit.Frames
	)
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, pcaps.ErrTruncated) && j.records > 0 {
			fmt.Fprintf(warn, "squall: %v; what is before it is written\n", err)
			break
		}
		if err != nil {
			return err
		}
		j.records++
		frame, length, made, err := j.frames.Frame(rec)
		switch {
		case err != nil:
			j.left.add(err.Error())
			continue
		case len(frame) < wire.HeaderLen:
			j.left.add("shorter than an Ethernet header")
			continue
		case made:
			j.made++
		}
		for k := range j.copies {
			var by rewrite.Changed
			if buf, by, err = j.rewriter.Rewrite(buf[:0], frame, k); err != nil {
				return err
			}
			pieces.Reset()
			if err := j.write(w, &pieces, buf, length-len(frame)+len(buf), rec.Time); err != nil {
				return err
			}
			j.counts.Add(by)
		}
	}
	return w.Close()
}

// write writes a frame of which length bytes were on the wire, or what fits of
// it.
func (j *rewriteJob) write(w *pcaps.Writer, pieces *fit.Frames, frame []byte, length int, at int64) error {
	cut := length > len(frame)
	if j.limit.Fits(frame, length) {
		if cut {
			j.cut++
		}
		j.written++
		return w.WriteCut(frame, length, at)
	}
	err := fit.ErrCut
	if !cut {
		err = j.limit.Apply(j.policy, pieces, frame)
	}
	if err != nil {
		why := fmt.Sprintf("too long for the MTU: %v", err)
		switch {
		case errors.Is(err, fit.ErrSkipped):
			why = "too long for the MTU"
		case cut:
			why = "too long for the MTU: cut by the snap length"
		}
		j.left.add(why)
		return nil
	}
	j.fitted++
	for i := range pieces.Len() {
		j.written++
		j.pieces++
		if err := w.Write(pieces.At(i), at); err != nil {
			return err
		}
	}
	return nil
}

func (j *rewriteJob) text(out io.Writer, from, to string) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(n uint64, what string, args ...any) {
		fmt.Fprintf(t, "%d\t  %s\n", n, fmt.Sprintf(what, args...))
	}
	row(j.records, "frames read from %s", from)
	if j.made > 0 {
		row(j.made, "of these given an Ethernet header")
	}
	row(j.counts.Changed, "rewritten frames changed")
	j.counts.Each(func(rule string, n uint64) { row(n, "  by %s", rule) })
	for _, why := range j.left.reasons {
		row(j.left.n[why], "left out: %s", why)
	}
	if j.fitted > 0 {
		row(j.fitted, "too long for the MTU of %d: %s, in %d frames", j.limit.MTU, map[fit.Policy]string{fit.Fragment: "fragmented", fit.Segment: "segmented", fit.Truncate: "truncated"}[j.policy], j.pieces)
	}
	row(j.written, "frames written to %s", to)
	if j.cut > 0 {
		row(j.cut, "of these as the snap length cut them")
	}
	return t.Flush()
}

// rewriteJSON is what --json prints.
type rewriteJSON struct {
	Read    uint64            `json:"read"`
	Made    uint64            `json:"ethernet_headers_made"`
	Changed uint64            `json:"changed"`
	By      map[string]uint64 `json:"changed_by"`
	Left    map[string]uint64 `json:"left_out"`
	Fitted  uint64            `json:"made_to_fit"`
	Pieces  uint64            `json:"pieces"`
	Written uint64            `json:"written"`
	Cut     uint64            `json:"written_cut"`
}

func (j *rewriteJob) json(out io.Writer) error {
	v := rewriteJSON{
		Read: j.records, Made: j.made, Changed: j.counts.Changed, By: map[string]uint64{}, Left: map[string]uint64{},
		Fitted: j.fitted, Pieces: j.pieces, Written: j.written, Cut: j.cut,
	}
	j.counts.Each(func(rule string, n uint64) { v.By[rule] = n })
	for why, n := range j.left.n {
		v.Left[why] = n
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
