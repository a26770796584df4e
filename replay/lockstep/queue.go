package lockstep

import "container/heap"

// ready are conversations whose next frame may leave from one side, the earliest
// frame of the capture first.
type ready struct {
	play  *play
	convs []uint32
}

func (r *ready) Len() int           { return len(r.convs) }
func (r *ready) Less(i, j int) bool { return r.frame(i) < r.frame(j) }
func (r *ready) Swap(i, j int)      { r.convs[i], r.convs[j] = r.convs[j], r.convs[i] }
func (r *ready) Push(any)           {} // see add: an any would allocate
func (r *ready) Pop() any           { r.convs = r.convs[:len(r.convs)-1]; return nil }

func (r *ready) frame(i int) uint32 { return r.play.nextFrame(r.convs[i]) }

// add enters a conversation. There is room for all of them.
func (r *ready) add(c uint32) {
	r.convs = append(r.convs, c)
	heap.Fix(r, len(r.convs)-1)
}

// take takes the first one out.
func (r *ready) take() uint32 {
	c := r.convs[0]
	heap.Pop(r)
	return c
}

// flight are the frames under way, the longest one first.
type flight struct {
	prev, next  []uint32
	first, last uint32
}

func newFlight(frames int) flight {
	return flight{prev: make([]uint32, frames), next: make([]uint32, frames), first: none, last: none}
}

func (f *flight) push(i uint32) {
	f.prev[i], f.next[i] = f.last, none
	if f.last == none {
		f.first = i
	} else {
		f.next[f.last] = i
	}
	f.last = i
}

func (f *flight) remove(i uint32) {
	before, behind := f.prev[i], f.next[i]
	if before == none {
		f.first = behind
	} else {
		f.next[before] = behind
	}
	if behind == none {
		f.last = before
	} else {
		f.prev[behind] = before
	}
}
