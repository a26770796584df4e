package xdpmeter

import (
	"slices"

	"squall/internal/meter"
	"squall/internal/port/bpf"
)

// Apart returns what the program saw that is on no stream's account. Misdirected
// frames were dropped, foreign ones and strays went on to the stack.
func (m *Meter) Apart() meter.Apart {
	var a meter.Apart
	for _, n := range m.Queues() {
		a.Frames += n
	}
	a.Misdirected = m.global(m.objects.Misdirected)
	a.Foreign = m.global(m.objects.Foreign)
	var strays [32]bpf.MeterStray
	if m.objects.Strays.Get(&strays) == nil { // it is of that type
		for _, s := range strays {
			if s.Kind != 0 {
				a.Strays = append(a.Strays, meter.StrayCount{EtherType: uint16(s.Kind - 1), Frames: s.Frames})
			}
		}
	}
	if n := m.global(m.objects.Other); n != 0 {
		a.Strays = append(a.Strays, meter.StrayCount{Frames: n})
	}
	for _, s := range a.Strays {
		a.Stray += s.Frames
	}
	return a
}

// Stuck is how many frames of this run are on no account, since another CPU held
// its lock for tens of milliseconds: a virtual machine that lost a CPU. Where it is
// not 0 the figures are not to be believed.
func (m *Meter) Stuck() uint64 { return m.global(m.objects.Stuck) }

// Queues returns how many frames, of any kind, each receive queue brought; frames
// of queues from 255 on are together.
func (m *Meter) Queues() []uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return slices.Clone(m.queues)
	}
	return m.readQueues()
}

// readQueues sums the CPUs' counters, without the queues behind the last that
// brought any.
func (m *Meter) readQueues() []uint64 {
	if m.objects.Queues == nil {
		return nil
	}
	var queues []uint64
	for q := range m.objects.Queues.MaxEntries() {
		var perCPU []uint64
		if m.objects.Queues.Lookup(q, &perCPU) != nil {
			break
		}
		var n uint64
		for _, frames := range perCPU {
			n += frames
		}
		queues = append(queues, n)
	}
	for len(queues) > 0 && queues[len(queues)-1] == 0 {
		queues = queues[:len(queues)-1]
	}
	return queues
}

type variable interface{ Get(any) error }

// global reads one of the program's counters from memory.
func (m *Meter) global(v variable) (n uint64) {
	_ = v.Get(&n) // it is of that type
	return n
}
