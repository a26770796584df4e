package probe

import (
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Interrupts reads /proc/interrupts: how often each interrupt came, on all CPUs
// together. An interrupt has the name that the driver gave it (eth0-TxRx-0,
// virtio0-input.0), not its number, which a driver's reload changes; several of
// one name are summed; those of the CPUs themselves have the kernel's short name
// (LOC, RES, CAL).
//
// The interrupts of a port in Ports have the port as Where and irq. before their
// name. With them come, for each of the port's queues that has interrupts,
// queue0.interrupts and so on: the sum of those whose name ends in that number,
// receive and transmit alike. Which are a port's is known from
// /sys/class/net/PORT/device, for a port that sysfs shows, and else from its
// name in the interrupt's.
//
// The kernel counts 32 bits a CPU; the value is the sum modulo 2^32.
type Interrupts struct {
	Ports []string // interfaces, without namespaces
}

// Name returns "interrupts".
func (Interrupts) Name() string { return "interrupts" }

// Read reads the table.
func (i Interrupts) Read() (Reading, error) { return readKind(i) }

const (
	interruptsPath = "/proc/interrupts"
	// The device of a port is the one that asked for the interrupts; that of a
	// virtio port stands below it. Above others is the bridge.
	msiOwn, msiParent = "/device/msi_irqs/", "/device/../msi_irqs/"
)

func (i Interrupts) sources() []source {
	s := []source{{glob: interruptsPath}}
	for _, port := range i.Ports {
		s = append(s, source{glob: sysNet(port) + msiOwn + "*"}, source{glob: sysNet(port) + msiParent + "*"})
	}
	return s
}

// sysNet is where sysfs shows a port.
func sysNet(port string) string { return "/sys/class/net/" + port }

func (i Interrupts) parse(t texts) ([]Counter, error) {
	in, err := t.need(interruptsPath)
	if err != nil {
		return nil, err
	}
	own := func(number, name string) string {
		for _, port := range i.Ports {
			_, own := t[sysNet(port)+msiOwn+number]
			_, parent := t[sysNet(port)+msiParent+number]
			if own || parent && strings.HasPrefix(name, "virtio") || mentions(name, port) {
				return port
			}
		}
		return ""
	}
	return parseInterrupts(in, own)
}

var (
	// irqAction finds the driver's name behind the chip, the number at the chip
	// and the kind of trigger: "0-edge", "33 Level" (kernel/irq/proc.c,
	// show_interrupts).
	irqAction = regexp.MustCompile(`(?:^|\s)\d+(?:-[a-z]+|\s+(?:Level|Edge)(?:-\S+)?)(?:\s+(\S.*))?$`)
	// irqQueue finds the queue in a driver's name: the last number, which may
	// have a device behind it: mlx5_comp3@pci:0000:01:00.0.
	irqQueue = regexp.MustCompile(`[-._a-zA-Z](\d+)(?:@.*)?$`)
)

// parseInterrupts asks own which port an interrupt of a number and name belongs
// to; to none by "".
func parseInterrupts(in io.Reader, own func(number, name string) string) ([]Counter, error) {
	var names []key // in order of appearance
	sums := map[key]uint32{}
	add := func(k key, n uint32) {
		if _, ok := sums[k]; !ok {
			names = append(names, k)
		}
		sums[k] += n
	}
	err := perCPU(in, func(line int, row string, cpus []string, counts []uint64, rest string) error {
		var sum uint32
		for _, n := range counts {
			sum += uint32(n)
		}
		if strings.Trim(row, "0123456789") != "" {
			add(key{"interrupts", row}, sum)
			return nil
		}
		name := rest
		if m := irqAction.FindStringSubmatch(rest); m != nil {
			name = m[1]
		} else if f := strings.Fields(rest); len(f) > 0 {
			name = f[len(f)-1]
		}
		if name == "" { // nobody asked for it by now
			name = "irq" + row
		}
		port := own(row, name)
		if port == "" {
			add(key{"interrupts", name}, sum)
			return nil
		}
		add(key{port, "irq." + name}, sum)
		if m := irqQueue.FindStringSubmatch(name); m != nil && name != port {
			add(key{port, fmt.Sprintf("queue%s.interrupts", m[1])}, sum)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	counters := make([]Counter, 0, len(names))
	for _, k := range names {
		counters = append(counters, Counter{Where: k.where, Name: k.name, Value: uint64(sums[k]), Bits: 32})
	}
	return counters, nil
}

// mentions reports whether a port stands in an interrupt's name as a word.
func mentions(name, port string) bool {
	for rest := name; port != ""; {
		at := strings.Index(rest, port)
		if at < 0 {
			return false
		}
		end := at + len(port)
		if (at == 0 || !letter(rest[at-1])) && (end == len(rest) || !letter(rest[end])) {
			return true
		}
		rest = rest[at+1:]
	}
	return false
}

func letter(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}
