package probe

import (
	"encoding/json"
	"fmt"
	"strings"

	"squall/internal/probe/shell"
)

// line is what reads the same elsewhere: tc(8) of iproute2 4.17 or newer.
func (q Qdisc) line() string { return "tc -s -j qdisc show dev " + shell.Quote(q.Iface) }

func (q Qdisc) sources() []source { return []source{{line: q.line()}} }

func (q Qdisc) parse(t texts) ([]Counter, error) {
	if _, err := t.need(q.line()); err != nil {
		return nil, err
	}
	return parseTC(q.Iface, t[q.line()])
}

// parseTC reads tc's JSON into the counters that the kernel's message gives.
func parseTC(where string, text []byte) ([]Counter, error) {
	var qdiscs []struct {
		Kind, Handle         string
		Root                 bool
		Bytes, Packets       uint64
		Qlen, Backlog        uint64
		Drops                uint64
		Requeues, Overlimits uint64
	}
	if err := json.Unmarshal(text, &qdiscs); err != nil {
		return nil, fmt.Errorf("tc -j: %w", err)
	}
	var counters []Counter
	for _, d := range qdiscs {
		prefix := "qdisc."
		if !d.Root {
			prefix = fmt.Sprintf("qdisc[%s %s].", d.Kind, strings.TrimSuffix(d.Handle, ":")+":")
		}
		counters = append(counters,
			Counter{Where: where, Name: prefix + "packets", Value: d.Packets, Bits: 64},
			Counter{Where: where, Name: prefix + "bytes", Value: d.Bytes, Bits: 64},
			Counter{Where: where, Name: prefix + "qlen", Value: d.Qlen, Level: true},
			Counter{Where: where, Name: prefix + "backlog", Value: d.Backlog, Level: true},
			Counter{Where: where, Name: prefix + "drops", Value: d.Drops, Bits: 32},
			Counter{Where: where, Name: prefix + "requeues", Value: d.Requeues, Bits: 32},
			Counter{Where: where, Name: prefix + "overlimits", Value: d.Overlimits, Bits: 32},
		)
	}
	return counters, nil
}
