package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"squall/gen"
	"squall/gen/conversation"
	"squall/internal/pace"
	"squall/internal/wire"
	"squall/pcaps"
)

// pcapMakeFlags say what is written of a stream file.
type pcapMakeFlags struct {
	gen genFlags
}

func newPcapMake() *cobra.Command {
	var f pcapMakeFlags
	c := &cobra.Command{
		Use:   "make STREAMFILE OUT [flags]",
		Short: "Make a capture from a stream file, or of duplicate-ACK runs",
		Long: `make writes the frames of a stream file to a capture: those that
"squall gen -f STREAMFILE" would send. A file that is named like a command below is
written ./dupacks.`,
		Example: `  squall pcap make streams.yaml out.pcap -c 10000
  squall pcap make streams.yaml out.pcap --duration 2s --rate 10kpps
  squall pcap make dupacks out.pcap --runs 5 --length 10 --gap 1s`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("have %d arguments, need two: a stream file (or dupacks) and the capture to write; see %s --help", len(args), c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.exec(c, args[0], args[1]) },
	}
	fs := c.Flags()
	p := &f.gen.pace
	fs.Uint64VarP(&p.count, "count", "c", 0, "how many `frames`")
	fs.DurationVar(&p.duration, "duration", 0, "how long, where there is a rate")
	fs.StringVar(&p.rate, "rate", "", "how fast: `1.2Mpps|940Mbit|940Mbit/l2` (default the rates of the stream file)")
	fs.BoolVar(&f.gen.run.quiet, "quiet", false, "do not say what was made")
	c.AddCommand(newPcapMakeDupacks())
	return c
}

func (f *pcapMakeFlags) exec(c *cobra.Command, file, out string) error {
	if err := f.gen.pace.check(c); err != nil {
		return err
	}
	text, err := readLimited(file)
	if err != nil {
		return fmt.Errorf("stream file: %w", err)
	}
	specs, err := gen.Load(file, text)
	if err != nil {
		return err
	}
	f.gen.write = out
	return f.gen.toFile(c, specs)
}

// dupacksMakeFlags describe a conversation.
type dupacksMakeFlags struct {
	config           conversation.Config
	rate             string
	client, server   string
	macs             [2]string
	cause, tap       string
	sender, start    string
	noSACK, noStamps bool
	sack, stamps     bool
	quiet            bool
}

func newPcapMakeDupacks() *cobra.Command {
	var f dupacksMakeFlags
	c := &cobra.Command{
		Use:   "dupacks OUT [flags]",
		Short: "Make a TCP conversation with runs of duplicate ACKs of exact lengths",
		Long: `dupacks writes a whole TCP conversation, handshake to FIN, in which the receiver of
the data sends exactly --runs runs of --length duplicate ACKs, --gap apart. Each run
has its cause in the data: a segment that comes late (--cause reorder) or is lost and
sent again (loss), or, behind the tap, out of its sight (acks-only). Everything else
is a calm download: an ACK for every second segment, the window never closes.

Replayed from two ports, client and server, it makes a box in between see what a
receiver's trouble looks like.`,
		Example: `  squall pcap make dupacks out.pcap --runs 5 --length 10 --gap 1s
  squall pcap make dupacks out.pcap --runs 3 --length 9,10,11 --gap 200ms --rate 81274pps
  squall pcap make dupacks out.pcap --cause loss --rate 1Gbit --gap 10ms --tap server`,
		Args: oneArg("the capture to write"),
		RunE: func(c *cobra.Command, args []string) error { return f.exec(c, args[0]) },
	}
	fs := c.Flags()
	k := &f.config
	fs.IntVar(&k.Runs, "runs", 5, "how many runs of duplicate ACKs")
	fs.IntSliceVar(&k.Lengths, "length", []int{10}, "`duplicate ACKs` a run; several, as 9,10,11, in turn")
	fs.DurationVar(&k.Gap, "gap", time.Second, "time from one run to the next, before the first and after the last")
	fs.StringVar(&f.cause, "cause", "reorder", "why ACKs repeat: `reorder|loss|acks-only`")
	fs.StringVar(&f.rate, "rate", "1kpps", "data frames: `81274pps|940Mbit|940Mbit/l2`")
	fs.IntVar(&k.FrameSize, "frame-size", 1518, "size of a data frame in `bytes`, with FCS")
	fs.Uint64Var(&k.Bytes, "bytes", 0, "how many `bytes` of data (default what comes until one gap after the last run)")
	fs.DurationVar(&k.RTT, "rtt", 0, "round trip time (default 1ms; with --cause loss as long as a run needs)")
	fs.IntVar(&k.Window, "window", 0, "window of both ends in `bytes` (default as wide as needed, 65536 or more)")
	fs.StringVar(&f.client, "client", "", "`address:port` that opens the conversation (default 198.18.0.1:49184)")
	fs.StringVar(&f.server, "server", "", "`address:port` that it is opened to (default 198.18.1.1:5001)")
	fs.StringVar(&f.macs[0], "client-mac", "", "MAC `address` of the client (default 02:00:00:00:00:01)")
	fs.StringVar(&f.macs[1], "server-mac", "", "MAC `address` of the server (default 02:00:00:00:00:02)")
	fs.StringVar(&f.sender, "sender", "server", "who sends the data: `client|server`")
	fs.StringVar(&f.tap, "tap", "", "where the frames are seen: `client|server|middle` (default at the receiver of the data)")
	fs.BoolVar(&f.sack, "sack", true, "selective acknowledgments (RFC 2018)")
	fs.BoolVar(&f.noSACK, "no-sack", false, "no selective acknowledgments")
	fs.BoolVar(&f.stamps, "timestamps", true, "TCP timestamps (RFC 7323)")
	fs.BoolVar(&f.noStamps, "no-timestamps", false, "no TCP timestamps")
	fs.Uint64Var(&k.Seed, "seed", 0, "what sequence numbers, identifications and content come from")
	fs.StringVar(&f.start, "start", "", "`time` of the first frame, RFC 3339 (default now)")
	fs.BoolVar(&f.quiet, "quiet", false, "do not say what was made")
	c.MarkFlagsMutuallyExclusive("sack", "no-sack")
	c.MarkFlagsMutuallyExclusive("timestamps", "no-timestamps")
	return c
}

// fill turns flags into the conversation's Config.
func (f *dupacksMakeFlags) fill() error {
	k := &f.config
	k.SACK, k.Timestamps = f.sack && !f.noSACK, f.stamps && !f.noStamps
	for _, e := range []struct {
		flag, text string
		to         *netip.AddrPort
	}{{"client", f.client, &k.Client}, {"server", f.server, &k.Server}} {
		if e.text == "" {
			continue
		}
		a, err := netip.ParseAddrPort(e.text)
		if err != nil {
			return fmt.Errorf("--%s %q: need address:port, as 198.18.0.1:49184 or [2001:2::1]:49184", e.flag, e.text)
		}
		*e.to = a
	}
	for i, to := range []*net.HardwareAddr{&k.ClientMAC, &k.ServerMAC} {
		if f.macs[i] == "" {
			continue
		}
		mac, err := net.ParseMAC(f.macs[i])
		if err != nil {
			return fmt.Errorf("MAC address %q: need six bytes, as 02:00:00:00:00:01", f.macs[i])
		}
		*to = mac
	}
	choices := func(flag, text string, names ...string) (int, error) {
		for i, n := range names {
			if text == n {
				return i, nil
			}
		}
		return 0, fmt.Errorf("--%s %q: need %s", flag, text, strings.Join(names, ", "))
	}
	sender, err := choices("sender", f.sender, "server", "client")
	if err != nil {
		return err
	}
	k.ClientSends = sender == 1
	cause, err := choices("cause", f.cause, "reorder", "loss", "acks-only")
	if err != nil {
		return err
	}
	k.Cause = conversation.Cause(cause)
	if f.tap == "" {
		f.tap = map[bool]string{false: "client", true: "server"}[k.ClientSends]
	}
	tap, err := choices("tap", f.tap, "client", "server", "middle")
	if err != nil {
		return err
	}
	k.Tap = conversation.Tap(tap)
	k.Start = time.Now().UnixNano()
	if f.start != "" {
		t, err := time.Parse(time.RFC3339Nano, f.start)
		if err != nil {
			return fmt.Errorf("--start %q: need a time as 2026-01-02T15:04:05Z", f.start)
		}
		k.Start = t.UnixNano()
	}
	return f.fillRate()
}

func (f *dupacksMakeFlags) fillRate() error {
	r, err := pace.ParseRate(f.rate)
	if err != nil {
		return err
	}
	if r.Unit == pace.Unlimited || r.Unit == pace.Percent {
		return fmt.Errorf("--rate %s: a capture has no link; give the rate in frames or bits a second", f.rate)
	}
	if f.config.FrameSize < wire.MinLen+wire.FCSLen {
		return fmt.Errorf("--frame-size %d: need %d bytes or more", f.config.FrameSize, wire.MinLen+wire.FCSLen)
	}
	whole, err := r.FramesPerSecond(uint64(f.config.FrameSize-wire.FCSLen), 1, 0)
	if err != nil {
		return err
	}
	f.config.Rate, err = pace.Every(whole)
	return err
}

func (f *dupacksMakeFlags) exec(c *cobra.Command, out string) error {
	if f.config.RTT < 0 || c.Flags().Changed("rtt") && f.config.RTT == 0 {
		return fmt.Errorf("--rtt %v: need a time above 0", f.config.RTT)
	}
	if err := f.fill(); err != nil {
		return err
	}
	v, err := conversation.New(f.config)
	if err != nil {
		return err
	}
	ctx, stop := interruptible()
	defer stop()
	made, err := writeConversation(ctx, out, v)
	if err != nil {
		return err
	}
	if !f.quiet {
		fmt.Fprintf(c.ErrOrStderr(), "%d frames in %v: %d bytes of data in %d segments, %d sent again; %d ACKs, %d of them duplicate in %d runs; round trip %v, window %d\n",
			made.Frames, time.Duration(made.Last-made.First), made.Bytes, made.Data, made.Retransmitted, made.Acks, made.Duplicates, made.Runs, v.RTT, v.Window)
	}
	return nil
}

func writeConversation(ctx context.Context, out string, v *conversation.Conversation) (conversation.Made, error) {
	w, err := pcaps.Create(out)
	if err != nil {
		return conversation.Made{}, err
	}
	defer w.Abort()
	made, err := v.Frames(func(frame []byte, at int64) error {
		if ctx.Err() != nil {
			return errors.New("stopped")
		}
		return w.Write(frame, at)
	})
	if err != nil {
		return made, fmt.Errorf("writing %q: %w", out, err)
	}
	return made, w.Close()
}
