package lockstep

import (
	"context"
	"errors"
	"fmt"

	"squall/internal/port"
	"squall/replay/sides"
)

// send sends a batch of what may leave from one side, and returns how many frames
// that were.
func (p *play) send(ctx context.Context, from sides.Side) (int, error) {
	p.skip(from)
	if !p.mayLeave(from) {
		return 0, nil
	}
	w := p.ends[from].W
	slots := w.Reserve(cap(p.batch))
	p.batch = p.batch[:0]
	for len(p.batch) < len(slots) && p.mayLeave(from) {
		f := p.pick(from)
		if err := p.write(&slots[len(p.batch)], f); err != nil {
			return 0, err
		}
		p.batch = append(p.batch, f)
		p.skip(from)
	}
	at := p.clock()
	for _, f := range p.batch {
		p.sent(f, at)
	}
	n, err := w.Submit(ctx, len(p.batch))
	return n, p.submitted(ctx, from, n, err)
}

// skip takes out what stands in front and is not to be sent any more.
func (p *play) skip(from sides.Side) {
	for l := &p.again[from]; l.size > 0; {
		f := l.frames[l.at]
		switch {
		case p.fate[f] != again: // it came after all
			l.pop()
			continue
		case p.convs[p.conv[f]].state != running:
			l.pop()
			p.giveUp(f)
			continue
		}
		break
	}
	for r := &p.ready[from]; r.Len() > 0; {
		c := r.convs[0]
		x := &p.convs[c]
		if x.state == running && (x.next > 0 || !p.late()) {
			return
		}
		r.take()
		x.queued = false
		if x.state == running {
			p.finish(c, incomplete) // the time to begin is over
		}
	}
}

// mayLeave reports whether a frame may leave from that side now.
func (p *play) mayLeave(from sides.Side) bool {
	if p.again[from].size > 0 {
		return true
	}
	r := &p.ready[from]
	if r.Len() == 0 || p.flying[from] >= p.o.Window {
		return false
	}
	if p.o.Schedule == nil {
		return true
	}
	return p.clock()-p.start >= p.o.Schedule.Due(p.pass*p.Script.pass+uint64(p.number[r.frame(0)]))
}

// pick takes the next frame.
func (p *play) pick(from sides.Side) uint32 {
	if l := &p.again[from]; l.size > 0 {
		p.account.Retries++
		return l.pop()
	}
	c := p.ready[from].take()
	x := &p.convs[c]
	f := p.nextFrame(c)
	x.queued = false
	x.next++
	x.flying[from]++
	p.flying[from]++
	p.advance(c)
	return f
}

// write makes a frame as it is to leave.
func (p *play) write(slot *port.Slot, f uint32) error {
	frame := p.frames.At(uint64(f))
	if len(frame) > len(slot.Data) {
		return fmt.Errorf("frame %d of %d bytes is longer than the %v port takes: at most %d", p.number[f], len(frame), p.side[f], len(slot.Data))
	}
	slot.Len = copy(slot.Data, frame)
	c := p.conv[f]
	if x := &p.convs[c]; x.learned && p.side[f] != p.Script.convs[c].opener && x.seen != p.Script.convs[c].from {
		readdress(slot.Data[:slot.Len], x.seen.reply())
	}
	return nil
}

// sent notes that a copy of a frame leaves.
func (p *play) sent(f uint32, at int64) {
	s := p.side[f]
	if p.out[f] > 0 {
		p.older[f] = append(p.older[f], p.seq[f])
	}
	p.seq[f] = p.account.Sent[s].Frames
	p.account.Sent[s].Frames++
	p.account.Sent[s].Bytes += uint64(size(len(p.frames.At(uint64(f)))))
	p.sentAt[f] = at
	p.fate[f] = flying
	p.tries[f]++
	p.out[f]++
	p.flight.push(f)
}

// submitted enters what a port took of a batch into the account. What it did not
// take has not left, and the play is over.
func (p *play) submitted(ctx context.Context, from sides.Side, n int, err error) error {
	x, pr := &p.account.Sent[from], p.o.Progress[from]
	for _, f := range p.batch[n:] {
		p.out[f]--
		p.flight.remove(f)
		x.Frames--
		x.Bytes -= uint64(size(len(p.frames.At(uint64(f)))))
		if p.tries[f] == 1 {
			p.fate[f] = unsent
			p.convs[p.conv[f]].held++
		}
	}
	if n > 0 {
		x.End = p.clock()
	}
	pr.Frames.Store(x.Frames)
	pr.Bytes.Store(x.Bytes)
	pr.Retries.Store(p.ends[from].W.Retries() - p.retries[from])
	switch {
	case err == nil && n == len(p.batch):
		return nil
	case err == nil:
		err = fmt.Errorf("engine took %d of %d frames and gave no reason", n, len(p.batch))
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil // the next look at the context ends the play
	}
	x.Failed++
	pr.Failed.Add(1)
	return fmt.Errorf("sending from the %v port: %w", from, err)
}
