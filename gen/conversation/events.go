package conversation

// kind of an event, in the order in which events of the same time happen.
type kind uint8

const (
	seen     kind = iota // a segment passes the tap
	received             // a segment arrives at the receiver
	answered             // an ACK arrives at the sender
	slot                 // the sender may send
)

// An event of the play.
type event struct {
	at   int64
	n    uint64 // in the order of making, for events of the same time and kind
	kind kind
	seg  segment
}

func (e *event) before(f *event) bool {
	switch {
	case e.at != f.at:
		return e.at < f.at
	case e.kind != f.kind:
		return e.kind < f.kind
	}
	return e.n < f.n
}

// events is a queue by time: a binary heap. (container/heap would put each event
// into an interface, and so on the heap of the other kind.)
type events struct {
	heap []event
	n    uint64
}

func (q *events) push(at int64, k kind, seg segment) {
	q.n++
	q.heap = append(q.heap, event{at, q.n, k, seg})
	for i := len(q.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !q.heap[i].before(&q.heap[up]) {
			break
		}
		q.heap[i], q.heap[up] = q.heap[up], q.heap[i]
		i = up
	}
}

func (q *events) pop() (event, bool) {
	if len(q.heap) == 0 {
		return event{}, false
	}
	first := q.heap[0]
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap = q.heap[:last]
	for i := 0; ; {
		down := 2*i + 1
		if down >= last {
			return first, true
		}
		if down+1 < last && q.heap[down+1].before(&q.heap[down]) {
			down++
		}
		if !q.heap[down].before(&q.heap[i]) {
			return first, true
		}
		q.heap[i], q.heap[down] = q.heap[down], q.heap[i]
		i = down
	}
}
