package probe

import (
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustFormat(t testing.TB, name string) Format {
	t.Helper()
	f, err := ParseFormat(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func n(name string, v uint64) Counter { return Counter{Name: name, Value: v} }

func part(of, name string, v uint64) Counter { return Counter{Name: name, Value: v, Of: of} }

func lv(name string, f float64) Counter {
	c := Counter{Name: name, Level: true}
	c.set(f)
	return c
}

func TestFormats(t *testing.T) {
	tests := []struct {
		name, format, in string
		want             []Counter
	}{
		{"colons", "lines", "NIC statistics:\n     rx_drops: 7\n\n  tx: 18446744073709551615\n", []Counter{n("rx_drops", 7), n("tx", math.MaxUint64)}},
		{"default", "", "a=1\r\nb = 2\n", []Counter{n("a", 1), n("b", 2)}},
		{"table", "lines", "OutNoRoutes   3\nno number here\nsum of things 3\n", []Counter{n("OutNoRoutes", 3)}},
		{"words and units", "lines", "rx packets: 5\nMemFree:  123 kB\nbusy: 12 %\nrate 5 Mbit/s\n", []Counter{n("rx packets", 5), n("MemFree", 123), lv("busy", 12), n("rate", 5)}},
		{"fractions and signs", "lines", "load: 1.25\ntemp=-5\nbig: 1e3\nplus: +4\n", []Counter{lv("load", 1.25), lv("temp", -5), lv("big", 1000), lv("plus", 4)}},
		{"hexadecimal", "lines", "reg: 0xff\n", []Counter{n("reg", 255)}},
		{"a list", "lines", "rx=5 tx=6,err=0; late=2ms\n", []Counter{n("rx", 5), n("tx", 6), n("err", 0), n("late", 2)}},
		{"colons in names", "lines", "[0]: tx_bytes: 5\ndev.x:y=7\n", []Counter{n("[0]: tx_bytes", 5), n("dev.x:y", 7)}},
		{"twice", "lines", "drops: 1\ndrops#2: 9\ndrops: 2\ndrops: 3\n", []Counter{n("drops", 1), n("drops#2", 9), n("drops#3", 2), n("drops#4", 3)}},
		{"a time is no number", "lines", "at: 12:30\nup: 3 days ago\nok: 1\n", []Counter{n("at: 12", 30), n("ok", 1)}},

		{"json", "json", `{"rx": {"drops": 7, "big": "18446744073709551615"}, "queues": [{"len": 3}, 4], "up": true, "down": false, "name": "eth0", "none": null, "t": -1.5}`,
			[]Counter{n("rx.drops", 7), n("rx.big", math.MaxUint64), n("queues.0.len", 3), n("queues.1", 4), lv("up", 1), lv("down", 0), lv("t", -1.5)}},
		{"json, several", "json", `{"a":1} {"a":2} 3`, []Counter{n("a", 1), n("a#2", 2), n("value", 3)}},

		{"groups with names", `/drops (?P<drops>\d+) of (?P<all>\d+)/`, "drops 3 of 50\n", []Counter{n("drops", 3), n("all", 50)}},
		{"name and value", `/^(?P<name>\w+) -> (?P<value>\S+)$/`, "a -> 1\nb -> x\nc -> 2.5\n", []Counter{n("a", 1), lv("c", 2.5)}},
		{"two groups", `/(\d+|\w+) is (\d+)/`, "a is 1, b is 2", []Counter{n("a", 1), n("b", 2)}},
		{"pf's states", `/(?P<name>[a-z ]+?)\s+(?P<value>\d+)(?:\s+[\d.]+\/s)?$/`, "  current entries                      117\n  searches                        20530            1.2/s\n",
			[]Counter{n("current entries", 117), n("searches", 20530)}},

		{"sysctl", "sysctl", "dev.igc.0.mac_stats.crc_errs: 0\nkern.ostype: FreeBSD\nvm.loadavg: { 0.10 0.20 0.30 }\nhw.temp=-3\ndev.cpu.0.freq: 2900\nkern.boottime: { sec = 1, usec = 2 } now\n",
			[]Counter{n("dev.igc.0.mac_stats.crc_errs", 0), lv("hw.temp", -3), n("dev.cpu.0.freq", 2900)}},
		{"cp_time", "sysctl", "kern.cp_time: 10 1 20 3 400\nkern.cp_times: 5 1 10 2 200 5 0 10 1 200\n", []Counter{
			part("cpu", "cpu.user", 10), part("cpu", "cpu.nice", 1), part("cpu", "cpu.system", 20), part("cpu", "cpu.intr", 3), part("cpu", "cpu.idle", 400),
			part("cpu0", "cpu0.user", 5), part("cpu0", "cpu0.nice", 1), part("cpu0", "cpu0.system", 10), part("cpu0", "cpu0.intr", 2), part("cpu0", "cpu0.idle", 200),
			part("cpu1", "cpu1.user", 5), part("cpu1", "cpu1.nice", 0), part("cpu1", "cpu1.system", 10), part("cpu1", "cpu1.intr", 1), part("cpu1", "cpu1.idle", 200),
		}},

		{"prometheus", "prometheus", `# HELP x words
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu="0",mode="softirq"} 12.25
node_cpu_seconds_total{cpu="0",mode="idle"} 1.5e+06 1395066363000
# TYPE temp gauge
temp{place="a \"b\" } c # d"} -3
untyped 7
nothing NaN
# TYPE lat histogram
lat_bucket{le="+Inf"} 9
lat_sum 1.5
lat_count 9
# EOF
`, []Counter{
			{Name: `node_cpu_seconds_total{cpu="0",mode="softirq"}`, Value: 12, Float: 12.25},
			n(`node_cpu_seconds_total{cpu="0",mode="idle"}`, 1500000),
			lv(`temp{place="a \"b\" } c # d"}`, -3),
			lv("untyped", 7),
			n(`lat_bucket{le="+Inf"}`, 9),
			{Name: "lat_sum", Value: 2, Float: 1.5},
			n("lat_count", 9),
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := mustFormat(t, tt.format)([]byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("counters (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFormatsRefused(t *testing.T) {
	tests := []struct{ name, format, in, want string }{
		{"lines, none", "lines", "no such device\n", "no number in the text"},
		{"lines, empty", "lines", "", "no number in the text"},
		{"json, cut", "json", `{"a": 1`, "unexpected EOF"},
		{"json, cut in a name", "json", `{"a`, "unexpected EOF"},
		{"json, other text", "json", "no such device", "JSON at byte"},
		{"json, no number", "json", `{"a": "b"}`, "no number in the text"},
		{"json, deep", "json", strings.Repeat("[", 200), "deep"},
		{"no match", `/drops (?P<n>\d+)/`, "nothing", "no number in the text"},
		{"sysctl, unknown name", "sysctl", "sysctl: unknown oid 'dev.x'\n", "no number in the text"},
		{"cp_time of a wrong length", "sysctl", "kern.cp_time: 1 2 3 4\n", "need 5 a CPU"},
		{"cp_time with words", "sysctl", "kern.cp_times: 1 2 3 4 x\n", `have "x"`},
		{"prometheus, a web page", "prometheus", "<html>\n", "line 1"},
		{"prometheus, open labels", "prometheus", "a 1\nb{c=\"d} 1\n", "line 2"},
		{"prometheus, no value", "prometheus", "a{}\n", "no value"},
		{"prometheus, a word", "prometheus", "a b\n", "line 1: a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := mustFormat(t, tt.format)([]byte(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("have %v, %v, want an error with %q", got, err, tt.want)
			}
		})
	}
}

func TestParseFormatRefused(t *testing.T) {
	for in, want := range map[string]string{
		"yaml":               `format "yaml": need lines`,
		"/":                  "need lines",
		"/(/":                "missing closing",
		`/\d+/`:              "0 groups without names",
		`/(\d+)/`:            "1 groups without names",
		`/(?P<name>a)\d/`:    "need each other",
		`/(a)(b)(c)/`:        "3 groups without names",
		`/(?P<value>\d)(a)/`: "need each other",
	} {
		if _, err := ParseFormat(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: have %v, want an error with %q", in, err, want)
		}
	}
}

func TestFormatMarks(t *testing.T) {
	f := mustFormat(t, "lines").Levels(regexp.MustCompile(`^mem`)).Counts(regexp.MustCompile(`seconds$`))
	got, err := f([]byte("memfree: 5\ncpu_seconds: 1.5\ndrops: 2\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Counter{lv("memfree", 5), {Name: "cpu_seconds", Value: 2, Float: 1.5}, n("drops", 2)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
}

// Whatever the text, a format's counters have numbers and names of their own.
func FuzzFormats(f *testing.F) {
	for _, s := range []string{
		"a: 1\na=2\na 3\n", `{"a":[1,{"b":"2"}],"c":1e300}`, "kern.cp_time: 1 2 3 4 5\n", "# TYPE a counter\na{b=\"\\\"\"} 1e-9 5\n",
		"a: 1e400\n", "a: -0\n", "a=1 b=2", "a#2: 1\na: 1\na: 2\n", `{"":{"":1}}`, "x 0x1p-2\n",
	} {
		f.Add([]byte(s))
	}
	var formats []Format
	for _, name := range []string{"lines", "json", "sysctl", "prometheus", `/(\S+) (\S+)/`, `/(?P<name>\w+)=(?P<value>\S+)|(?P<other>\d+)/`} {
		formats = append(formats, mustFormat(f, name))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for i, format := range formats {
			counters, err := format(text)
			if (len(counters) == 0) != (err != nil) {
				t.Errorf("format %d: %d counters, error %v", i, len(counters), err)
			}
			seen := map[string]bool{}
			for _, c := range counters {
				if seen[c.Name] || math.IsNaN(c.Float) || math.IsInf(c.Float, 0) || c.Float != 0 && whole(c.Float) != c.Value || c.Float < 0 && c.Value != 0 {
					t.Errorf("format %d: %+v", i, c)
				}
				seen[c.Name] = true
			}
		}
	})
}
