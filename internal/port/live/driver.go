package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"squall/internal/netns"
	"squall/internal/port"
)

// patience is how long a link may take to come back after an XDP program was
// attached: an igc resets, and a copper link negotiates for some seconds.
const patience = 15 * time.Second

// opener keeps an XDP program on the port where the driver takes redirected
// frames only then. The kernel takes it away with the process.
type opener struct {
	link link.Link
}

// openDriver makes the driver take redirected frames and waits for the link.
func openDriver(ctx context.Context, p *port.Port) (*opener, error) {
	i, err := p.Inspect()
	if err != nil {
		return nil, err
	}
	if err := Supports(i); err != nil {
		return nil, err
	}
	o := &opener{}
	if i.XDP.Xmit {
		return o, nil
	}
	if o.link, err = attachPass(p.NS, p.Index); err != nil {
		return nil, fmt.Errorf("XDP program for the driver %q: %w", i.Driver, err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if i, err = p.Inspect(); err != nil {
			return nil, errors.Join(err, o.close())
		}
		if i.XDP.Xmit && i.Carrier {
			return o, nil
		}
		select {
		case <-ctx.Done():
			if i.XDP.Xmit {
				err = fmt.Errorf("%w: it did not come back within %v of attaching an XDP program", port.ErrLink, patience)
			} else {
				err = fmt.Errorf("driver %q takes no redirected frames, with an XDP program attached neither", i.Driver)
			}
			return nil, errors.Join(err, o.close())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// attachPass attaches a program that lets all frames pass, natively. It goes away
// when the link is closed, or with the process.
func attachPass(ns *netns.NS, index int) (link.Link, error) {
	const pass = 2 // XDP_PASS
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "squall_pass", Type: ebpf.XDP, License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, pass), asm.Return()},
	})
	if err != nil {
		return nil, err
	}
	defer prog.Close()
	var l link.Link
	err = ns.Do(func() (err error) {
		l, err = link.AttachXDP(link.XDPOptions{Program: prog, Interface: index, Flags: link.XDPDriverMode})
		return err
	})
	return l, err
}

func (o *opener) close() error {
	if o.link == nil {
		return nil
	}
	return o.link.Close()
}
