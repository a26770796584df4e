package pcaps_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// stamp is 2021-03-04 05:06:07.123456789.
var stamp = time.Date(2021, 3, 4, 5, 6, 7, 123_456_789, time.UTC)

// frame returns n bytes that begin like an Ethernet frame and differ with seed.
func frame(n int, seed byte) []byte {
	f := make([]byte, n)
	for i := range f {
		f[i] = seed + byte(i)*3
	}
	if n >= 14 {
		f[12], f[13] = 0x08, 0x00
	}
	return f
}

func info(at time.Time, have, length int) gopacket.CaptureInfo {
	return gopacket.CaptureInfo{Timestamp: at, CaptureLength: have, Length: length}
}

// madePcap is a pcap file of pcapgo: three frames, the last cut from 1,500 to
// 100 bytes.
func madePcap(t testing.TB, link layers.LinkType, nanos bool) []byte {
	t.Helper()
	var b bytes.Buffer
	w := pcapgo.NewWriter(&b)
	if nanos {
		w = pcapgo.NewWriterNanos(&b)
	}
	must(t, w.WriteFileHeader(100, link))
	must(t, w.WritePacket(info(stamp, 60, 60), frame(60, 1)))
	must(t, w.WritePacket(info(stamp.Add(time.Microsecond), 99, 99), frame(99, 2)))
	must(t, w.WritePacket(info(stamp.Add(time.Hour), 100, 1500), frame(100, 3)))
	return b.Bytes()
}

// madeNg is a pcapng file of pcapgo with two interfaces and the same frames.
func madeNg(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := pcapgo.NewNgWriterInterface(&b, pcapgo.NgInterface{Name: "a", LinkType: layers.LinkTypeEthernet, TimestampResolution: 9}, pcapgo.DefaultNgWriterOptions)
	must(t, err)
	_, err = w.AddInterface(pcapgo.NgInterface{Name: "b", LinkType: layers.LinkTypeRaw, TimestampResolution: 9})
	must(t, err)
	must(t, w.WritePacket(info(stamp, 60, 60), frame(60, 1)))
	second := info(stamp.Add(time.Microsecond), 99, 99)
	second.InterfaceIndex = 1
	must(t, w.WritePacket(second, frame(99, 2)))
	must(t, w.WriteInterfaceStats(0, pcapgo.NgInterfaceStatistics{LastUpdate: stamp, PacketsReceived: 3}))
	must(t, w.WritePacket(info(stamp.Add(time.Hour), 100, 1500), frame(100, 3)))
	must(t, w.Flush())
	return b.Bytes()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// swapped turns a little-endian pcap file into the same in big endian.
func swapped(b []byte) []byte {
	b = bytes.Clone(b)
	words := func(p []byte, widths ...int) {
		for _, n := range widths {
			for i, j := 0, n-1; i < j; i, j = i+1, j-1 {
				p[i], p[j] = p[j], p[i]
			}
			p = p[n:]
		}
	}
	words(b, 4, 2, 2, 4, 4, 4, 4)
	for p := b[24:]; len(p) > 0; {
		n := binary.LittleEndian.Uint32(p[8:])
		words(p, 4, 4, 4, 4)
		p = p[16+n:]
	}
	return b
}

// ng builds pcapng files that pcapgo does not write.
type ng struct {
	order binary.AppendByteOrder
	b     []byte
}

func (f *ng) block(typ uint32, body []byte) *ng {
	for len(body)%4 != 0 {
		body = append(body, 0)
	}
	total := uint32(len(body) + 12)
	f.b = f.order.AppendUint32(f.b, typ)
	f.b = f.order.AppendUint32(f.b, total)
	f.b = append(f.b, body...)
	f.b = f.order.AppendUint32(f.b, total)
	return f
}

func (f *ng) section(major, minor uint16) *ng {
	body := f.order.AppendUint32(nil, 0x1a2b3c4d)
	body = f.order.AppendUint16(body, major)
	body = f.order.AppendUint16(body, minor)
	return f.block(0x0a0d0d0a, f.order.AppendUint64(body, 1<<64-1))
}

func (f *ng) iface(link uint16, options ...[]byte) *ng {
	body := f.order.AppendUint16(nil, link)
	body = f.order.AppendUint16(body, 0)
	body = f.order.AppendUint32(body, 0)
	return f.block(1, append(body, bytes.Join(options, nil)...))
}

func (f *ng) option(code uint16, value ...byte) []byte {
	b := f.order.AppendUint16(nil, code)
	b = f.order.AppendUint16(b, uint16(len(value)))
	b = append(b, value...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// packet adds an enhanced packet block that says have and length of data.
func (f *ng) packet(iface uint32, at uint64, have, length uint32, data []byte) *ng {
	body := f.order.AppendUint32(nil, iface)
	body = f.order.AppendUint32(body, uint32(at>>32))
	body = f.order.AppendUint32(body, uint32(at))
	body = f.order.AppendUint32(body, have)
	body = f.order.AppendUint32(body, length)
	return f.block(6, append(body, data...))
}

func little() *ng { return &ng{order: binary.LittleEndian} }

// file writes a capture whose name says nothing of its format.
func file(t testing.TB, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "capture")
	must(t, os.WriteFile(path, b, 0o666))
	return path
}

// packed compresses b.
func packed(t testing.TB, kind string, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&out)
	if kind == "zstd" {
		var err error
		w, err = zstd.NewWriter(&out)
		must(t, err)
	}
	_, err := w.Write(b)
	must(t, err)
	must(t, w.Close())
	return out.Bytes()
}

// damaged flips a bit of a gzip file's checksum.
func damaged(b []byte) []byte {
	b = bytes.Clone(b)
	b[len(b)-8] ^= 1
	return b
}

// captures is where real captures lie, which are no part of the project: in
// shared/captures above this directory.
func captures(t testing.TB) string {
	t.Helper()
	dir, found := findCaptures()
	if !found {
		t.Skip("no directory shared/captures above this one")
	}
	return dir
}

func findCaptures() (dir string, found bool) {
	for up := ".."; len(up) < 40; up = filepath.Join("..", up) {
		if dir = filepath.Join(up, "shared", "captures"); isDir(dir) {
			return dir, true
		}
	}
	return "", false
}

// realCaptures lists them, if there are any.
func realCaptures() []string {
	dir, _ := findCaptures()
	paths, _ := filepath.Glob(filepath.Join(dir, "*.pcap*"))
	return paths
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// tool returns the output of a program that is a witness, or skips.
func tool(t testing.TB, name string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not installed", name)
	}
	var stderr bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, stderr.String())
	}
	return string(out)
}
