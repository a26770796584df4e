package live

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"squall/internal/pace"
	"squall/internal/plan"
	"squall/internal/port"
)

// Config says how a Sender works.
type Config struct {
	// Pin keeps the worker on core CPU while it sends. The core decides which
	// queue frames go through; without, that may change during a job.
	Pin bool
	CPU int
	// Batch is how many frames go to the driver together at full speed, 1 to
	// 256; 0: 64. The ring of a veth has 256 places.
	Batch int
}

// Sender sends plans from a BPF program: a port.Sender and a port.Rescheduler.
type Sender struct {
	port   *port.Port
	cfg    Config
	watch  linkWatch
	driver *opener

	program *program // of the last plan

	mu  sync.Mutex // guards job against those who change it from outside
	job *job       // under way
}

var (
	_ port.Sender      = (*Sender)(nil)
	_ port.Rescheduler = (*Sender)(nil)
)

// Open makes a sender for the port. A driver that takes redirected frames only
// while it has an XDP program gets one that lets all pass, and its link is waited
// for; Close takes the program away again. It needs CAP_BPF, CAP_NET_ADMIN and
// CAP_SYS_ADMIN.
//
// A veth port whose other end does not receive by NAPI is refused; see
// [PreparePeer].
func Open(ctx context.Context, p *port.Port, c Config) (*Sender, error) {
	if c.Batch == 0 {
		c.Batch = defaultBatch
	}
	if c.Batch < 1 || c.Batch > maxBatch {
		return nil, fmt.Errorf("batch: have %d frames, need 1 to %d", c.Batch, maxBatch)
	}
	s := &Sender{port: p, cfg: c, watch: linkWatch{fd: -1}}
	var err error
	if s.driver, err = openDriver(ctx, p); err != nil {
		return nil, p.Ref.Explain(err, capabilities)
	}
	if s.watch, err = newLinkWatch(p); err != nil {
		return nil, errors.Join(p.Ref.Explain(err, capabilities), s.Close())
	}
	return s, nil
}

// Load puts a plan's tables into the kernel, so that a Send of the same plan that
// follows begins at once. Send does so by itself where it was not done.
func (s *Sender) Load(p *plan.Plan) error { return s.load(p, len(p.Due)) }

func (s *Sender) load(p *plan.Plan, dues int) error {
	if g := s.program; g != nil {
		if g.plan == p && g.dues >= dues {
			return nil
		}
		s.program = nil
		if err := g.close(); err != nil {
			return s.port.Ref.Explain(err, capabilities)
		}
	}
	// The port may have changed since it was opened.
	info, err := s.port.Inspect()
	if err != nil {
		return err
	}
	if err := Fits(p, info.MTU); err != nil {
		return s.port.Ref.Explain(err, capabilities)
	}
	s.program, err = load(p, s.port, dues)
	return s.port.Ref.Explain(err, capabilities)
}

// Send sends the job's frames. It is as [walk.Walk] in what ends a job, and in
// the account, but:
//
//   - Sent.Frames are those handed to the driver. It may refuse some, which its
//     counters say: of a veth tx_queue_N_xdp_xmit_errors, its tx_dropped and the
//     other end's rx_dropped, one loss in three places.
//   - Progress moves every 5 ms.
//   - Job.Stamps holds the last 1,048,576 frames of a captured plan of one stream,
//     and nothing of others.
//   - Ramps are followed to half a microsecond, those of an hour to some 15.
//
// [walk.Walk]: it executes a plan over a batch writer, in internal/port/walk.
func (s *Sender) Send(ctx context.Context, j port.Job) (port.Sent, error) {
	dues := len(j.Plan.Due)
	if c, ok := j.Schedule.(pace.Captured); ok {
		dues = max(dues, len(c.Times))
	}
	if err := s.load(j.Plan, dues); err != nil {
		return port.Sent{}, err
	}
	cpu := -1
	if s.cfg.Pin {
		cpu = s.cfg.CPU
	}
	restore, err := ownThread(cpu)
	if err != nil {
		return port.Sent{}, err
	}
	defer restore()

	k := newJob(ctx, s, j)
	err = k.begin()
	if err == nil && j.Stamps != nil {
		err = s.program.stamp(j.Stamps)
	}
	if err != nil {
		return port.Sent{}, s.port.Ref.Explain(err, capabilities)
	}
	s.set(k)
	err = k.run()
	s.set(nil)
	return k.account(), s.port.Ref.Explain(err, capabilities)
}

func (s *Sender) set(k *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.job = k
}

// Reschedule changes the schedule of the job under way. The program goes over to
// it within a microsecond; where the next frame is far off, within 5 ms. It
// waits where several changes are still under way.
func (s *Sender) Reschedule(to pace.Schedule) error {
	for {
		s.mu.Lock()
		if s.job == nil {
			s.mu.Unlock()
			return fmt.Errorf("port %q: no job under way whose schedule could be changed", s.port.Ref)
		}
		done, err := s.job.reschedule(to)
		s.mu.Unlock()
		if done || err != nil {
			return s.port.Ref.Explain(err, capabilities)
		}
		pace.Wait(pace.Now() + 1_000_000)
	}
}

// Close takes the program out of the kernel and puts back what Open changed. No
// job may be under way.
func (s *Sender) Close() error {
	var errs []error
	if s.program != nil {
		errs = append(errs, s.program.close())
		s.program = nil
	}
	if s.driver != nil {
		errs = append(errs, s.driver.close())
		s.driver = nil
	}
	errs = append(errs, s.watch.close())
	s.watch.fd = -1
	return s.port.Ref.Explain(errors.Join(errs...), capabilities)
}
