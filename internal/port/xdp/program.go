package xdp

import (
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"squall/internal/port"
	"squall/internal/port/bpf"
)

// program is the XDP program of a port, with the sockets that it gives frames
// to. It is attached by a bpf_link: the kernel takes it off when its descriptor
// is closed, however the process ends.
type program struct {
	objs   bpf.XskObjects
	link   link.Link
	native bool
}

// loadProgram loads the program for a port of so many receive queues.
func loadProgram(queues int) (*program, error) {
	spec, err := bpf.LoadXsk()
	if err != nil {
		return nil, err
	}
	spec.Maps[bpf.XskMapSockets].MaxEntries = uint32(queues)
	g := &program{}
	if err := spec.LoadAndAssign(&g.objs, nil); err != nil {
		return nil, fmt.Errorf("XDP program: %w", err)
	}
	return g, nil
}

// give has the program give the frames of a queue to a socket that is bound to
// it.
func (g *program) give(queue int, s *socket) error {
	if err := g.objs.Sockets.Put(uint32(queue), uint32(s.fd)); err != nil {
		return fmt.Errorf("socket of queue %d: %w", queue, err)
	}
	return nil
}

// attach attaches the program, natively where the driver can, and waits for the
// link if there was one: some drivers restart their card for it.
func (g *program) attach(p *port.Port) error {
	before := p.CheckLink()
	err := g.attachBy(p, link.XDPDriverMode)
	if declined(err) {
		err = g.attachBy(p, link.XDPGenericMode)
	}
	if errors.Is(err, unix.EBUSY) || errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("another XDP program is attached, see ip link and bpftool net: %w", err)
	}
	if err != nil {
		return fmt.Errorf("attaching the XDP program: %w", err)
	}
	if before != nil {
		return nil
	}
	return await(p)
}

func (g *program) attachBy(p *port.Port, flags link.XDPAttachFlags) error {
	return p.NS.Do(func() (err error) {
		g.link, err = link.AttachXDP(link.XDPOptions{Program: g.objs.SquallXsk, Interface: p.Index, Flags: flags})
		g.native = err == nil && flags == link.XDPDriverMode
		return err
	})
}

// declined reports that a driver has no native XDP, or none for the port as it
// is: veth says ERANGE where the other end's MTU is too large, others EINVAL.
func declined(err error) bool {
	return errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ERANGE) || errors.Is(err, unix.EINVAL)
}

// restart is how long a card may take to negotiate its link anew.
const restart = 10 * time.Second

func await(p *port.Port) error {
	for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		err := p.CheckLink()
		if !errors.Is(err, port.ErrLink) || time.Since(start) > restart {
			return err
		}
	}
}

// mode returns how the program is attached.
func (g *program) mode() string {
	if g.native {
		return "native"
	}
	return "generic"
}

func (g *program) close() error {
	var err error
	if g.link != nil {
		err = g.link.Close()
	}
	return errors.Join(err, g.objs.Close())
}
