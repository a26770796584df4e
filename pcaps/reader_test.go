package pcaps_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket/layers"

	"squall/pcaps"
)

// all reads a capture to its end; a nil error is io.EOF.
func all(r *pcaps.Reader) ([]pcaps.Record, error) {
	var records []pcaps.Record
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return records, nil
		}
		if err != nil {
			return records, err
		}
		rec.Data = bytes.Clone(rec.Data) // valid until the next call only
		if rec.Data == nil {
			rec.Data = []byte{}
		}
		records = append(records, rec)
	}
}

// read reads a capture's bytes.
func read(b []byte) ([]pcaps.Record, error) {
	r, err := pcaps.NewReader(bytes.NewReader(b), "made")
	if err != nil {
		return nil, err
	}
	return all(r)
}

func TestFormats(t *testing.T) {
	records := func(second pcaps.LinkType, iface int, round time.Duration) []pcaps.Record {
		at := func(after time.Duration) int64 { return stamp.Add(after).Truncate(round).UnixNano() }
		return []pcaps.Record{
			{Data: frame(60, 1), Len: 60, Time: at(0), LinkType: pcaps.Ethernet},
			{Data: frame(99, 2), Len: 99, Time: at(time.Microsecond), LinkType: second, Interface: iface},
			{Data: frame(100, 3), Len: 1500, Time: at(time.Hour), LinkType: pcaps.Ethernet},
		}
	}
	micros := records(pcaps.Ethernet, 0, time.Microsecond)
	nanos := records(pcaps.Ethernet, 0, time.Nanosecond)
	tests := []struct {
		name string
		file []byte
		want []pcaps.Record
	}{
		{"microseconds, little endian", madePcap(t, layers.LinkTypeEthernet, false), micros},
		{"microseconds, big endian", swapped(madePcap(t, layers.LinkTypeEthernet, false)), micros},
		{"nanoseconds, little endian", madePcap(t, layers.LinkTypeEthernet, true), nanos},
		{"nanoseconds, big endian", swapped(madePcap(t, layers.LinkTypeEthernet, true)), nanos},
		{"pcapng, nanoseconds", madeNg(t), records(101, 1, time.Nanosecond)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := pcaps.Open(file(t, tt.file))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			got, err := all(r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			if _, err := r.Next(); err != io.EOF {
				t.Errorf("after the last record: %v, want io.EOF again", err)
			}
			if !got[2].Cut() || got[1].Cut() {
				t.Error("the third frame is cut, the second is not")
			}
		})
	}
}

// Kinds of pcapng that pcapgo does not write.
func TestPcapng(t *testing.T) {
	big := &ng{order: binary.BigEndian}
	data := frame(61, 9)
	one := func(at int64, link pcaps.LinkType) []pcaps.Record {
		return []pcaps.Record{{Data: data, Len: 61, Time: at, LinkType: link}}
	}
	picos := little()
	obsolete := little()
	tests := []struct {
		name string
		file *ng
		want []pcaps.Record
	}{
		{"big endian, microseconds by default", big.section(1, 0).iface(1).packet(0, 1_000_001, 61, 61, data), one(1_000_001_000, 1)},
		{"picoseconds", picos.section(1, 0).iface(1, picos.option(9, 12)).packet(0, 3_000_000_002_999, 61, 61, data), one(3_000_000_002, 1)},
		{"offset of an hour", little().offset(3600), one(3601*1e9, 1)},
		{"link types have 16 bits: 257 is not Ethernet", little().section(1, 0).iface(257).packet(0, 1, 61, 61, data), one(1000, 257)},
		{"unknown blocks are passed over", little().section(1, 0).block(0xbad, make([]byte, 9000)).iface(1).block(4, nil).packet(0, 1, 61, 61, data), one(1000, 1)},
		{"obsolete packet block", obsolete.section(1, 0).iface(1).block(2, obsoletePacket(data)), one(1000, 1)},
		{"two sections, numbering begins anew", little().section(1, 0).iface(9).section(1, 0).iface(1).packet(0, 1, 61, 61, data), one(1000, 1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := read(tt.file.b)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}

func (f *ng) offset(seconds uint64) *ng {
	g := &ng{order: f.order}
	offset := g.option(14, g.order.AppendUint64(nil, seconds)...)
	return g.section(1, 0).iface(1, offset, g.option(0)).packet(0, 1e6, 61, 61, frame(61, 9))
}

func obsoletePacket(data []byte) []byte {
	b := []byte{0, 0, 0xff, 0xff, 0, 0, 0, 0}
	b = binary.LittleEndian.AppendUint32(b, 1)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	return append(b, data...)
}

// patched returns a copy of b with v at off, little endian.
func patched(b []byte, off int, v uint32) []byte {
	b = bytes.Clone(b)
	binary.LittleEndian.PutUint32(b[off:], v)
	return b
}

// Whatever is wrong with a capture is said with the record and the byte where it
// is, after the records that are sound.
func TestRefuses(t *testing.T) {
	pcap := madePcap(t, layers.LinkTypeEthernet, false)
	l := little()
	l.section(1, 0)
	head := len(l.b) // of a section
	ngFile := func(build func(*ng)) []byte {
		f := little().section(1, 0)
		build(f)
		return f.b
	}
	data := frame(60, 1)
	tests := []struct {
		name   string
		file   []byte
		sound  int
		kind   error // nil: any
		record uint64
		offset int64
		says   string
	}{
		{"empty file", nil, 0, pcaps.ErrEmptyFile, 0, 0, "empty"},
		{"three bytes", pcap[:3], 0, pcaps.ErrNotCapture, 0, 0, "begins with"},
		{"no capture", []byte("GIF89a, really"), 0, pcaps.ErrNotCapture, 0, 0, `"GIF8"`},
		{"gzip cut in its header", []byte("\x1f\x8b\x08\x00 ..."), 0, pcaps.ErrTruncated, 0, 0, "compressed data end early"},
		{"gzip of something else", packed(t, "gzip", []byte("text of no format")), 0, pcaps.ErrNotCapture, 0, 0, `"text"`},
		{"gzip of nothing", packed(t, "gzip", nil), 0, pcaps.ErrEmptyFile, 0, 0, "empty"},
		{"gzip of gzip", packed(t, "gzip", packed(t, "gzip", pcap)), 0, pcaps.ErrUnsupported, 0, 0, "gunzip"},
		{"gzip, damaged", damaged(packed(t, "gzip", pcap)), 3, nil, 0, int64(len(pcap)), "checksum"},
		{"gzip cut", packed(t, "gzip", pcap)[:len(packed(t, "gzip", pcap))-4], 3, pcaps.ErrTruncated, 0, int64(len(pcap)), "compressed data end early"},
		{"zstd cut in its header", []byte("\x28\xb5\x2f\xfd"), 0, pcaps.ErrTruncated, 0, 0, "compressed data end early"},
		{"zstd cut", packed(t, "zstd", pcap)[:len(packed(t, "zstd", pcap))-4], 0, pcaps.ErrTruncated, 0, 0, "compressed data end early"},
		{"zstd of a cut pcap", packed(t, "zstd", pcap[:50]), 0, pcaps.ErrTruncated, 1, 24, "have 26 of 76 bytes"},
		{"xz", []byte("\xfd7zXZ\x00"), 0, pcaps.ErrUnsupported, 0, 0, "unxz"},
		{"bzip2", []byte("BZh91AY"), 0, pcaps.ErrUnsupported, 0, 0, "bunzip2"},
		{"lz4", []byte("\x04\x22\x4d\x18"), 0, pcaps.ErrUnsupported, 0, 0, "unlz4"},
		{"snoop", []byte("snoop\x00\x00\x00"), 0, pcaps.ErrUnsupported, 0, 0, "snoop"},

		{"header cut", pcap[:20], 0, pcaps.ErrTruncated, 0, 0, "have 20 of 24 bytes"},
		{"header only", pcap[:24], 0, pcaps.ErrNoRecords, 0, 24, "no frames"},
		{"record header cut", pcap[:24+16+60+3], 1, pcaps.ErrTruncated, 0, 100, "have 3 of 16 bytes"},
		{"record without data", pcap[:24+16+60+16], 1, pcaps.ErrTruncated, 2, 100, "have 16 of 115 bytes"},
		{"record cut", pcap[:len(pcap)-1], 2, pcaps.ErrTruncated, 3, 215, "have 115 of 116 bytes"},
		{"first record cut", pcap[:50], 0, pcaps.ErrTruncated, 1, 24, "have 26 of 76 bytes"},
		{"version 2.5", patched(pcap, 4, 5<<16|2), 0, pcaps.ErrUnsupported, 0, 0, "version 2.5, need 2.0 to 2.4"},
		{"version 1.4", patched(pcap, 4, 4<<16|1), 0, pcaps.ErrUnsupported, 0, 0, "version 1.4"},
		{"link type with reserved bits", patched(pcap, 20, 1<<16|1), 0, pcaps.ErrUnsupported, 0, 0, "reserved bits"},
		{"absurd length", patched(patched(pcap, 24+8, 1<<30), 24+12, 1<<30), 0, nil, 1, 24, "at most 262144"},

		{"pcapng cut in its header", madeNg(t)[:10], 0, pcaps.ErrTruncated, 0, 0, "have 10 of"},
		{"pcapng without frames", ngFile(func(f *ng) { f.iface(1) }), 0, pcaps.ErrNoRecords, 0, int64(head + 20), "no frames"},
		{"pcapng version 2.0", little().section(2, 0).b, 0, pcaps.ErrUnsupported, 0, 0, "version 2.0"},
		{"pcapng of no byte order", patched(l.b, 8, 7), 0, nil, 0, 0, "byte order"},
		{"block of 8 bytes", append(bytes.Clone(l.b), 5, 0, 0, 0, 8, 0, 0, 0), 0, nil, 0, int64(head), "length of 8 bytes"},
		{"block of 13 bytes", append(bytes.Clone(l.b), 5, 0, 0, 0, 13, 0, 0, 0), 0, nil, 0, int64(head), "length of 13 bytes"},
		{"two lengths", ngFile(func(f *ng) { f.iface(1); f.b[len(f.b)-4] = 24 }), 0, nil, 0, int64(head), "20 at its beginning and 24 at its end"},
		{"skipped block cut", append(bytes.Clone(l.b), 5, 0, 0, 0, 20, 0, 0, 0, 1), 0, pcaps.ErrTruncated, 0, int64(head), "have 9 of 20 bytes"},
		{"frame before any interface", ngFile(func(f *ng) { f.packet(0, 1, 60, 60, data) }), 0, nil, 1, int64(head), "interface 0"},
		{"frame of the third interface", ngFile(func(f *ng) { f.iface(1).iface(1).packet(2, 1, 60, 60, data) }), 0, nil, 1, int64(head + 40), "interface 2, of which the section has 2"},
		{"frame larger than its block", ngFile(func(f *ng) { f.iface(1).packet(0, 1, 64, 64, data) }), 0, nil, 1, int64(head + 20), "64 captured bytes in a block with room for 60"},
		{"absurd length in pcapng", ngFile(func(f *ng) { f.iface(1).packet(0, 1, 1<<31, 1<<31, data) }), 0, nil, 1, int64(head + 20), "at most"},
		{"block longer than the window", append(bytes.Clone(l.b), 6, 0, 0, 0, 0, 0, 16, 0), 0, nil, 1, int64(head), "need a multiple of 4 from 32 to"},
		{"simple packet block longer than its block", ngFile(func(f *ng) { f.iface(1).block(3, []byte{61, 0, 0, 0, 1, 2, 3, 4}) }), 0, nil, 1, int64(head + 20), "61 captured bytes in a block with room for 4"},
		{"simple packet block before any interface", ngFile(func(f *ng) { f.block(3, []byte{4, 0, 0, 0, 1, 2, 3, 4}) }), 0, nil, 1, int64(head), "interface 0"},
		{"FCS length without a value", ngFile(func(f *ng) { f.iface(1, f.option(13)) }), 0, nil, 0, int64(head), "option 13 with 0 bytes"},
		{"resolution without a value", ngFile(func(f *ng) { f.iface(1, f.option(9)) }), 0, nil, 0, int64(head), "option 9 with 0 bytes"},
		{"option longer than its block", ngFile(func(f *ng) { f.iface(1, []byte{2, 0, 99, 0}) }), 0, nil, 0, int64(head), "option 2 of 99 bytes"},
		{"frame cut", madeNg(t)[:len(madeNg(t))-1], 2, pcaps.ErrTruncated, 3, -1, "of 132 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := file(t, tt.file)
			var records []pcaps.Record
			r, err := pcaps.Open(path)
			if err == nil {
				defer r.Close()
				records, err = all(r)
			}
			if err == nil {
				t.Fatalf("%d records and no error", len(records))
			}
			if len(records) != tt.sound {
				t.Errorf("%d records before the error, want %d", len(records), tt.sound)
			}
			if tt.kind != nil && !errors.Is(err, tt.kind) {
				t.Errorf("error %q is not %q", err, tt.kind)
			}
			for _, kind := range []error{pcaps.ErrEmptyFile, pcaps.ErrNotCapture, pcaps.ErrNoRecords, pcaps.ErrTruncated, pcaps.ErrUnsupported} {
				if kind != tt.kind && errors.Is(err, kind) {
					t.Errorf("error %q is %q", err, kind)
				}
			}
			e := new(pcaps.Error)
			if !errors.As(err, &e) {
				t.Fatalf("error %q is no *pcaps.Error", err)
			}
			if e.Name != path || e.Record != tt.record || tt.offset >= 0 && e.Offset != tt.offset {
				t.Errorf("error is of record %d at byte %d of %q, want record %d at byte %d of %q", e.Record, e.Offset, e.Name, tt.record, tt.offset, path)
			}
			if !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %q does not say %q", err, tt.says)
			}
			if r != nil {
				if _, again := r.Next(); again != err {
					t.Errorf("the next call says %v, not the same again", again)
				}
			}
		})
	}
}

func TestOpenNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "no.pcap")
	if _, err := pcaps.Open(path); !errors.Is(err, os.ErrNotExist) || strings.Count(err.Error(), path) != 1 {
		t.Errorf("error %v, want one of a missing file that names it once", err)
	}
	dir := t.TempDir()
	if _, err := pcaps.Open(dir); err == nil || !strings.Contains(err.Error(), "directory") {
		t.Errorf("a directory: error %v", err)
	}
}

// The snap length in a header is often less than what was captured.
func TestWrongSnapLength(t *testing.T) {
	b := patched(madePcap(t, layers.LinkTypeEthernet, false), 16, 10)
	if got, err := read(b); err != nil || len(got) != 3 {
		t.Errorf("%d records, %v; want 3", len(got), err)
	}
}

// broken is a file on a medium that fails after n bytes.
type broken struct {
	b   []byte
	err error
}

func (r *broken) Read(p []byte) (int, error) {
	if len(r.b) == 0 {
		return 0, r.err
	}
	n := copy(p, r.b)
	r.b = r.b[n:]
	return n, nil
}

func TestReadError(t *testing.T) {
	bad := errors.New("medium error")
	for _, n := range []int{0, 2, 24, 30, 100, 130} {
		r, err := pcaps.NewReader(&broken{madePcap(t, layers.LinkTypeEthernet, false)[:n], bad}, "disk")
		if err == nil {
			_, err = all(r)
		}
		if !errors.Is(err, bad) || errors.Is(err, pcaps.ErrTruncated) || errors.Is(err, pcaps.ErrNoRecords) {
			t.Errorf("failing after %d bytes: %v", n, err)
		}
	}
}

func TestLinkType(t *testing.T) {
	for typ, want := range map[pcaps.LinkType]string{1: "Ethernet, link type 1", 113: "Linux cooked (SLL), link type 113", 147: "user 0, link type 147", 3000: "link type 3000"} {
		if got := typ.String(); got != want {
			t.Errorf("%d is %q, want %q", typ, got, want)
		}
	}
}
