package gen

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"squall/internal/plan"
	"squall/internal/strict"
)

// TestReference: the file that documents the keys is read, compiled and true to
// its word: what it calls a default is one.
func TestReference(t *testing.T) {
	specs, err := Load("reference.yaml", []byte(Reference()))
	if err != nil {
		t.Fatal(err)
	}
	src, err := Compile(specs, testTarget)
	if err != nil {
		t.Fatal(err)
	}
	want := []Info{
		{ID: 3, Name: "short", Layers: "ethernet/ipv4/udp", Flows: 1, Sizes: "64", Tag: plan.TagEnd, Bytes: 42},
		{ID: 4, Name: "long", Layers: "ethernet/qinq/vlan/ipv4/udp", Flows: 1000, FlowsBy: []string{"udp.src"}, Sizes: "128,256,1518", Tag: plan.TagEnd, Bytes: 50000},
		{ID: 5, Name: "connections", Layers: "ethernet/ipv6/tcp", Flows: 1, Sizes: "96", Tag: plan.TagEnd, Bytes: 74},
		{ID: 6, Name: "pings", Layers: "ethernet/ipv4/icmp", Flows: 1, Sizes: "64", Tag: plan.TagEnd, Bytes: 42},
		{ID: 7, Name: "who-has", Layers: "ethernet/arp", Flows: 1, Sizes: "64", Tag: plan.TagEnd, Bytes: 42},
		{ID: 8, Name: "bytes", Layers: "ethernet/raw", Flows: 1, Sizes: "64", Tag: plan.TagEnd, Bytes: 18},
	}
	if diff := cmp.Diff(want, src.Streams, cmpopts.IgnoreUnexported(big.Rat{})); diff != "" {
		t.Errorf("streams (-want +got):\n%s", diff)
	}
	if src.Rate != nil {
		t.Errorf("rate: have %v, need none", src.Rate)
	}
	if len(src.Plan.Order) != 8 {
		t.Errorf("order: have %d slots, need 8", len(src.Plan.Order))
	}
}

// TestReferenceIsWhole: every key and field that the code knows is in the file.
func TestReferenceIsWhole(t *testing.T) {
	text := Reference()
	var words []string
	for _, k := range kinds {
		words = append(words, k.name)
		for _, f := range k.fields {
			words = append(words, f.name+":")
			for name := range f.names {
				words = append(words, name)
			}
		}
	}
	words = append(words, "raw:", "payload:", "zeros", "none", "hex:", "text:", "pattern:",
		"name:", "layers:", "size:", "flows:", "flow_run:", "flow_order:", "rate:", "weight:", "vary:", "checksum:", "tag:", "seed:",
		"field:", "mode:", "start:", "step:", "count:", "values:", "every:", "per:", "increment", "decrement", "list", "random", "turn")
	for _, w := range words {
		if w == "rate:" {
			w = "a rate:"
		}
		if !strings.Contains(text, w) {
			t.Errorf("reference.yaml does not have %q", w)
		}
	}
}

// TestErrors: what is wrong, where, the line itself and a mark below it.
func TestErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"unknown key", "streams:\n  - name: a\n    flwos: 64\n", "3:5: unknown key \"flwos\", did you mean \"flows\"?\n    flwos: 64\n    ^"},
		{"unknown key at the top", "steams: []\n", "1:1: unknown key \"steams\", did you mean \"streams\"?\nsteams: []\n^"},
		{"unknown key, tabs", "streams:\n- {name: \"a\",\tfrob: 1}\n", "2:15: unknown key \"frob\": need one of checksum, flow_order, flow_run, flows, layers, name, rate, size, tag, vary, weight\n- {name: \"a\",\tfrob: 1}\n             \t^"},
		{"unknown layer", "streams: [{layers: [upd]}]\n", "1:21: unknown layer \"upd\", did you mean \"udp\"?\nstreams: [{layers: [upd]}]\n                    ^"},
		{"unknown field", "streams:\n  - layers:\n    - udp: {scr: 5}\n", "3:13: unknown field \"scr\" of udp, did you mean \"src\"?\n    - udp: {scr: 5}\n            ^"},
		{"wrong type", "streams: [{flows: many}]\n", "1:19: flows: have \"many\", need a whole number\nstreams: [{flows: many}]\n                  ^"},
		{"number in quotes", "streams: [{flows: \"5\"}]\n", "1:19: flows: have \"5\", need a whole number"},
		{"negative", "streams: [{flows: -5}]\n", "1:19: flows: have \"-5\", need a whole number"},
		{"zero", "streams: [{flows: 0}]\n", "1:19: flows: have 0, need 1 or more"},
		{"list for a value", "streams: [{size: [64, 65]}]\n", "1:18: size: have a list, need a value"},
		{"value for a list", "streams: [{vary: udp.src}]\n", "1:18: vary: have \"udp.src\", need a list"},
		{"value for keys", "streams: [5]\n", "1:11: have \"5\", need keys and values"},
		{"nothing", "streams: [{name: }]\n", "1:18: name: have nothing, need a value"},
		{"key twice", "streams: [{size: 64, size: 65}]\n", "1:22: key \"size\" is there twice"},
		{"name twice", "streams:\n- name: a\n- name: a\n", "3:9: the name \"a\" is used twice\n- name: a\n        ^"},
		{"name of a number", "streams:\n- name: 2\n- size: 64\n", "3:3: the name \"2\" is used twice"},
		{"empty file", "", "1:1: no streams: need a list under the key streams\n\n^"},
		{"no streams", "seed: 1\n", "1:1: no streams: need a list under the key streams"},
		{"not YAML", "streams: [\n", "2:1: did not find expected node content"},
		{"two layers in one", "streams: [{layers: [{udp: {}, tcp: {}}]}]\n", "1:21: have keys and values, need one layer: its name, or its name and fields as in {vlan: {id: 7}}"},
		{"rate without unit", "streams: [{rate: 100}]\n", "1:18: rate \"100\": no unit; write 1.2Mpps, 940Mbit (layer 1), 940Mbit/l2, 80% or max"},
		{"rate with a wrong unit", "streams: [{rate: 100kpp}]\n", "1:18: rate \"100kpp\": unknown unit"},
		{"rate and weight", "streams: [{rate: 1kpps, weight: 2}]\n", "1:33: stream has a rate and a weight: need one of them"},
		{"one rate of two", "streams:\n- rate: 1kpps\n- name: b\n", "3:3: stream \"b\" has no rate of its own, but others have: give every stream a rate, or all of them weights"},
		{"max among rates", "streams:\n- rate: 1kpps\n- rate: max\n", "3:9: stream \"2\" has no rate of its own"},
		{"size below the least", "streams: [{size: 63}]\n", "1:18: size \"63\": have 63, need at least 64, the smallest frame with FCS"},
		{"size below the layers", "streams: [{layers: [ipv6, tcp], size: 64}]\n", "1:39: size 64 is below what ethernet/ipv6/tcp needs: have 64, need at least 78"},
		{"size above the MTU", "streams: [{size: 1519}]\n", "1:18: size 1519 is above what the port carries: have 1519, need at most 1518 (MTU 1500, 14 bytes before the packet, 4 of FCS)"},
		{"size above the MTU, VLAN", "streams: [{layers: [vlan, udp], size: 64-1523}]\n", "1:39: size 1523 is above what the port carries: have 1523, need at most 1522 (MTU 1500, 18 bytes before the packet, 4 of FCS)"},
		{"size no number", "streams: [{size: big}]\n", "1:18: size \"big\": need 64, 64-1518, imix, 64,128,256 or 64:7,594:4,1518:1"},
		{"no room for a tag", "streams: [{layers: [ipv6, udp], size: 66}]\n", "1:39: size 66 has no room for the 18-byte tag, and ethernet/ipv6/udp no IPv4 identification to count by: use size 84, or tag: none"},
		{"no room at the end", "streams: [{layers: [tcp], size: 64, tag: end}]\n", "1:33: size 64 has no room for the 18-byte tag: use size 76"},
		{"no room, no payload", "streams: [{layers: [ipv6, udp, payload: none]}]\n", "1:11: size 66 has no room for the 18-byte tag, and ethernet/ipv6/udp no IPv4 identification to count by: use another payload than none, and size 84, or tag: none"},
		{"several sizes without payload", "streams: [{layers: [udp, payload: none], size: 64-100}]\n", "1:48: payload none: have sizes from 64 to 100, need one size"},
		{"id and random flows", "streams: [{layers: [tcp], size: 64, flows: 3, flow_order: random}]\n", "1:33: frames too small for a tag are counted by the sequence of their flow, which random flows do not have: use flows in turn or a larger size"},
		{"raw IP with a tag", "streams: [{layers: [raw: 020000000001020000000002080045000014000000004011000001020304010203040000]}]\n", "1:21: raw bytes carry an IP packet with a length of its own: a tag at the end of the frame would not be found, use tag: none"},
		{"port too high", "streams: [{layers: [udp: {dst: 65536}]}]\n", "1:27: udp.dst: value \"65536\": need a whole number from 0 to 65535"},
		{"address", "streams: [{layers: [ipv4: {src: 198.18.0.256}]}]\n", "1:28: ipv4.src: value \"198.18.0.256\": need an IPv4 address like 198.18.0.1"},
		{"flags", "streams: [{layers: [tcp: {flags: syn+akc}]}]\n", "1:27: tcp.flags: value \"syn+akc\": need names joined by + (fin, syn, rst, psh, ack, urg, ece, cwr, ns) or a number up to 511"},
		{"order of layers", "streams: [{layers: [udp, ipv4]}]\n", "1:26: layer \"ipv4\" cannot stand behind \"udp\""},
		{"EtherType 0", "streams: [{layers: [ethernet: {type: 0}]}]\n", "1:32: ethernet.type: have 0, need 1 or more"},
		{"rest and id", "streams: [{layers: [icmp: {rest: 1, id: 1}]}]\n", "1:28: icmp.rest holds icmp.id and icmp.seq: give it or them"},
		{"short raw frame", "streams: [{layers: [raw: ff]}]\n", "1:21: raw frame: have 1 bytes, need at least the 14 of an Ethernet header"},
		{"raw no hex", "streams: [{layers: [udp, raw: xyz]}]\n", "1:31: raw \"xyz\": need bytes in hexadecimal, two digits each"},
		{"unknown payload", "streams: [{layers: [payload: zeroes]}]\n", "1:30: unknown payload \"zeroes\", did you mean \"zeros\"?"},
		{"two payloads", "streams: [{layers: [payload: {hex: 01, text: a}]}]\n", "1:21: payload: have hex and text, need one of them"},
		{"udp behind arp", "streams: [{layers: [arp, udp]}]\n", "1:26: layer \"udp\" cannot stand behind arp"},
		{"no layer to vary", "streams: [{vary: [{field: tcp.src}]}]\n", "1:27: field \"tcp.src\": the stream is ethernet/ipv4/udp, with 0 layers of the name \"tcp\""},
		{"no such layer number", "streams: [{layers: [vlan, udp], vary: [{field: 'vlan[1].id'}]}]\n", "1:48: field \"vlan[1].id\": the stream is ethernet/vlan/ipv4/udp, with 1 layers of the name \"vlan\""},
		{"field of what follows", "streams: [{vary: [{field: ipv4.protocol}]}]\n", "1:27: field \"ipv4.protocol\" says that udp follows: it cannot vary"},
		{"vary behind the frame", "streams: [{vary: [{field: 'payload[0:4]'}]}]\n", "1:27: field \"payload[0:4]\": have 0 bytes in the smallest frame, need 4"},
		{"vary twice", "streams: [{vary: [{field: udp.src}, {field: udp.src}]}]\n", "1:45: fields \"udp.src\" and \"udp.src\" vary the same bits"},
		{"vary what carries the tag", "streams: [{tag: id, vary: [{field: ipv4.id}]}]\n", "1:36: field \"ipv4.id\" carries the sequence number"},
		{"vary without field", "streams: [{vary: [{mode: list}]}]\n", "1:19: no field: need its name, like udp.src"},
		{"mode", "streams: [{vary: [{field: udp.src, mode: incremnt}]}]\n", "1:42: unknown mode \"incremnt\", did you mean \"increment\"?"},
		{"list without values", "streams: [{vary: [{field: udp.src, mode: list}]}]\n", "1:19: mode list needs values"},
		{"list with a step", "streams: [{vary: [{field: udp.src, mode: list, values: [1], step: 2}]}]\n", "1:67: mode list has no step"},
		{"values without list", "streams: [{vary: [{field: udp.src, values: [1]}]}]\n", "1:44: mode increment has no values"},
		{"value of a list", "streams: [{vary: [{field: udp.src, mode: list, values: [1, x]}]}]\n", "1:60: values[1] of udp.src: value \"x\": need a whole number from 0 to 65535"},
		{"count", "streams: [{vary: [{field: ipv4.ttl, count: 257}]}]\n", "1:44: count: have 257, the field has 256 values"},
		{"per flow of one", "streams: [{vary: [{field: udp.src, per: flow}]}]\n", "1:41: per: flow needs flows: 2 or more"},
		{"too many flows", "streams: [{flows: 20000000}]\n", "1:19: flows: have 20000000, at most 16777216 fit"},
		{"too long a run", "streams: [{flow_run: 2000000}]\n", "1:22: flow_run: have 2000000, at most 1048576 fit"},
		{"checksum of another layer", "streams: [{checksum: {tcp: wrong}}]\n", "1:23: checksum tcp: the stream is ethernet/ipv4/udp, which has none of that name"},
		{"checksum", "streams: [{checksum: {ipv4: none}}]\n", "1:23: checksum ipv4: have \"none\", need right, wrong or, for udp, none"},
		{"tag", "streams: [{tag: edn}]\n", "1:17: unknown tag \"edn\", did you mean \"end\"?"},
		{"flow order", "streams: [{flow_order: rnd}]\n", "1:24: unknown flow_order \"rnd\": need turn or random"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			specs, err := Load("s.yaml", []byte(tt.text))
			if err == nil {
				_, err = Compile(specs, testTarget)
			}
			var at *strict.Error
			if !errors.As(err, &at) {
				t.Fatalf("have %v, need an error with its place", err)
			}
			got := err.Error()
			if !strings.HasPrefix(got, "s.yaml:"+tt.want) {
				t.Errorf("(-want +got):\n%s", cmp.Diff("s.yaml:"+tt.want, got))
			}
			lines := strings.Split(got, "\n")
			if n := len(lines); n < 3 || lines[n-2] != strings.Split(tt.text, "\n")[at.Line-1] || !strings.HasSuffix(lines[n-1], "^") {
				t.Errorf("have %q, need the line itself and a mark", got)
			}
		})
	}
}

// TestErrorsWithoutFile name the stream.
func TestErrorsWithoutFile(t *testing.T) {
	_, err := Compile([]Spec{{Name: "web", Size: "64", Layers: []Layer{{Name: "ipv6"}, {Name: "udp"}}}}, testTarget)
	want := `stream "web": size 64 is below what ethernet/ipv6/udp needs: have 64, need at least 66`
	if err == nil || err.Error() != want {
		t.Errorf("have %v, need %s", err, want)
	}
	_, err = Compile([]Spec{{Size: "1", Name: ""}}, testTarget)
	if err == nil || !strings.HasPrefix(err.Error(), `stream "1": size "1"`) {
		t.Errorf("have %v, need the number of the stream", err)
	}
}
