package probe

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// CPU reads /proc/stat (proc_stat(5)): what each CPU spent its time on, named
// cpu0.softirq and so on, and cpu.softirq for all of them together. The states
// are user, nice, system, idle, iowait, irq, softirq and steal; guest time is in
// user, and is not counted again.
//
// The values count ticks of 1/100 s (sysconf(_SC_CLK_TCK)). They are the parts
// of one whole, see [Counter.Of]: the percentage of a CPU between two readings is
// [Change.Share], and needs no clock. In a guest of a hypervisor, what it was
// not given is steal. Without CONFIG_IRQ_TIME_ACCOUNTING the ticks are sampled,
// as are those of system and softirq then: read over some seconds.
//
// idle and iowait may fall a little (proc_stat(5)); Delta notes it as [Fell].
type CPU struct{}

// Name returns "cpu".
func (CPU) Name() string { return "cpu" }

// Read reads the table.
func (c CPU) Read() (Reading, error) { return readKind(c) }

const statPath = "/proc/stat"

func (CPU) sources() []source { return []source{{glob: statPath}} }

func (CPU) parse(t texts) ([]Counter, error) {
	in, err := t.need(statPath)
	if err != nil {
		return nil, err
	}
	return parseStat(in)
}

// cpuStates are the columns of /proc/stat. Kernels before 2.6.11 end before
// steal.
var cpuStates = [...]string{"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"}

func parseStat(in io.Reader) ([]Counter, error) {
	var counters []Counter
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, 1<<20) // the line intr counts each interrupt there could be
	for line := 1; scan.Scan(); line++ {
		fields := strings.Fields(scan.Text())
		if len(fields) == 0 || !strings.HasPrefix(fields[0], "cpu") {
			continue
		}
		if len(fields) < 5 {
			return nil, fmt.Errorf("line %d: have %d columns, need 5 or more", line, len(fields))
		}
		for i, state := range cpuStates {
			if i+1 >= len(fields) {
				break
			}
			v, err := strconv.ParseUint(fields[i+1], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("line %d: %s: %w", line, state, err)
			}
			counters = append(counters, Counter{Where: "cpu", Name: fields[0] + "." + state, Value: v, Of: fields[0]})
		}
	}
	if len(counters) == 0 && scan.Err() == nil {
		return nil, fmt.Errorf("no line of a CPU")
	}
	return counters, scan.Err()
}
