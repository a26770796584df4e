package probe

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseInterrupts(t *testing.T) {
	text, err := os.ReadFile("testdata/interrupts-igc")
	if err != nil {
		t.Fatal(err)
	}
	texts := texts{
		interruptsPath: text,
		"/sys/class/net/eth2/device/msi_irqs/130":    []byte("msix\n"),
		"/sys/class/net/eth3/device/../msi_irqs/131": []byte("msix\n"),
		"/sys/class/net/eth3/device/../msi_irqs/132": []byte("msix\n"),
		"/sys/class/net/eth3/device/../msi_irqs/133": []byte("msix\n"),
		// eth0's device stands below a bridge, whose interrupts are not eth0's.
		"/sys/class/net/eth0/device/../msi_irqs/120": []byte("msi\n"),
	}
	got, err := Interrupts{Ports: []string{"eth0", "eth2", "eth3"}}.parse(texts)
	if err != nil {
		t.Fatal(err)
	}
	count := func(where, name string, n uint64) Counter {
		return Counter{Where: where, Name: name, Value: n, Bits: 32}
	}
	want := []Counter{
		count("interrupts", "rtc0", 0),
		count("interrupts", "PCIe PME, aerdrv", 5),
		count("eth0", "irq.eth0", 1),
		count("eth0", "irq.eth0-TxRx-0", 6), // modulo 2^32
		count("eth0", "queue0.interrupts", 6),
		count("eth0", "irq.eth0-TxRx-1", 21),
		count("eth0", "queue1.interrupts", 21),
		count("interrupts", "eth01-TxRx-0", 9),
		count("eth2", "irq.mlx5_comp3@pci:0000:03:00.0", 11),
		count("eth2", "queue3.interrupts", 11),
		count("eth3", "irq.virtio2-config", 2),
		count("eth3", "irq.virtio2-input.0", 3),
		count("eth3", "queue0.interrupts", 7),
		count("eth3", "irq.virtio2-output.0", 4),
		count("interrupts", "uart-pl011", 14),
		count("interrupts", "irq140", 0),
		count("interrupts", "NMI", 6),
		count("interrupts", "ERR", 4),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
}

func TestParseTables(t *testing.T) {
	level := func(name string, n uint64, f float64) Counter {
		return Counter{Where: "memory", Name: name, Value: n, Float: f, Level: true}
	}
	tests := []struct {
		name, in string
		parse    func(io.Reader) ([]Counter, error)
		want     []Counter
	}{
		{"stat", "cpu  3 0 4 5 6 0 7 8 2 0\ncpu2 1 0 2 3 4 0 5 6 1 0\nintr 9 9\nctxt 7\n", parseStat, []Counter{
			{Where: "cpu", Name: "cpu.user", Value: 3, Of: "cpu"}, {Where: "cpu", Name: "cpu.nice", Of: "cpu"},
			{Where: "cpu", Name: "cpu.system", Value: 4, Of: "cpu"}, {Where: "cpu", Name: "cpu.idle", Value: 5, Of: "cpu"},
			{Where: "cpu", Name: "cpu.iowait", Value: 6, Of: "cpu"}, {Where: "cpu", Name: "cpu.irq", Of: "cpu"},
			{Where: "cpu", Name: "cpu.softirq", Value: 7, Of: "cpu"}, {Where: "cpu", Name: "cpu.steal", Value: 8, Of: "cpu"},
			{Where: "cpu", Name: "cpu2.user", Value: 1, Of: "cpu2"}, {Where: "cpu", Name: "cpu2.nice", Of: "cpu2"},
			{Where: "cpu", Name: "cpu2.system", Value: 2, Of: "cpu2"}, {Where: "cpu", Name: "cpu2.idle", Value: 3, Of: "cpu2"},
			{Where: "cpu", Name: "cpu2.iowait", Value: 4, Of: "cpu2"}, {Where: "cpu", Name: "cpu2.irq", Of: "cpu2"},
			{Where: "cpu", Name: "cpu2.softirq", Value: 5, Of: "cpu2"}, {Where: "cpu", Name: "cpu2.steal", Value: 6, Of: "cpu2"},
		}},
		{"softirqs", "      CPU0   CPU3\n NET_RX: 7 4294967295\n", parseSoftirqs, []Counter{
			{Where: "softirqs", Name: "cpu0.NET_RX", Value: 7, Bits: 32}, {Where: "softirqs", Name: "cpu3.NET_RX", Value: 4294967295, Bits: 32},
		}},
		// 1 + 2*2 + 4*1 pages below order 3 of 9 + 8*3 = 33.
		{"buddyinfo", "Node 0, zone   Normal      1      2      1      3\nNode 1, zone DMA 0 0 0 0\n", parseBuddyinfo, []Counter{
			level("node0.Normal.order0", 1, 0), level("node0.Normal.order1", 2, 0), level("node0.Normal.order2", 1, 0), level("node0.Normal.order3", 3, 0),
			level("node0.Normal.unusable3", 27, 100*9.0/33),
			level("node1.DMA.order0", 0, 0), level("node1.DMA.order1", 0, 0), level("node1.DMA.order2", 0, 0), level("node1.DMA.order3", 0, 0),
			level("node1.DMA.unusable3", 100, 0),
		}},
		{"ethtool", "NIC statistics:\n     tx_kicks: 7\n     [0]: rx_bytes: 18446744073709551615\n", func(in io.Reader) ([]Counter, error) { return parseEthtool("eth1", in) }, []Counter{
			{Where: "eth1", Name: "[0]: rx_bytes", Value: 18446744073709551615}, {Where: "eth1", Name: "tx_kicks", Value: 7},
		}},
		{"ethtool without counters", "no stats available\n", func(in io.Reader) ([]Counter, error) { return parseEthtool("eth1", in) }, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.parse(strings.NewReader(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("counters (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseTablesRefused(t *testing.T) {
	interrupts := func(in io.Reader) ([]Counter, error) {
		return parseInterrupts(in, func(string, string) string { return "" })
	}
	tests := []struct {
		name, in, want string
		parse          func(io.Reader) ([]Counter, error)
	}{
		{"stat, no CPU", "intr 1\n", "no line of a CPU", parseStat},
		{"stat, short", "cpu 1 2 3\n", "line 1", parseStat},
		{"stat, not a number", "cpu 1 2 x 4\n", "system", parseStat},
		{"softirqs, empty", "", "no heading", parseSoftirqs},
		{"softirqs, no heading", "HI: 1\n", "line 1", parseSoftirqs},
		{"softirqs, too few", "CPU0 CPU1\nHI: 1\n", "line 2", parseSoftirqs},
		{"interrupts, no colon", "CPU0\n 1 2\n", "line 2", interrupts},
		{"interrupts, no counts", "CPU0\n 1: x\n", "no counts", interrupts},
		{"buddyinfo, other text", "Zone 0\n", "line 1", parseBuddyinfo},
		{"buddyinfo, not a number", "Node 0, zone DMA 1 x\n", "order 1", parseBuddyinfo},
		{"ethtool, not a number", "a: b\n", "line 1", func(in io.Reader) ([]Counter, error) { return parseEthtool("eth1", in) }},
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

func TestParseFrequency(t *testing.T) {
	path := func(cpu string) string { return strings.Replace(frequencyGlob, "cpu*", cpu, 1) }
	got, err := Frequency{}.parse(texts{path("cpu0"): []byte("2900000\n"), path("cpu12"): []byte("800000\n"), path("cpu3"): nil})
	want := []Counter{
		{Where: "cpu", Name: "cpu0.khz", Value: 2900000, Level: true},
		{Where: "cpu", Name: "cpu12.khz", Value: 800000, Level: true},
	}
	if diff := cmp.Diff(want, got); diff != "" || err == nil || !strings.Contains(err.Error(), "cpu3") {
		t.Errorf("counters (-want +got):\n%s\nerror %v, want one of cpu3", diff, err)
	}
	if _, err := (Frequency{}).parse(texts{}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "no cpufreq driver") {
		t.Errorf("a machine without: have %v", err)
	}
}

// The kinds read this machine, and find what every Linux has.
func TestKindsRead(t *testing.T) {
	tests := []struct {
		kind        Kind
		where, name string
	}{
		{CPU{}, "cpu", "cpu.softirq"},
		{CPU{}, "cpu", "cpu0.idle"},
		{Softirqs{}, "softirqs", "cpu0.NET_RX"},
		{Interrupts{}, "interrupts", "LOC"},
		{Memory{}, "memory", "node0.Normal.unusable3"},
		{Softnet{}, "softnet", "cpu0.dropped"},
	}
	for _, tt := range tests {
		t.Run(tt.kind.Name()+" "+tt.name, func(t *testing.T) {
			if _, ok := read(t, tt.kind).Value(tt.where, tt.name); !ok {
				t.Errorf("no %s %s", tt.where, tt.name)
			}
		})
	}
	r, err := Frequency{}.Read()
	if have, _ := filepath.Glob(frequencyGlob); (len(have) > 0) != (err == nil) || len(have) != len(r.Counters) {
		t.Errorf("frequency: %d files, have %d counters, error %v", len(have), len(r.Counters), err)
	}
}

// expand does not clean paths, so .. is the way up from what a link points to.
func TestExpand(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"pci/irqs", "pci/virtio0", "net"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(
		os.Symlink("../pci/virtio0", filepath.Join(dir, "net/device")),
		os.WriteFile(filepath.Join(dir, "pci/irqs/37"), nil, 0o600),
		os.WriteFile(filepath.Join(dir, "pci/irqs/x"), nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	got := expand(dir + "/net/device/../irqs/3*")
	if diff := cmp.Diff([]string{dir + "/net/device/../irqs/37"}, got); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	if got := expand(dir + "/none/*"); len(got) != 0 {
		t.Errorf("no such directory: have %q", got)
	}
}

func FuzzKinds(f *testing.F) {
	for _, path := range []string{"testdata/interrupts-igc", "/proc/stat", "/proc/softirqs", "/proc/interrupts", "/proc/buddyinfo"} {
		if text, err := os.ReadFile(path); err == nil {
			f.Add(text)
		}
	}
	f.Add([]byte("CPU0 CPU1\n1: 4294967295 1 chip 0-edge eth0-TxRx-0\n"))
	f.Add([]byte(`[{"kind":"tbf","handle":"8001:","root":true,"bytes":1,"drops":4}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		in := func(parse func(io.Reader) ([]Counter, error)) {
			counters, err := parse(strings.NewReader(string(text)))
			for _, c := range counters {
				if c.Where == "" || c.Name == "" || c.Where == "eth0" && c.Value>>32 != 0 {
					t.Errorf("%+v, %v", c, err)
				}
				if strings.Contains(c.Name, "unusable") && (c.Number() < 0 || c.Number() > 100) {
					t.Errorf("%+v: not a percentage", c)
				}
			}
		}
		in(parseStat)
		in(parseSoftirqs)
		in(parseBuddyinfo)
		in(func(r io.Reader) ([]Counter, error) {
			return parseInterrupts(r, func(_, name string) string {
				if mentions(name, "eth0") {
					return "eth0"
				}
				return ""
			})
		})
		in(func(io.Reader) ([]Counter, error) { return parseTC("eth1", text) })
		in(func(r io.Reader) ([]Counter, error) {
			cs, err := parseEthtool("eth1", r)
			for i := range cs {
				cs[i].Name += "." // a name may be empty there
			}
			return cs, err
		})
	})
}
