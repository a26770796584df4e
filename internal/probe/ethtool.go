package probe

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/safchain/ethtool"
	"golang.org/x/sys/unix"

	"squall/internal/netns"
	"squall/internal/probe/shell"
)

// Ethtool reads the driver's own counters of a port, as ethtool -S shows them,
// sorted by name. A driver without any gives an empty reading. How wide a
// counter is and when it starts again is the driver's secret: [Delta] guesses.
type Ethtool struct {
	NS    *netns.NS
	Iface string
}

// Name returns "ethtool" and the port.
func (e Ethtool) Name() string { return "ethtool " + e.NS.Label(e.Iface) }

// Read asks the driver by SIOCETHTOOL.
func (e Ethtool) Read() (Reading, error) {
	var r Reading
	err := e.NS.Do(func() error {
		et, err := ethtool.NewEthtool()
		if err != nil {
			return err
		}
		defer et.Close()
		stats, err := et.Stats(e.Iface)
		if err != nil && !errors.Is(err, unix.EOPNOTSUPP) {
			return err
		}
		for name, v := range stats {
			r.Counters = append(r.Counters, Counter{Where: e.NS.Label(e.Iface), Name: name, Value: v})
		}
		r.At = now()
		return nil
	})
	if err != nil {
		return Reading{}, fmt.Errorf("%s: %w", e.Name(), err)
	}
	slices.SortFunc(r.Counters, func(a, b Counter) int { return strings.Compare(a.Name, b.Name) })
	return r, nil
}

// line is what reads the same elsewhere. ethtool(8) has the status 94 for a
// driver without counters.
func (e Ethtool) line() string { return "ethtool -S " + shell.Quote(e.Iface) + " || [ $? -eq 94 ]" }

func (e Ethtool) sources() []source { return []source{{line: e.line()}} }

func (e Ethtool) parse(t texts) ([]Counter, error) {
	in, err := t.need(e.line())
	if err != nil {
		return nil, err
	}
	return parseEthtool(e.Iface, in)
}

// parseEthtool reads what ethtool -S prints, a counter a line below a heading:
//
//	NIC statistics:
//	     rx_drops: 0
func parseEthtool(where string, in io.Reader) ([]Counter, error) {
	var counters []Counter
	scan := bufio.NewScanner(in)
	for line := 1; scan.Scan(); line++ {
		// Some drivers have colons in their names.
		at := strings.LastIndex(scan.Text(), ": ")
		if at < 0 {
			continue
		}
		v, err := strconv.ParseUint(strings.TrimSpace(scan.Text()[at+2:]), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		counters = append(counters, Counter{Where: where, Name: strings.TrimSpace(scan.Text()[:at]), Value: v})
	}
	slices.SortStableFunc(counters, func(a, b Counter) int { return strings.Compare(a.Name, b.Name) })
	// As of the ioctl's map, which is by name.
	return slices.CompactFunc(counters, func(a, b Counter) bool { return a.Name == b.Name }), scan.Err()
}
