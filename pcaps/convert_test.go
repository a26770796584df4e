package pcaps_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"squall/pcaps"
)

// mixed is a pcapng file with every trouble: two link types that can have an
// Ethernet header, one that cannot, times that are none, impossible, late and
// going backwards.
func mixed() []byte {
	f := little()
	nanos := f.option(9, 9)
	f.section(1, 0).iface(1, nanos).iface(101, nanos).iface(105, nanos)
	f.packet(0, 1_000_000_001, 61, 61, frame(61, 9))
	f.packet(1, 3_000_000_000, 20, 20, packet4)
	f.packet(2, 3_000_000_001, 20, 20, packet4)
	f.packet(0, 2_000_000_000, 62, 62, frame(62, 9)) // backwards
	f.block(3, append([]byte{60, 0, 0, 0}, frame(60, 9)...))
	f.packet(0, 1<<63, 63, 63, frame(63, 9))         // after 2262
	f.packet(0, 1<<32*1e9+5, 64, 64, frame(64, 9))   // after 2106
	f.packet(0, 9_000_000_000, 70, 50, frame(70, 9)) // more captured than there was
	return f.b
}

func TestConvert(t *testing.T) {
	tests := []struct {
		name   string
		file   []byte
		format pcaps.Format
		conv   pcaps.Conversion
		want   pcaps.Converted
		times  []int64
		says   string // of an error
	}{
		{
			"as it is", mixed(), pcaps.Format{Container: pcaps.Pcapng}, pcaps.Conversion{},
			pcaps.Converted{Read: 8, Written: 8, Excess: 1, Clamped: 2},
			[]int64{1_000_000_001, 3e9, 3_000_000_001, 2e9, 2e9, 2e9, 1<<32*1e9 + 5, 9e9}, "",
		},
		{
			"Ethernet, microseconds, wrong times left out", mixed(), pcaps.Format{Container: pcaps.PcapMicros, SnapLen: 61}, pcaps.Conversion{Ethernet: true, Times: pcaps.TimeSkip},
			pcaps.Converted{Read: 8, Written: 4, Reframed: 1, Cut: 1, Excess: 1, Rounded: 1, Left: map[string]uint64{
				"IEEE 802.11, link type 105 cannot be sent on Ethernet": 1, "no time stamp": 1, "invalid time stamp": 1, "time stamp after 2106": 1,
			}},
			[]int64{1e9, 3e9, 2e9, 9e9}, "",
		},
		{
			"Ethernet, clamped to what pcap holds", mixed(), pcaps.Format{}, pcaps.Conversion{Ethernet: true},
			pcaps.Converted{Read: 8, Written: 7, Reframed: 1, Excess: 1, Clamped: 3, Left: map[string]uint64{"IEEE 802.11, link type 105 cannot be sent on Ethernet": 1}},
			[]int64{1_000_000_001, 3e9, 2e9, 2e9, 2e9, pcaps.Pcap.Last(), 9e9}, "",
		},
		{"stops at a wrong time", mixed(), pcaps.Format{Container: pcaps.Pcapng}, pcaps.Conversion{Times: pcaps.TimeStop}, pcaps.Converted{Read: 5, Written: 4}, nil, "record 5: no time stamp"},
		{"two link types in a pcap file", mixed(), pcaps.Format{}, pcaps.Conversion{}, pcaps.Converted{Read: 2, Written: 1}, nil, "a pcap file has one link type"},
		{"ends early", mixed()[:300], pcaps.Format{Container: pcaps.Pcapng}, pcaps.Conversion{}, pcaps.Converted{Read: 2, Written: 2}, nil, "the file ends within this record"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := pcaps.NewReader(bytes.NewReader(tt.file), "made")
			must(t, err)
			path := filepath.Join(t.TempDir(), "out")
			w, err := pcaps.CreateAs(path, tt.format)
			must(t, err)
			defer w.Abort()
			got, err := pcaps.Convert(context.Background(), w, r, tt.conv)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("account (-want +got):\n%s", diff)
			}
			if tt.says != "" {
				if err == nil || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("error %v, want %q", err, tt.says)
				}
				return
			}
			must(t, err)
			must(t, w.Close())
			back, err := pcaps.Open(path)
			must(t, err)
			defer back.Close()
			records, err := all(back)
			must(t, err)
			var times []int64
			for _, rec := range records {
				times = append(times, rec.Time)
				if tt.conv.Ethernet && rec.LinkType != pcaps.Ethernet {
					t.Errorf("a frame of %v", rec.LinkType)
				}
			}
			if diff := cmp.Diff(tt.times, times); diff != "" {
				t.Errorf("times (-want +got):\n%s", diff)
			}
			left := uint64(0)
			for _, n := range got.Left {
				left += n
			}
			if got.Read != got.Written+left {
				t.Errorf("read %d, written %d, left out %d", got.Read, got.Written, left)
			}
		})
	}
}

func TestConvertInterrupted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in")
	manyFrames(t, path, pcaps.Format{}, 60, 1<<20)
	r, err := pcaps.Open(path)
	must(t, err)
	defer r.Close()
	w, err := pcaps.Create("/dev/null")
	must(t, err)
	defer w.Abort()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := pcaps.Convert(ctx, w, r, pcaps.Conversion{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}

// The reasons are bounded, whatever protocols the frames name.
func TestConvertManyReasons(t *testing.T) {
	f := little().section(1, 0).iface(9)
	for i := range 300 {
		f.packet(0, 1, 5, 5, []byte{0xc0, byte(i * 2), byte(i), 1, 2})
	}
	r, err := pcaps.NewReader(bytes.NewReader(f.b), "made")
	must(t, err)
	w, err := pcaps.Create("/dev/null")
	must(t, err)
	defer w.Abort()
	sum, err := pcaps.Convert(context.Background(), w, r, pcaps.Conversion{Ethernet: true})
	must(t, err)
	left := uint64(0)
	for _, n := range sum.Left {
		left += n
	}
	if len(sum.Left) != 65 || left != 300 {
		t.Errorf("%d reasons of %d frames, want 65 of 300", len(sum.Left), left)
	}
}
