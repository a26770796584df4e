package gen

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/google/gopacket"

	"squall/internal/plan"
	"squall/internal/strict"
	"squall/internal/wire"
)

const (
	// localExperimental is the EtherType of frames whose content is nothing
	// known (IEEE 802, local experimental Ethertype 1).
	localExperimental = 0x88b5
	// experiment is the IP protocol of packets whose content is nothing known
	// (RFC 3692 section 2.1).
	experiment = 253

	echoRequest6 = 128 // RFC 4443 section 4.1
)

// header is one layer of a stack.
type header struct {
	*kind
	index int // in Spec.Layers; -1 where it was put in
	bytes []byte
	off   int // in the frame
	set   map[string]string
}

func (h *header) field(name string) *field {
	for i := range h.fields {
		if h.fields[i].name == name {
			return &h.fields[i]
		}
	}
	return nil
}

// put gives the field a value unless the stream has given it one.
func (h *header) put(name string, value uint64) {
	if _, given := h.set[name]; !given {
		h.field(name).set(h.bytes, fmt.Sprint(value)) //nolint:errcheck // a number of ours fits
	}
}

// stack is what every frame of a stream begins with, and how it goes on.
type stack struct {
	headers []header
	payload payload
	len     int // of the headers
	l3      int
	ip      *header // nil where there is none
}

// order says which layers may follow which: each a higher number than the one
// before it, but VLAN tags may follow each other.
var order = map[string]int{
	"ethernet": 0, "vlan": 1, "qinq": 1, "arp": 2, "ipv4": 2, "ipv6": 2, "udp": 3, "tcp": 3, "icmp": 3, "raw": 4, "payload": 5,
}

// newStack checks the layers of a stream and puts in those that go without
// saying.
func newStack(s *Spec, t Target) (*stack, error) {
	given := s.Layers
	if len(given) == 0 {
		given = []Layer{{Name: "udp"}}
	}
	st := &stack{}
	last := -1
	for i, l := range given {
		path := fmt.Sprintf("layers[%d]", i)
		rank, known := order[l.Name]
		switch {
		case !known:
			return nil, s.errorf(path, "unknown layer %q%s", l.Name, strict.Nearest(l.Name, slices.Sorted(maps.Keys(order))))
		case rank < last || rank == last && rank != 1:
			return nil, s.errorf(path, "layer %q cannot stand behind %q", l.Name, given[i-1].Name)
		case rank == 3 && last == 2 && st.ip == nil:
			return nil, s.errorf(path, "layer %q cannot stand behind arp", l.Name)
		}
		if len(st.headers) == 0 && rank > 0 && l.Name != "raw" {
			st.add(kindOf("ethernet"), -1, nil, t)
		}
		if rank == 3 && st.ip == nil {
			st.add(kindOf("ipv4"), -1, nil, t)
		}
		last = rank
		if l.Name == "payload" {
			if err := st.payload.read(s, path, l.Fields); err != nil {
				return nil, err
			}
			continue
		}
		k := kindOf(l.Name)
		if l.Name == "raw" {
			b, err := readRaw(s, path, l.Fields)
			if err != nil {
				return nil, err
			}
			k = &kind{name: "raw", header: b, build: func(b []byte, _ gopacket.NetworkLayer) ([]gopacket.SerializableLayer, error) {
				return one(gopacket.Payload(b))
			}}
			st.add(k, i, nil, t)
			continue
		}
		h := st.add(k, i, l.Fields, t)
		for _, name := range slices.Sorted(maps.Keys(l.Fields)) {
			f := h.field(name)
			if f == nil {
				return nil, s.errorf(path+"."+name, "unknown field %q of %s%s", name, l.Name, strict.Nearest(name, h.names()))
			}
			if err := f.set(h.bytes, l.Fields[name]); err != nil {
				return nil, s.errorf(path+"."+name, "%s.%s: %w", l.Name, name, err)
			}
		}
	}
	st.link()
	return st, st.check(s)
}

// add appends a header with the defaults that depend on the target.
func (st *stack) add(k *kind, index int, set map[string]string, t Target) *header {
	st.headers = append(st.headers, header{kind: k, index: index, bytes: slices.Clone(k.header), off: st.len, set: set})
	h := &st.headers[len(st.headers)-1]
	st.len += len(h.bytes)
	if k.name == "ethernet" {
		copy(h.bytes, mac(t.DstMAC, 2))
		copy(h.bytes[6:], mac(t.SrcMAC, 1))
	}
	if k.name == "ipv4" || k.name == "ipv6" {
		st.ip = h
	}
	return h
}

// mac returns a port's address, or the n-th of our own.
func mac(a []byte, n byte) []byte {
	if len(a) == 6 {
		return a
	}
	return []byte{2, 0, 0, 0, 0, n}
}

// link fills in what layers say of each other.
func (st *stack) link() {
	st.ip = nil
	for i := range st.headers {
		h := &st.headers[i]
		switch h.name {
		case "ethernet", "vlan", "qinq":
			st.l3 = h.off + len(h.bytes)
		case "ipv4", "ipv6":
			st.ip = h
		case "arp":
			h.put("sender_mac", binary.BigEndian.Uint64(append([]byte{0, 0}, st.headers[0].bytes[6:12]...)))
			st.headers[0].put("dst", 1<<48-1)
		case "icmp":
			if st.ip.name == "ipv6" {
				h.put("type", echoRequest6)
			}
		}
		if h.next == "" {
			continue
		}
		next := uint64(localExperimental)
		if h == st.ip {
			next = experiment
		}
		if i+1 < len(st.headers) {
			switch above := st.headers[i+1]; {
			case above.name == "raw":
			case h != st.ip:
				next = uint64(above.ethertype)
			case h.name == "ipv6" && above.proto6 != 0:
				next = uint64(above.proto6)
			default:
				next = uint64(above.proto)
			}
		}
		h.put(h.next, next)
	}
	if st.headers[0].name == "raw" {
		st.l3 = wire.Parse(st.headers[0].bytes).L3
	}
}

func (st *stack) check(s *Spec) error {
	first := &st.headers[0]
	if first.name == "raw" && len(first.bytes) < wire.HeaderLen {
		return s.errorf("layers[0]", "raw frame: have %d bytes, need at least the %d of an Ethernet header", len(first.bytes), wire.HeaderLen)
	}
	if first.name == "ethernet" && u16(first.bytes[12:]) == 0 {
		// gopacket takes 0 as an order to fill in the length of an LLC frame.
		return s.errorf("layers[0].type", "ethernet.type: have 0, need 1 or more")
	}
	for i := range st.headers {
		h := &st.headers[i]
		_, id := h.set["id"]
		_, seq := h.set["seq"]
		if _, rest := h.set["rest"]; rest && (id || seq) {
			return s.errorf(fmt.Sprintf("layers[%d].rest", h.index), "icmp.rest holds icmp.id and icmp.seq: give it or them")
		}
	}
	return nil
}

// serialize returns a frame with this payload, padding not counted: lengths and
// checksums right.
func (st *stack) serialize(payload []byte) ([]byte, error) {
	var all []gopacket.SerializableLayer
	var net gopacket.NetworkLayer
	for _, h := range st.headers {
		ls, err := h.build(h.bytes, net)
		if err != nil {
			return nil, fmt.Errorf("layer %q: %w", h.name, err)
		}
		if n, ok := ls[0].(gopacket.NetworkLayer); ok {
			net = n
		}
		all = append(all, ls...)
	}
	buf := gopacket.NewSerializeBuffer()
	opts := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(buf, opts, append(all, gopacket.Payload(payload))...); err != nil {
		return nil, fmt.Errorf("building the frame: %w", err)
	}
	// Without the padding to 60 bytes that gopacket adds.
	return buf.Bytes()[:st.len+len(payload)], nil
}

// lengths returns the length fields of the headers.
func (st *stack) lengths() []plan.Length {
	var l []plan.Length
	for _, h := range st.headers {
		switch h.name {
		case "ipv4":
			l = append(l, plan.Length{Off: h.off + 2, Minus: h.off})
		case "ipv6":
			l = append(l, plan.Length{Off: h.off + 4, Minus: h.off + 40})
		case "udp":
			l = append(l, plan.Length{Off: h.off + 4, Minus: h.off})
		}
	}
	return l
}

// String returns the names of the layers: ethernet/ipv4/udp.
func (st *stack) String() string {
	var s string
	for i, h := range st.headers {
		if i > 0 {
			s += "/"
		}
		s += h.name
	}
	return s
}

func kindOf(name string) *kind {
	for _, k := range kinds {
		if k.name == name {
			return k
		}
	}
	return nil
}

// names returns the fields that the header has.
func (k *kind) names() []string {
	var names []string
	for _, f := range k.fields {
		names = append(names, f.name)
	}
	return names
}
