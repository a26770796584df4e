package acks

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"squall/internal/convo"
	"squall/pcaps"
)

func TestWalk(t *testing.T) {
	for name, want := range map[string]Walked{
		"dupack-runs.pcap":       {Frames: 3049, NoIP: 3},
		"gtpu-truncated.pcapng":  {Frames: 82, NotTCP: 82},
		"sll-nanosecond.pcap":    {Frames: 3},
		"invalid-timestamp.pcap": {Frames: 3, NoTime: 2},
	} {
		t.Run(name, func(t *testing.T) {
			n := uint64(0)
			got := walk(t, captures(t, name), func(f *Frame) { n++ })
			if got != want || n != got.Frames-got.NoIP-got.Foreign {
				t.Errorf("walked %+v, %d frames visited, want %+v", got, n, want)
			}
		})
	}
}

// A capture that ends in mid-record counts up to there.
func TestWalkTruncated(t *testing.T) {
	b, err := os.ReadFile(captures(t, "dupack-runs.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cut.pcap")
	if err := os.WriteFile(path, b[:100_000], 0o600); err != nil {
		t.Fatal(err)
	}
	if w := walk(t, path, func(*Frame) {}); !w.Truncated || w.Frames < 100 {
		t.Errorf("walked %+v, want a truncated capture and what is before", w)
	}
}

// What cannot be conversations of TCP is passed over.
func TestNoSegments(t *testing.T) {
	whole := data(5000).frame(t)
	cut := func(n int) []byte { return whole[:n] }
	fragment := bytes.Clone(whole)
	fragment[14+6] |= 0x20 // more fragments
	header := bytes.Clone(whole)
	header[14+20+12] = 0xf0 // a header longer than the packet... by 40 bytes less than its data
	short := bytes.Clone(whole)
	short[14+20+12] = 0x40 // a header of 16 bytes
	lies := bytes.Clone(whole)
	lies[14+2] = 0xff // an IP packet of 65,000 bytes
	for _, tt := range []struct {
		name    string
		frame   []byte
		segment bool
		n       int // bytes of data
	}{
		{"whole", whole, true, 100},
		{"cut in the data", cut(60), true, 100},
		{"cut in the TCP header", cut(50), false, 0},
		{"a fragment", fragment, false, 0},
		{"options for data", header, true, 60},
		{"a short header", short, false, 0},
		{"an IP length beyond the frame", lies, true, 100},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p convo.Packet
			f := Frame{Data: tt.frame, Len: len(whole), Packet: &p}
			if !p.Decode(tt.frame) {
				t.Fatal("no packet")
			}
			f.Conversation, f.FromClient = convo.NewTable(convo.Options{}).Find(&p)
			if got := NewDupAcks(Config{}).Add(&f); (got != NoSegment) != tt.segment {
				t.Errorf("found %v, want a segment: %v", got, tt.segment)
			}
			var s segment
			if s.read(&f) != tt.segment || s.n != tt.n {
				t.Errorf("%d bytes of data, want %d", s.n, tt.n)
			}
		})
	}
}

// A frame of a known conversation costs no allocation.
func TestAllocs(t *testing.T) {
	d, o := NewDupAcks(Config{}), NewReorder()
	var p convo.Packet
	table := convo.NewTable(convo.Options{})
	frames := [][]byte{data(5000).frame(t), got(5100).frame(t)}
	seq, ack := uint32(5000), uint32(5100)
	step := func() {
		for i, b := range frames {
			seqAt, v := 14+20+4, seq
			if i == 1 {
				seqAt, v = 14+20+8, ack
			}
			b[seqAt], b[seqAt+1], b[seqAt+2], b[seqAt+3] = byte(v>>24), byte(v>>16), byte(v>>8), byte(v)
			p.Decode(b)
			f := Frame{Data: b, Len: len(b), At: Time{base, true}, Packet: &p}
			f.Conversation, f.FromClient = table.Find(&p)
			d.Add(&f)
			o.Add(&f)
		}
		seq, ack = seq+100, ack+100
	}
	for range 2 * recent {
		step()
	}
	if n := testing.AllocsPerRun(1000, step); n != 0 {
		t.Errorf("%v allocations for two frames, want none", n)
	}
}

// Whatever a capture holds, each segment is counted once.
func FuzzAnalyses(f *testing.F) {
	var small bytes.Buffer
	small.Write([]byte{0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0})
	f.Add(small.Bytes())
	dir := "../../../shared/captures"
	for _, name := range []string{"dupack-runs.pcap", "gtpu-truncated.pcapng", "sll-nanosecond.pcap", "invalid-timestamp.pcap"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			f.Add(b[:min(len(b), 8<<10)])
		}
	}
	f.Fuzz(func(t *testing.T, capture []byte) {
		r, err := pcaps.NewReader(bytes.NewReader(capture), "fuzz")
		if err != nil {
			return
		}
		for _, rule := range []Rule{RFC5681, Tshark} {
			d, o := NewDupAcks(Config{Rule: rule}), NewReorder()
			Walk(context.Background(), r, convo.Options{}, func(f *Frame) {
				d.Add(f)
				o.Add(f)
			})
			closes(t, d.Report())
			for _, x := range o.Report().Directions {
				addsUp(t, x)
			}
			if r, err = pcaps.NewReader(bytes.NewReader(capture), "fuzz"); err != nil {
				return
			}
		}
	})
}
