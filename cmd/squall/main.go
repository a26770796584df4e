// Squall sends frames, takes them off again, and says where every one went.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"squall/scenarios"
)

// Exit codes; scripts depend on them.
const (
	exitPass  = 0
	exitFail  = 1
	exitUsage = 2 // usage or environment
	exitVoid  = 3
)

func main() {
	os.Exit(squall(os.Args[1:], os.Stdout, os.Stderr))
}

// interruptible returns a context that the first SIGINT or SIGTERM cancels, for
// work that then ends in order; the second ends the program at once, as both do
// where nothing is under way.
func interruptible() (ctx context.Context, stop func()) {
	ctx, stop = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// squall runs one command line and returns its exit code.
func squall(args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.Execute()
	if v := (verdictError{}); errors.As(err, &v) {
		return v.code()
	}
	if err != nil {
		fmt.Fprintf(stderr, "squall: %v\n", err)
		return exitUsage
	}
	return exitPass
}

// oneArg wants one argument and says what it is.
func oneArg(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("have %d arguments, need one: %s; see %s --help", len(args), what, c.CommandPath())
		}
		return nil
	}
}

// noArgs wants none.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%q: have no such command or argument; see %s --help", args[0], c.CommandPath())
	}
	return nil
}

// verdictError carries the verdict of a run that was reported already.
type verdictError struct{ result string }

func (e verdictError) Error() string { return "verdict: " + e.result }

func (e verdictError) code() int {
	switch e.result {
	case scenarios.Pass:
		return exitPass
	case scenarios.Fail:
		return exitFail
	}
	return exitVoid
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "squall",
		Short: "Send frames, take them off again, and say where every one went",
		Long: `squall drives frames at network cards, drivers and forwarding boxes, replays
captures, and accounts for every frame: received, lost and named by the counter
that saw it, or unexplained.

A port is written [NETNS:]IFACE. A size counts the 4-byte FCS: 64 is the smallest
frame (kernel pktgen's pkt_size 60). A rate is 1.2Mpps, 940Mbit (layer 1: frame,
preamble and gap), 940Mbit/l2 (frame with FCS), 80% of the link, or max.

Exit codes: 0 pass, 1 fail, 2 usage or environment, 3 void (squall itself did not
send what was asked, so nothing is known of the device under test).`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w; see %s --help", err, c.CommandPath())
	})
	root.AddCommand(newDemo(), newGen(), newReplay(), newPcap(), newPorts(), newLab(), newReport(), newVersion(), newMan())
	return root
}
