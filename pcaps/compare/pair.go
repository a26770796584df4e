package compare

import (
	"encoding/binary"
	"hash/maphash"
)

// entry is one frame of a capture.
type entry struct {
	print
	at   int64 // ns since 1970; 0: not known
	mate int32 // the frame of the other capture that it goes with, below 0 if none
	copy bool  // of B: equal to a frame of A that has its mate
}

// alone as a mate.
const alone = -1

// pair gives frames without a mate one that has the same key, the first of A to the
// first of B. A frame of B whose key only frames of A have that have mates by it is a
// copy, where copies are looked for.
func pair(a, b []entry, keyA, keyB func(i int) uint64, copies bool) {
	head := make(map[uint64]int32, len(a))
	next := make([]int32, len(a))
	for i := len(a) - 1; i >= 0; i-- {
		if a[i].mate != alone {
			continue
		}
		k := keyA(i)
		next[i] = alone
		if first, ok := head[k]; ok {
			next[i] = first
		}
		head[k] = int32(i)
	}
	for j := range b {
		if b[j].mate != alone || b[j].copy {
			continue
		}
		k := keyB(j)
		i, known := head[k]
		switch {
		case known && i != alone:
			a[i].mate, b[j].mate = int32(j), i
			head[k] = next[i]
		case known && copies:
			b[j].copy = true
		}
	}
}

// pairAll goes through the four ways.
func pairAll(seed maphash.Seed, a, b []entry, ignored Set) {
	for _, s := range []Set{ignored, ignored | Routed} {
		pair(a, b, func(i int) uint64 { return a[i].key(seed, s) }, func(j int) uint64 { return b[j].key(seed, s) }, true)
	}
	flow := func(e *entry) uint64 { return e.flow(seed) }
	pairPlaces(seed, a, b, flow, flow)
	pairPlaces(seed, a, b, func(*entry) uint64 { return 0 }, func(e *entry) uint64 {
		return uint64(e.values[etherType])<<40 | uint64(e.values[protocol])<<32 | uint64(e.values[length])
	})
}

// pairPlaces pairs what is at one place: behind the same pair of those that are in the
// same lane, and of one kind.
func pairPlaces(seed maphash.Seed, a, b []entry, lane, kind func(*entry) uint64) {
	keys := func(list []entry, inA bool) []uint64 {
		behind := map[uint64]int32{} // by lane: the last pair's frame of A, from 1
		keys := make([]uint64, len(list))
		for i := range list {
			e := &list[i]
			l := lane(e)
			switch {
			case e.mate != alone && inA:
				behind[l] = int32(i) + 1
			case e.mate != alone:
				behind[l] = e.mate + 1
			default:
				var k [20]byte
				binary.LittleEndian.PutUint64(k[:], l)
				binary.LittleEndian.PutUint64(k[8:], kind(e))
				binary.LittleEndian.PutUint32(k[16:], uint32(behind[l]))
				keys[i] = maphash.Bytes(seed, k[:])
			}
		}
		return keys
	}
	of, with := keys(a, true), keys(b, false)
	pair(a, b, func(i int) uint64 { return of[i] }, func(j int) uint64 { return with[j] }, false)
}
