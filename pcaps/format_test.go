package pcaps_test

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"squall/pcaps"
)

// What is written in every format is read back as it was, and as capinfos has it.
func TestFormatsWritten(t *testing.T) {
	const at = 1_600_000_000_123_456_789
	records := []pcaps.Record{
		{Data: frame(60, 1), Len: 60, Time: at, LinkType: pcaps.Ethernet},
		{Data: frame(61, 2), Len: 61, Time: at + 1, LinkType: pcaps.Ethernet},
		{Data: frame(63, 3), Len: 1500, Time: at - 5e9, LinkType: pcaps.Ethernet},
		{Data: []byte{}, Len: 9, Time: 0, LinkType: pcaps.Ethernet},
		{Data: frame(1514, 4), Len: 1514, Time: 4_294_967_295_999_999_999, LinkType: pcaps.Ethernet},
	}
	kinds := map[pcaps.Container]string{pcaps.Pcap: "nsecpcap", pcaps.PcapMicros: "pcap", pcaps.Pcapng: "pcapng"}
	packings := map[pcaps.Compression]string{pcaps.Plain: "", pcaps.Gzip: " (gzip compressed)", pcaps.Zstd: " (zstd compressed)"}
	for container, kind := range kinds {
		for packing, how := range packings {
			for _, snap := range []int{0, 62} {
				t.Run(container.String()+" "+packing.String(), func(t *testing.T) {
					path := filepath.Join(t.TempDir(), "out")
					w, err := pcaps.CreateAs(path, pcaps.Format{Container: container, Compression: packing, SnapLen: snap})
					must(t, err)
					defer w.Abort()
					var want []pcaps.Record
					for _, r := range records {
						must(t, w.WriteRecord(r))
						if snap > 0 {
							r.Data = r.Data[:min(len(r.Data), snap)]
						}
						if container == pcaps.PcapMicros {
							r.Time -= r.Time % 1000
						}
						want = append(want, r)
					}
					must(t, w.Close())
					r, err := pcaps.Open(path)
					must(t, err)
					defer r.Close()
					got, err := all(r)
					must(t, err)
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("records (-want +got):\n%s", diff)
					}
					said := tool(t, "capinfos", "-t", "-E", "-c", "-M", path)
					for _, line := range []string{`File type: +` + kind + regexp.QuoteMeta(how) + "\n", `File encapsulation: +ether` + "\n", `Number of packets: +5` + "\n"} {
						if !regexp.MustCompile(line).MatchString(said) {
							t.Errorf("capinfos does not say %q:\n%s", line, said)
						}
					}
				})
			}
		}
	}
}

// Each interface and link type has an interface of its own in a pcapng file; a
// pcap file has one link type, that of its first record.
func TestLinkTypesWritten(t *testing.T) {
	records := []pcaps.Record{
		{Data: packet4, Len: 20, LinkType: pcaps.Raw, Interface: 3},
		{Data: frame(60, 1), Len: 60, Time: 1, LinkType: pcaps.Ethernet},
		{Data: packet6, Len: 40, Time: 2, LinkType: pcaps.Raw, Interface: 3},
		{Data: []byte{2, 0, 0, 0, 0x45}, Len: 99, Time: 3, LinkType: pcaps.Null},
	}
	path := filepath.Join(t.TempDir(), "out")
	w, err := pcaps.CreateAs(path, pcaps.Format{Container: pcaps.Pcapng})
	must(t, err)
	for _, r := range records {
		must(t, w.WriteRecord(r))
	}
	must(t, w.Close())
	r, err := pcaps.Open(path)
	must(t, err)
	defer r.Close()
	got, err := all(r)
	must(t, err)
	want := append([]pcaps.Record(nil), records...)
	for i, n := range []int{0, 1, 0, 2} {
		want[i].Interface = n
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}

	w, err = pcaps.Create(path)
	must(t, err)
	must(t, w.WriteRecord(records[3])) // NULL, whose number is 0
	err = w.WriteRecord(records[1])
	if err == nil || !strings.Contains(err.Error(), "Ethernet, link type 1 behind frames of NULL") {
		t.Errorf("a second link type: %v", err)
	}
	w.Abort()

	w, err = pcaps.CreateAs(path, pcaps.Format{LinkType: pcaps.Raw})
	must(t, err)
	must(t, w.Write(packet4, 7))
	must(t, w.WriteCut(packet4, 1500, 8))
	must(t, w.Close())
	r, err = pcaps.Open(path)
	must(t, err)
	defer r.Close()
	if got, err := all(r); err != nil || len(got) != 2 || got[0].LinkType != pcaps.Raw || got[0].Len != 20 || got[1].Len != 1500 {
		t.Errorf("%+v, %v", got, err)
	}
}

// A capture without a frame is a capture.
func TestNothingWritten(t *testing.T) {
	for _, c := range []pcaps.Container{pcaps.Pcap, pcaps.PcapMicros, pcaps.Pcapng} {
		path := filepath.Join(t.TempDir(), "out")
		w, err := pcaps.CreateAs(path, pcaps.Format{Container: c, Compression: pcaps.Gzip})
		must(t, err)
		must(t, w.Close())
		if said := tool(t, "capinfos", "-c", path); !strings.Contains(said, "Number of packets:   0") {
			t.Errorf("%v: capinfos says\n%s", c, said)
		}
	}
}

func TestFormatRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []int{-1, 262_145} {
		if _, err := pcaps.CreateAs(filepath.Join(dir, "x"), pcaps.Format{SnapLen: n}); err == nil || !strings.Contains(err.Error(), "snap length") {
			t.Errorf("snap length %d: %v", n, err)
		}
	}
	for says, do := range map[string]func(w *pcaps.Writer) error{
		"20 bytes, 21 of them captured": func(w *pcaps.Writer) error { return w.WriteCut(frame(21, 1), 20, 0) },
		"1970 to 2262":                  func(w *pcaps.Writer) error { return w.Write(frame(21, 1), pcaps.Pcapng.Last()+1) },
	} {
		w, err := pcaps.CreateAs(filepath.Join(dir, "x"), pcaps.Format{Container: pcaps.Pcapng})
		must(t, err)
		if err := do(w); err == nil || !strings.Contains(err.Error(), says) || w.Close() != err {
			t.Errorf("%v, want %q, and from Close as well", err, says)
		}
	}
	if left := names(t, dir); left != nil {
		t.Errorf("left behind: %q", left)
	}
}

func TestFormatOf(t *testing.T) {
	tests := []struct {
		path string
		want pcaps.Format
		ok   bool
	}{
		{"a.pcap", pcaps.Format{}, true},
		{"dir.pcapng/a.CAP", pcaps.Format{}, true},
		{"a.pcapng", pcaps.Format{Container: pcaps.Pcapng}, true},
		{"a.pcap.gz", pcaps.Format{Compression: pcaps.Gzip}, true},
		{"a.pcapng.zst", pcaps.Format{Container: pcaps.Pcapng, Compression: pcaps.Zstd}, true},
		{"a.gz", pcaps.Format{Compression: pcaps.Gzip}, false},
		{"a", pcaps.Format{}, false},
		{"/dev/null", pcaps.Format{}, false},
	}
	for _, tt := range tests {
		if got, ok := pcaps.FormatOf(tt.path); got != tt.want || ok != tt.ok {
			t.Errorf("%q is %+v, %v; want %+v, %v", tt.path, got, ok, tt.want, tt.ok)
		}
	}
	for _, c := range []pcaps.Container{pcaps.Pcap, pcaps.PcapMicros, pcaps.Pcapng} {
		if got, err := pcaps.ParseContainer(c.String()); got != c || err != nil {
			t.Errorf("%v is read as %v, %v", c, got, err)
		}
	}
	for _, c := range []pcaps.Compression{pcaps.Plain, pcaps.Gzip, pcaps.Zstd} {
		if got, err := pcaps.ParseCompression(c.String()); got != c || err != nil {
			t.Errorf("%v is read as %v, %v", c, got, err)
		}
	}
	if _, err := pcaps.ParseContainer("snoop"); err == nil {
		t.Error("snoop is a container")
	}
	if _, err := pcaps.ParseCompression("xz"); err == nil {
		t.Error("xz is a compression")
	}
}

// A frame in every format allocates nothing once its interface is described.
func TestWriteDoesNotAllocate(t *testing.T) {
	data := bytes.Repeat([]byte{1}, 61)
	for _, c := range []pcaps.Container{pcaps.Pcap, pcaps.Pcapng} {
		w, err := pcaps.CreateAs("/dev/null", pcaps.Format{Container: c})
		must(t, err)
		must(t, w.Write(data, 0))
		if n := testing.AllocsPerRun(1000, func() { must(t, w.Write(data, 1)) }); n != 0 {
			t.Errorf("%v: %v allocations a frame", c, n)
		}
		must(t, w.Close())
	}
}
