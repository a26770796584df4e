package pcaps

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Container is how a capture file holds its records.
type Container uint8

const (
	Pcap       Container = iota // pcap 2.4 with nanoseconds
	PcapMicros                  // pcap 2.4 with microseconds
	Pcapng                      // pcapng 1.0 with nanoseconds
)

// String returns the container's name as ParseContainer takes it.
func (c Container) String() string {
	switch c {
	case Pcap:
		return "pcap"
	case PcapMicros:
		return "pcap-us"
	case Pcapng:
		return "pcapng"
	}
	return fmt.Sprintf("container %d", uint8(c))
}

// ParseContainer reads the name of a container: pcap, pcap-us or pcapng.
func ParseContainer(name string) (Container, error) {
	for _, c := range []Container{Pcap, PcapMicros, Pcapng} {
		if c.String() == name {
			return c, nil
		}
	}
	return 0, fmt.Errorf("format %q: have pcap (nanoseconds), pcap-us (microseconds), pcapng", name)
}

// Last is the last time that the container holds, in ns since 1970: a pcap file
// has 32 bits for the seconds, so until 2106; Record.Time itself until 2262.
func (c Container) Last() int64 {
	if c == Pcapng {
		return lastSecond*1e9 - 1
	}
	return 1<<32*1e9 - 1
}

// until is the year of Last.
func (c Container) until() string {
	if c == Pcapng {
		return "2262"
	}
	return "2106"
}

// Compression is how a capture file is packed.
type Compression uint8

const (
	Plain Compression = iota
	Gzip
	Zstd
)

// String returns the compression's name as ParseCompression takes it.
func (c Compression) String() string {
	switch c {
	case Plain:
		return "none"
	case Gzip:
		return "gzip"
	case Zstd:
		return "zstd"
	}
	return fmt.Sprintf("compression %d", uint8(c))
}

// ParseCompression reads the name of a compression: none, gzip or zstd.
func ParseCompression(name string) (Compression, error) {
	for _, c := range []Compression{Plain, Gzip, Zstd} {
		if c.String() == name {
			return c, nil
		}
	}
	return 0, fmt.Errorf("compression %q: have none, gzip, zstd", name)
}

// Format says how a capture is written. The zero value is what Create writes.
type Format struct {
	Container   Container
	Compression Compression
	// LinkType of the frames that Write and WriteCut are given. 0: Ethernet; a
	// frame of NULL, whose number is 0, goes through WriteRecord.
	LinkType LinkType
	// SnapLen cuts what is written of a frame, in bytes, to 262,144 at most. 0:
	// that.
	SnapLen int
}

// FormatOf tells a format by a file's name: .pcap or .cap, .pcapng or .ntar, with
// .gz or .zst behind it. ok is false where the name says no container.
func FormatOf(path string) (f Format, ok bool) {
	name := strings.ToLower(filepath.Base(path))
	for suffix, c := range map[string]Compression{".gz": Gzip, ".zst": Zstd} {
		if rest, found := strings.CutSuffix(name, suffix); found {
			name, f.Compression = rest, c
			break
		}
	}
	switch filepath.Ext(name) {
	case ".pcap", ".cap":
		return f, true
	case ".pcapng", ".ntar":
		f.Container = Pcapng
		return f, true
	}
	return f, false
}
