package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"squall/internal/impair"
	"squall/internal/plan"
	"squall/pcaps"
)

// impairFlags say what is done to a capture.
type impairFlags struct {
	rules  []string
	seed   uint64
	events string
	json   bool
}

// impairLimit is how many bytes of frames are held in memory.
const impairLimit = 2 << 30

func newPcapImpair() *cobra.Command {
	var f impairFlags
	c := &cobra.Command{
		Use:   "impair IN OUT --impair RULE...",
		Short: "Drop, double, move and corrupt a capture's frames",
		Long: `impair writes the frames of the capture IN to the capture OUT, and does to them on the
way what the rules say: exactly so many, at known places, the same for the same seed.

A copy has the time of its frame. A frame that is held back by a number of frames has
the time of the one that it comes behind; one held by a time, its own and so much; what
is swapped or reordered takes the times of the places that it comes to.

OUT's name says its format: .pcap or .pcapng, with .gz or .zst behind it.
docs/impairments.md has the rules.`,
		Example: `  squall pcap impair calls.pcap lossy.pcap --impair "drop 2/100"
  squall pcap impair calls.pcap late.pcap --impair "hold 1% by 3ms" --seed 7
  squall pcap impair calls.pcap mess.pcap --impair "reorder 8/100 shuffle" --impair "corrupt at 12 checksum" --events mess.ndjson`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("have %d arguments, need two: the capture to read and the one to write; see %s --help", len(args), c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.exec(c, args[0], args[1]) },
	}
	fs := c.Flags()
	fs.StringArrayVar(&f.rules, "impair", nil, "what is done, again for more: `drop 2/100`, duplicate 1/1000 x3, swap 1/50, hold 1/100 by 5, reorder 16/1000, corrupt 1%")
	fs.Uint64Var(&f.seed, "seed", 0, "what everything random comes from")
	fs.StringVar(&f.events, "events", "", "write a line of JSON for each impairment to this `file`")
	fs.BoolVar(&f.json, "json", false, "print JSON")
	return c
}

func (f *impairFlags) exec(c *cobra.Command, in, out string) (err error) {
	if len(f.rules) == 0 {
		return errors.New(`nothing to do: give --impair, as in --impair "drop 2/100"`)
	}
	rules, err := impair.Parse(f.rules...)
	if err != nil {
		return err
	}
	format, known := pcaps.FormatOf(out)
	if !known {
		return fmt.Errorf("%q does not end in .pcap or .pcapng, with .gz or .zst behind it: name it so", out)
	}
	x := impaired{in: in}
	if err := x.read(); err != nil {
		return err
	}
	if x.script, err = rules.Script(uint64(len(x.records)), f.seed, x.due); err != nil {
		return err
	}
	if err := x.corruptible(); err != nil {
		return err
	}
	w, err := pcaps.CreateAs(out, format)
	if err != nil {
		return err
	}
	defer w.Abort()
	ctx, stop := interruptible()
	defer stop()
	for i := range x.script.Moves {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := w.WriteRecord(x.record(i)); err != nil {
			return err
		}
	}
	if f.events != "" {
		if err := x.writeEvents(f.events); err != nil {
			return fmt.Errorf("events: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if x.early != nil {
		fmt.Fprintf(c.ErrOrStderr(), "squall: %v; what is in front of it was taken\n", x.early)
	}
	return x.print(c.OutOrStdout(), out, f.json)
}

// impaired is a capture in memory and what becomes of it.
type impaired struct {
	in      string
	records []pcaps.Record
	due     []int64 // rising
	clamped uint64  // had no time, a wrong one or one before that of the frame in front
	early   error   // the capture ends within a record
	script  *impair.Script
	scratch []byte
}

func (x *impaired) read() error {
	r, err := pcaps.Open(x.in)
	if err != nil {
		return err
	}
	defer r.Close()
	var bytes int
	for {
		rec, err := r.Next()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, pcaps.ErrTruncated) && len(x.records) > 0:
			if !errors.Is(err, io.EOF) {
				x.early = err
			}
			if len(x.records) == 0 {
				return fmt.Errorf("capture %q: %w", x.in, pcaps.ErrNoRecords)
			}
			return nil
		case err != nil:
			return err
		case len(x.records) == plan.MaxMoves:
			return fmt.Errorf("capture %q: has more than the %d frames that can be impaired at once; slice it", x.in, plan.MaxMoves)
		}
		if bytes += len(rec.Data); bytes > impairLimit {
			return fmt.Errorf("capture %q: its frames have more than the %d MiB that can be impaired at once; slice it", x.in, impairLimit>>20)
		}
		rec.Data = append([]byte(nil), rec.Data...)
		at := rec.Time
		if n := len(x.due); n > 0 && (at < x.due[n-1] || rec.Clock != pcaps.ClockSound) {
			at = x.due[n-1]
		}
		if rec.Clock != pcaps.ClockSound || at != rec.Time {
			x.clamped++
		}
		x.records, x.due = append(x.records, rec), append(x.due, at)
	}
}

// corruptible refuses to corrupt frames whose headers are not looked for.
func (x *impaired) corruptible() error {
	for _, m := range x.script.Moves {
		if t := x.records[m.Frame].LinkType; m.Flip != 0 && t != pcaps.Ethernet {
			return fmt.Errorf("capture %q: frame %d is %v; only Ethernet frames are corrupted: squall pcap convert --ethernet makes them so", x.in, m.Frame+1, t)
		}
	}
	return nil
}

// record returns the i-th record to write.
func (x *impaired) record(i int) pcaps.Record {
	m := x.script.Moves[i]
	rec := x.records[m.Frame]
	rec.Time = x.script.Due[i]
	if m.Flip != 0 {
		x.scratch = append(x.scratch[:0], rec.Data...)
		m.Flip.Apply(x.scratch)
		rec.Data = x.scratch
	}
	return rec
}

// impairEvent is a line of --events. Frames are counted from 1.
type impairEvent struct {
	Event  string    `json:"event"`
	Frame  uint32    `json:"frame"`          // of IN, the first that it befell
	Frames uint32    `json:"frames"`         // dropped, held, corrupted: 1; copies; of a swap 2; of the burst
	Out    uint32    `json:"out,omitempty"`  // frame of OUT that completes it; of a drop the first behind it
	Time   time.Time `json:"time"`           // of that frame
	Byte   *int      `json:"byte,omitempty"` // of the frame, from 0, that has the wrong bit
	Mask   int       `json:"mask,omitempty"` // which it is
}

func (x *impaired) writeEvents(path string) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, file.Close()) }()
	w := bufio.NewWriter(file)
	to := json.NewEncoder(w)
	for _, e := range x.script.Events {
		line := impairEvent{Event: e.Kind.String(), Frame: e.Frame + 1, Frames: e.Frames}
		at := min(int(e.At), len(x.script.Moves)-1)
		line.Time = time.Unix(0, x.script.Due[at]).UTC()
		if int(e.At) == at {
			line.Out = e.At + 1
		}
		if m := x.script.Moves[at]; e.Kind == plan.Corrupt && m.Frame == e.Frame && m.Flip != 0 {
			bit := m.Flip.Bit(x.records[m.Frame].Data)
			off := bit / 8
			line.Byte, line.Mask = &off, 0x80>>(bit%8)
		}
		if err := to.Encode(line); err != nil {
			return err
		}
	}
	return w.Flush()
}

// impairSummary is what --json prints.
type impairSummary struct {
	In         string `json:"in"`
	Out        string `json:"out"`
	Read       int    `json:"read"`
	Written    int    `json:"written"`
	Dropped    uint64 `json:"dropped"`
	Duplicated uint64 `json:"duplicated"` // copies
	Swapped    uint64 `json:"swapped"`
	Held       uint64 `json:"held"`
	Bursts     uint64 `json:"reordered_bursts"`
	Corrupted  uint64 `json:"corrupted"`
	Reordered  uint64 `json:"rfc4737_reordered"`
	Extent     uint64 `json:"rfc4737_extent_max"`
	Clamped    uint64 `json:"times_clamped"`
}

func (x *impaired) print(w io.Writer, out string, asJSON bool) error {
	sum := impairSummary{In: x.in, Out: out, Read: len(x.records), Written: len(x.script.Moves), Clamped: x.clamped}
	for _, e := range x.script.Events {
		n := [plan.Kinds]*uint64{&sum.Dropped, &sum.Duplicated, &sum.Swapped, &sum.Held, &sum.Bursts, &sum.Corrupted}[e.Kind]
		if e.Kind == plan.Duplicate {
			*n += uint64(e.Frames)
		} else {
			*n++
		}
	}
	var t impair.Tally
	for _, m := range x.script.Moves {
		t.Add(uint64(m.Frame))
	}
	f := t.Figures(uint64(len(x.records)))
	sum.Reordered, sum.Extent = f.Reordered, f.Extent
	if asJSON {
		to := json.NewEncoder(w)
		to.SetIndent("", "  ")
		return to.Encode(sum)
	}
	text := fmt.Sprintf("%s: %d frames\n%s: %d frames\n", x.in, sum.Read, out, sum.Written)
	for _, line := range []struct {
		n    uint64
		what string
	}{
		{sum.Dropped, "dropped"},
		{sum.Duplicated, "copies added"},
		{sum.Swapped, "pairs swapped"},
		{sum.Held, "held back"},
		{sum.Bursts, "bursts reordered"},
		{sum.Corrupted, "corrupted, one bit each"},
		{sum.Reordered, fmt.Sprintf("reordered by RFC 4737, the extent at most %d", sum.Extent)},
		{sum.Clamped, "had no sound time, or one before that of the frame in front: they count as with it"},
	} {
		if line.n > 0 {
			text += fmt.Sprintf("  %d %s\n", line.n, line.what)
		}
	}
	_, err := io.WriteString(w, text)
	return err
}
