package gen

import "testing"

// BenchmarkWrite is the cost of one frame, written in user space.
func BenchmarkWrite(b *testing.B) {
	four := []Vary{
		{Field: "ipv4.dst", Mode: "random", Per: "frame"}, {Field: "udp.dst", Per: "frame"},
		{Field: "ipv4.ttl", Mode: "list", Values: []string{"1", "64"}, Per: "frame"}, {Field: "ethernet.src", Mode: "decrement", Per: "frame"},
	}
	for _, bb := range []struct {
		name string
		spec Spec
	}{
		{"udp/64", Spec{Size: "64", Flows: 1024}},
		{"udp/1518", Spec{Size: "1518", Flows: 1024}},
		{"udp/imix", Spec{Size: "imix", Flows: 1024}},
		{"udp/64/4-patches", Spec{Size: "64", Flows: 1024, Vary: four}},
		{"tcp/64/id-tag", Spec{Size: "64", Flows: 1024, Layers: []Layer{{Name: "tcp"}}}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			p := compileOne(b, bb.spec).Plan
			buf := make([]byte, p.MaxLen())
			var n int64
			i := uint64(0)
			b.ReportAllocs()
			for b.Loop() {
				n += int64(p.Write(buf, i, 1))
				i++
			}
			b.SetBytes(n / int64(i))
		})
	}
}

// BenchmarkCompile makes 1.5 million flows.
func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		compileOne(b, Spec{Flows: 1_500_000, Size: "128"})
	}
}
