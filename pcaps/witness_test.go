package pcaps_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"squall/pcaps"
)

// modified turns a little-endian pcap file into Kuznetzov's format.
func modified(b []byte) []byte {
	out := binary.LittleEndian.AppendUint32(nil, 0xa1b2cd34)
	out = append(out, b[4:24]...)
	for b = b[24:]; len(b) > 0; {
		n := 16 + binary.LittleEndian.Uint32(b[8:])
		out = append(out, b[:16]...)
		out = append(out, 1, 0, 0, 0, 8, 0, 4, 0)
		out = append(out, b[16:n]...)
		b = b[n:]
	}
	return out
}

// old turns a pcap file into one of version 2.minor, with the two lengths of each
// record in each other's place if turned.
func old(b []byte, minor uint32, turned bool) []byte {
	b = patched(b, 4, minor<<16|2)
	for p := b[24:]; len(p) > 0; {
		n := 16 + binary.LittleEndian.Uint32(p[8:])
		if turned {
			for i := range 4 {
				p[8+i], p[12+i] = p[12+i], p[8+i]
			}
		}
		p = p[n:]
	}
	return b
}

// What is read of a file is what Wireshark's library reads of it, which editcap
// writes as a plain pcap file for pcapgo: frames, times, lengths and bytes.
func TestAgreesWithEditcap(t *testing.T) {
	micros := madePcap(t, layers.LinkTypeEthernet, false)
	data := frame(61, 9)
	const at = 1_600_000_000
	res := func(f *ng, exponent byte, stamp uint64, offset int64) []byte {
		var more []byte
		if offset != 0 {
			more = f.option(14, f.order.AppendUint64(nil, uint64(offset))...)
		}
		return f.section(1, 0).iface(1, f.option(9, exponent), more).packet(0, stamp, 61, 61, data).b
	}
	big := func() *ng { return &ng{order: binary.BigEndian} }
	sections := append(big().section(1, 0).iface(1).iface(1).packet(1, at*1e6, 61, 61, data).b,
		little().section(1, 0).iface(1, little().option(9, 9)).packet(0, at*1e9+7, 61, 2000, data).b...)
	tests := []struct {
		name  string
		file  []byte
		times bool // whether editcap knows them
	}{
		{"microseconds", micros, true},
		{"big endian", swapped(micros), true},
		{"nanoseconds", madePcap(t, layers.LinkTypeEthernet, true), true},
		{"nanoseconds, big endian", swapped(madePcap(t, layers.LinkTypeEthernet, true)), true},
		{"version 2.0", old(micros, 0, true), true},
		{"version 2.1", old(micros, 1, true), true},
		{"version 2.2", old(micros, 2, true), true},
		{"version 2.3", old(micros, 3, false), true},
		{"version 2.3, lengths turned", old(micros, 3, true), true},
		{"modified", modified(micros), true},
		{"gzip", packed(t, "gzip", micros), true},
		{"zstd", packed(t, "zstd", micros), true},

		{"pcapng 1.2, big endian", big().section(1, 2).iface(1).packet(0, at*1e6+1, 61, 61, data).b, true},
		{"sections of either byte order", sections, true},
		{"seconds", res(little(), 0, at, 0), true},
		{"tenths", res(little(), 1, at*10+7, 0), true},
		{"milliseconds", res(big(), 3, at*1e3+7, 0), true},
		{"100 ns", res(little(), 7, at*1e7+7, 0), true},
		{"2^-0", res(little(), 0x80, at, 0), true},
		{"2^-10", res(big(), 0x80|10, at<<10|1023, 0), true},
		{"2^-32", res(little(), 0x80|32, at<<32|0x12345678, 0), true},
		{"2^-33", res(little(), 0x80|33, 1<<63|0x12345678, 0), true},
		{"offset", res(little(), 6, 5_000_001, at), true},
		{"offset before 1970", res(little(), 6, at*1e6+1, -86400), true},
		{"offset and 2^-20", res(big(), 0x80|20, 5<<20|77, at), true},
		{"simple packet blocks", little().section(1, 0).iface(1).block(3, append([]byte{61, 0, 0, 0}, data...)).b, false},
		{"simple packet block, cut by the snap length", little().section(1, 0).
			block(1, []byte{1, 0, 0, 0, 60, 0, 0, 0}).block(3, append([]byte{220, 5, 0, 0}, data[:60]...)).b, false},
		{"obsolete packet block", little().section(1, 0).iface(1).block(2, obsoletePacket(data)).b, true},
	}
	t.Run("real captures", func(t *testing.T) { captures(t) }) // says where there are none
	for _, path := range realCaptures() {
		if strings.Contains(path, "frame-relay") {
			continue // tshark does not know it
		}
		b, err := os.ReadFile(path)
		must(t, err)
		tests = append(tests, struct {
			name  string
			file  []byte
			times bool
		}{filepath.Base(path), b, !strings.Contains(path, "invalid")})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := read(tt.file)
			must(t, err)
			out := filepath.Join(t.TempDir(), "out.pcap")
			tool(t, "editcap", "-F", "nsecpcap", file(t, tt.file), out)
			b, err := os.ReadFile(out)
			must(t, err)
			r, err := pcapgo.NewReader(bytes.NewReader(b))
			must(t, err)
			var want []pcaps.Record
			for {
				data, info, err := r.ReadPacketData()
				if err == io.EOF {
					break
				}
				must(t, err)
				want = append(want, pcaps.Record{Data: data, Len: info.Length, Time: info.Timestamp.UnixNano()})
			}
			for i := range got {
				got[i].LinkType, got[i].Interface = 0, 0
				if !tt.times {
					got[i].Time, got[i].Clock, want[i].Time = 0, 0, 0
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("frames (-editcap +squall):\n%s", diff)
			}
		})
	}
}

// Frame relay is read and named, though it cannot be sent.
func TestFrameRelay(t *testing.T) {
	r, err := pcaps.Open(filepath.Join(captures(t), "frame-relay-unsupported.pcap"))
	must(t, err)
	defer r.Close()
	records, err := all(r)
	must(t, err)
	if len(records) != 5 || records[0].LinkType.String() != "multi-link Frame Relay, link type 182" {
		t.Errorf("%d records, the first %v", len(records), records[0].LinkType)
	}
}
