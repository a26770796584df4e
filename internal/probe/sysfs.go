package probe

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strconv"
)

// linkFiles are the files of a port in sysfs that hold what its RTM_NEWLINK
// does, beside the directory statistics.
var linkFiles = [...]Counter{
	{Name: "carrier", Level: true},
	{Name: "operstate", Level: true},
	{Name: "carrier_changes", Bits: 32},
	{Name: "carrier_up_count", Bits: 32},
	{Name: "carrier_down_count", Bits: 32},
}

// operStates by their numbers, IF_OPER_* of include/uapi/linux/if.h.
var operStates = [...]string{"unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up"}

func (l Link) sources() []source {
	s := []source{{glob: sysNet(l.Iface) + "/statistics/*"}}
	for _, f := range linkFiles {
		s = append(s, source{glob: sysNet(l.Iface) + "/" + f.Name})
	}
	return s
}

// parse reads the files, which are those of the kernel's struct but for
// rx_otherhost_dropped; by Documentation/ABI/testing/sysfs-class-net and
// sysfs-class-net-statistics.
func (l Link) parse(t texts) ([]Counter, error) {
	paths := t.under(sysNet(l.Iface) + "/statistics/*")
	if len(paths) == 0 {
		return nil, fmt.Errorf("interface %q: not in /sys/class/net", l.Iface)
	}
	var counters []Counter
	// In the order of the kernel's struct, what is not in it behind.
	slices.SortStableFunc(paths, func(a, b string) int { return statRank(a) - statRank(b) })
	for _, p := range paths {
		v, err := strconv.ParseUint(string(bytes.TrimSpace(t[p])), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		counters = append(counters, Counter{Where: l.Iface, Name: path.Base(p), Value: v, Bits: 64})
	}
	for _, c := range linkFiles {
		p := sysNet(l.Iface) + "/" + c.Name
		text := string(bytes.TrimSpace(t[p]))
		var err error
		switch {
		case c.Name == "operstate":
			i := slices.Index(operStates[:], text)
			if i < 0 {
				return nil, fmt.Errorf("%s: state %q is not known", p, text)
			}
			c.Value = uint64(i)
		case text == "" && c.Name == "carrier": // EINVAL: the port is down
		case text == "":
			continue // an older kernel
		default:
			c.Value, err = strconv.ParseUint(text, 10, 64)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		c.Where = l.Iface
		counters = append(counters, c)
	}
	return counters, nil
}

func statRank(p string) int {
	if i := slices.Index(linkStats[:], path.Base(p)); i >= 0 {
		return i
	}
	return len(linkStats)
}
