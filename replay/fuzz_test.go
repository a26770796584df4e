package replay_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"squall/pcaps"
	"squall/replay"
	"squall/replay/fit"
	"squall/replay/rewrite"
)

// Whatever a capture holds: no panic, every record has one fate, and every frame of the
// plan is one that the port takes, at a time that does not fall.
func FuzzCompile(f *testing.F) {
	for _, kind := range []pcaps.Container{pcaps.Pcap, pcaps.Pcapng} {
		path := filepath.Join(f.TempDir(), "seed")
		w, err := pcaps.CreateAs(path, pcaps.Format{Container: kind})
		must(f, err)
		must(f, w.Write(ip(60, 1), 1000))
		must(f, w.WriteCut(ip(60, 2), 1000, 1000))
		must(f, w.Write(ip(1714, 3), 900))
		must(f, w.WriteRecord(pcaps.Record{Data: ip(60, 4), Len: 60, Time: 1e18, LinkType: pcaps.Ethernet}))
		must(f, w.Close())
		seed, err := os.ReadFile(path)
		must(f, err)
		for policies := range uint8(12) {
			f.Add(seed, policies*23)
		}
	}
	captures, _ := filepath.Glob(filepath.Join("..", "..", "shared", "captures", "*.pcap*"))
	for i, path := range captures {
		seed, err := os.ReadFile(path)
		must(f, err)
		f.Add(seed[:min(len(seed), 1024)], uint8(37*i))
	}
	rules, err := rewrite.Rules{Unique: true, TTL: "9", VLANAdd: []string{"5"}, Map: []string{"10.0.0.0/8=11.0.0.0/8"}, Layer: rewrite.All, FixChecksums: true}.Compile()
	must(f, err)
	f.Fuzz(func(t *testing.T, data []byte, policies uint8) {
		r, err := pcaps.NewReader(bytes.NewReader(data), "fuzz")
		if err != nil {
			return
		}
		o := replay.Options{
			MTU: 1500, Copies: 1 + uint64(policies>>7), Limit: 1 << 20,
			Truncated: replay.Truncated(policies % 3), Oversize: fit.Policy(policies / 3 % 4), Times: pcaps.TimePolicy(policies / 12 % 2), IgnoreDF: policies&32 != 0,
		}
		if policies&64 != 0 {
			o.Rewrite = rules
		}
		p, sum, err := replay.CompileFrom(r, "fuzz", o)
		if p == nil {
			if err == nil {
				t.Fatal("neither a plan nor an error")
			}
			return
		}
		if kept := sum.Records - sum.Left(); sum.Left() > sum.Records || sum.Frames < kept*o.Copies {
			t.Fatalf("%d records, %d left out, %d frames", sum.Records, sum.Left(), sum.Frames)
		}
		limit := fit.Limit{MTU: o.MTU}
		last := int64(0)
		for i, frame := range frames(p) {
			if len(frame) < 14 || !limit.Fits(frame, len(frame)) {
				t.Fatalf("frame %d has %d bytes", i, len(frame))
			}
			if p.Due[i] < last {
				t.Fatalf("frame %d is due at %d, behind one at %d", i, p.Due[i], last)
			}
			last = p.Due[i]
		}
	})
}
