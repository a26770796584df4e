package scenarios

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"squall/internal/plan"
	"squall/internal/port"
	"squall/internal/port/live"
	"squall/internal/port/packet"
	"squall/internal/port/xdp"
	"squall/internal/port/xdpmeter"
)

// engine is one way to put frames on a port and to take them off. This file is
// the one place below cmd that names them.
type engine struct {
	name string
	// supports and fits say why a port or a plan is not for it.
	supports func(port.Info) error
	fits     func(*plan.Plan, int) error
	// sender opens one worker, for a plan to begin with.
	sender func(p *port.Port, w worker, first *plan.Plan) (port.Sender, error)
	// receives says why a port is not for its receiver, reader opens that; nil
	// where the receiver is a meter in the kernel.
	receives func(port.Info) error
	reader   func(*port.Port) (port.BatchReader, error)
	// both opens a writer and a reader of one port, for what reacts to arrivals; nil
	// where frames are not handed over one by one.
	both func(*port.Port) (batcher, port.BatchReader, error)
	// inKernel: a program sends. Engage readies the other end of a veth for it.
	inKernel bool
}

// batcher is a writer that can also send whole plans.
type batcher interface {
	port.BatchWriter
	port.Sender
}

// worker is one of the cores that send.
type worker struct{ queue, cpu int }

// engines are in the order that auto prefers them.
var engines = []engine{
	{
		name:     "live",
		supports: live.Supports,
		fits:     live.Fits,
		sender:   openLive,
		receives: xdpmeter.Supports,
		inKernel: true,
	},
	{
		name:     "xdp",
		supports: xdp.Supports,
		fits:     anyPlan,
		sender: func(p *port.Port, w worker, _ *plan.Plan) (port.Sender, error) {
			return xdp.Open(p, xdp.Config{Queue: w.queue})
		},
		receives: xdp.SupportsReader,
		reader:   func(p *port.Port) (port.BatchReader, error) { return xdp.OpenReader(p, xdp.ReaderConfig{}) },
		both: func(p *port.Port) (batcher, port.BatchReader, error) {
			return xdp.OpenBoth(p, xdp.Config{}, xdp.ReaderConfig{})
		},
	},
	{
		name:     "packet",
		supports: packet.Supports,
		fits:     anyPlan,
		sender: func(p *port.Port, _ worker, _ *plan.Plan) (port.Sender, error) {
			return packet.Open(p, packet.Config{})
		},
		receives: packet.Supports,
		reader:   func(p *port.Port) (port.BatchReader, error) { return packet.OpenReader(p, packet.ReaderConfig{}) },
		both:     openPackets,
	},
}

// openPackets opens the reader first: what answers the writer's first frame is then
// seen.
func openPackets(p *port.Port) (batcher, port.BatchReader, error) {
	r, err := packet.OpenReader(p, packet.ReaderConfig{})
	if err != nil {
		return nil, nil, err
	}
	w, err := packet.Open(p, packet.Config{})
	if err != nil {
		return nil, nil, errors.Join(err, r.Close())
	}
	return w, r, nil
}

// openLive loads the plan as well: whether the kernel takes the program for it is
// only known then.
func openLive(p *port.Port, w worker, first *plan.Plan) (port.Sender, error) {
	s, err := live.Open(context.Background(), p, live.Config{Pin: true, CPU: w.cpu})
	if err != nil {
		return nil, err
	}
	if err := s.Load(first); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// anyPlan is for engines that carry whatever the port does.
func anyPlan(*plan.Plan, int) error { return nil }

// ownCPU returns the n-th of the CPUs that this process may use, round and round.
func ownCPU(n int) (int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return 0, fmt.Errorf("CPUs: %w", err)
	}
	n %= set.Count()
	for cpu := 0; ; cpu++ {
		if set.IsSet(cpu) {
			if n == 0 {
				return cpu, nil
			}
			n--
		}
	}
}

// Offer is an engine and whether a port could use it.
type Offer struct {
	Name string
	Err  error // why not; nil: it could
}

// Engines returns the engines, fastest first, for sending from one port.
func Engines(info port.Info) []Offer {
	var all []Offer
	for _, e := range engines {
		i := info
		if e.inKernel && i.Kind == "veth" {
			i.XDP.Xmit = true
		}
		all = append(all, Offer{Name: e.name, Err: e.supports(i)})
	}
	return all
}

// known returns the engine of that name.
func known(name string) (*engine, error) {
	var names string
	for i := range engines {
		if engines[i].name == name {
			return &engines[i], nil
		}
		names += " " + engines[i].name
	}
	return nil, fmt.Errorf("engine %q: have auto%s", name, names)
}

// checkNames refuses engines that are not there.
func checkNames(names ...string) error {
	var errs []error
	for _, n := range names {
		if n == "" || n == "auto" {
			continue
		}
		_, err := known(n)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
