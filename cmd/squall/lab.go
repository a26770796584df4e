package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"squall/internal/lab"
	"squall/internal/pace"
)

func newLab() *cobra.Command {
	c := &cobra.Command{
		Use:   "lab",
		Short: "Make hosts and a router in network namespaces to try squall on",
		Long: `A lab is two hosts with a router between them, each in a network namespace:

  NAME-a:va ══ NAME-r:in   router   NAME-r:out ══ NAME-b:vb
  198.18.0.1                                      198.18.1.1

The router is Linux's own forwarding; gen and replay know it and read its counters.
Its neighbours are permanent entries, which go when one of its interfaces is set down:
make the lab anew then. It needs root.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newLabUp(), newLabDown())
	return c
}

func newLabUp() *cobra.Command {
	var cfg lab.Config
	var rate string
	c := &cobra.Command{
		Use:   "up NAME",
		Short: "Make a lab that stays until it is taken down",
		Args:  oneArg("the lab's name"),
		RunE: func(c *cobra.Command, args []string) error {
			cfg.Name = args[0]
			if err := labRate(&cfg, rate); err != nil {
				return err
			}
			l, err := lab.New(cfg)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "lab %s is up\n  squall gen --tx %s --rx %s --dst-mac %s --rate 10kpps --duration 5s\n  squall lab down %[1]s\n",
				cfg.Name, l.VA.Label(), l.VB.Label(), l.In.MAC)
			return err
		},
	}
	fs := c.Flags()
	fs.StringVar(&rate, "limit", "", "let tc tbf limit the router's way out to this many layer 2 bits a second, as `20Mbit`")
	fs.IntVar(&cfg.Queues, "queues", 1, "queues of each veth end")
	fs.IntVar(&cfg.MTU, "mtu", 1500, "MTU of each veth end")
	fs.BoolVar(&cfg.GRO, "gro", false, "turn generic receive offload on at each veth end")
	return c
}

func newLabDown() *cobra.Command {
	return &cobra.Command{
		Use:   "down NAME",
		Short: "Take a lab down",
		Args:  oneArg("the lab's name"),
		RunE:  func(_ *cobra.Command, args []string) error { return lab.Down(args[0]) },
	}
}

// labRate sets the queue of the router's way out: 50 ms of the rate, in bursts
// of at least ten frames.
func labRate(cfg *lab.Config, limit string) error {
	if limit == "" {
		return nil
	}
	r, err := pace.ParseRate(limit)
	if err != nil {
		return fmt.Errorf("--limit: %w", err)
	}
	if r.Unit != pace.Layer1 && r.Unit != pace.Layer2 {
		return fmt.Errorf("--limit %s: tc takes bits a second, as 20Mbit", limit)
	}
	bits, _ := r.Value.Float64()
	least := 10 * (cfg.MTU + 14)
	cfg.TBF = lab.TBF{Rate: uint64(bits), Burst: uint32(least), Limit: uint32(max(bits/8/20, float64(least)))}
	return nil
}
