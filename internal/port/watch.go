package port

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vishvananda/netlink"
	vnetns "github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"squall/internal/pace"
)

// LinkChange is what can happen to a port's link.
type LinkChange uint8

const (
	// LinkLost: no carrier any more, or set down.
	LinkLost LinkChange = iota + 1
	// LinkBack: up and with carrier again.
	LinkBack
	// LinkGone: the interface was deleted, or moved to another namespace.
	LinkGone
)

// String returns a phrase for an event log.
func (c LinkChange) String() string {
	switch c {
	case LinkLost:
		return "link lost"
	case LinkBack:
		return "link back"
	case LinkGone:
		return "interface gone"
	}
	return fmt.Sprintf("link change %d", uint8(c))
}

// LinkEvent is a change of a port's link.
type LinkEvent struct {
	Ref    Ref
	Change LinkChange
	At     int64 // when it was noticed, CLOCK_MONOTONIC ns
}

// pollEvery is how often a watched link is looked at, besides what the kernel
// tells unasked.
const pollEvery = time.Second

// Watch reports changes of the port's link, from its state as of now. It hears
// of them from the kernel (rtnetlink(7), RTNLGRP_LINK), and looks for itself once
// a second, should messages be lost; a flap that is over within that time is then
// missed. The channel is closed after [LinkGone] and when ctx is done. It must be
// read.
func Watch(ctx context.Context, p *Port) (<-chan LinkEvent, error) {
	updates := make(chan netlink.LinkUpdate, 64)
	done := make(chan struct{})
	fd := vnetns.NsHandle(p.NS.FD())
	err := netlink.LinkSubscribeWithOptions(updates, done, netlink.LinkSubscribeOptions{Namespace: &fd})
	if err != nil {
		return nil, p.Ref.Explain(fmt.Errorf("listening for link changes: %w", err), "CAP_SYS_ADMIN")
	}
	w := &watcher{p: p, events: make(chan LinkEvent, 16)}
	// After the subscription, so that nothing is missed between the two.
	switch err := p.CheckLink(); {
	case err == nil:
		w.up = true
	case !errors.Is(err, ErrLink):
		unsubscribe(updates, done)
		return nil, err
	}
	go func() {
		defer close(w.events)
		defer unsubscribe(updates, done)
		w.run(ctx, updates)
	}()
	return w.events, nil
}

// unsubscribe ends a subscription, which waits for somebody to take what it still
// has.
func unsubscribe(updates <-chan netlink.LinkUpdate, done chan<- struct{}) {
	close(done)
	go func() {
		for range updates {
		}
	}()
}

type watcher struct {
	p      *Port
	up     bool
	events chan LinkEvent
}

func (w *watcher) run(ctx context.Context, updates <-chan netlink.LinkUpdate) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		present, up := true, w.up
		select {
		case <-ctx.Done():
			return
		case u, ok := <-updates:
			switch {
			case !ok: // messages were lost (ENOBUFS); from now on only the ticks
				updates = nil
			case int(u.Index) != w.p.Index, u.Family != unix.AF_UNSPEC: // a bridge speaks of its ports too
			default:
				present, up = u.Header.Type != unix.RTM_DELLINK, carrier(u.Link.Attrs())
			}
		case <-tick.C:
			err := w.p.CheckLink()
			if err != nil && !errors.Is(err, ErrLink) && !errors.Is(err, ErrGone) {
				continue // not to be known now
			}
			present, up = !errors.Is(err, ErrGone), err == nil
		}
		if !w.report(ctx, present, up) {
			return
		}
	}
}

// report sends what has changed and returns false where nothing more will.
func (w *watcher) report(ctx context.Context, present, up bool) bool {
	e := LinkEvent{Ref: w.p.Ref, At: pace.Now()}
	switch {
	case !present:
		e.Change = LinkGone
	case up == w.up:
		return true
	case up:
		e.Change = LinkBack
	default:
		e.Change = LinkLost
	}
	w.up = up
	select {
	case w.events <- e:
		return present
	case <-ctx.Done():
		return false
	}
}
