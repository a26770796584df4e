package pcaps_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket/layers"

	"squall/pcaps"
)

// Records that are out of the ordinary, and what is made of them.
func TestOddRecords(t *testing.T) {
	micros, nanos := madePcap(t, layers.LinkTypeEthernet, false), madePcap(t, layers.LinkTypeEthernet, true)
	data := frame(61, 9)
	const eth = pcaps.Ethernet
	whole := stamp.Unix() * 1e9
	// flags adds an enhanced packet block with options behind the frame.
	flags := func(options []byte) []byte {
		f := little()
		f.packet(0, 1, 61, 61, data)
		body := append(bytes.Clone(f.b[8:28]), data...)
		body = append(body, 0, 0, 0)
		return little().section(1, 0).iface(1).block(6, append(body, options...)).b
	}
	option := little().option
	rec := func(n, length int, at int64, clock pcaps.Clock) pcaps.Record {
		return pcaps.Record{Data: data[:n], Len: length, Time: at, LinkType: eth, Clock: clock}
	}
	first := func(b []byte, n, length int, at int64, clock pcaps.Clock) pcaps.Record {
		return pcaps.Record{Data: b[40 : 40+n], Len: length, Time: at, LinkType: eth, Clock: clock}
	}
	at := stamp.UnixNano() / 1000 * 1000
	ngOne := func(options ...[]byte) []byte {
		return little().section(1, 0).iface(1, options...).packet(0, 1, 61, 61, data).b
	}
	tests := []struct {
		name   string
		file   []byte
		want   pcaps.Record // the first
		excess uint64
	}{
		{"microseconds that are none", patched(micros, 28, 1_000_000), first(micros, 60, 60, whole, pcaps.ClockInvalid), 0},
		{"microseconds that overflow", patched(micros, 28, math.MaxUint32), first(micros, 60, 60, whole, pcaps.ClockInvalid), 0},
		{"nanoseconds that are none", patched(nanos, 28, 1e9), first(nanos, 60, 60, whole, pcaps.ClockInvalid), 0},
		{"more captured than there was", patched(micros, 24+12, 59), first(micros, 59, 59, at, pcaps.ClockSound), 1},
		{"captured of nothing", patched(micros, 24+12, 0), first(micros, 0, 0, at, pcaps.ClockSound), 1},
		{"FCS", patched(micros, 20, 2<<28|1<<26|1), first(micros, 56, 56, at, pcaps.ClockSound), 0},
		{"FCS length without its flag", patched(micros, 20, 2<<28|1), first(micros, 60, 60, at, pcaps.ClockSound), 0},
		{"FCS of which the snap length cut half", patched(patched(micros, 20, 2<<28|1<<26|1), 24+12, 62), first(micros, 58, 58, at, pcaps.ClockSound), 0},
		{"FCS of which nothing is left", patched(patched(micros, 20, 2<<28|1<<26|1), 24+12, 100), first(micros, 60, 96, at, pcaps.ClockSound), 0},
		{"frame shorter than its FCS", patched(patched(micros, 20, 2<<28|1<<26|1), 24+12, 3), first(micros, 0, 0, at, pcaps.ClockSound), 1},

		{"pcapng, more captured than there was", little().section(1, 0).iface(1).packet(0, 1, 61, 59, data).b, rec(59, 59, 1000, pcaps.ClockSound), 1},
		{"pcapng, FCS in bits", ngOne(option(13, 32)), rec(57, 57, 1000, pcaps.ClockSound), 0},
		{"pcapng, FCS in bytes", ngOne(option(13, 4)), rec(57, 57, 1000, pcaps.ClockSound), 0},
		{"pcapng, no FCS", ngOne(option(13, 0)), rec(61, 61, 1000, pcaps.ClockSound), 0},
		{"pcapng, FCS in the flags", flags(append(option(1, 'c'), option(2, 2<<5, 0, 0, 0)...)), rec(59, 59, 1000, pcaps.ClockSound), 0},
		{"pcapng, flags without FCS", flags(option(2, 1, 0, 0, 0)), rec(61, 61, 1000, pcaps.ClockSound), 0},
		{"pcapng, option longer than its block", flags([]byte{2, 0, 99, 0}), rec(61, 61, 1000, pcaps.ClockSound), 0},
		{"year 2300", little().section(1, 0).iface(1).packet(0, 10_413_792_000*1e6, 61, 61, data).b, rec(61, 61, 0, pcaps.ClockInvalid), 0},
		{"before 1970", little().section(1, 0).iface(1, option(14, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)).packet(0, 1, 61, 61, data).b, rec(61, 61, 0, pcaps.ClockInvalid), 0},
		{"simple packet block", little().section(1, 0).iface(1).block(3, append([]byte{61, 0, 0, 0}, data...)).b, rec(61, 61, 0, pcaps.ClockNone), 0},
		{"simple packet block, cut", little().section(1, 0).block(1, []byte{1, 0, 0, 0, 60, 0, 0, 0}).block(3, append([]byte{220, 5, 0, 0}, data[:60]...)).b, rec(60, 1500, 0, pcaps.ClockNone), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := pcaps.NewReader(bytes.NewReader(tt.file), "made")
			must(t, err)
			got, err := r.Next()
			must(t, err)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
			if r.Excess() != tt.excess {
				t.Errorf("excess %d, want %d", r.Excess(), tt.excess)
			}
			if _, err := all(r); err != nil {
				t.Errorf("the rest: %v", err)
			}
		})
	}
}

// Every resolution and offset is exact to the nanosecond, rounded down. (Wireshark
// overflows in fine ones.) The witness is arithmetic without bounds.
func TestResolutions(t *testing.T) {
	stamps := []uint64{0, 1, 999, 1 << 31, 1_600_000_000, 1_600_000_000_123_456, 1_600_000_000_123_456_789, 1<<63 - 1, 1 << 63, math.MaxUint64, 9_223_372_035_999_999_999, 9_223_372_036_000_000_000, 9_223_372_035_999_999, 9_223_372_036_000_000}
	offsets := []int64{0, 1, -1, 3600, -1_600_000_000, 9_223_372_035, 9_223_372_036, math.MaxInt64, math.MinInt64}
	billion := big.NewInt(1e9)
	for resolution := range 256 {
		for _, offset := range offsets {
			f := little().section(1, 0).iface(1, little().option(9, byte(resolution)), little().option(14, binary.LittleEndian.AppendUint64(nil, uint64(offset))...))
			for _, s := range stamps {
				f.packet(0, s, 4, 4, []byte("data"))
			}
			got, err := read(f.b)
			must(t, err)
			unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(resolution)), nil)
			if resolution >= 128 {
				unit = new(big.Int).Lsh(big.NewInt(1), uint(resolution-128))
			}
			for i, s := range stamps {
				want := new(big.Int).Mul(new(big.Int).SetUint64(s), billion)
				want.Div(want, unit)
				want.Add(want, new(big.Int).Mul(big.NewInt(offset), billion))
				clock := pcaps.ClockSound
				if want.Sign() < 0 || want.Cmp(new(big.Int).Mul(big.NewInt(math.MaxInt64/1_000_000_000), billion)) >= 0 {
					want, clock = new(big.Int), pcaps.ClockInvalid
				}
				if got[i].Time != want.Int64() || got[i].Clock != clock {
					t.Errorf("stamp %d in 0x%02x, offset %d: %d, %v; want %v, %v", s, resolution, offset, got[i].Time, got[i].Clock, want, clock)
				}
			}
		}
	}
}

// Records lie across the ends of windows and reads everywhere, and come out whole.
func TestWindows(t *testing.T) {
	for _, c := range []pcaps.Container{pcaps.Pcap, pcaps.Pcapng} {
		for _, packing := range []pcaps.Compression{pcaps.Plain, pcaps.Gzip, pcaps.Zstd} {
			t.Run(c.String()+" "+packing.String(), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "capture")
				w, err := pcaps.CreateAs(path, pcaps.Format{Container: c, Compression: packing})
				must(t, err)
				defer w.Abort()
				sizes := []int{60, 1514, 14, 262_144, 9014, 99, 61, 200_000}
				const rounds = 6 // 2.8 MB
				for i := range rounds * len(sizes) {
					must(t, w.Write(frame(sizes[i%len(sizes)], byte(i)), int64(i)))
				}
				must(t, w.Close())
				b, err := os.ReadFile(path)
				must(t, err)
				for name, r := range map[string]func() (*pcaps.Reader, error){
					"file":      func() (*pcaps.Reader, error) { return pcaps.Open(path) },
					"half":      func() (*pcaps.Reader, error) { return pcaps.NewReader(iotest.HalfReader(bytes.NewReader(b)), "half") },
					"one byte":  func() (*pcaps.Reader, error) { return pcaps.NewReader(iotest.OneByteReader(bytes.NewReader(b)), "one") },
					"data, EOF": func() (*pcaps.Reader, error) { return pcaps.NewReader(iotest.DataErrReader(bytes.NewReader(b)), "end") },
				} {
					r, err := r()
					must(t, err)
					for i := range rounds * len(sizes) {
						rec, err := r.Next()
						must(t, err)
						if !bytes.Equal(rec.Data, frame(sizes[i%len(sizes)], byte(i))) || rec.Time != int64(i) {
							t.Fatalf("%s: record %d differs", name, i+1)
						}
					}
					if left, err := all(r); len(left) > 0 || err != nil {
						t.Errorf("%s: %d records more, %v", name, len(left), err)
					}
					must(t, r.Close())
				}
			})
		}
	}
}

// A block of any length that is not needed is passed over without being held.
func TestLongBlocks(t *testing.T) {
	f := little().section(1, 0).block(0xbad, make([]byte, 3<<20)).iface(1).packet(0, 1, 61, 61, frame(61, 9))
	if got, err := read(f.b); len(got) != 1 || err != nil {
		t.Errorf("%d records, %v", len(got), err)
	}
	_, err := read(f.b[:2<<20])
	if err == nil || !strings.Contains(err.Error(), "at byte 28: the file ends within this record: have 2097124 of 3145740 bytes") {
		t.Errorf("cut: %v", err)
	}
}

// A source that gives nothing for ever is given up.
func TestNoProgress(t *testing.T) {
	if _, err := pcaps.NewReader(idle{}, "idle"); err == nil {
		t.Error("no error")
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

// Standard input is "-", whatever it is.
func TestStandardInput(t *testing.T) {
	b := packed(t, "gzip", madePcap(t, layers.LinkTypeEthernet, false))
	in, out, err := os.Pipe()
	must(t, err)
	old := os.Stdin
	os.Stdin = in
	defer func() { os.Stdin = old; in.Close() }()
	go func() { out.Write(b); out.Close() }()
	r, err := pcaps.Open("-")
	must(t, err)
	defer r.Close()
	if got, err := all(r); len(got) != 3 || err != nil || r.Size() != 0 {
		t.Errorf("%d records, %v, size %d", len(got), err, r.Size())
	}
	_, err = pcaps.Open("-") // it is at its end
	if err == nil || !strings.Contains(err.Error(), `"standard input"`) {
		t.Errorf("at the end: %v", err)
	}
}
