package compare

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"squall/internal/wire"
	"squall/pcaps"
)

// segment is a TCP frame: number n of a conversation.
func segment(t testing.TB, n uint32) []byte {
	t.Helper()
	ip := &layers.IPv4{Version: 4, TTL: 64, Id: uint16(n), SrcIP: []byte{10, 0, 0, 1}, DstIP: []byte{10, 0, 1, 1}, Protocol: layers.IPProtocolTCP}
	tcp := &layers.TCP{SrcPort: 5000, DstPort: 80, Seq: n * 100, ACK: true, Window: 500, Options: []layers.TCPOption{{OptionType: layers.TCPOptionKindNop}}}
	if err := tcp.SetNetworkLayerForChecksum(ip); err != nil {
		t.Fatal(err)
	}
	b := gopacket.NewSerializeBuffer()
	err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		&layers.Ethernet{SrcMAC: []byte{2, 0, 0, 0, 0, 1}, DstMAC: []byte{2, 0, 0, 0, 0, 2}, EthernetType: layers.EthernetTypeIPv4}, ip, tcp, gopacket.Payload(bytes.Repeat([]byte{byte(n)}, 100)))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(b.Bytes())
}

// conversation is n segments.
func conversation(t testing.TB, n int) (list [][]byte) {
	for i := range n {
		list = append(list, segment(t, uint32(i)))
	}
	return list
}

// with returns a copy of a frame in which these bytes, from at on, are others.
func with(f []byte, at int, b ...byte) []byte {
	f = bytes.Clone(f)
	copy(f[at:], b)
	return f
}

// routed is what a router makes of a frame: other addresses, TTL and checksum.
func routed(f []byte) []byte {
	f = with(f, 0, 2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8)
	f[22]--
	binary.BigEndian.PutUint16(f[24:], 0)
	binary.BigEndian.PutUint16(f[24:], ^wire.Fold(wire.Sum(f[14:34])))
	return f
}

func each(list [][]byte, change func([]byte) []byte) (out [][]byte) {
	for _, f := range list {
		out = append(out, change(f))
	}
	return out
}

// capture writes frames, a microsecond apart, and opens what it wrote.
func capture(t testing.TB, frames [][]byte) *pcaps.Reader {
	t.Helper()
	path := filepath.Join(t.TempDir(), "frames.pcap")
	w, err := pcaps.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for i, f := range frames {
		if err := w.Write(f, int64(i+1)*1000); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := pcaps.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// pick returns the frames of these numbers, from 0.
func pick(list [][]byte, numbers ...int) (out [][]byte) {
	for _, n := range numbers {
		out = append(out, list[n])
	}
	return out
}

func TestCaptures(t *testing.T) {
	a := conversation(t, 6)
	routerDiffers := []Change{{"dst-mac", "", ""}, {"src-mac", "", ""}, {"ttl", "64", "63"}}
	tagged := func(f []byte) []byte {
		return append(append(bytes.Clone(f[:12]), 0x81, 0, 0, 7), f[12:]...)
	}
	padded := with(make([]byte, 60), 12, 8, 6, 0, 1, 8, 0)
	nat := func(f []byte) []byte { return with(f, 26, 192, 168, 0, 1) }
	tests := []struct {
		name   string
		a, b   [][]byte
		ignore []string
		want   Report // without the sides' frames
	}{
		{"equal", a, a, nil, Report{Same: 6}},
		{"one missing", a, pick(a, 0, 1, 3, 4, 5), nil, Report{Same: 5, Missing: 1, List: []Difference{{Kind: "missing", A: 3}}}},
		{"one extra", pick(a, 0, 1, 3, 4, 5), a, nil, Report{Same: 5, Extra: 1, List: []Difference{{Kind: "extra", B: 3}}}},
		{"one twice", a, pick(a, 0, 1, 1, 2, 3, 4, 5), nil, Report{Same: 6, Duplicated: 1, List: []Difference{{Kind: "duplicated", B: 3}}}},
		{"alike in A, fewer in B", pick(a, 0, 1, 1, 1, 2), pick(a, 0, 1, 1, 2), nil, Report{Same: 4, Missing: 1, List: []Difference{{Kind: "missing", A: 4}}}},
		// RFC 4737 section 4.2: frame 2 comes behind 3, 4 and 5, of which 3 came 3 places before.
		{"one late", a, pick(a, 0, 1, 3, 4, 5, 2), nil, Report{Same: 6, Reordered: Reordering{Frames: 1, Within: 1, Ratio: 1. / 6, MaxExtent: 3, MeanExtent: 3, MaxLate: 3000},
			List: []Difference{{Kind: "reordered", A: 3, B: 6, Extent: 3}}}},
		{"two late", a, pick(a, 2, 0, 1, 3, 4, 5), nil, Report{Same: 6, Reordered: Reordering{Frames: 2, Within: 2, Ratio: 2. / 6, MaxExtent: 2, MeanExtent: 1.5, MaxLate: 2000},
			List: []Difference{{Kind: "reordered", A: 1, B: 2, Extent: 1}, {Kind: "reordered", A: 2, B: 3, Extent: 2}}}},
		{"a byte of payload", a, append(append(pick(a, 0, 1), with(a[2], 90, 99)), pick(a, 3, 4, 5)...), nil, Report{Same: 5, Altered: 1, Fields: []FieldCount{{"payload", 1}},
			List: []Difference{{Kind: "altered", A: 3, B: 3, Fields: []Change{{"payload", "", ""}}}}}},
		{"altered beside a missing one", a, append(append(pick(a, 0, 2), with(a[3], 48, 1, 2)), pick(a, 4, 5)...), nil, Report{Same: 4, Altered: 1, Missing: 1, Fields: []FieldCount{{"window", 1}},
			List: []Difference{{Kind: "missing", A: 2}, {Kind: "altered", A: 4, B: 3, Fields: []Change{{"window", "500", "258"}}}}}},
		{"through a router", a, each(a, routed), []string{"routed"}, Report{Same: 6}},
		{"through a router, one lost", pick(a, 0, 1), each(pick(a, 1), routed), []string{"ip-checksum"}, Report{Altered: 1, Missing: 1,
			Fields: []FieldCount{{"dst-mac", 1}, {"src-mac", 1}, {"ttl", 1}}, List: []Difference{{Kind: "missing", A: 1}, {Kind: "altered", A: 2, B: 1, Fields: routerDiffers}}}},
		{"a tag, ignored", a, each(a, tagged), []string{"vlan"}, Report{Same: 6}},
		{"a tag on a padded frame without IP", [][]byte{padded}, [][]byte{tagged(padded)}, []string{"vlan"}, Report{Same: 1}},
		{"a tag", pick(a, 0), each(pick(a, 0), tagged), nil, Report{Altered: 1, Fields: []FieldCount{{"vlan", 1}},
			List: []Difference{{Kind: "altered", A: 1, B: 1, Fields: []Change{{"vlan", "none", "7"}}}}}},
		{"through a NAT", pick(a, 0, 1), each(pick(a, 0, 1), nat), nil, Report{Altered: 2, Fields: []FieldCount{{"src-address", 2}}, List: []Difference{
			{Kind: "altered", A: 1, B: 1, Fields: []Change{{"src-address", "10.0.0.1", "192.168.0.1"}}}, {Kind: "altered", A: 2, B: 2, Fields: []Change{{"src-address", "10.0.0.1", "192.168.0.1"}}}}}},
		{"checksums", pick(a, 0, 1), each(pick(a, 0, 1), func(f []byte) []byte { return with(with(f, 50, 1, 1), 24, 1, 1) }), []string{"checksums"}, Report{Same: 2}},
		{"padding", [][]byte{make([]byte, 40)}, [][]byte{make([]byte, 60)}, []string{"padding"}, Report{Same: 1}},
		{"nothing in common", pick(a, 0), [][]byte{with(make([]byte, 60), 12, 0x88, 0xcc)}, nil, Report{Missing: 1, Extra: 1, List: []Difference{{Kind: "missing", A: 1}, {Kind: "extra", B: 1}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ignore, err := ParseSet(tt.ignore)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Captures(t.Context(), capture(t, tt.a), capture(t, tt.b), Options{Ignore: ignore, List: 10})
			if err != nil {
				t.Fatal(err)
			}
			want := tt.want
			want.A.Frames, want.B.Frames = uint64(len(tt.a)), uint64(len(tt.b))
			if want.List == nil {
				want.List = []Difference{}
			}
			if want.Fields == nil {
				want.Fields = []FieldCount{}
			}
			if diff := cmp.Diff(&want, got); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			if n := got.Same + got.Altered + got.Missing; n != got.A.Frames {
				t.Errorf("A has %d frames, %d are accounted for", got.A.Frames, n)
			}
			if n := got.Same + got.Altered + got.Duplicated + got.Extra; n != got.B.Frames {
				t.Errorf("B has %d frames, %d are accounted for", got.B.Frames, n)
			}
			if got.Equal() != (len(want.List) == 0) {
				t.Errorf("equal: %v", got.Equal())
			}
		})
	}
}

// Every byte of a frame counts in some field, and in no other that is ignored.
func TestEveryByte(t *testing.T) {
	f := segment(t, 7)
	p := &printer{seed: maphash.MakeSeed()}
	want := p.take(f, len(f))
	for i := range f {
		got := p.take(with(f, i, f[i]^0xa5), len(f))
		if want.differ(&got, 0) == 0 {
			t.Errorf("byte %d counts in no field", i)
		}
		if want.key(p.seed, 0) == got.key(p.seed, 0) {
			t.Errorf("byte %d does not count in the key", i)
		}
	}
}

func TestListIsBounded(t *testing.T) {
	r, err := Captures(t.Context(), capture(t, conversation(t, 50)), capture(t, conversation(t, 1)), Options{List: 5})
	if err != nil || len(r.List) != 5 || r.Unlisted != 44 || r.Missing != 49 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestParseSet(t *testing.T) {
	if s, err := ParseSet([]string{"ttl", "macs"}); err != nil || s != set(ttl, dstMAC, srcMAC) {
		t.Errorf("%v, %v", s, err)
	}
	if _, err := ParseSet([]string{"tll"}); err == nil {
		t.Error("no error for a field that there is not")
	}
}

func FuzzPrint(f *testing.F) {
	f.Add(segment(f, 1), 140)
	f.Add(make([]byte, 14), 14)
	if b, err := os.ReadFile("../../../shared/captures/dupack-runs.pcap"); err == nil {
		for at := 24; at+16 < 1024; {
			n := int(binary.LittleEndian.Uint32(b[at+8:]))
			f.Add(b[at+16:at+16+n], n)
			at += 16 + n
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, size int) {
		size = max(size, len(b)) & 0xffff
		p := &printer{seed: maphash.MakeSeed()}
		one, two := p.take(b, size), p.take(b, size)
		if one != two {
			t.Error("two prints of one frame differ")
		}
		for i := range fields {
			one.show(i)
		}
	})
}
