package probe

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"squall/internal/netns"
)

// IP reads the IPv4 and IPv6 counters of a namespace, from /proc/net/snmp,
// netstat and snmp6 by the names of RFC 4293 with the protocol before them:
// Ip.ForwDatagrams, Ip.InDiscards, Ip.OutNoRoutes, Ip.InHdrErrors,
// IpExt.InNoRoutes, Ip6.OutForwDatagrams and all others of these groups. A
// kernel without IPv6 has no Ip6 counters.
//
// Where is the namespace's name; "ip" for the one squall runs in.
type IP struct {
	NS *netns.NS
}

// Name returns "ip" and the namespace.
func (p IP) Name() string { return strings.TrimSpace("ip " + p.NS.String()) }

func (p IP) where() string {
	if p.NS.String() == "" {
		return "ip"
	}
	return p.NS.String()
}

// Read reads the three tables.
func (p IP) Read() (Reading, error) {
	var r Reading
	err := p.NS.Do(func() error {
		for _, table := range [...]struct {
			path  string
			parse func(string, io.Reader) ([]Counter, error)
		}{
			// /proc/net is that of the process's first thread.
			{"/proc/thread-self/net/snmp", parseSNMP},
			{"/proc/thread-self/net/netstat", parseSNMP},
			{"/proc/thread-self/net/snmp6", parseSNMP6},
		} {
			f, err := os.Open(table.path)
			if errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(table.path, "snmp6") {
				continue
			}
			if err != nil {
				return err
			}
			counters, err := table.parse(p.where(), f)
			f.Close()
			if err != nil {
				return fmt.Errorf("%s: %w", table.path, err)
			}
			r.Counters = append(r.Counters, counters...)
		}
		r.At = now()
		return nil
	})
	if err != nil {
		return Reading{}, fmt.Errorf("%s: %w", p.Name(), err)
	}
	return r, nil
}

func (IP) sources() []source {
	return []source{{glob: "/proc/net/snmp"}, {glob: "/proc/net/netstat"}, {glob: "/proc/net/snmp6"}}
}

// parse reads the tables of another machine's shell.
func (IP) parse(t texts) ([]Counter, error) {
	var all []Counter
	for _, path := range [...]string{"/proc/net/snmp", "/proc/net/netstat"} {
		in, err := t.need(path)
		if err != nil {
			return nil, err
		}
		counters, err := parseSNMP("ip", in)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, counters...)
	}
	counters, err := parseSNMP6("ip", bytes.NewReader(t["/proc/net/snmp6"]))
	return append(all, counters...), err
}

// ipSettings stand in the table of counters but are settings.
var ipSettings = []string{"Forwarding", "DefaultTTL"}

// parseSNMP reads pairs of lines, names above values:
//
//	Ip: Forwarding DefaultTTL InReceives
//	Ip: 1 64 7019
func parseSNMP(where string, in io.Reader) ([]Counter, error) {
	var counters []Counter
	scan := bufio.NewScanner(in)
	for line := 1; scan.Scan(); line += 2 {
		names := strings.Fields(scan.Text())
		if !scan.Scan() {
			return nil, errors.Join(scan.Err(), fmt.Errorf("line %d: names without values", line))
		}
		values := strings.Fields(scan.Text())
		if len(names) != len(values) || len(names) == 0 || names[0] != values[0] {
			return nil, fmt.Errorf("lines %d and %d: names and values do not match", line, line+1)
		}
		group, ok := strings.CutSuffix(names[0], ":")
		if !ok {
			return nil, fmt.Errorf("line %d: have %q, need a name with a colon", line, names[0])
		}
		if group != "Ip" && group != "IpExt" {
			continue
		}
		for i := 1; i < len(names); i++ {
			v, err := strconv.ParseUint(values[i], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("line %d: %s: %w", line+1, names[i], err)
			}
			counters = append(counters, Counter{
				Where: where, Name: group + "." + names[i], Value: v, Bits: 64,
				Level: slices.Contains(ipSettings, names[i]),
			})
		}
	}
	return counters, scan.Err()
}

// parseSNMP6 reads a name and a value a line, and keeps the group Ip6.
func parseSNMP6(where string, in io.Reader) ([]Counter, error) {
	var counters []Counter
	scan := bufio.NewScanner(in)
	for line := 1; scan.Scan(); line++ {
		fields := strings.Fields(scan.Text())
		if len(fields) != 2 {
			return nil, fmt.Errorf("line %d: have %d columns, need 2", line, len(fields))
		}
		name, ok := strings.CutPrefix(fields[0], "Ip6")
		if !ok {
			continue
		}
		v, err := strconv.ParseUint(fields[1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: %s: %w", line, fields[0], err)
		}
		counters = append(counters, Counter{Where: where, Name: "Ip6." + name, Value: v, Bits: 64})
	}
	return counters, scan.Err()
}
