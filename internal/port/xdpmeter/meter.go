package xdpmeter

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"

	"squall/internal/meter"
	"squall/internal/port"
	"squall/internal/port/bpf"
)

// MaxWindow is the largest sequence window: what one loop of a BPF program can
// settle.
const MaxWindow = 1 << 22

// Config says what a Meter counts.
type Config struct {
	// Run is the run id in this run's tags: other runs' frames are foreign.
	Run uint16
	// Streams are counted as meter.NewStream would, by their Config.Stream, which
	// must differ. Threshold is not used. The default Window is 65,536, or less, but
	// at least 1,024, where the windows of all streams would take more than 64 MiB.
	Streams []meter.Config
	// Generic asks for generic mode: the program then runs after the kernel has made
	// a packet buffer of the frame, at about the speed of a reader in user space, on
	// any driver. Default: native mode or none.
	Generic bool

	held bool // the time is what a test says it is
}

// Mode is where in the kernel the program runs.
type Mode uint8

const (
	Native  Mode = iota + 1 // in the driver
	Generic                 // in the network stack
	Offload                 // on the card
)

// String returns a word for a report.
func (m Mode) String() string {
	switch m {
	case Native:
		return "native"
	case Generic:
		return "generic"
	case Offload:
		return "offload"
	}
	return fmt.Sprintf("mode %d", uint8(m))
}

// A Meter is the XDP program on one port and its accounts.
type Meter struct {
	streams []*Stream
	byID    map[uint16]*Stream
	bits    int // of the classes of times
	objects bpf.MeterObjects
	memory  memory
	link    link.Link
	mode    Mode

	mu     sync.Mutex // guards what follows, and the Streams' own state
	ring   *ringbuf.Reader
	record ringbuf.Record
	stop   chan struct{}
	done   chan struct{}
	queues []uint64 // frames by queue, as of Close
	closed bool
}

// Open puts the program on the port and starts counting. Where the driver resets
// its link for it, Open waits until that is back. It needs CAP_BPF, CAP_NET_ADMIN
// and Linux 5.18.
func Open(p *port.Port, c Config) (_ *Meter, err error) {
	m, err := open(p, c, false)
	if err != nil && severalBuffers(err) {
		// Only a program that says it can may see frames of several buffers.
		if again, err := open(p, c, true); err == nil {
			return again, nil
		}
	}
	return m, p.Ref.Explain(err, "CAP_BPF and CAP_NET_ADMIN")
}

func open(p *port.Port, c Config, several bool) (*Meter, error) {
	m, err := load(c, several)
	if err != nil {
		return nil, err
	}
	if err := m.attach(p, c.Generic); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// load makes a Meter whose program is in the kernel but on no port.
func load(c Config, several bool) (_ *Meter, err error) {
	m := &Meter{
		byID: make(map[uint16]*Stream),
		bits: fineBits,
		stop: make(chan struct{}),
		done: make(chan struct{}),
	}
	if len(c.Streams) > fineStreams {
		m.bits = coarseBits
	}
	close(m.done) // until the reader runs
	defer func() {
		if err != nil {
			err = errors.Join(err, m.Close())
		}
	}()
	slots, err := m.addStreams(c.Streams)
	if err != nil {
		return nil, err
	}
	spec, err := m.spec(c, several, slots)
	if err != nil {
		return nil, err
	}
	if err := spec.LoadAndAssign(&m.objects, nil); err != nil {
		return nil, fmt.Errorf("XDP meter: %w", err)
	}
	if err := m.mapMemory(); err != nil {
		return nil, err
	}
	for _, s := range m.streams {
		s.prepare()
		if err := m.objects.Numbers.Put(uint32(s.config.Stream), uint32(s.account+1)); err != nil {
			return nil, fmt.Errorf("stream %d: %w", s.config.Stream, err)
		}
	}
	if m.ring, err = ringbuf.NewReader(m.objects.Periods); err != nil {
		return nil, fmt.Errorf("ring of loss periods: %w", err)
	}
	m.ring.SetDeadline(time.Unix(1, 0)) // in the past: a read takes what is there
	m.done = make(chan struct{})
	go m.read()
	return m, nil
}

// addStreams makes the streams and returns how many slots their windows have.
func (m *Meter) addStreams(configs []meter.Config) (slots int, err error) {
	if len(configs) == 0 {
		return 0, errors.New("XDP meter: no streams to count")
	}
	for i, c := range configs {
		if c.Window == 0 {
			c.Window = defaultWindow(len(configs))
		}
		if c, err = c.Checked(); err != nil {
			return 0, fmt.Errorf("stream %d: %w", c.Stream, err)
		}
		if c.Window > MaxWindow {
			return 0, fmt.Errorf("stream %d: sequence window: have %d, need at most %d", c.Stream, c.Window, MaxWindow)
		}
		if m.byID[c.Stream] != nil {
			return 0, fmt.Errorf("XDP meter: two streams have the number %d", c.Stream)
		}
		s := &Stream{meter: m, config: c, account: i, slots: slots}
		m.streams = append(m.streams, s)
		m.byID[c.Stream] = s
		slots += c.Window
	}
	return slots, nil
}

// defaultWindow is the largest power of two of which n fit into 64 MiB.
func defaultWindow(n int) int {
	w := 1 << 16
	for w > meter.MinWindow && n*w*16 > 64<<20 {
		w /= 2
	}
	return w
}

// spec sizes the maps and sets the constants.
func (m *Meter) spec(c Config, several bool, slots int) (*ebpf.CollectionSpec, error) {
	spec, err := bpf.LoadMeter()
	if err != nil {
		return nil, fmt.Errorf("XDP meter: %w", err)
	}
	var objects bpf.MeterSpecs
	if err := spec.Assign(&objects); err != nil {
		return nil, fmt.Errorf("XDP meter: %w", err)
	}
	n := len(m.streams)
	var highest uint16
	for id := range m.byID {
		highest = max(highest, id)
	}
	objects.Numbers.MaxEntries = uint32(highest) + 1
	objects.Accounts.MaxEntries = uint32(n)
	objects.Slots.MaxEntries = uint32(slots)
	objects.Latencies.MaxEntries = uint32(n * classes(m.bits))
	objects.LateTimes.MaxEntries = uint32(n * classes(m.bits))
	objects.Extents.MaxEntries = uint32(n * classes(countBits))
	if several {
		objects.SquallMeter.Flags |= hasFrags
	}
	return spec, errors.Join(
		objects.Run.Set(c.Run),
		objects.Several.Set(several),
		objects.ClockHeld.Set(c.held),
		objects.TimeBits.Set(uint32(m.bits)),
		objects.TimeClasses.Set(uint32(classes(m.bits))),
	)
}

// hasFrags is BPF_F_XDP_HAS_FRAGS of linux/bpf.h.
const hasFrags = 1 << 5

// mapMemory maps the maps. They stay mapped as long as the Meter can be reached,
// also after Close: nobody reads what is no longer there.
func (m *Meter) mapMemory() (err error) {
	y := &m.memory
	if y.accounts, err = mapEntries[bpf.MeterAccount](y, m.objects.Accounts); err == nil {
		y.slots, err = mapEntries[bpf.MeterSlot](y, m.objects.Slots)
	}
	for _, c := range []struct {
		to *[]uint64
		of *ebpf.Map
	}{{&y.latencies, m.objects.Latencies}, {&y.lateTimes, m.objects.LateTimes}, {&y.extents, m.objects.Extents}} {
		if err == nil {
			*c.to, err = mapEntries[uint64](y, c.of)
		}
	}
	runtime.AddCleanup(m, unmap, y.regions)
	return err
}

// Stream returns the account of a stream; nil for one that Config does not name.
func (m *Meter) Stream(id uint16) *Stream { return m.byID[id] }

// Mode says in which mode the program runs, as the kernel tells.
func (m *Meter) Mode() Mode { return m.mode }

// Close takes the program off the port and ends the reading of loss periods; those
// that were not read yet are. The figures stay.
func (m *Meter) Close() error {
	m.mu.Lock()
	select {
	case <-m.stop:
		m.mu.Unlock()
		return nil
	default:
	}
	close(m.stop)
	m.mu.Unlock()

	var errs []error
	if m.link != nil {
		errs = append(errs, m.link.Close())
	}
	<-m.done
	if m.ring != nil {
		m.drain(func() bool { return false }) // all
		errs = append(errs, m.ring.Close())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queues, m.closed = m.readQueues(), true
	return errors.Join(append(errs, m.objects.Close())...)
}
