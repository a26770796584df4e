package scenarios

import (
	"errors"
	"fmt"

	"squall/internal/netns"
	"squall/internal/plan"
	"squall/internal/port/live"
)

// Engage chooses the engines for the phases and opens them: what cannot be sent
// or counted is refused here. Run does it where it was not done.
//
// Unless one is asked for, a pair takes the fastest engine that its port and the
// plans allow and that does not outrun its receiver.
func (p *Pair) Engage(phases []Phase) error {
	if p.accounts != nil {
		return nil
	}
	if len(phases) == 0 {
		return errors.New("a run without phases")
	}
	for i := range phases {
		if err := phases[i].check(p.RX != nil); err != nil {
			return err
		}
		if len(phases[i].Plans) != p.cores() {
			return fmt.Errorf("phase %q: have %d plans, need one for each of %d cores", phases[i].Name, len(phases[i].Plans), p.cores())
		}
	}
	if p.config.Engine != "" && p.config.Engine != "auto" {
		e, err := known(p.config.Engine)
		if err != nil {
			return err
		}
		if err := p.try(e, phases); err != nil {
			return fmt.Errorf("engine %q on port %q: %w", e.name, p.TX.Ref, err)
		}
		p.Why = "asked for"
		return nil
	}
	var lacks []error
	for i := range engines {
		e := &engines[i]
		err := p.suits(e, phases)
		if err == nil {
			err = p.try(e, phases)
		}
		if err == nil {
			p.Why = "auto: the fastest for this port and these frames"
			for _, lack := range lacks {
				p.Why += fmt.Sprintf("; not %v", lack)
			}
			return nil
		}
		lacks = append(lacks, fmt.Errorf("%s: %w", e.name, err))
	}
	return fmt.Errorf("port %q: no engine can send this: %w", p.TX.Ref, errors.Join(lacks...))
}

// suits says why auto leaves out an engine that could do it: what arrives at the
// full speed of a program is counted by a program, which knows tags only.
func (p *Pair) suits(e *engine, phases []Phase) error {
	for i := range phases {
		if err := tagged(phases[i : i+1]); e.inKernel && p.RX != nil && phases[i].Schedule.Rate() == 0 && err != nil {
			return fmt.Errorf("at full speed it outruns a receiver in user space, and %w", err)
		}
	}
	return nil
}

// try opens an engine, or leaves nothing open.
func (p *Pair) try(e *engine, phases []Phase) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, p.disengage())
		}
	}()
	for i := range phases {
		for _, pl := range phases[i].Plans {
			if err := e.fits(pl, p.TX.MTU); err != nil {
				return err
			}
		}
	}
	// The receiver first: a meter in the kernel makes the other end of a veth
	// able to take what the sender redirects.
	if err := p.openReceiver(e, phases); err != nil {
		return err
	}
	if e.name == "live" {
		if err := p.preparePeer(); err != nil {
			return err
		}
	}
	info, err := p.TX.Inspect()
	if err != nil {
		return err
	}
	if err := e.supports(info); err != nil {
		return err
	}
	for n := range p.cores() {
		cpu, err := ownCPU(p.config.FirstCore + n)
		if err != nil {
			return err
		}
		s, err := e.sender(p.TX, worker{queue: n, cpu: cpu}, phases[0].Plans[n])
		if err != nil {
			return err
		}
		p.senders = append(p.senders, s)
	}
	p.Engine = e.name
	return nil
}

// preparePeer makes the other end of a veth able to take what is redirected.
func (p *Pair) preparePeer() error {
	var among []*netns.NS
	for _, ns := range p.config.Namespaces {
		among = append(among, ns)
	}
	if p.RX != nil {
		among = append(among, p.RX.NS)
	}
	restore, err := live.PreparePeer(p.TX, among...)
	p.restore = restore
	return err
}

// openReceiver makes the accounts, and what counts on the receiving port.
func (p *Pair) openReceiver(sending *engine, phases []Phase) error {
	if p.RX == nil {
		p.accounts = &accounts{}
		return nil
	}
	e, why, err := p.receiver(sending, phases)
	if err != nil {
		return fmt.Errorf("receiving on %q: %w", p.RX.Ref, err)
	}
	p.Receiver, p.ReceiverWhy = e.name, why
	if e.reader == nil {
		p.accounts, err = countInKernel(p.RX, p.Run, phases)
		return err
	}
	if p.accounts, err = countHere(p.Run, phases); err != nil {
		return err
	}
	p.reader, err = e.reader(p.RX)
	return err
}

// receiver chooses how frames are counted: in the kernel where the sender is
// faster than a reader, all frames have a tag and the port takes the program.
func (p *Pair) receiver(sending *engine, phases []Phase) (*engine, string, error) {
	inKernel, _ := known("live")
	can := errors.Join(tagged(phases), inKernel.receives(p.RXInfo))
	if name := p.config.Receiver; name != "" && name != "auto" {
		e, err := known(name)
		if err != nil {
			return nil, "", err
		}
		if e.reader == nil {
			return e, "asked for", can
		}
		return e, "asked for", e.receives(p.RXInfo)
	}
	reads, _ := known("packet")
	switch {
	case sending == reads:
		return reads, "auto: keeps up with the sender", reads.receives(p.RXInfo)
	case can != nil:
		return reads, fmt.Sprintf("auto: not in the kernel: %v", can), reads.receives(p.RXInfo)
	}
	return inKernel, "auto: counts in the kernel", nil
}

// tagged says which stream a meter in the kernel cannot count.
func tagged(phases []Phase) error {
	for i := range phases {
		for _, pl := range phases[i].Plans {
			for _, s := range pl.Streams {
				if s.Tag != plan.TagEnd {
					return fmt.Errorf("the frames of stream %q have no tag", s.Name)
				}
			}
		}
	}
	return nil
}

// disengage closes the engines.
func (p *Pair) disengage() error {
	var errs []error
	for _, s := range p.senders {
		errs = append(errs, s.Close())
	}
	if p.restore != nil {
		errs = append(errs, p.restore())
	}
	if p.reader != nil {
		errs = append(errs, p.reader.Close())
	}
	if p.accounts != nil && p.accounts.close != nil {
		errs = append(errs, p.accounts.close())
	}
	p.senders, p.restore, p.reader, p.accounts = nil, nil, nil, nil
	return errors.Join(errs...)
}

func (p *Pair) cores() int { return max(p.config.Cores, 1) }
