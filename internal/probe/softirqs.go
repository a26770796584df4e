package probe

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Softirqs reads /proc/softirqs: how often each CPU ran each kind of soft
// interrupt, named cpu0.NET_RX and so on, in 32 bits (kernel_stat(3) of
// include/linux/kernel_stat.h: unsigned int). How long they took is [CPU]'s.
type Softirqs struct{}

// Name returns "softirqs".
func (Softirqs) Name() string { return "softirqs" }

// Read reads the table.
func (s Softirqs) Read() (Reading, error) { return readKind(s) }

const softirqsPath = "/proc/softirqs"

func (Softirqs) sources() []source { return []source{{glob: softirqsPath}} }

func (Softirqs) parse(t texts) ([]Counter, error) {
	in, err := t.need(softirqsPath)
	if err != nil {
		return nil, err
	}
	return parseSoftirqs(in)
}

func parseSoftirqs(in io.Reader) ([]Counter, error) {
	var counters []Counter
	err := perCPU(in, func(line int, row string, cpus []string, counts []uint64, _ string) error {
		if len(counts) != len(cpus) {
			return fmt.Errorf("line %d: have %d columns, need %d", line, len(counts), len(cpus))
		}
		for i, n := range counts {
			counters = append(counters, Counter{Where: "softirqs", Name: cpus[i] + "." + row, Value: n, Bits: 32})
		}
		return nil
	})
	return counters, err
}

// perCPU reads a table with a heading of CPUs, and calls row for each further
// line with what follows the counts:
//
//	     CPU0   CPU2
//	 30:    1     20   PCI-MSI 524288-edge   eth0-TxRx-0
//	ERR:    0
func perCPU(in io.Reader, row func(line int, name string, cpus []string, counts []uint64, rest string) error) error {
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, 1<<20)
	var cpus []string
	for line := 1; scan.Scan(); line++ {
		if line == 1 {
			for _, f := range strings.Fields(scan.Text()) {
				if !strings.HasPrefix(f, "CPU") {
					return fmt.Errorf("line 1: have %q, need a heading of CPUs", f)
				}
				cpus = append(cpus, strings.ToLower(f))
			}
			continue
		}
		name, rest, ok := strings.Cut(scan.Text(), ":")
		name = strings.TrimSpace(name)
		if !ok || name == "" {
			return fmt.Errorf("line %d: have %q, need a name with a colon", line, scan.Text())
		}
		var counts []uint64
		for len(counts) < len(cpus) {
			rest = strings.TrimLeft(rest, " ")
			end := strings.IndexByte(rest, ' ')
			if end < 0 {
				end = len(rest)
			}
			n, err := strconv.ParseUint(rest[:end], 10, 64)
			if err != nil {
				break // ERR and MIS have one column for all CPUs
			}
			counts, rest = append(counts, n), rest[end:]
		}
		if len(counts) == 0 {
			return fmt.Errorf("line %d: %s: no counts", line, name)
		}
		if err := row(line, name, cpus, counts, strings.TrimSpace(rest)); err != nil {
			return err
		}
	}
	if len(cpus) == 0 && scan.Err() == nil {
		return fmt.Errorf("line 1: no heading of CPUs")
	}
	return scan.Err()
}
