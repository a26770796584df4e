package pcaps_test

import (
	"encoding/binary"
	"errors"
	"os"
	"testing"

	"github.com/google/gopacket/layers"

	"squall/pcaps"
)

// captured adds the first kilobytes of the real captures, where there are any.
func captured(f *testing.F) {
	f.Helper()
	for _, path := range realCaptures() {
		b, err := os.ReadFile(path)
		must(f, err)
		f.Add(b[:min(len(b), 4096)])
	}
}

// sound reads b to its end and checks what must hold of any bytes: no panic, no
// frame that claims more than the file has, and an error that says where.
func sound(t *testing.T, b []byte) {
	records, err := read(b)
	total := 0
	for i, r := range records {
		total += len(r.Data)
		if len(r.Data) > r.Len || r.Time < 0 || r.Clock == pcaps.ClockNone && r.Time != 0 {
			t.Errorf("record %d: %d of %d bytes at %d, clock %v", i+1, len(r.Data), r.Len, r.Time, r.Clock)
		}
	}
	if total > len(b) {
		t.Errorf("%d bytes of frames in a file of %d", total, len(b))
	}
	if err == nil {
		if len(records) == 0 {
			t.Error("no records and no error")
		}
		return
	}
	e := new(pcaps.Error)
	if !errors.As(err, &e) || e.Offset > int64(len(b)) {
		t.Errorf("error %v does not say where", err)
	}
}

// plain reports whether b is no compressed file: of one, the offsets and sizes
// are those of what it holds.
func plain(b []byte) bool {
	return len(b) < 4 || !(b[0] == 0x1f && b[1] == 0x8b) && string(b[1:4]) != "\xb5\x2f\xfd" && string(b[1:4]) != "\x2a\x4d\x18"
}

func FuzzPcap(f *testing.F) {
	captured(f)
	made := madePcap(f, layers.LinkTypeEthernet, false)
	f.Add([]byte{})
	f.Add(madePcap(f, layers.LinkTypeEthernet, true))
	f.Add(swapped(madePcap(f, layers.LinkTypeLinuxSLL, false)))
	f.Add(made[:130])
	f.Add(patched(made, 4, 3<<16|2))
	f.Add(patched(made, 20, 2<<28|1<<26|1))
	f.Add(modified(made))
	f.Fuzz(func(t *testing.T, b []byte) {
		if plain(b) {
			sound(t, b)
		}
	})
}

func FuzzPcapng(f *testing.F) {
	captured(f)
	f.Add(madeNg(f))
	f.Add(madeNg(f)[:200])
	f.Add(little().offset(3600).b)
	g := &ng{order: binary.BigEndian}
	f.Add(g.section(1, 0).iface(1, g.option(2, 'e', 't', 'h'), g.option(9, 12), g.option(11, 0), g.option(0)).packet(0, 1, 20, 20, frame(20, 1)).b)
	f.Add(little().section(1, 0).iface(1).block(2, obsoletePacket(frame(20, 1))).section(1, 0).b)
	f.Add(little().section(1, 2).iface(1, g.option(9, 0x94)).block(3, append([]byte{20, 0, 0, 0}, frame(20, 1)...)).b)
	f.Fuzz(func(t *testing.T, b []byte) {
		if plain(b) {
			sound(t, b)
		}
	})
}

// What a compressed file holds may be as long as it likes: it is not held.
func FuzzPacked(f *testing.F) {
	f.Add(packed(f, "gzip", madePcap(f, layers.LinkTypeEthernet, false)))
	f.Add(packed(f, "zstd", madeNg(f)))
	f.Add(append(packed(f, "gzip", madeNg(f)[:100]), packed(f, "gzip", madeNg(f)[100:])...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if plain(b) {
			return
		}
		records, err := read(b)
		if e := new(pcaps.Error); err != nil && !errors.As(err, &e) {
			t.Errorf("error %v does not say where", err)
		}
		if err == nil && len(records) == 0 {
			t.Error("no records and no error")
		}
	})
}

// A frame that is made has the record's packet and no more, claims no less than
// it has, and is the same when it is made again.
func FuzzReframer(f *testing.F) {
	for _, path := range realCaptures() {
		r, err := pcaps.Open(path)
		must(f, err)
		records, _ := all(r)
		r.Close()
		for _, rec := range records[:min(len(records), 3)] {
			f.Add(uint16(rec.LinkType), rec.Data, uint16(rec.Len-len(rec.Data)))
		}
	}
	for _, tt := range reframed() {
		f.Add(uint16(tt.link), tt.data, uint16(0))
	}
	f.Fuzz(func(t *testing.T, link uint16, b []byte, missing uint16) {
		var r pcaps.Reframer
		rec := pcaps.Record{Data: b, Len: len(b) + int(missing), LinkType: pcaps.LinkType(link)}
		got, length, made, err := r.Frame(rec)
		if err != nil {
			if !errors.Is(err, pcaps.ErrLinkType) || got != nil || length != 0 {
				t.Errorf("%v, %d, %v", got, length, err)
			}
			return
		}
		head := 0
		if made {
			head = 14
		}
		if made == (rec.LinkType == pcaps.Ethernet) || length-len(got) != int(missing) || len(got) > head+len(b) || len(got) < head {
			t.Errorf("a frame of %d of %d bytes, made %v, from %d of %d", len(got), length, made, len(b), rec.Len)
		}
		if made && (string(got[14:]) != string(b[len(b)-len(got)+14:]) || len(got) == 14) {
			t.Errorf("the packet of %x is %x", b, got)
		}
	})
}
