package survey

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"squall/internal/wire"
	"squall/pcaps"
)

// mixture writes a capture of about total bytes: TCP and UDP over IPv4, every 16th
// frame over IPv6, every 8th with a VLAN tag, of some thousands of conversations. Sizes
// are small, a middle and full ones; of 700 bytes on average, unless size is given.
func mixture(t testing.TB, path string, size, total int) (frames, conversations int) {
	t.Helper()
	w, err := pcaps.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	seen := map[uint32]bool{}
	frame := make([]byte, 1518)
	state := uint32(1)
	for written := 24; written < total; frames++ {
		state = state*1664525 + 1013904223
		n := size
		if n == 0 {
			n = []int{60, 60, 60, 70, 114, 576, 1304, 1514, 1514, 1514}[state>>8%10]
		}
		talk := state >> 20 // 4,096
		f := frame[:n]
		compose(f, talk, talk%16 == 1 && n > 62, talk%8 == 2)
		if err := w.Write(f, int64(frames)*1000); err != nil {
			t.Fatal(err)
		}
		seen[talk|uint32(f[12])<<16] = true // an IPv6 conversation is another one
		written += 16 + n
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return frames, len(seen)
}

// compose makes a frame of conversation talk.
func compose(f []byte, talk uint32, six, tagged bool) {
	clear(f)
	at := 14
	if tagged {
		binary.BigEndian.PutUint32(f[12:], 0x81000005)
		at = 18
	}
	ip, proto := f[at:], uint8(wire.ProtoTCP)
	if talk%3 == 0 {
		proto = wire.ProtoUDP
	}
	l4 := 20
	if six {
		binary.BigEndian.PutUint16(f[at-2:], wire.EtherTypeIPv6)
		ip[0], ip[6], ip[7] = 0x60, wire.ProtoUDP, 64
		proto = wire.ProtoUDP
		binary.BigEndian.PutUint16(ip[4:], uint16(len(ip)-40))
		ip[8], ip[24] = 0x20, 0x20
		binary.BigEndian.PutUint32(ip[20:], talk)
		l4 = 40
	} else {
		binary.BigEndian.PutUint16(f[at-2:], wire.EtherTypeIPv4)
		ip[0], ip[8], ip[9] = 0x45, 64, proto
		binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
		binary.BigEndian.PutUint32(ip[12:], 10<<24|talk)
		binary.BigEndian.PutUint32(ip[16:], 11<<24|talk>>4)
		binary.BigEndian.PutUint16(ip[10:], ^wire.Fold(wire.Sum(ip[:20])))
	}
	binary.BigEndian.PutUint16(ip[l4:], uint16(1024+talk))
	binary.BigEndian.PutUint16(ip[l4+2:], 443)
	if proto == wire.ProtoTCP {
		ip[l4+12], ip[l4+13] = 0x50, 0x10
	} else {
		binary.BigEndian.PutUint16(ip[l4+4:], uint16(len(ip)-l4))
	}
}

// BenchmarkInfo surveys a capture of 1 GB from the page cache. Its MB/s are of the
// file.
func BenchmarkInfo(b *testing.B) {
	for _, size := range []int{0, 60, 1514} {
		name := "mixed"
		if size > 0 {
			name = fmt.Sprint(size + wire.FCSLen)
		}
		b.Run(name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "capture.pcap")
			frames, conversations := mixture(b, path, size, 1e9)
			info, err := os.Stat(path)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(info.Size())
			b.ReportAllocs()
			for b.Loop() {
				_, r, err := Read(b.Context(), path, Options{Top: 10})
				if err != nil || r.Frames != uint64(frames) || r.Conversations.Total != conversations || r.BadChecksums > 0 {
					b.Fatalf("%v, %+v; want %d frames, %d conversations", err, r, frames, conversations)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(frames), "ns/frame")
			b.ReportMetric(float64(info.Size()-24)/float64(frames)-16, "B/frame")
		})
	}
}
