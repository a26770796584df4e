package scenarios

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"squall/internal/port"
)

// linkWait is how much later than the engine a watcher may notice a lost link: it
// looks once a second.
const linkWait = 2 * time.Second

// watch tells of link events on both ports; a lost link ends the sending. The
// function that it returns ends the watching and says what was lost. It is given
// why sending ended: where an engine lost its link, the watcher will hear of it.
func (r *run) watch(stop context.CancelCauseFunc) (unwatch func(cause error) []error) {
	ctx, cancel := context.WithCancel(context.Background())
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		lost []error
	)
	first := make(chan struct{})
	for _, p := range []*port.Port{r.pair.TX, r.pair.RX} {
		if p == nil {
			continue
		}
		events, err := port.Watch(ctx, p)
		if err != nil {
			r.warn(err)
			continue
		}
		all.Go(func() {
			for e := range events {
				r.tell.event(Event{Event: EventLink, Port: p.Ref.String(), Text: e.Change.String()})
				if e.Change == port.LinkBack {
					continue
				}
				err := fmt.Errorf("port %s: %s", p.Ref, e.Change)
				mu.Lock()
				if lost = append(lost, err); len(lost) == 1 {
					close(first)
				}
				mu.Unlock()
				stop(err)
			}
		})
	}
	return func(cause error) []error {
		if errors.Is(cause, port.ErrLink) || errors.Is(cause, port.ErrGone) {
			select {
			case <-first:
			case <-time.After(linkWait):
			}
		}
		cancel()
		all.Wait()
		return lost
	}
}
