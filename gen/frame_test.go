package gen

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"squall/internal/plan"
	"squall/internal/wire"
)

// stacks are all layer stacks, and the fields of each that tests vary.
var stacks = []struct {
	name   string
	fields []string
}{
	{"ethernet", []string{"ethernet.src", "ethernet.dst", "payload[3:8]"}},
	{"ethernet/vlan", []string{"vlan.id", "vlan.priority", "vlan.dei", "payload[0:8]"}},
	{"ethernet/raw", []string{"ethernet.src", "raw[1:3]", "payload[2:7]"}},
	{"ethernet/arp", []string{"arp.op", "arp.sender_mac", "arp.sender_ip", "arp.target_mac", "arp.target_ip", "ethernet.dst"}},
	{"ethernet/vlan/arp", []string{"arp.sender_ip", "vlan.id", "arp.target_mac"}},
	{"ethernet/ipv4", []string{"ipv4.src", "ipv4.id", "ipv4.dst", "ipv4.dscp", "ipv4.ecn", "ipv4.ttl", "ipv4.flags", "ipv4.fragment_offset", "payload[0:3]"}},
	{"ethernet/ipv4/udp", []string{"udp.src", "udp.dst", "ipv4.src", "ipv4.dscp", "ethernet.src", "payload[0:1]", "payload[0:4]"}},
	{"ethernet/vlan/ipv4/udp", []string{"udp.dst", "ipv4.dst", "vlan.id", "ipv4.ttl"}},
	{"ethernet/qinq/vlan/ipv4/udp", []string{"qinq.id", "vlan.id", "udp.src", "ipv4.src"}},
	{"ethernet/vlan/vlan/ipv4/tcp", []string{"vlan.id", "vlan[1].id", "tcp.src", "ipv4.ecn"}},
	{"ethernet/ipv4/tcp", []string{"tcp.src", "tcp.dst", "tcp.seq", "tcp.ack", "tcp.flags", "tcp.window", "tcp.urgent", "ipv4.dst"}},
	{"ethernet/ipv4/icmp", []string{"icmp.type", "icmp.code", "icmp.id", "icmp.seq", "ipv4.dst"}},
	{"ethernet/ipv4/udp/raw", []string{"raw[1:3]", "udp.src", "payload[0:2]"}},
	{"ethernet/ipv6", []string{"ipv6.src", "ipv6.dst", "ipv6.flow_label", "ipv6.hop_limit", "ipv6.dscp", "ipv6.ecn"}},
	{"ethernet/ipv6/udp", []string{"udp.src", "udp.dst", "ipv6.src", "ipv6.dst", "ipv6.flow_label", "payload[1:6]"}},
	{"ethernet/vlan/ipv6/tcp", []string{"tcp.seq", "tcp.flags", "ipv6.dst", "vlan.id"}},
	{"ethernet/ipv6/icmp", []string{"icmp.type", "icmp.code", "icmp.id", "icmp.seq", "ipv6.src"}},
}

// specOf is the stream with these layers and no field set.
func specOf(stack string) Spec {
	var s Spec
	for name := range strings.SplitSeq(stack, "/") {
		l := Layer{Name: name}
		if name == "raw" {
			l.Fields = map[string]string{"hex": "deadbeef 99"}
		}
		s.Layers = append(s.Layers, l)
	}
	return s
}

// compileOne compiles a plan of one stream.
func compileOne(t testing.TB, spec Spec) *Source {
	t.Helper()
	src, err := Compile([]Spec{spec}, testTarget)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// compare checks frames of the plan against the reference.
func compare(t testing.TB, stack string, spec Spec, src *Source, from, n uint64) {
	t.Helper()
	s := src.Plan.Streams[0]
	buf := make([]byte, src.Plan.MaxLen())
	for i := from; i < from+n; i++ {
		now := int64(i*1_000_003) + 77
		for k := range buf {
			buf[k] = 0xa5 // a frame must not depend on what was there
		}
		got := buf[:src.Plan.Write(buf, i, now)]
		if w := want(t, stack, spec, s, i, now); !bytes.Equal(w, got) {
			t.Fatalf("%+v\nframe %d (-want +got):\n%s", spec, i, cmp.Diff(w, got))
		}
	}
}

// TestFrames compares every layer stack in every sort of size with every sort
// of variation, byte for byte, to frames built one by one. S is the least size
// with room for the tag and 8 bytes of payload, T the one after it.
func TestFrames(t *testing.T) {
	sizes := []string{"", "64", "S", "T", "S:7,594:4,1518:1", "S-300", "131,S,1518,T", "1518"}
	for _, st := range stacks {
		headers := newRebuilt(st.name).headers()
		small := max(64, headers+8+wire.TagLen+wire.FCSLen)
		for _, size := range sizes {
			tight := size == "" || size == "64" // no payload but the tag
			if size == "64" && headers > 60 || size == "64" && headers+wire.TagLen > 60 && !strings.Contains(st.name, "ipv4") {
				continue
			}
			size = strings.NewReplacer("S", fmt.Sprint(small), "T", fmt.Sprint(small+1)).Replace(size)
			t.Run(st.name+" "+size, func(t *testing.T) {
				for _, spec := range variations(st.name, st.fields) {
					if tight && strings.Contains(fmt.Sprint(spec.Vary, spec.Layers), "payload") {
						continue
					}
					spec.Size = size
					src := compileOne(t, spec)
					compare(t, st.name, spec, src, 0, 30)
					compare(t, st.name, spec, src, 1<<33+5, 3)
				}
			})
		}
	}
}

// variations are a stack's streams: one a sort of variation.
func variations(stack string, fields []string) []Spec {
	all := []Spec{specOf(stack)}
	with := func(change func(s *Spec)) {
		s := specOf(stack)
		s.Seed = uint64(len(all))
		change(&s)
		all = append(all, s)
	}
	with(func(s *Spec) { s.Flows = 7 })
	with(func(s *Spec) { s.Flows, s.FlowRun = 4, 3 })
	with(func(s *Spec) { s.Flows, s.FlowOrder, s.Tag = 5, "random", "none" })
	with(func(s *Spec) {
		s.Layers = append(s.Layers, Layer{Name: "payload", Fields: map[string]string{"pattern": "01fe77"}})
		s.Tag = "none"
	})
	with(func(s *Spec) {
		s.Layers = append(s.Layers, Layer{Name: "payload", Fields: map[string]string{"pattern": "ff01"}})
	})
	with(func(s *Spec) {
		s.Layers = append(s.Layers, Layer{Name: "payload", Fields: map[string]string{"text": "hey"}})
	})
	for i, f := range fields {
		with(func(s *Spec) { s.Vary = []Vary{{Field: f}} })
		with(func(s *Spec) { s.Vary = []Vary{{Field: f, Mode: "decrement", Start: "1", Every: 2}} })
		with(func(s *Spec) { s.Vary = []Vary{{Field: f, Mode: "list", Values: []string{"1", "0", "1"}}} })
		with(func(s *Spec) { s.Flows, s.Vary = 6, []Vary{{Field: f, Mode: "random", Count: 2}} })
		with(func(s *Spec) { s.Flows, s.Vary = 6, []Vary{{Field: f, Mode: "random", Per: "flow"}} })
		if other := fields[(i+1)%len(fields)]; !overlap(f, other) {
			with(func(s *Spec) {
				s.Flows = 3
				s.Vary = []Vary{{Field: f, Mode: "random", Per: "frame"}, {Field: other, Step: "1", Count: 2, Per: "flow"}}
			})
		}
	}
	return all
}

func overlap(a, b string) bool {
	return strings.HasPrefix(a, "payload") && strings.HasPrefix(b, "payload")
}

// TestChecksums compares frames whose checksums are wrong on purpose or left
// out, of odd and even sizes.
func TestChecksums(t *testing.T) {
	for _, st := range stacks {
		for _, layer := range []string{"ipv4", "udp", "tcp", "icmp"} {
			if !slices.Contains(strings.Split(st.name, "/"), layer) {
				continue
			}
			for _, how := range []string{"right", "wrong", "none"} {
				if how == "none" && layer != "udp" {
					continue
				}
				t.Run(fmt.Sprintf("%s %s %s", st.name, layer, how), func(t *testing.T) {
					for _, size := range []string{"118", "119", "118:7,119:4,1518:1"} {
						spec := specOf(st.name)
						spec.Size, spec.Checksum = size, map[string]string{layer: how}
						spec.Vary = []Vary{{Field: st.fields[0], Mode: "random"}}
						compare(t, st.name, spec, compileOne(t, spec), 0, 200)
					}
				})
			}
		}
	}
}

// TestZeroChecksum walks the one field through all its values: one of them makes
// the sum 0xffff, so the checksum 0, which UDP writes as 0xffff. ICMP and TCP
// write 0.
func TestZeroChecksum(t *testing.T) {
	tests := []struct {
		name, stack, field string
		tag                string
		off                int
		zeros, ones        int // how many of the checksums
	}{
		{"udp4", "ethernet/ipv4/udp", "udp.src", "none", 40, 0, 1},
		{"udp6", "ethernet/ipv6/udp", "udp.dst", "none", 60, 0, 1},
		{"tcp4", "ethernet/ipv4/tcp", "tcp.window", "none", 50, 1, 0},
		{"icmp4", "ethernet/ipv4/icmp", "icmp.seq", "none", 36, 1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spec := specOf(tt.stack)
			spec.Tag, spec.Vary = tt.tag, []Vary{{Field: tt.field, Start: "0"}}
			src := compileOne(t, spec)
			buf := make([]byte, src.Plan.MaxLen())
			var zeros, ones int
			for i := range uint64(1 << 16) {
				src.Plan.Write(buf, i, 0)
				switch u16(buf[tt.off:]) {
				case 0:
					zeros++
					compare(t, tt.stack, spec, src, i, 1)
				case 0xffff:
					ones++
					compare(t, tt.stack, spec, src, i, 1)
				}
			}
			// 0 and 0xffff as the field's value are the same sum: where the one
			// makes a checksum of 0 the other does too.
			if zeros < tt.zeros || ones < tt.ones || zeros > 2*tt.zeros || ones > 2*tt.ones {
				t.Errorf("checksums of 0 and 0xffff: have %d and %d, need %d and %d", zeros, ones, tt.zeros, tt.ones)
			}
		})
	}
}

// TestAllZeroICMP sends echo replies of nothing but zeros, whose sum is a true
// 0: the checksum is 0xffff.
func TestAllZeroICMP(t *testing.T) {
	spec := specOf("ethernet/ipv4/icmp")
	spec.Layers[2].Fields = map[string]string{"type": "0", "id": "0"}
	spec.Tag, spec.Size = "none", "64,65,128"
	spec.Vary = []Vary{{Field: "icmp.seq", Mode: "list", Values: []string{"0", "5", "65535"}, Every: 3}}
	src := compileOne(t, spec)
	buf := make([]byte, src.Plan.MaxLen())
	for i := range uint64(18) {
		f := buf[:src.Plan.Write(buf, i, 0)]
		if sum := wire.Fold(wire.Sum(f[34:])); sum != 0xffff {
			t.Errorf("frame %d: ICMP message sums up to %#x, need 0xffff", i, sum)
		}
	}
}

func TestPadding(t *testing.T) {
	tests := []struct {
		name, stack, size string
		payload           map[string]string
		tag               string
		length, ip        int // of the frame, and what the IP header says
		place             plan.TagPlace
	}{
		{"none", "ethernet/ipv4/udp", "", map[string]string{"none": ""}, "", 60, 28, plan.TagID},
		{"none, large", "ethernet/ipv4/tcp", "128", map[string]string{"none": ""}, "", 124, 40, plan.TagID},
		{"text without tag", "ethernet/ipv4/udp", "", map[string]string{"text": "hi"}, "none", 60, 30, plan.TagNone},
		{"text with tag", "ethernet/ipv4/udp", "", map[string]string{"text": "hi"}, "", 62, 48, plan.TagEnd},
		{"long text", "ethernet/ipv4/udp", "", map[string]string{"text": strings.Repeat("x", 100)}, "id", 142, 128, plan.TagID},
		{"zeros fill", "ethernet/ipv4/udp", "", map[string]string{"zeros": ""}, "none", 60, 46, plan.TagNone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spec := specOf(tt.stack)
			spec.Layers = append(spec.Layers, Layer{Name: "payload", Fields: tt.payload})
			spec.Size, spec.Tag, spec.Flows = tt.size, tt.tag, 3
			src := compileOne(t, spec)
			buf := make([]byte, src.Plan.MaxLen())
			n := src.Plan.Write(buf, 0, 0)
			got := []int{n, int(u16(buf[16:])), int(src.Streams[0].Tag)}
			if diff := cmp.Diff([]int{tt.length, tt.ip, int(tt.place)}, got); diff != "" {
				t.Errorf("length, IP length, tag (-want +got):\n%s", diff)
			}
			compare(t, tt.stack, spec, src, 0, 20)
		})
	}
}

// TestLastBytesVary: a field at the end of the smallest frame has its window
// before it, in a header that its checksum does not share.
func TestLastBytesVary(t *testing.T) {
	for _, stack := range []string{"ethernet/ipv4", "ethernet/ipv4/udp", "ethernet/ipv6", "ethernet"} {
		for _, per := range []string{"flow", "frame"} {
			t.Run(stack+" "+per, func(t *testing.T) {
				spec := specOf(stack)
				spec.Layers = append(spec.Layers, Layer{Name: "payload", Fields: map[string]string{"text": "sixsix"}})
				spec.Tag, spec.Flows = "none", 5
				if stack == "ethernet" {
					spec.Size = "64"
				}
				spec.Vary = []Vary{{Field: "payload[0:5]", Mode: "random", Per: per}}
				compare(t, stack, spec, compileOne(t, spec), 0, 50)
			})
		}
	}
	spec := specOf("ethernet/ipv4")
	spec.Layers = append(spec.Layers, Layer{Name: "payload", Fields: map[string]string{"text": "fives"}})
	spec.Tag, spec.Vary = "none", []Vary{{Field: "payload[4:5]"}}
	_, err := Compile([]Spec{spec}, testTarget)
	if err == nil || !strings.Contains(err.Error(), "the last byte of a frame of odd size cannot vary") {
		t.Errorf("have %v, need an error about the last byte", err)
	}
}

// TestTagIsFound: a receiver finds every tag, whatever the layers.
func TestTagIsFound(t *testing.T) {
	for _, st := range stacks {
		t.Run(st.name, func(t *testing.T) {
			src := compileOne(t, specOf(st.name))
			buf := make([]byte, src.Plan.MaxLen())
			for i := range uint64(5) {
				n := src.Plan.Write(buf, i, 1234)
				tag, ok := wire.FindTag(buf[:n])
				if diff := cmp.Diff(wire.Tag{Run: 0xbeef, Stream: 3, Seq: i, Sent: 1234}, tag); !ok || diff != "" {
					t.Errorf("frame %d: found %v (-want +got):\n%s", i, ok, diff)
				}
			}
		})
	}
}

func TestWriteDoesNotAllocate(t *testing.T) {
	for _, size := range []string{"64", "imix", "64-1518"} {
		spec := specOf("ethernet/ipv4/udp")
		spec.Size, spec.Flows = size, 100
		spec.Vary = []Vary{{Field: "ipv4.dst", Mode: "random", Per: "frame"}, {Field: "udp.dst", Mode: "list", Values: []string{"1", "2"}, Per: "frame"}}
		p := compileOne(t, spec).Plan
		buf := make([]byte, p.MaxLen())
		i := uint64(0)
		if n := testing.AllocsPerRun(1000, func() { p.Write(buf, i, 5); i++ }); n != 0 {
			t.Errorf("size %s: %v allocations a frame, need 0", size, n)
		}
	}
}
