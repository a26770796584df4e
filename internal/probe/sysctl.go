package probe

import (
	"fmt"
	"strings"
)

// freebsdStates are the columns of kern.cp_time in order: CP_USER, CP_NICE,
// CP_SYS, CP_INTR, CP_IDLE (FreeBSD's sys/sys/resource.h). intr is the time of
// interrupts and of their threads.
var freebsdStates = [...]string{"user", "nice", "system", "intr", "idle"}

// Sysctl is the format of sysctl(8), of FreeBSD and Linux alike: a name and a
// number a line, with a colon or an equals sign between; names whose value is
// anything else are passed over.
//
//	dev.igc.0.mac_stats.crc_errs: 0
//
// FreeBSD's ticks of the CPUs become what [CPU] gives, parts of a whole of which
// [Change.Share] is the percentage: kern.cp_time those of all CPUs (cpu.user,
// cpu.nice, cpu.system, cpu.intr, cpu.idle), kern.cp_times those of each
// (cpu0.user and so on).
func Sysctl(text []byte) ([]Counter, error) {
	var f found
	for line := range strings.Lines(string(text)) {
		at := strings.IndexAny(line, ":=")
		if at <= 0 {
			continue
		}
		name, value := strings.TrimSpace(line[:at]), strings.Fields(line[at+1:])
		switch {
		case name == "kern.cp_time" || name == "kern.cp_times":
			if err := cpTime(&f, name == "kern.cp_times", value); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		case len(value) == 1 && !strings.ContainsAny(name, " \t"):
			if c, ok := number(value[0]); ok {
				c.Name = name
				f.add(c)
			}
		}
	}
	return f.result("name: value")
}

func cpTime(f *found, each bool, ticks []string) error {
	states := len(freebsdStates)
	if len(ticks) == 0 || len(ticks)%states != 0 || !each && len(ticks) != states {
		return fmt.Errorf("have %d numbers, need %d a CPU", len(ticks), states)
	}
	for i, s := range ticks {
		c, ok := number(s)
		if !ok || c.Float != 0 {
			return fmt.Errorf("have %q, need ticks", s)
		}
		c.Of, c.Level = "cpu", false
		if each {
			c.Of = fmt.Sprintf("cpu%d", i/states)
		}
		c.Name = c.Of + "." + freebsdStates[i%states]
		f.add(c)
	}
	return nil
}
