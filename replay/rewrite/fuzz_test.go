package rewrite_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/pcapgo"

	"squall/internal/wire"
	"squall/replay/rewrite"
)

// captured adds the frames of the first kilobytes of captures of other
// people's, where they are there.
func captured(f *testing.F, add func([]byte)) {
	dir := os.Getenv("SQUALL_CAPTURES")
	for up := ".."; dir == "" && len(up) < 30; up = filepath.Join("..", up) {
		if _, err := os.Stat(filepath.Join(up, "shared", "captures")); err == nil {
			dir = filepath.Join(up, "shared", "captures")
		}
	}
	paths, _ := filepath.Glob(filepath.Join(dir, "*.pcap*"))
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		b = b[:min(len(b), 8<<10)]
		var r gopacket.PacketDataSource
		if r, err = pcapgo.NewReader(bytes.NewReader(b)); err != nil {
			if r, err = pcapgo.NewNgReader(bytes.NewReader(b), pcapgo.NgReaderOptions{WantMixedLinkType: true}); err != nil {
				continue
			}
		}
		for range 20 {
			frame, _, err := r.ReadPacketData()
			if err != nil {
				break
			}
			add(frame)
		}
	}
}

// outline is what must not change: which headers there are, and where.
func outline(frame []byte) []wire.Head {
	var s wire.Stack
	s.Walk(frame)
	return append([]wire.Head(nil), s.Heads()...)
}

// right reports whether every checksum that can be checked is right.
func right(frame []byte) bool {
	var s wire.Stack
	s.Walk(bytes.Clone(frame))
	return !s.Settle(true)
}

// FuzzApply: whatever the bytes, nothing beyond the frame is touched, the
// headers and all lengths stay what they are, right checksums stay right, and
// with FixChecksums all become it.
func FuzzApply(f *testing.F) {
	for i, stack := range stacks {
		f.Add(build(f, stack, example()), uint8(i), uint64(i))
	}
	captured(f, func(frame []byte) { f.Add(frame, uint8(1), uint64(3)) })
	var list []*rewrite.Rewriter
	for _, layer := range []string{rewrite.Outer, rewrite.Inner, rewrite.All} {
		for _, fix := range []bool{false, true} {
			list = append(list, compile(f, rewrite.Rules{
				SrcMAC: "02:00:00:00:00:09", MACMap: []string{"02:00:00:00:00:02=02:00:00:00:00:08"}, VLANSet: []string{"9", "1=2"},
				Map: []string{"10.0.0.0/8=11.0.0.0/8", "0.0.0.0/1=128.0.0.0/1", "2001:db8::/32=2001:db9::/32", "::/3=2000::/3"}, PortMap: []string{"80=81", "1024-2047=60000-61023"},
				TTL: "-1", DSCP: "1", TEID: []string{"+1"}, SeqShift: 1, SeqShiftFrom: []string{"0.0.0.0/1"}, Unique: true, Layer: layer, FixChecksums: fix,
			}))
		}
	}
	f.Fuzz(func(t *testing.T, frame []byte, which uint8, copy uint64) {
		i := int(which) % len(list)
		before := bytes.Clone(frame)
		out, err := list[i].Apply(nil, frame, copy)
		if !bytes.Equal(before, frame) {
			t.Fatal("the input was changed")
		}
		if (err != nil) != (len(frame) < 14) {
			t.Fatalf("%d bytes: %v", len(frame), err)
		}
		if err != nil {
			return
		}
		if len(out) != len(frame) {
			t.Fatalf("%d bytes became %d", len(frame), len(out))
		}
		was, is := outline(frame), outline(out)
		if len(was) != len(is) {
			t.Fatalf("headers %+v became %+v", was, is)
		}
		for k := range was {
			if was[k] != is[k] {
				t.Fatalf("header %+v became %+v", was[k], is[k])
			}
		}
		if fixed := i%2 == 1; (fixed || right(frame)) && !right(out) {
			t.Fatal("a checksum is wrong")
		}
	})
}
