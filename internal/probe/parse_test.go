package probe

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// some picks the counters of the wanted names, so that a table need not list
// those that do not matter to it.
func some(have []Counter, want []Counter) []Counter {
	var out []Counter
	for _, w := range want {
		for _, h := range have {
			if h.Where == w.Where && h.Name == w.Name {
				out = append(out, h)
			}
		}
	}
	return out
}

func TestParseFixtures(t *testing.T) {
	ip := func(where string) func(io.Reader) ([]Counter, error) {
		return func(in io.Reader) ([]Counter, error) { return parseSNMP(where, in) }
	}
	tests := []struct {
		file  string
		parse func(io.Reader) ([]Counter, error)
		count int
		want  []Counter
	}{
		{"softnet_stat-6.18", parseSoftnet, 2 * 6, []Counter{
			{"softnet", "cpu0.processed", 12, 32, false},
			{"softnet", "cpu0.dropped", 0, 32, false},
			{"softnet", "cpu3.processed", 7011, 32, false}, // the CPU's own number: 1 and 2 are offline
			{"softnet", "cpu3.dropped", 4294967294, 32, false},
			{"softnet", "cpu3.time_squeeze", 7, 32, false},
			{"softnet", "cpu3.received_rps", 10, 32, false},
			{"softnet", "cpu3.flow_limit", 3, 32, false},
			{"softnet", "cpu3.backlog_len", 5, 0, true},
		}},
		{"softnet_stat-4.19", parseSoftnet, 2 * 5, []Counter{
			{"softnet", "cpu0.processed", 0x015c73c6, 32, false},
			{"softnet", "cpu0.dropped", 18, 32, false},
			{"softnet", "cpu1.processed", 1, 32, false},
		}},
		{"snmp", ip("lab-r"), 20, []Counter{
			{"lab-r", "Ip.Forwarding", 1, 64, true},
			{"lab-r", "Ip.InHdrErrors", 2, 64, false},
			{"lab-r", "Ip.ForwDatagrams", 6000, 64, false},
			{"lab-r", "Ip.InDiscards", 3, 64, false},
			{"lab-r", "Ip.OutDiscards", 4, 64, false},
			{"lab-r", "Ip.OutNoRoutes", 5, 64, false},
			{"lab-r", "Ip.OutTransmits", 12337, 64, false},
		}},
		{"netstat", ip("ip"), 5, []Counter{
			{"ip", "IpExt.InNoRoutes", 9, 64, false},
			{"ip", "IpExt.InBcastPkts", 18446744073709551615, 64, false},
		}},
		{"snmp6", func(in io.Reader) ([]Counter, error) { return parseSNMP6("ip", in) }, 5, []Counter{
			{"ip", "Ip6.InReceives", 101, 64, false},
			{"ip", "Ip6.InDiscards", 3, 64, false},
			{"ip", "Ip6.OutForwDatagrams", 90, 64, false},
			{"ip", "Ip6.OutNoRoutes", 4, 64, false},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			f, err := os.Open("testdata/" + tt.file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			got, err := tt.parse(f)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != tt.count {
				t.Errorf("have %d counters, want %d: %v", len(got), tt.count, got)
			}
			if diff := cmp.Diff(tt.want, some(got, tt.want)); diff != "" {
				t.Errorf("counters (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseRefused(t *testing.T) {
	softnet := func(in io.Reader) ([]Counter, error) { return parseSoftnet(in) }
	snmp := func(in io.Reader) ([]Counter, error) { return parseSNMP("ip", in) }
	snmp6 := func(in io.Reader) ([]Counter, error) { return parseSNMP6("ip", in) }
	tests := []struct {
		name, in, want string
		parse          func(io.Reader) ([]Counter, error)
	}{
		{"softnet, too few columns", "1 2 3\n1 2\n", "line 2", softnet},
		{"softnet, not hexadecimal", "1 2 x\n", "line 1 column 3", softnet},
		{"softnet, over 32 bits", "1 2 100000000\n", "line 1 column 3", softnet},
		{"snmp, no values", "Ip: InReceives\n", "line 1", snmp},
		{"snmp, fewer values", "Ip: A B\nIp: 1\n", "lines 1 and 2", snmp},
		{"snmp, other group", "Ip: A\nUdp: 1\n", "lines 1 and 2", snmp},
		{"snmp, empty lines", "\n\n", "lines 1 and 2", snmp},
		{"snmp, no colon", "Ip A\nIp 1\n", "line 1", snmp},
		{"snmp, not a number", "Tcp: A\nTcp: 1\nIp: A\nIp: x\n", "line 4: A", snmp},
		{"snmp6, three columns", "Ip6A 1 2\n", "line 1", snmp6},
		{"snmp6, not a number", "Icmp6A 1\nIp6A x\n", "line 2: Ip6A", snmp6},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.parse(strings.NewReader(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("have %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// FuzzParse: what a parser takes, written down again, is what it takes again.
func FuzzParse(f *testing.F) {
	for _, file := range []string{"softnet_stat-6.18", "softnet_stat-4.19", "snmp", "netstat", "snmp6"} {
		data, err := os.ReadFile("testdata/" + file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	tables := map[string]struct {
		parse func(io.Reader) ([]Counter, error)
		write func(Counter) string
	}{
		"snmp": {
			func(in io.Reader) ([]Counter, error) { return parseSNMP("ip", in) },
			func(c Counter) string {
				group, name, _ := strings.Cut(c.Name, ".")
				return fmt.Sprintf("%s: %s\n%s: %d\n", group, name, group, c.Value)
			},
		},
		"snmp6": {
			func(in io.Reader) ([]Counter, error) { return parseSNMP6("ip", in) },
			func(c Counter) string { return fmt.Sprintf("Ip6%s %d\n", strings.TrimPrefix(c.Name, "Ip6."), c.Value) },
		},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, table := range tables {
			counters, err := table.parse(bytes.NewReader(data))
			if err != nil {
				continue
			}
			var again strings.Builder
			for _, c := range counters {
				again.WriteString(table.write(c))
			}
			got, err := table.parse(strings.NewReader(again.String()))
			if err != nil {
				t.Errorf("%s: %v in %q", name, err, again.String())
			}
			if diff := cmp.Diff(counters, got); diff != "" {
				t.Errorf("%s (-first +again):\n%s", name, diff)
			}
		}
		counters, _ := parseSoftnet(bytes.NewReader(data))
		for _, c := range counters {
			if c.Value > math.MaxUint32 || !strings.HasPrefix(c.Name, "cpu") {
				t.Errorf("softnet: %+v", c)
			}
		}
	})
}
