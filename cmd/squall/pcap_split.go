package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"squall/internal/convo"
	"squall/pcaps"
)

func newPcapSplit() *cobra.Command {
	var (
		s                    = splitter{}
		by, format, compress string
		clientNet            []string
		asJSON               bool
	)
	c := &cobra.Command{
		Use:   "split IN PREFIX --by WHAT [flags]",
		Short: "Write a capture into several",
		Long: `split writes every frame of the capture IN into one of the files PREFIX-NAME.pcap.
Frames keep their bytes, lengths, times and link types. "-" is standard input.

  --by         NAME
  conversation its number from 0, as squall pcap info lists them
  interface    its number within its pcapng section
  side         client or server: who sent the frame
  time=1s      00000 and on: each from the first frame's time on that long
  frames=1000  00000 and on: that many frames each
  size=100M    00000 and on: files of that many bytes at most, before they are packed

What belongs to no conversation goes to PREFIX-other. The first three keep all files
open, a quarter of a mebibyte of memory each, and leave none behind if anything goes
wrong. The others have one open at a time; those that were finished stay.`,
		Example: `  squall pcap split calls.pcap call --by conversation
  squall pcap split calls.pcap part --by time=1s --format pcapng --compress zstd
  squall pcap split calls.pcap side --by side --client-net 10.0.0.0/8`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("have %d arguments, need two: the capture to read and the prefix of those to write (a figure goes with --by, as --by time=1s); see %s --help", len(args), c.CommandPath())
			}
			return nil
		},
	}
	fs := c.Flags()
	fs.StringVar(&by, "by", "", "`conversation|interface|side|time=DURATION|frames=N|size=BYTES`")
	fs.IntVar(&s.maxFiles, "max-files", 500, "stop with an error rather than write more than this `number` of files")
	fs.StringSliceVar(&clientNet, "client-net", nil, "networks of clients, as `10.0.0.0/8` (default who opened the conversation)")
	fs.StringVar(&format, "format", "pcap", "`pcap|pcap-us|pcapng`")
	fs.StringVar(&compress, "compress", "none", "`none|gzip|zstd`")
	fs.BoolVar(&asJSON, "json", false, "print JSON")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if s.format.Container, err = pcaps.ParseContainer(format); err != nil {
			return fmt.Errorf("--format: %w", err)
		}
		if s.format.Compression, err = pcaps.ParseCompression(compress); err != nil {
			return fmt.Errorf("--compress: %w", err)
		}
		if s.maxFiles < 1 {
			return fmt.Errorf("--max-files %d: need at least one", s.maxFiles)
		}
		o, err := convoOptions(clientNet)
		if err != nil {
			return err
		}
		s.table = convo.NewTable(o)
		if s.name, err = s.parse(by); err != nil {
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

// splitSum says what was written; the frames of Files add up to Read.
type splitSum struct {
	In         string       `json:"in"`
	Read       uint64       `json:"read"`
	Files      []*splitFile `json:"files"` // in the order in which they were begun
	Clamped    uint64       `json:"clamped"`
	Rounded    uint64       `json:"rounded"` // had nanoseconds, where the format has microseconds
	Earlier    uint64       `json:"earlier"` // before their piece's time: went with the frame in front
	EndedEarly string       `json:"ended_early,omitempty"`
}

// splitFile is one of the files.
type splitFile struct {
	Path   string `json:"path"`
	Frames uint64 `json:"frames"`
	Bytes  uint64 `json:"bytes"` // of frames, as captured

	w     *pcaps.Writer
	clock steady
}

// splitter gives frames to files.
type splitter struct {
	format   pcaps.Format
	maxFiles int
	name     func(*pcaps.Record) string // which file a record goes to
	pieces   bool                       // one after the other: only the last is open
	prefix   string

	table  *convo.Table
	packet convo.Packet
	shape  pcaps.Reframer
	open   map[string]*splitFile
	sum    splitSum
}

func (s *splitter) run(c *cobra.Command, in, prefix string) error {
	s.sum.In, s.sum.Files, s.prefix, s.open = in, []*splitFile{}, prefix, map[string]*splitFile{}
	defer func() {
		for _, f := range s.sum.Files {
			f.w.Abort()
		}
	}()
	early, err := eachRecord(in, s.add)
	for i := 0; err == nil && i < len(s.sum.Files); i++ {
		err = s.finish(s.sum.Files[i])
	}
	if err != nil {
		return err
	}
	if early != nil {
		s.sum.EndedEarly = early.Error()
		fmt.Fprintf(c.ErrOrStderr(), "squall: %v; what is in front of it counts\n", early)
	}
	return nil
}

func (s *splitter) add(rec *pcaps.Record) error {
	s.sum.Read++
	name := s.name(rec)
	f := s.open[name]
	if f == nil {
		var err error
		if f, err = s.begin(name); err != nil {
			return err
		}
	}
	f.Frames++
	f.Bytes += uint64(len(rec.Data))
	return f.w.WriteRecord(f.clock.record(rec))
}

// begin begins a file; of pieces it finishes the one before.
func (s *splitter) begin(name string) (*splitFile, error) {
	if s.pieces {
		for before, f := range s.open {
			if err := s.finish(f); err != nil {
				return nil, err
			}
			delete(s.open, before)
		}
	}
	if n := len(s.sum.Files); n == s.maxFiles {
		kept := "none is kept"
		if s.pieces {
			kept = "those are kept"
		}
		return nil, fmt.Errorf("capture %q: frame %d would begin file %d, --max-files allows %d (%s): raise it, or choose fewer frames with squall pcap slice", s.sum.In, s.sum.Read, n+1, s.maxFiles, kept)
	}
	path := s.prefix + "-" + name + s.suffix()
	w, err := pcaps.CreateAs(path, s.format)
	if err != nil {
		return nil, err
	}
	f := &splitFile{Path: path, w: w, clock: steady{format: s.format.Container}}
	s.open[name] = f
	s.sum.Files = append(s.sum.Files, f)
	return f, nil
}

func (s *splitter) finish(f *splitFile) error {
	s.sum.Clamped += f.clock.clamped
	s.sum.Rounded += f.clock.rounded
	f.clock = steady{} // pieces are finished before the end, and again there
	return f.w.Close()
}

func (s *splitter) suffix() string {
	suffix := ".pcap"
	if s.format.Container == pcaps.Pcapng {
		suffix = ".pcapng"
	}
	switch s.format.Compression {
	case pcaps.Gzip:
		suffix += ".gz"
	case pcaps.Zstd:
		suffix += ".zst"
	}
	return suffix
}

func (s *splitter) text(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s: %d frames read\n", s.sum.In, s.sum.Read)
	for _, f := range s.sum.Files {
		_, e := fmt.Fprintf(w, "%s: %d frames\n", f.Path, f.Frames)
		err = errors.Join(err, e)
	}
	for _, note := range []struct {
		n    uint64
		what string
	}{
		{s.sum.Clamped, clampedText},
		{s.sum.Rounded, "lost their nanoseconds: the format has microseconds"},
		{s.sum.Earlier, "are earlier than the file they are in: they went with the frame in front"},
	} {
		if note.n > 0 {
			_, e := fmt.Fprintf(w, "  %d %s\n", note.n, note.what)
			err = errors.Join(err, e)
		}
	}
	return err
}
