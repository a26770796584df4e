package gen

import (
	"errors"
	"fmt"
	"testing"

	"squall/internal/strict"
	"squall/internal/wire"
)

// FuzzFrames draws a stream from the bytes and compares its frames with those
// built one by one.
func FuzzFrames(f *testing.F) {
	f.Add([]byte{0}, uint64(1), uint64(0))
	f.Add([]byte{6, 3, 40, 7, 2, 1, 9, 0, 1, 3, 200, 4, 1, 2, 3, 4, 5}, uint64(9), uint64(1<<40))
	f.Add([]byte{10, 1, 1, 0, 0, 2, 1, 4, 3, 3, 3, 3, 3}, uint64(2), uint64(65535))
	f.Add([]byte{16, 5, 255, 3, 1, 0, 3, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, uint64(3), uint64(77))
	f.Fuzz(func(t *testing.T, data []byte, seed, i uint64) {
		next := func(n int) int { // a number below n
			if len(data) == 0 {
				return 0
			}
			v := int(data[0]) % n
			data = data[1:]
			return v
		}
		i &= 1<<47 - 1
		st := stacks[next(len(stacks))]
		least := max(64, newRebuilt(st.name).headers()+8+wire.TagLen+wire.FCSLen)
		spec := specOf(st.name)
		spec.Seed = seed
		spec.Size = []string{
			fmt.Sprint(least + next(200)), fmt.Sprintf("%d-%d", least, least+next(200)),
			fmt.Sprintf("%d:%d,%d:%d", least+next(100), 1+next(9), least+next(100), 1+next(9)),
			fmt.Sprintf("%d,%d,%d", least+next(100), least+next(100), least+next(100)),
		}[next(4)]
		spec.Flows, spec.FlowRun = uint64(1+next(20)), uint64(1+next(4))
		spec.Tag = []string{"auto", "none", "end"}[next(3)]
		if spec.Flows > 1 && next(4) == 0 {
			spec.FlowOrder = "random"
		}
		spec.Layers = append(spec.Layers, Layer{Name: "payload", Fields: []map[string]string{
			nil, {"pattern": "ff"}, {"pattern": "00fe81"}, {"text": "x"},
		}[next(4)]})
		at := next(len(st.fields))
		for k := range next(3) {
			name := st.fields[(at+k)%len(st.fields)]
			if k > 0 && overlap(name, spec.Vary[0].Field) {
				continue
			}
			v := Vary{Field: name, Mode: []string{"increment", "decrement", "list", "random"}[next(4)], Every: uint64(next(4))}
			bit := func() string { return fmt.Sprint(next(2)) }
			switch v.Mode {
			case "list":
				v.Values = []string{bit(), bit(), bit()}
			case "random":
				v.Start, v.Count = bit(), uint64(next(3))
			default:
				v.Start, v.Step, v.Count = bit(), "1", uint64(next(3))
			}
			v.Per = []string{"frame", "flow"}[next(2)]
			if spec.Flows == 1 {
				v.Per = "frame"
			}
			spec.Vary = append(spec.Vary, v)
		}
		if spec.Flows > 1 {
			// What sets flows apart by default may be a field drawn above.
			if _, err := Compile([]Spec{spec}, testTarget); err != nil {
				for k := range spec.Vary {
					spec.Vary[k].Per = "flow"
				}
			}
		}
		compare(t, st.name, spec, compileOne(t, spec), i, 5)
	})
}

// FuzzLoad reads and compiles anything: it gives an error with its place, or
// a plan whose frames can be written.
func FuzzLoad(f *testing.F) {
	f.Add(Reference())
	f.Add("streams: [{layers: [udp]}]")
	f.Add("streams:\n  - flwos: 3\n")
	f.Add("streams: [{layers: [{raw: ff}]}]")
	f.Add("streams: [{size: 64-65, flows: 3, vary: [{field: 'payload[0:8]'}]}, {rate: 1kpps}]")
	f.Add("a: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		specs, err := Load("f.yaml", []byte(text))
		if err != nil {
			var at *strict.Error
			if !errors.As(err, &at) {
				t.Fatalf("error without a place: %v", err)
			}
			return
		}
		for k := range specs {
			specs[k].Flows = min(specs[k].Flows, 1000) // not to fill the memory
		}
		src, err := Compile(specs, testTarget)
		if err != nil {
			return
		}
		buf := make([]byte, src.Plan.MaxLen())
		for i := range uint64(4) {
			if n := src.Plan.Write(buf, i, 1); n < wire.MinLen {
				t.Fatalf("frame %d has %d bytes", i, n)
			}
		}
	})
}
