package survey

// maxNodes bounds the tree: a capture may hold any number in every field.
const maxNodes = 4096

// root is the index of the tree's root, which stands for the whole capture.
const root int32 = 0

// tree holds the protocols, each beneath the one that carries it. While it is
// filled only the innermost one of each frame is counted.
type tree struct {
	nodes []node
}

type node struct {
	kind          uint16
	value         uint32
	frames, bytes uint64
	first, next   int32 // child, sibling; 0: none
	last          int32 // the child that was asked for last
}

func newTree() tree { return tree{nodes: make([]node, 1, 64)} }

// child returns the node of a protocol beneath another one.
func (t *tree) child(of int32, kind uint16, value uint32) int32 {
	up := &t.nodes[of]
	if n := &t.nodes[up.last]; up.last != 0 && n.kind == kind && n.value == value {
		return up.last
	}
	return t.find(of, kind, value)
}

func (t *tree) find(of int32, kind uint16, value uint32) int32 {
	if t.nodes[of].kind == kindOther {
		return of
	}
	at := t.nodes[of].first
	for at != 0 && (t.nodes[at].kind != kind || t.nodes[at].value != value) {
		at = t.nodes[at].next
	}
	if at == 0 {
		// Every node may get one more child, for all that is beyond the bound.
		if len(t.nodes) >= maxNodes && kind != kindOther {
			return t.find(of, kindOther, 0)
		}
		at = int32(len(t.nodes))
		t.nodes = append(t.nodes, node{kind: kind, value: value, next: t.nodes[of].first})
		t.nodes[of].first = at
	}
	t.nodes[of].last = at
	return at
}

func (t *tree) count(at int32, bytes int) {
	n := &t.nodes[at]
	n.frames++
	n.bytes += uint64(bytes)
}
