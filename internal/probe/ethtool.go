package probe

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/safchain/ethtool"
	"golang.org/x/sys/unix"

	"squall/internal/netns"
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
