package live

import (
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"squall/internal/pace"
)

const (
	// glance is how often the minder looks at the job, and checkLink at the
	// link, in ns.
	glance    = 5_000_000
	checkLink = 20_000_000
	// idle is the gap in ns from which on the program is not to wait for a frame
	// itself.
	idle = 20_000_000
)

// minder looks after a job while its goroutine is in the kernel: it tells how far
// the job has come, looks at the link, and ends a call that has nothing to do any
// more. A call ends on any signal; it sends SIGURG, which the Go runtime uses for
// the same purpose and takes from anywhere.
type minder struct {
	k      *job
	tid    int
	inside atomic.Bool // the thread is in a call, or about to be
	link   atomic.Pointer[error]
	quit   chan struct{}
	done   chan struct{}

	frames, bytes uint64 // told to Progress
	checked       int64
}

// mind starts a minder for the job of the calling thread.
func mind(k *job) *minder {
	m := &minder{k: k, tid: unix.Gettid(), checked: pace.Now(), quit: make(chan struct{}), done: make(chan struct{})}
	go m.loop()
	return m
}

// run makes a call.
func (m *minder) run(g *program, repeat, batch uint32) error {
	m.inside.Store(true)
	defer m.inside.Store(false)
	return g.run(repeat, batch)
}

func (m *minder) loop() {
	defer close(m.done)
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for {
		select {
		case <-m.quit:
			m.tell()
			return
		case <-tick.C:
		case <-m.k.ctx.Done():
			m.k.halt()
			m.interrupt()
			// Again, should it have come just before the call.
			time.Sleep(time.Millisecond)
			continue
		}
		m.tell()
		m.look()
		due := int64(atomic.LoadUint64(&m.k.state.Due))
		if m.k.stopped() || due > pace.Now()+idle {
			m.interrupt()
		}
	}
}

// interrupt ends the call that the thread is in.
func (m *minder) interrupt() {
	if m.inside.Load() {
		_ = unix.Tgkill(os.Getpid(), m.tid, unix.SIGURG)
	}
}

// tell brings the job's Progress up to date.
func (m *minder) tell() {
	frames, bytes := atomic.LoadUint64(&m.k.state.Frames), m.k.bytes()
	if p := m.k.Progress; p != nil {
		p.Frames.Add(frames - m.frames)
		p.Bytes.Add(bytes - m.bytes)
	}
	m.frames, m.bytes = frames, bytes
}

// look checks the link now and then: frames redirected to a port without one are
// dropped, and no error says so.
func (m *minder) look() {
	now := pace.Now()
	if now-m.checked < checkLink || m.link.Load() != nil {
		return
	}
	m.checked = now
	if err := m.k.s.watch.check(); err != nil {
		m.link.Store(&err)
		m.k.halt()
	}
}

// err returns what is wrong with the link.
func (m *minder) err() error {
	if p := m.link.Load(); p != nil {
		return *p
	}
	return nil
}

// end stops the minder.
func (m *minder) end() {
	close(m.quit)
	<-m.done
}
