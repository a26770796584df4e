package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"squall/gen"
	"squall/internal/plan"
	"squall/internal/port"
	"squall/scenarios"
)

// genFlags describe what is sent.
type genFlags struct {
	pair pairFlags
	pace paceFlags
	run  runFlags

	file   string
	write  string
	simple gen.Simple
	vlan   []uint
	impair []string
}

func newGen() *cobra.Command {
	var f genFlags
	c := &cobra.Command{
		Use:   "gen --tx PORT [--rx PORT] [flags]",
		Short: "Generate streams of frames",
		Long: `gen sends streams of frames from one port and counts them on another.

The simple case is one stream from flags; the rest is in a stream file (-f), which
"squall gen --reference" prints an annotated example of. With -w the same frames go
to a capture file instead of a port.`,
		Example: `  squall gen --tx eth1 --rx eth2 --size 64 --rate 80% --duration 60s
  squall gen --tx eth1 --rx eth2 --size imix --flows 1024 --rate 940Mbit --count 1000000
  squall gen --tx lab-a:va --rx lab-b:vb --proto tcp --tcp-flags syn --rate 10kpps --duration 10s
  squall gen -f streams.yaml --tx eth1 --rx eth2
  squall gen --size 64-1518 --rate 1kpps --count 10000 -w out.pcap`,
		Args: noArgs,
	}
	f.pair.add(c)
	f.pace.add(c)
	f.run.add(c)
	f.add(c)
	reference := c.Flags().Bool("reference", false, "print the annotated example of a stream file")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *reference {
			_, err := fmt.Fprint(c.OutOrStdout(), gen.Reference())
			return err
		}
		return f.exec(c)
	}
	return c
}

func (f *genFlags) add(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVarP(&f.file, "file", "f", "", "stream `file` (YAML)")
	fs.StringVarP(&f.write, "write", "w", "", "write the frames to this `capture` (pcap) instead of a port")
	s := &f.simple
	fs.StringVar(&s.Proto, "proto", "udp", "`udp|tcp|icmp|arp|ipv4|ipv6|ethernet`")
	fs.StringVar(&s.Size, "size", "", "frame size with FCS: `64|64-1518|imix|64,128|64:7,594:4,1518:1` (default the smallest, 64 or more)")
	fs.Uint64Var(&s.Flows, "flows", 1, "how many flows, in turn")
	fs.Uint64Var(&s.FlowRun, "flow-run", 1, "how many frames of one flow follow each other")
	fs.StringVar(&s.FlowOrder, "flow-order", "turn", "`turn|random`")
	fs.Uint64Var(&s.Seed, "seed", 0, "what everything random comes from")
	fs.StringVar(&s.Tag, "tag", "auto", "where frames carry their sequence number: `auto|end|id|none`")
	fs.StringVar(&s.Src, "src", "", "source `address` (default 198.18.0.1)")
	fs.StringVar(&s.Dst, "dst", "", "destination `address` (default 198.18.1.1)")
	fs.Uint16Var(&s.SrcPort, "sport", 0, "source `port` of the first flow (default 49184)")
	fs.Uint16Var(&s.DstPort, "dport", 0, "destination `port` (default 9, discard)")
	fs.StringVar(&s.SrcMAC, "src-mac", "", "source MAC `address` (default the sending port's)")
	fs.StringVar(&s.DstMAC, "dst-mac", "", "destination MAC `address`: of a router, its port's (default the receiving port's)")
	fs.UintSliceVar(&f.vlan, "vlan", nil, "802.1Q `ID`s, outermost first")
	fs.Uint8Var(&s.DSCP, "dscp", 0, "DSCP, 0 to 63")
	fs.Uint8Var(&s.TTL, "ttl", 0, "TTL or hop limit (default 64)")
	fs.StringVar(&s.TCPFlags, "tcp-flags", "", "flags of TCP frames, as `syn+ack`")
	fs.StringArrayVar(&f.impair, "impair", nil, "do this to frames on purpose, again for more: `drop 2/100`, duplicate 1/1000 x3, swap 1/50, hold 1/100 by 5, reorder 16/1000, corrupt 1% (docs/impairments.md)")
	fs.BoolVarP(&s.IPv6, "ipv6", "6", false, "IPv6 where no address says so")
}

func (f *genFlags) exec(c *cobra.Command) error {
	if err := f.pace.check(c); err != nil {
		return err
	}
	if err := f.run.check(); err != nil {
		return err
	}
	if f.write != "" && len(f.pair.tx)+len(f.pair.rx) > 0 {
		return errors.New("--write goes to a file instead of a port: leave out --tx and --rx, or --write")
	}
	specs, text, err := f.specs(c)
	if err != nil {
		return err
	}
	for k := range specs {
		specs[k].Impair = append(slices.Clip(specs[k].Impair), f.impair...)
	}
	if f.write != "" {
		return f.toFile(c, specs)
	}
	pairs, err := f.pair.open()
	if err != nil {
		return err
	}
	defer closeAll(pairs)
	var lanes []scenarios.Lane
	for i, pair := range pairs {
		src, plans, err := compile(specs, pair, 1, f.pair.cores, f.pace.even())
		if err != nil {
			return err
		}
		phase := scenarios.Phase{Name: "gen", Plans: plans, Count: f.pace.count, Duration: f.pace.duration, MaxLoss: f.run.loss()}
		phase.Schedule, phase.Asked, err = f.pace.schedule(src.Rate, sizes(src, pair.TX))
		if err != nil {
			return err
		}
		if i == 0 && !f.run.quiet {
			describe(c, src)
		}
		conf, done := config("gen", pair)
		defer done()
		conf.Phases = []scenarios.Phase{phase}
		lanes = append(lanes, scenarios.Lane{Pair: pair, Config: conf})
	}
	s := session{flags: &f.run, cmd: c, scenario: text}
	return s.run(lanes...)
}

// compile makes the plan of each core: alike, but for the IDs of their streams,
// which go on from one core to the next.
func compile(specs []gen.Spec, pair *scenarios.Pair, first uint16, cores int, rate string) (src *gen.Source, plans []*plan.Plan, err error) {
	for range cores {
		t := target(pair, first)
		t.Rate, t.Cores = rate, cores
		s, err := gen.Compile(specs, t)
		if err != nil {
			return nil, nil, err
		}
		if src == nil {
			src = s
		}
		plans = append(plans, s.Plan)
		first += uint16(len(specs))
	}
	return src, plans, nil
}

// specs returns the streams and scenario.yaml.
func (f *genFlags) specs(c *cobra.Command) ([]gen.Spec, []byte, error) {
	if f.file != "" {
		if err := f.exclusive(c); err != nil {
			return nil, nil, err
		}
		text, err := readLimited(f.file)
		if err != nil {
			return nil, nil, fmt.Errorf("stream file: %w", err)
		}
		specs, err := gen.Load(f.file, text)
		return specs, text, err
	}
	for name, n := range map[string]uint64{"flows": f.simple.Flows, "flow-run": f.simple.FlowRun} {
		if n == 0 {
			return nil, nil, fmt.Errorf("--%s 0: need at least one", name)
		}
	}
	for _, id := range f.vlan {
		if id > 4095 {
			return nil, nil, fmt.Errorf("--vlan %d: need 0 to 4095", id)
		}
		f.simple.VLAN = append(f.simple.VLAN, uint16(id))
	}
	spec, err := f.simple.Spec()
	return []gen.Spec{spec}, []byte("# " + strings.Join(os.Args, " ") + "\n"), err
}

// readLimited reads a file of at most 16 MiB: longer ones, such as /dev/zero, are
// no stream files.
func readLimited(path string) ([]byte, error) {
	const most = 16 << 20
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && len(text) > most {
		err = fmt.Errorf("%q has more than %d bytes", path, most)
	}
	return text, err
}

// exclusive refuses flags that a stream file has its own keys for.
func (f *genFlags) exclusive(c *cobra.Command) error {
	for _, name := range []string{"proto", "size", "flows", "flow-run", "flow-order", "seed", "tag", "src", "dst", "sport", "dport",
		"src-mac", "dst-mac", "vlan", "dscp", "ttl", "tcp-flags", "ipv6"} {
		if c.Flags().Changed(name) {
			return fmt.Errorf("--%s and -f: the stream file says it; change it there", name)
		}
	}
	return nil
}

func (f *genFlags) toFile(c *cobra.Command, specs []gen.Spec) error {
	src, err := gen.Compile(specs, gen.Target{FirstStream: 1, Rate: f.pace.even()})
	if err != nil {
		return err
	}
	s, _, err := f.pace.schedule(src.Rate, sizes(src, nil))
	if err != nil {
		return err
	}
	ctx, stop := interruptible()
	defer stop()
	if err := writeCapture(ctx, f.write, src.Plan, s, f.pace.count, f.pace.duration); err != nil {
		return err
	}
	if !f.run.quiet {
		describe(c, src)
	}
	return nil
}

// sizes returns what rates in bits and percent are reckoned with: the mean
// frame of all streams together.
func sizes(src *gen.Source, tx *port.Port) frames {
	var f frames
	if tx != nil {
		f.link = tx.LinkBits
	}
	f.bytes, f.n = src.Plan.Mean()
	return f
}

// describe says on stderr what is about to be sent.
func describe(c *cobra.Command, src *gen.Source) {
	for _, i := range src.Streams {
		by := ""
		if len(i.FlowsBy) > 0 {
			by = " by " + strings.Join(i.FlowsBy, ", ")
		}
		fmt.Fprintf(c.ErrOrStderr(), "stream %d %q: %s, size %s with FCS, %d flows%s, sequence number %s\n",
			i.ID, i.Name, i.Layers, i.Sizes, i.Flows, by, tagPlace(i.Tag))
	}
}

func tagPlace(t plan.TagPlace) string {
	switch t {
	case plan.TagEnd:
		return "in an 18-byte tag at the end of the payload"
	case plan.TagID:
		return "in the IPv4 identification (no room for a tag: no latency)"
	}
	return "nowhere (no tag)"
}
