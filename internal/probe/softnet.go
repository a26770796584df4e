package probe

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// Softnet reads /proc/net/softnet_stat: what the receive softirq of each CPU
// did, named cpu0.processed and so on. It is one table a machine, for all
// network namespaces and ports together: a drop here may be another port's.
//
// The columns (net/core/net-procfs.c, softnet_seq_show; hexadecimal, 32 bits):
// processed counts frames taken from the backlog and by NAPI receive; dropped
// those refused because the CPU's backlog was full
// (net.core.netdev_max_backlog), the way of RPS, of loopback and of a veth
// without NAPI; time_squeeze how often the softirq ended with work left
// (net.core.netdev_budget); received_rps the calls from other CPUs;
// flow_limit frames refused by the flow limit; backlog_len, a level, the
// frames waiting.
type Softnet struct{}

// Name returns "softnet".
func (Softnet) Name() string { return "softnet" }

// Read reads the table.
func (Softnet) Read() (Reading, error) {
	f, err := os.Open("/proc/thread-self/net/softnet_stat")
	if err != nil {
		return Reading{}, fmt.Errorf("softnet: %w", err)
	}
	defer f.Close()
	counters, err := parseSoftnet(f)
	if err != nil {
		return Reading{}, fmt.Errorf("softnet: %w", err)
	}
	return Reading{At: now(), Counters: counters}, nil
}

// Elsewhere sh(1) has no threads, and reads its own namespace's.
const softnetPath = "/proc/net/softnet_stat"

func (Softnet) sources() []source { return []source{{glob: softnetPath}} }

func (Softnet) parse(t texts) ([]Counter, error) {
	in, err := t.need(softnetPath)
	if err != nil {
		return nil, err
	}
	return parseSoftnet(in)
}

// softnetColumns by position; an empty name is a column that is always 0.
// Kernels before 5.10 end before backlog_len and have no CPU number, and print
// a line for each CPU in order.
var softnetColumns = [...]Counter{
	0: {Name: "processed", Bits: 32}, 1: {Name: "dropped", Bits: 32}, 2: {Name: "time_squeeze", Bits: 32},
	9: {Name: "received_rps", Bits: 32}, 10: {Name: "flow_limit", Bits: 32}, 11: {Name: "backlog_len", Level: true},
}

const softnetCPU = 12

func parseSoftnet(in io.Reader) ([]Counter, error) {
	var counters []Counter
	scan := bufio.NewScanner(in)
	for line := 1; scan.Scan(); line++ {
		fields := strings.Fields(scan.Text())
		if len(fields) < 3 {
			return nil, fmt.Errorf("line %d: have %d columns, need 3 or more", line, len(fields))
		}
		cpu := uint64(line - 1)
		values := make([]uint64, len(fields))
		for i, f := range fields {
			v, err := strconv.ParseUint(f, 16, 32)
			if err != nil {
				return nil, fmt.Errorf("line %d column %d: %w", line, i+1, err)
			}
			values[i] = v
		}
		if len(values) > softnetCPU {
			cpu = values[softnetCPU]
		}
		for i, c := range softnetColumns {
			if c.Name == "" || i >= len(values) {
				continue
			}
			c.Where, c.Name, c.Value = "softnet", fmt.Sprintf("cpu%d.%s", cpu, c.Name), values[i]
			counters = append(counters, c)
		}
	}
	return counters, scan.Err()
}
