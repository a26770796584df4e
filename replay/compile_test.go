package replay_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"squall/internal/plan"
	"squall/internal/wire"
	"squall/pcaps"
	"squall/replay"
)

// frames writes out one pass of a plan.
func frames(p *plan.Plan) [][]byte {
	var all [][]byte
	for i := range p.Pass {
		b := make([]byte, p.MaxLen())
		all = append(all, b[:p.Write(b, i, 12345)])
	}
	return all
}

func TestCompile(t *testing.T) {
	const t0 = 1_600_000_000_000_000_000
	cut := whole(t0+2, frame(60, 0x0800, 2))
	cut.Len = 1514
	in := records{
		{Data: frame(40, 0x0800, 9), Len: 60, Time: t0 - 5, LinkType: pcaps.Ethernet}, // cut: times begin later
		whole(t0, frame(60, 0x0800, 1)),
		cut,
		whole(t0+7, frame(1514, 0x0800, 3)),
		whole(t0+8, frame(1515, 0x0800, 4)), // long
		whole(t0+9, frame(1518, 0x8100, 5)),
		whole(t0+10, frame(1519, 0x8100, 6)), // long
		whole(t0+11, frame(1514, 0x88a8, 7)),
		whole(t0+12, frame(1518, 0x88a8, 8)), // long: Linux grants no room for this tag
		whole(t0+13, frame(13, 0, 9)),        // short
		whole(t0+14, frame(14, 0x0800, 10)),
		whole(t0+3, frame(60, 0x0800, 11)), // back
		whole(t0+13, frame(60, 0x0800, 12)),
		whole(t0+20, frame(60, 0x0800, 12)), // the same again
	}
	want := [][]byte{
		frame(60, 0x0800, 1), frame(1514, 0x0800, 3), frame(1518, 0x8100, 5), frame(1514, 0x88a8, 7),
		frame(14, 0x0800, 10), frame(60, 0x0800, 11), frame(60, 0x0800, 12), frame(60, 0x0800, 12),
	}
	p, sum, err := replay.CompileFrom(&in, "dir/made.pcap", replay.Options{MTU: 1500})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, frames(p)); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{0, 7, 9, 11, 14, 14, 14, 20}, p.Due); diff != "" {
		t.Errorf("due times (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(replay.Summary{
		Records: 14, Frames: 8, Bytes: 60 + 1514 + 1518 + 1514 + 14 + 3*60,
		Cut: 2, Long: 3, Short: 1, Backwards: 2, First: t0, Duration: 20, Passes: 1,
	}, sum, cmpopts.IgnoreFields(replay.Summary{}, "Rewritten")); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if sum.Records != sum.Frames+sum.Left() {
		t.Errorf("%d records are not %d frames and %d left out", sum.Records, sum.Frames, sum.Left())
	}
	if got := p.Streams[0].Name; got != "made.pcap" {
		t.Errorf("stream is called %q", got)
	}

	// The second pass is the first again, and numbered on.
	b := make([]byte, p.MaxLen())
	if n := p.Write(b, p.Pass+1, 0); !cmp.Equal(b[:n], want[1]) {
		t.Error("the second pass has other frames")
	}

	prints := replay.Fingerprints(p)
	for i, f := range want {
		if prints[i] != wire.Fingerprint(f) {
			t.Errorf("fingerprint %d is not that of the frame", i)
		}
	}
	if len(prints) != len(want) || prints[6] != prints[7] || prints[0] == prints[5] {
		t.Errorf("fingerprints %x", prints)
	}
}

func TestNoMTU(t *testing.T) {
	in := records{whole(0, frame(65_000, 0x0800, 1))}
	if _, sum, err := replay.CompileFrom(&in, "x", replay.Options{}); err != nil || sum.Frames != 1 {
		t.Errorf("without an MTU: %+v, %v", sum, err)
	}
}

func TestCompileRefuses(t *testing.T) {
	other := whole(1, frame(60, 0, 1))
	other.LinkType = 105
	cut := whole(1, frame(60, 0, 1))
	cut.Len = 100
	tests := []struct {
		name string
		in   records
		opt  replay.Options
		says string
	}{
		{"link type", records{other, other}, replay.Options{}, "no frame can be sent: of 2, 2 of link type IEEE 802.11, link type 105, which cannot be sent on Ethernet"},
		{"no frames", nil, replay.Options{}, "no frames"},
		{"nothing to send", records{cut, cut, whole(0, frame(9, 0, 0)), whole(0, frame(2000, 0, 0))}, replay.Options{MTU: 1500},
			"of 4, 2 cut short by the snap length, 1 longer than the port's MTU allows, 1 shorter"},
		{"no room for what memory does not hold", records{whole(0, frame(1000, 0, 0))}, replay.Options{Limit: 1, Dir: "/nowhere"}, "a file in \"/nowhere\" for the frames"},
		{"backwards, to stop", records{whole(9, frame(60, 0, 0)), whole(2, frame(60, 0, 0))}, replay.Options{Times: pcaps.TimeStop}, "record 2: wrong time stamp: 7ns before that of the frame in front"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, _, err := replay.CompileFrom(&tt.in, "made.pcap", tt.opt)
			if err == nil || p != nil {
				t.Fatalf("plan %v, error %v", p, err)
			}
			if !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), "made.pcap") {
				t.Errorf("error %q does not say %q", err, tt.says)
			}
		})
	}
}

// A capture cut in mid-record gives the plan of what is sound and says so.
func TestCompileTruncated(t *testing.T) {
	path := capture(t, 1000, 2000, 3000)
	must(t, os.Truncate(path, 24+3*76-1))
	p, sum, err := replay.Compile(path, replay.Options{})
	if !errors.Is(err, pcaps.ErrTruncated) || !strings.Contains(err.Error(), "record 3") {
		t.Errorf("error %v, want that record 3 is cut", err)
	}
	if p == nil || p.Pass != 2 || sum.Frames != 2 {
		t.Fatalf("plan %v of %+v, want two frames", p, sum)
	}

	must(t, os.Truncate(path, 30))
	if p, _, err := replay.Compile(path, replay.Options{}); p != nil || !errors.Is(err, pcaps.ErrTruncated) {
		t.Errorf("nothing sound: plan %v, error %v", p, err)
	}
	must(t, os.Truncate(path, 24))
	if p, _, err := replay.Compile(path, replay.Options{}); p != nil || !errors.Is(err, pcaps.ErrNoRecords) {
		t.Errorf("header only: plan %v, error %v", p, err)
	}
	if _, _, err := replay.Compile(filepath.Join(t.TempDir(), "no.pcap"), replay.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// Captures of other people's. The figures are tshark's.
func TestShared(t *testing.T) {
	tests := []struct {
		file string
		want replay.Summary
		says string // of the error; then want is not looked at
	}{
		{"dupack-runs.pcap", replay.Summary{Records: 3049, Frames: 3049, Bytes: 246_720, First: 1_614_758_889_587_624_000, Duration: 7_721_000}, ""},
		{"gtpu-truncated.pcapng", replay.Summary{Records: 82, Frames: 54, Bytes: 74_756, Cut: 28, First: 1_550_422_829_929_637_000, Duration: 14_294_793_000}, ""},
		{"big-endian-v2.1.pcap", replay.Summary{Records: 156, Frames: 156, Bytes: 23_144, First: 944_207_338_400_000_000, Duration: 490_000_000}, ""},
		{"sll-nanosecond.pcap", replay.Summary{Records: 3, Frames: 3, Bytes: 214, Reframed: 3, First: 1_418_145_369_924_505_488, Duration: 127_609_669}, ""},
		{"raw-ipv4.pcap", replay.Summary{Records: 1, Frames: 1, Bytes: 71, Reframed: 1, First: 1_751_997_551_951_226_000}, ""},
		{"null-loopback.pcap", replay.Summary{Records: 4, Frames: 4, Bytes: 451, Reframed: 4, First: 1_550_020_603_306_396_000, Duration: 775_000}, ""},
		{"invalid-timestamp.pcap", replay.Summary{Records: 3, Frames: 3, Bytes: 214, Reframed: 3, NoTime: 2, First: 1_418_145_369_999_999_999}, ""},
		{"frame-relay-unsupported.pcap", replay.Summary{}, "which cannot be sent on Ethernet"},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			p, sum, err := replay.Compile(shared(t, tt.file), replay.Options{MTU: 1500})
			if tt.says != "" {
				if err == nil || p != nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), tt.file) {
					t.Errorf("error %v, want %q of %q", err, tt.says, tt.file)
				}
				return
			}
			must(t, err)
			tt.want.Passes = 1
			if diff := cmp.Diff(tt.want, sum, cmpopts.IgnoreFields(replay.Summary{}, "Rewritten")); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
			// Every frame of the plan is the capture's, byte for byte.
			r, err := pcaps.Open(shared(t, tt.file))
			must(t, err)
			defer r.Close()
			if sum.Reframed > 0 {
				return // pcaps compares those
			}
			for i, f := range frames(p) {
				rec, err := r.Next()
				for err == nil && rec.Cut() {
					rec, err = r.Next()
				}
				must(t, err)
				if !cmp.Equal(rec.Data, f) {
					t.Fatalf("frame %d is not that of the capture", i)
				}
			}
		})
	}
}
