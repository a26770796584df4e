package main

import (
	"errors"
	"fmt"
	"math/bits"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"squall/internal/impair"
	"squall/internal/pace"
	"squall/internal/plan"
	"squall/pcaps"
	"squall/replay"
	"squall/replay/fit"
	"squall/scenarios"
)

// replayFlags say how captures are replayed.
type replayFlags struct {
	pair  pairFlags
	sides sidesFlags
	run   runFlags
	write rewriteFlags
	fates fateFlags

	merge    bool
	speed    string
	rate     string
	top      bool
	oneByOne bool
	loop     string
	loopGap  time.Duration
	maxGap   time.Duration
	duration time.Duration
	copies   uint64
	impair   []string
	seed     uint64
}

// fateFlags say what becomes of frames that cannot go as they are.
type fateFlags struct {
	truncated string
	oversize  string
	ignoreDF  bool
	times     string
	preload   uint64
	spool     string
}

func newReplay() *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay CAPTURE... --tx PORT [--rx PORT] [flags]",
		Short: "Replay captures",
		Long: `replay sends the frames of pcap or pcapng captures (packed with gzip or zstd or not,
"-" is standard input) from one port, at their own times unless told otherwise, and
matches what arrives on another by content.

Every frame has a fate, and every fate a count in the report: frames that were cut
short by the snap length, are longer than the port's MTU allows, or have a link type
that Ethernet does not carry are left out unless the flags say what to make of them.
Nothing is altered silently.

With --client and --server each side of every conversation leaves from a port of its
own, in the capture's time or in lockstep: see docs/two-sides.md.`,
		Example: `  squall replay calls.pcapng --tx eth1 --rx eth2
  squall replay calls.pcap --tx eth1 --rx eth2 --speed 0.5 --loop 10
  squall replay one.pcap two.pcap.gz --merge --tx eth1 --topspeed --loop forever
  squall replay tso.pcap --tx eth1 --oversize segment --map 10.0.0.0/8=198.18.0.0/8 --dmac 02:00:00:00:00:01
  squall replay calls.pcap --tx eth1 --rx eth2 --copies 1000 --rate 100kpps
  squall replay calls.pcap --client eth1 --server eth2 --mode lockstep --learn
  squall replay calls.pcap --tx eth1 --rx eth2 --impair 'drop 1/100' --impair 'reorder 16/1000 reverse'`,
		Args: someArgs("a capture"),
		RunE: func(c *cobra.Command, args []string) error { return f.exec(c, args) },
	}
	f.pair.add(c)
	f.sides.add(c)
	f.run.add(c)
	f.write.add(c)
	f.fates.add(c)
	fs := c.Flags()
	fs.BoolVar(&f.merge, "merge", false, "play several captures at once, by their time stamps, instead of in turn")
	fs.StringVar(&f.speed, "speed", "", "play the captures' own timing `N` times as fast; 0.5 is half speed")
	fs.StringVar(&f.rate, "rate", "", "send evenly at this `rate` instead: 1.2Mpps, 940Mbit, 80%")
	fs.BoolVar(&f.top, "topspeed", false, "send as fast as the engine can")
	fs.BoolVar(&f.oneByOne, "one-at-a-time", false, "send a frame for each key that is pressed; q ends")
	fs.StringVar(&f.loop, "loop", "1", "play the captures `N|forever` times")
	fs.DurationVar(&f.loopGap, "loop-gap", 0, "pause between two passes, beyond the captures' mean gap")
	fs.DurationVar(&f.maxGap, "max-gap", 0, "shorten what is longer between two frames")
	fs.DurationVar(&f.duration, "duration", 0, "end after this time")
	fs.Uint64Var(&f.copies, "copies", 1, "send `N` copies of each frame side by side, each with addresses of its own")
	fs.StringArrayVar(&f.impair, "impair", nil, "do this to frames on purpose, again for more: `drop 2/100`, duplicate 1/1000 x3, swap 1/50, hold 1/100 by 5, reorder 16/1000, corrupt 1% (docs/impairments.md)")
	fs.Uint64Var(&f.seed, "seed", 0, "what impairments by chance come from")
	return c
}

// someArgs wants at least one argument and says what it is.
func someArgs(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("have no argument, need at least one: %s; see %s --help", what, c.CommandPath())
		}
		return nil
	}
}

func (f *fateFlags) add(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&f.truncated, "truncated", "skip", "frames cut short by the snap length: `skip|pad|send` (pad: with zeros to their length)")
	fs.StringVar(&f.oversize, "oversize", "skip", "frames longer than the port's MTU allows: `skip|fragment|segment|truncate`")
	fs.BoolVar(&f.ignoreDF, "ignore-df", false, "fragment also what forbids it")
	fs.StringVar(&f.times, "time-errors", "clamp", "frames whose time stamp is missing, impossible, before that of the frame in front or a day behind it: `clamp|skip|stop`")
	fs.Uint64Var(&f.preload, "preload-limit", replay.DefaultLimit>>20, "keep at most this many `MiB` of frames in memory, and more in a file")
	fs.StringVar(&f.spool, "spool-dir", "", "`directory` of that file (default the system's for temporary files)")
}

// put enters the flags into options.
func (f *fateFlags) put(o *replay.Options) (err error) {
	if o.Truncated, err = replay.ParseTruncated(f.truncated); err != nil {
		return fmt.Errorf("--truncated: %w", err)
	}
	if o.Oversize, err = fit.ParsePolicy(f.oversize); err != nil {
		return fmt.Errorf("--oversize: %w", err)
	}
	if o.Times, err = pcaps.ParseTimePolicy(f.times); err != nil {
		return fmt.Errorf("--time-errors: %w", err)
	}
	if f.preload < 1 || f.preload > 1<<40 {
		return fmt.Errorf("--preload-limit %d: need 1 MiB or more", f.preload)
	}
	o.Limit, o.Dir, o.IgnoreDF = f.preload<<20, f.spool, f.ignoreDF
	return nil
}

func (f *replayFlags) check(c *cobra.Command) error {
	if err := f.run.check(); err != nil {
		return err
	}
	if f.oneByOne && (f.top || f.rate != "" || f.speed != "" || f.loopGap > 0) {
		return errors.New("--one-at-a-time: keys say when frames go; leave out --speed, --rate, --topspeed and --loop-gap")
	}
	for _, d := range []struct {
		name string
		time time.Duration
	}{{"duration", f.duration}, {"max-gap", f.maxGap}} {
		if c.Flags().Changed(d.name) && d.time <= 0 {
			return fmt.Errorf("--%s %v: need a time above 0", d.name, d.time)
		}
	}
	if f.copies == 0 {
		return errors.New("--copies 0: need at least one")
	}
	if err := f.sides.check(c, &f.pair); err != nil {
		return err
	}
	if f.sides.given() && f.oneByOne {
		return errors.New("--one-at-a-time: replays from one port")
	}
	_, err := f.loops()
	return err
}

// loops returns how often the captures are played; 0: forever.
func (f *replayFlags) loops() (uint64, error) {
	if f.loop == "forever" {
		return 0, nil
	}
	n, err := strconv.ParseUint(f.loop, 10, 64)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("--loop %s: need a number from 1 on, or forever", f.loop)
	}
	return n, nil
}

// uniquePasses is how many passes with addresses of their own a replay without end
// has, before they come again.
const uniquePasses = 256

// options are what the plan is made with, for frames that leave from a pair's sending
// port, and how often it is then played; 0: forever.
func (f *replayFlags) options(pair *scenarios.Pair) (o replay.Options, loops uint64, err error) {
	o = replay.Options{Merge: f.merge, MTU: pair.TX.MTU, Copies: f.copies, Seed: f.seed}
	if o.MaxGap, err = f.captured(f.maxGap); err != nil {
		return o, 0, err
	}
	if err := f.fates.put(&o); err != nil {
		return o, 0, err
	}
	if f.copies > 1 {
		f.write.unique()
	}
	rules, err := f.write.rules()
	if err != nil {
		return o, 0, err
	}
	if o.Rewrite, err = rules.Compile(); err != nil {
		return o, 0, err
	}
	if o.Rewrite.Empty() {
		o.Rewrite = nil
	}
	if o.Impair, err = impair.Parse(f.impair...); err != nil {
		return o, 0, err
	}
	o.Header = f.write.reframer()
	if o.Header.Src == nil {
		o.Header.Src = pair.TX.MAC
	}
	o.NextHop = func() (net.HardwareAddr, error) { return nextHop(pair) }
	loops, err = f.loops()
	if !rules.Unique || err != nil {
		return o, loops, err
	}
	o.Passes, loops = loops, 1
	if o.Passes == 0 {
		o.Passes, o.FewPasses, loops = uniquePasses, true, 0
	}
	o.PassGap, err = f.captured(f.loopGap)
	return o, loops, err
}

// captured returns how much of the captures' time a time of the replay is: the
// schedule stretches it back.
func (f *replayFlags) captured(d time.Duration) (time.Duration, error) {
	if f.speed == "" || d <= 0 {
		return d, nil
	}
	num, den, err := replay.ParseSpeed(f.speed)
	if err != nil {
		return 0, err
	}
	hi, lo := bits.Mul64(uint64(d), num)
	if hi >= den {
		return pace.Never, nil
	}
	q, _ := bits.Div64(hi, lo, den)
	return time.Duration(min(max(q, 1), pace.Never)), nil
}

// nextHop is where frames go that were captured without an Ethernet header: to the
// router that this machine would send to out of the port, else to the receiving port.
func nextHop(pair *scenarios.Pair) (net.HardwareAddr, error) {
	mac, _, ok, err := pair.TX.NextHop()
	switch {
	case err != nil || ok:
		return mac, err
	case pair.RX != nil:
		return pair.RX.MAC, nil
	}
	return nil, fmt.Errorf("no destination for frames captured without an Ethernet header: the neighbour table has no router behind %q; give --dmac, or --rx", pair.TX.Ref)
}

// timing is how the plan is played.
func (f *replayFlags) timing(pair *scenarios.Pair) (replay.Timing, error) {
	t := replay.Timing{Speed: f.speed, TopSpeed: f.top, LoopGap: f.loopGap, Link: pair.TX.LinkBits}
	if f.rate != "" {
		var err error
		if t.Rate, err = pace.ParseRate(f.rate); err != nil {
			return t, err
		}
	}
	return t, nil
}

func (f *replayFlags) exec(c *cobra.Command, paths []string) error {
	if err := f.check(c); err != nil {
		return err
	}
	if f.sides.given() {
		return f.twoSides(c, paths)
	}
	if f.oneByOne && f.pair.engine == "auto" {
		f.pair.engine = "packet" // live does not know of keys
	}
	pairs, err := f.pair.open()
	if err != nil {
		return err
	}
	defer closeAll(pairs)
	if len(pairs) > 1 {
		return errors.New("a replay has one --tx")
	}
	pair := pairs[0]
	o, loops, err := f.options(pair)
	if err != nil {
		return err
	}
	p, sum, err := replay.CompileAll(paths, o)
	if err != nil {
		return err
	}
	if hi, _ := bits.Mul64(p.Pass, loops); hi != 0 {
		return fmt.Errorf("--loop %s of %d frames: more frames than can be counted; use --loop forever", f.loop, p.Pass)
	}
	p.Streams[0].ID = 1
	phase := scenarios.Phase{Name: "replay", Plans: []*plan.Plan{p}, Asked: f.asked(), Count: p.Pass * loops, Duration: f.duration, MaxLoss: f.run.loss()}
	if f.oneByOne {
		keys, err := newKeys(c.ErrOrStderr(), p)
		if err != nil {
			return err
		}
		defer keys.close()
		phase.Schedule = keys.schedule
		f.run.stop = keys.ended
	} else {
		t, err := f.timing(pair)
		if err != nil {
			return err
		}
		if phase.Schedule, err = replay.Schedule(p, t); err != nil {
			return err
		}
	}
	s := session{flags: &f.run, cmd: c, scenario: []byte("# " + strings.Join(os.Args, " ") + "\n")}
	conf, done := config("replay", pair)
	defer done()
	conf.Phases, conf.Warnings, conf.Capture = []scenarios.Phase{phase}, captureNotes(paths, &sum), scenarios.CaptureOf(paths, &sum)
	return s.run(scenarios.Lane{Pair: pair, Config: conf})
}

// asked is the timing in the report's words.
func (f *replayFlags) asked() string {
	switch {
	case f.oneByOne:
		return "one at a time"
	case f.top:
		return "top speed"
	case f.rate != "":
		return f.rate
	case f.speed != "":
		return "speed " + f.speed
	}
	return "as captured"
}

// captureNotes are what a reader of the report has to know of the captures.
func captureNotes(paths []string, sum *replay.Summary) (notes []string) {
	sum.Each(func(reason string, left bool, n uint64) {
		if left {
			reason = "left out: " + reason
		}
		notes = append(notes, fmt.Sprintf("%s: %d of %d frames %s", strings.Join(paths, ", "), n, sum.Records, reason))
	})
	if sum.Spooled {
		notes = append(notes, fmt.Sprintf("%s: %d MiB of frames stand in a file, not in memory (--preload-limit)", strings.Join(paths, ", "), sum.Bytes>>20))
	}
	return notes
}
