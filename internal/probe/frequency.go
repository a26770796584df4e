package probe

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// Frequency reads how fast each CPU runs, in kHz, as levels named cpu0.khz:
// scaling_cur_freq under /sys/devices/system/cpu/cpu0/cpufreq. On most x86 that
// is measured over the last milliseconds, elsewhere it is what the governor
// asked for (Documentation/admin-guide/pm/cpufreq.rst).
//
// A guest of a hypervisor has no cpufreq as a rule; Read says so by an error
// that matches [fs.ErrNotExist].
type Frequency struct{}

// Name returns "frequency".
func (Frequency) Name() string { return "frequency" }

// Read reads the files.
func (f Frequency) Read() (Reading, error) { return readKind(f) }

const frequencyGlob = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq"

func (Frequency) sources() []source { return []source{{glob: frequencyGlob}} }

func (Frequency) parse(t texts) ([]Counter, error) {
	paths := t.under(frequencyGlob)
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: %w: the machine has no cpufreq driver", frequencyGlob, fs.ErrNotExist)
	}
	var counters []Counter
	var errs []error
	for _, path := range paths {
		khz, err := strconv.ParseUint(string(bytes.TrimSpace(t[path])), 10, 64)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", path, err))
			continue
		}
		counters = append(counters, Counter{Where: "cpu", Name: strings.Split(path, "/")[5] + ".khz", Value: khz, Level: true})
	}
	return counters, errors.Join(errs...)
}
