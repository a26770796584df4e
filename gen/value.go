package gen

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// parse returns the field's value; of an IPv6 address the low 64 bits.
func (f *field) parse(s string) (uint64, error) {
	b, err := f.bytes(s)
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(b[8:]), nil
}

// bytes returns the field's value, right-aligned.
func (f *field) bytes(s string) (b [16]byte, err error) {
	put := func(v uint64) { binary.BigEndian.PutUint64(b[8:], v) }
	if v, ok := f.names[strings.ToLower(s)]; ok {
		put(v)
		return b, nil
	}
	switch f.text {
	case macAddr:
		if mac, err := net.ParseMAC(s); err == nil && len(mac) == 6 {
			copy(b[10:], mac)
			return b, nil
		}
	case ip4Addr:
		if a, err := netip.ParseAddr(s); err == nil && a.Is4() {
			put(uint64(binary.BigEndian.Uint32(a.AsSlice())))
			return b, nil
		}
	case ip6Addr:
		if a, err := netip.ParseAddr(s); err == nil && a.Is6() && a.Zone() == "" {
			return a.As16(), nil
		}
	case boolean:
		if v, err := strconv.ParseBool(s); err == nil {
			if v {
				put(1)
			}
			return b, nil
		}
	case flagNames:
		if v, ok := f.flags(s); ok {
			put(v)
			return b, nil
		}
	}
	v, err := parseUint(s)
	if err != nil || f.bits < 64 && v>>f.bits != 0 {
		return b, fmt.Errorf("value %q: need %s", s, f.need())
	}
	put(v)
	return b, nil
}

// flags reads names joined by +.
func (f *field) flags(s string) (v uint64, ok bool) {
	for name := range strings.SplitSeq(strings.ToLower(s), "+") {
		bit, known := f.names[strings.TrimSpace(name)]
		if !known {
			return 0, false
		}
		v |= bit
	}
	return v, true
}

// need says what a value looks like.
func (f *field) need() string {
	limit := uint64(1)<<min(f.bits, 63) - 1
	if f.bits >= 64 {
		limit = 1<<64 - 1
	}
	switch f.text {
	case macAddr:
		return "a MAC address like 02:00:00:00:00:01"
	case ip4Addr:
		return "an IPv4 address like 198.18.0.1"
	case ip6Addr:
		return "an IPv6 address like 2001:2::1"
	case boolean:
		return "true or false"
	case flagNames:
		return fmt.Sprintf("names joined by + (%s) or a number up to %d", strings.Join(f.known(), ", "), limit)
	}
	if len(f.names) > 0 {
		return fmt.Sprintf("%s or a number up to %d", strings.Join(f.known(), ", "), limit)
	}
	return fmt.Sprintf("a whole number from 0 to %d", limit)
}

func (f *field) known() []string {
	return slices.SortedFunc(maps.Keys(f.names), func(a, b string) int { return cmp.Compare(f.names[a], f.names[b]) })
}

// set writes a value, given as text, into the field's bits of header.
func (f *field) set(header []byte, s string) error {
	v, err := f.bytes(s)
	if err != nil {
		return err
	}
	for i := range f.bits {
		from, to := 128-f.bits+i, f.bit+i
		bit := v[from/8] >> (7 - from%8) & 1
		mask := byte(1) << (7 - to%8)
		header[to/8] = header[to/8]&^mask | bit<<(7-to%8)
	}
	return nil
}

// get returns the field's value, of an IPv6 address the low 64 bits.
func (f *field) get(header []byte) uint64 {
	var v uint64
	for i := range f.bits {
		at := f.bit + i
		v = v<<1 | uint64(header[at/8]>>(7-at%8)&1)
	}
	return v
}

// parseUint reads a decimal number, or a hexadecimal one behind 0x.
func parseUint(s string) (uint64, error) {
	if digits, ok := strings.CutPrefix(s, "0x"); ok {
		return strconv.ParseUint(digits, 16, 64)
	}
	return strconv.ParseUint(s, 10, 64)
}

// parseHex reads bytes in hexadecimal; spaces, colons and line ends between
// bytes do not count.
func parseHex(s string) ([]byte, error) {
	b, err := hex.DecodeString(strings.NewReplacer(" ", "", ":", "", "\n", "", "\t", "").Replace(s))
	if err != nil || len(b) == 0 {
		return nil, errors.New("need bytes in hexadecimal, two digits each")
	}
	return b, nil
}

// hexBytes is parseHex for the tables of this package.
func hexBytes(s string) []byte {
	b, err := parseHex(s)
	if err != nil {
		panic(err)
	}
	return b
}

func u16(b []byte) uint16 { return binary.BigEndian.Uint16(b) }
func u32(b []byte) uint32 { return binary.BigEndian.Uint32(b) }
