package lockstep

import (
	"context"
	"errors"
	"fmt"
	"time"

	"squall/internal/meter"
	"squall/internal/pace"
	"squall/internal/port"
	"squall/replay/sides"
)

// End is one of the two ports.
type End struct {
	W port.BatchWriter
	R port.BatchReader
}

// Options say how a script is played. The zero value is the default.
type Options struct {
	// Passes is how often it is played; 0: once. Negative: until Duration is over
	// or the context is done.
	Passes int
	// Duration, if not 0: no conversation begins after it. Those under way go on to
	// their end.
	Duration time.Duration
	// Schedule, if not nil, says before when no frame leaves: frame k of pass n of
	// a plan with N frames is its frame n*N+k.
	Schedule pace.Schedule
	// GiveUp is how long a frame may take with all its retries; 0: 200 ms. A
	// packet(7) reader alone takes up to 4 ms.
	GiveUp time.Duration
	// Retries is how often a frame is sent again, at even distances in GiveUp: at
	// most 255. Negative: 0. 0: 3.
	Retries int
	// GoOn has a conversation go on without the frames that were given up. With
	// learn it is abandoned all the same where its first frame is.
	GoOn bool
	// Window is how many frames may be under way from each side; 0: 64.
	Window int
	// Settle is how long nothing may arrive before it is over; 0: 300 ms.
	Settle time.Duration
	// Settling, if not nil, is called when sending is over.
	Settling func()
	// Meters count what left from each side as it arrives; nil: nobody. A frame's
	// sequence number is its place among all that left from that side.
	Meters [2]*meter.Stream
	// Progress, where not nil, is kept up to date.
	Progress [2]*port.Progress
}

func (o Options) withDefaults() (Options, error) {
	if o.Passes == 0 {
		o.Passes = 1
	}
	if o.GiveUp == 0 {
		o.GiveUp = 200 * time.Millisecond
	}
	switch {
	case o.Retries == 0:
		o.Retries = 3
	case o.Retries < 0:
		o.Retries = 0
	}
	if o.Window == 0 {
		o.Window = 64
	}
	if o.Settle == 0 {
		o.Settle = 300 * time.Millisecond
	}
	switch {
	case o.GiveUp < time.Millisecond:
		return o, fmt.Errorf("wait before a frame is given up: have %v, need 1ms or more", o.GiveUp)
	case o.Retries > 255:
		return o, fmt.Errorf("retries: have %d, at most 255", o.Retries)
	case o.Window < 1:
		return o, fmt.Errorf("window: have %d frames, need 1 or more", o.Window)
	case o.Settle < 0 || o.Duration < 0:
		return o, errors.New("times below 0")
	}
	for s := range o.Meters {
		if o.Progress[s] == nil {
			o.Progress[s] = new(port.Progress)
		}
	}
	return o, nil
}

const (
	// spin is how long ports are looked at without a pause after something came or
	// went, nap how long one is then waited for, in ns.
	spin = 100_000
	nap  = 100_000
	// most is how many times in a row a port is read from before the other one.
	most = 16
	// settleMost bounds the settling, beyond Options.Settle.
	settleMost = 30 * time.Second
)

// Play plays the script from the ports of the client and of the server. The
// account is right with an error too, which is a port's: one whose link is down
// matches [port.ErrLink]. A context that is done ends the sending, and is no error.
// The caller locks the goroutine to its thread.
func (s *Script) Play(ctx context.Context, ends [2]End, o Options) (*Account, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	p := newPlay(s, ends, o, pace.Now)
	err = p.run(ctx)
	return p.close(), err
}

// run plays all passes.
func (p *play) run(ctx context.Context) error {
	for pass := uint64(0); ctx.Err() == nil && !p.over(pass); pass++ {
		p.begin(pass)
		if err := p.through(ctx); err != nil {
			return errors.Join(err, p.settle(0))
		}
		if ctx.Err() != nil || pass+1 == uint64(p.o.Passes) {
			break // what still comes is this pass's
		}
		p.count()
	}
	if p.o.Settling != nil {
		p.o.Settling()
	}
	return p.settle(p.o.Settle)
}

// over reports whether there is no such pass.
func (p *play) over(pass uint64) bool {
	return p.o.Passes > 0 && pass >= uint64(p.o.Passes) || p.late()
}

// late reports whether no conversation may begin any more.
func (p *play) late() bool {
	return p.o.Duration > 0 && p.clock()-p.start >= int64(p.o.Duration)
}

// through plays one pass.
func (p *play) through(ctx context.Context) error {
	acted := p.clock()
	for p.active > 0 || p.flying[0]+p.flying[1] > 0 {
		if ctx.Err() != nil {
			return nil
		}
		now := p.clock()
		n, all, err := p.receiveAll()
		if err != nil {
			return err
		}
		if all { // else what is overdue may be among what waits
			p.expire(now)
		}
		for s := range p.ends {
			sent, err := p.send(ctx, sides.Side(s))
			if err != nil {
				return err
			}
			n += sent
		}
		switch {
		case n > 0:
			acted = now
		case now-acted >= spin:
			if err := p.wait(now); err != nil {
				return err
			}
		}
	}
	return nil
}

// receiveAll takes what has come to both ports, and reports whether that is all.
func (p *play) receiveAll() (n int, all bool, err error) {
	all = true
	for s := range p.ends {
		for k := 0; ; k++ {
			if k == most {
				all = false
				break
			}
			got, err := p.receive(sides.Side(s), 0)
			if err != nil {
				return n, all, err
			}
			if got == 0 {
				break
			}
			n += got
		}
	}
	return n, all, nil
}

// wait waits for a frame at the port that one is due at; where frames are under way
// both ways, at the ports in turn.
func (p *play) wait(now int64) error {
	from := sides.Side(p.turn & 1)
	p.turn++
	if p.flying[from] == 0 && p.flying[from.Other()] > 0 {
		from = from.Other()
	}
	wait := int64(nap)
	if f := p.flight.first; f != none {
		wait = min(wait, max(p.sentAt[f]+p.interval-now, 0))
	}
	_, err := p.receive(from.Other(), time.Duration(wait))
	return err
}

// settle takes what still comes until nothing has for that long.
func (p *play) settle(quiet time.Duration) error {
	last := p.clock()
	for end := last + int64(quiet+settleMost); ; {
		n, _, err := p.receiveAll()
		now := p.clock()
		switch {
		case err != nil:
			return err
		case n > 0:
			last = now
		}
		if now-last >= int64(quiet) || now >= end {
			return nil
		}
		if err := p.wait(now); err != nil {
			return err
		}
	}
}

// receive takes the next frames off one port.
func (p *play) receive(at sides.Side, wait time.Duration) (int, error) {
	frames, err := p.ends[at].R.Receive(wait)
	if err != nil {
		return 0, fmt.Errorf("receiving on the %v port: %w", at, err)
	}
	for i := range frames {
		p.arrival(at, frames[i].Data, frames[i].At)
	}
	return len(frames), nil
}
