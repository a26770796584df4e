package scenarios

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"squall/internal/port"
)

// receive counts what the pair's reader takes off its port, where it has one. The
// function that it returns ends that and returns the reader's error, which also
// stops the sending.
func (r *run) receive(stopSending context.CancelCauseFunc) (end func() error) {
	reader := r.pair.reader
	if reader == nil {
		return func() error { return nil }
	}
	var stop atomic.Bool
	received := make(chan error, 1)
	go func() {
		err := read(reader, r.accounts, &stop)
		if err != nil {
			err = fmt.Errorf("receiving on %s: %w", r.pair.RX.Ref, err)
			stopSending(err)
		}
		received <- err
	}()
	return func() error {
		stop.Store(true)
		return <-received
	}
}

func read(from port.BatchReader, a *accounts, stop *atomic.Bool) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for !stop.Load() {
		frames, err := from.Receive(10 * time.Millisecond)
		if err != nil {
			return err
		}
		for i := range frames {
			a.frame(frames[i].Data, frames[i].At)
		}
	}
	return nil
}
