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
			{Where: "softnet", Name: "cpu0.processed", Value: 12, Bits: 32},
			{Where: "softnet", Name: "cpu0.dropped", Value: 0, Bits: 32},
			{Where: "softnet", Name: "cpu3.processed", Value: 7011, Bits: 32}, // the CPU's own number: 1 and 2 are offline
			{Where: "softnet", Name: "cpu3.dropped", Value: 4294967294, Bits: 32},
			{Where: "softnet", Name: "cpu3.time_squeeze", Value: 7, Bits: 32},
			{Where: "softnet", Name: "cpu3.received_rps", Value: 10, Bits: 32},
			{Where: "softnet", Name: "cpu3.flow_limit", Value: 3, Bits: 32},
			{Where: "softnet", Name: "cpu3.backlog_len", Value: 5, Level: true},
		}},
		{"softnet_stat-4.19", parseSoftnet, 2 * 5, []Counter{
			{Where: "softnet", Name: "cpu0.processed", Value: 0x015c73c6, Bits: 32},
			{Where: "softnet", Name: "cpu0.dropped", Value: 18, Bits: 32},
			{Where: "softnet", Name: "cpu1.processed", Value: 1, Bits: 32},
		}},
		{"snmp", ip("lab-r"), 20, []Counter{
			{Where: "lab-r", Name: "Ip.Forwarding", Value: 1, Bits: 64, Level: true},
			{Where: "lab-r", Name: "Ip.InHdrErrors", Value: 2, Bits: 64},
			{Where: "lab-r", Name: "Ip.ForwDatagrams", Value: 6000, Bits: 64},
			{Where: "lab-r", Name: "Ip.InDiscards", Value: 3, Bits: 64},
			{Where: "lab-r", Name: "Ip.OutDiscards", Value: 4, Bits: 64},
			{Where: "lab-r", Name: "Ip.OutNoRoutes", Value: 5, Bits: 64},
			{Where: "lab-r", Name: "Ip.OutTransmits", Value: 12337, Bits: 64},
		}},
		{"netstat", ip("ip"), 5, []Counter{
			{Where: "ip", Name: "IpExt.InNoRoutes", Value: 9, Bits: 64},
			{Where: "ip", Name: "IpExt.InBcastPkts", Value: 18446744073709551615, Bits: 64},
		}},
		{"snmp6", func(in io.Reader) ([]Counter, error) { return parseSNMP6("ip", in) }, 5, []Counter{
			{Where: "ip", Name: "Ip6.InReceives", Value: 101, Bits: 64},
			{Where: "ip", Name: "Ip6.InDiscards", Value: 3, Bits: 64},
			{Where: "ip", Name: "Ip6.OutForwDatagrams", Value: 90, Bits: 64},
			{Where: "ip", Name: "Ip6.OutNoRoutes", Value: 4, Bits: 64},
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
