package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"squall/internal/convo"
	"squall/pcaps"
	"squall/pcaps/filter"
)

func newPcapSlice() *cobra.Command {
	var (
		s                        slicer
		from, to, frames, filter string
		asJSON                   bool
	)
	c := &cobra.Command{
		Use:   "slice IN OUT [flags]",
		Short: "Write some of a capture's frames",
		Long: `slice writes those frames of the capture IN to OUT that every flag chooses. They
keep their bytes, lengths, times and link types. "-" is standard input. OUT is a
nanosecond pcap, or what its name says (.pcapng, .gz, .zst).

A time is 2006-01-02T15:04:05.123456789Z (UTC where no zone is given), seconds since
1970 as 1136214245.123456789, or +1.5s: behind IN's first frame. --from counts itself
in, --to does not. Frames are numbered from 1, conversations from 0 as squall pcap
info lists them. --filter is as tcpdump's; see docs/captures.md.`,
		Example: `  squall pcap slice calls.pcap storm.pcap --from +1.5s --to +2s
  squall pcap slice calls.pcap web.pcapng --filter 'tcp port 80 and net 10.0.0.0/8'
  squall pcap slice calls.pcap some.pcap --frames 10-20,30- --every 2
  squall pcap slice calls.pcap one.pcap --conversation 3`,
		Args: inAndOut,
	}
	fs := c.Flags()
	fs.StringVar(&from, "from", "", "frames of this `TIME` and later")
	fs.StringVar(&to, "to", "", "frames before this `TIME`")
	fs.StringVar(&frames, "frames", "", "frames of these `numbers`, as 10-20,30-")
	fs.StringVar(&filter, "filter", "", "frames of which this `expression` is true")
	fs.IntSliceVar(&s.only, "conversation", nil, "frames of the conversations of these `numbers`")
	fs.Uint64Var(&s.every, "every", 1, "of the frames that the other flags choose the first, and every `N`th behind it")
	fs.BoolVar(&asJSON, "json", false, "print JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := s.parse(from, to, frames, filter); err != nil {
			return err
		}
		if err := s.run(c, args[0], args[1]); err != nil {
			return err
		}
		if asJSON {
			return printJSON(c.OutOrStdout(), &s.sum)
		}
		return s.text(c.OutOrStdout())
	}
	return c
}

// inAndOut wants a capture to read and one to write.
func inAndOut(c *cobra.Command, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("have %d arguments, need two: the capture to read and the one to write; see %s --help", len(args), c.CommandPath())
	}
	return nil
}

// sliceSum says what became of the frames: Read = Written + Left.
type sliceSum struct {
	In         string `json:"in"`
	Out        string `json:"out"`
	Format     string `json:"format"`
	Read       uint64 `json:"read"` // up to the last that can be meant
	Written    uint64 `json:"written"`
	Left       uint64 `json:"left_out"`
	NoTime     uint64 `json:"left_out_without_time"` // of Left: --from or --to cannot tell
	LinkType   uint64 `json:"left_out_by_link_type"` // of Left: no Ethernet header, for --filter or --conversation
	Clamped    uint64 `json:"clamped"`               // of Written: had no sound time and got one
	EndedEarly string `json:"ended_early,omitempty"`
}

// slicer chooses frames.
type slicer struct {
	from, to *moment
	frames   spans
	filter   *filter.Filter
	only     []int // conversations; nil: all
	every    uint64

	table  *convo.Table
	packet convo.Packet
	shape  pcaps.Reframer
	chosen uint64 // before every
	sum    sliceSum
}

func (s *slicer) parse(from, to, frames, expression string) (err error) {
	if s.from, err = parseMoment(from); err != nil {
		return fmt.Errorf("--from %w", err)
	}
	if s.to, err = parseMoment(to); err != nil {
		return fmt.Errorf("--to %w", err)
	}
	if s.frames, err = parseSpans(frames); err != nil {
		return fmt.Errorf("--frames %w", err)
	}
	if s.every == 0 {
		return errors.New("--every 0: need 1 or more")
	}
	for _, n := range s.only {
		if n < 0 {
			return fmt.Errorf("--conversation %d: they are numbered from 0; see squall pcap info", n)
		}
	}
	if s.only != nil {
		s.table = convo.NewTable(convo.Options{})
	}
	if expression != "" {
		if s.filter, err = filter.Compile(expression); err != nil {
			return fmt.Errorf("--%w", err)
		}
	}
	return nil
}

func (s *slicer) run(c *cobra.Command, in, out string) error {
	format, _ := pcaps.FormatOf(out)
	s.sum.In, s.sum.Out, s.sum.Format = in, out, format.Container.String()
	w, err := pcaps.CreateAs(out, format)
	if err != nil {
		return err
	}
	defer w.Abort()
	clock := steady{format: format.Container}
	early, err := eachRecord(in, func(rec *pcaps.Record) error {
		if s.frames.passed(s.sum.Read + 1) {
			return errEnough
		}
		s.sum.Read++
		if !s.choose(rec) {
			s.sum.Left++
			return nil
		}
		s.sum.Written++
		return w.WriteRecord(clock.record(rec))
	})
	if err != nil {
		return err
	}
	if s.sum.Written == 0 {
		return fmt.Errorf("capture %q: none of its frames is chosen (%d read); nothing is written", in, s.sum.Read)
	}
	if err := w.Close(); err != nil {
		return err
	}
	s.sum.Clamped = clock.clamped
	if early != nil {
		s.sum.EndedEarly = early.Error()
		fmt.Fprintf(c.ErrOrStderr(), "squall: %v; what is in front of it counts\n", early)
	}
	return nil
}

// choose reports whether all flags want a record.
func (s *slicer) choose(rec *pcaps.Record) bool {
	// Conversations are told by all their frames, whichever are chosen. Likewise
	// the moments behind the first frame.
	sound := rec.Clock == pcaps.ClockSound
	if sound {
		s.from.begin(rec.Time)
		s.to.begin(rec.Time)
	}
	wanted := s.frames.have(s.sum.Read)
	if wanted && (s.from != nil || s.to != nil) {
		if !sound {
			s.sum.NoTime++
			wanted = false
		} else {
			wanted = (s.from == nil || rec.Time >= s.from.ns) && (s.to == nil || rec.Time < s.to.ns)
		}
	}
	if s.table != nil || wanted && s.filter != nil {
		frame, length, _, err := s.shape.Frame(*rec)
		if err != nil {
			if wanted {
				s.sum.LinkType++
			}
			return false
		}
		wanted = s.meant(frame) && wanted
		wanted = wanted && (s.filter == nil || s.filter.Match(frame, length))
	}
	if !wanted {
		return false
	}
	s.chosen++
	return (s.chosen-1)%s.every == 0
}

// meant reports whether a frame is of a conversation that is asked for.
func (s *slicer) meant(frame []byte) bool {
	if s.table == nil {
		return true
	}
	if !s.packet.Decode(frame) {
		return false
	}
	c, _ := s.table.Find(&s.packet)
	if c == nil {
		return false
	}
	for _, n := range s.only {
		if c.ID == n {
			return true
		}
	}
	return false
}

func (s *slicer) text(w io.Writer) error {
	text := fmt.Sprintf("%s: %d frames read\n%s: %d frames (%s)\n", s.sum.In, s.sum.Read, s.sum.Out, s.sum.Written, s.sum.Format)
	for _, line := range []struct {
		n    uint64
		what string
	}{
		{s.sum.NoTime, "left out: without a sound time, so --from and --to cannot tell"},
		{s.sum.LinkType, "left out: of a link type or protocol that Ethernet does not carry, so --filter and --conversation cannot tell"},
		{s.sum.Clamped, clampedText},
	} {
		if line.n > 0 {
			text += fmt.Sprintf("  %d %s\n", line.n, line.what)
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

const clampedText = "had a wrong time stamp, or none: set to the nearest that is not before the frame in front"

// steady gives records whose time is wrong, or beyond what a format holds, the nearest
// one that is not before the frame in front, as pcaps.TimeClamp says.
type steady struct {
	format           pcaps.Container
	before           int64
	clamped, rounded uint64
}

func (s *steady) record(rec *pcaps.Record) pcaps.Record {
	r := *rec
	if r.Clock != pcaps.ClockSound || r.Time > s.format.Last() {
		r.Time = max(s.before, min(r.Time, s.format.Last()))
		s.clamped++
	}
	if s.format == pcaps.PcapMicros && r.Time%1000 != 0 {
		s.rounded++
	}
	s.before = r.Time
	return r
}

// errEnough ends eachRecord without an error.
var errEnough = errors.New("enough")

// eachRecord shows all records of a capture to visit. Where the file ends in
// mid-record behind others, early says so.
func eachRecord(path string, visit func(*pcaps.Record) error) (early, err error) {
	r, err := pcaps.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	ctx, stop := interruptible()
	defer stop()
	return visitAll(ctx, r, visit)
}

func visitAll(ctx context.Context, r *pcaps.Reader, visit func(*pcaps.Record) error) (early, err error) {
	for n := 0; ; n++ {
		rec, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil
		case errors.Is(err, pcaps.ErrTruncated) && n > 0:
			return err, nil
		case err != nil:
			return nil, err
		}
		if n%4096 == 0 && ctx.Err() != nil {
			return nil, errors.New("reading the capture: stopped")
		}
		if err := visit(&rec); errors.Is(err, errEnough) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
	}
}
