package acks

import "squall/internal/meter"

// Order is the account of the segments with data, SYN or FIN of one direction.
// Segments = Arrived + Retransmitted + Copies + Undecided + Before.
type Order struct {
	Conversation int    `json:"conversation"`
	From         string `json:"from"`
	To           string `json:"to"`
	Segments     uint64 `json:"segments"`
	Bytes        uint64 `json:"bytes"` // of data, however often it came
	// Arrived are first arrivals, in order or not: what RFC 4737 counts.
	Arrived uint64 `json:"arrived"`
	// Reordered are first arrivals below NextExp (RFC 4737 section 3.3); Ratio
	// is their part of Arrived (section 4.1).
	Reordered uint64  `json:"reordered"`
	Ratio     float64 `json:"reordered_ratio"`
	// Retransmitted were sent again: their first byte had been seen, or they
	// fill a hole and were sent after the segment behind it.
	Retransmitted uint64 `json:"retransmitted"`
	// Copies are the same transmission once more: same number, identification
	// and timestamp as one of the last 64 segments.
	Copies uint64 `json:"copies"`
	// Undecided fill a hole, and nothing tells when they were sent.
	Undecided uint64 `json:"undecided"`
	// Before lie in front of the first byte seen: the capture begins behind it.
	Before uint64 `json:"before_capture"`
	// By what those that fill holes were told apart.
	ByTimestamp uint64 `json:"by_timestamp"`
	ByID        uint64 `json:"by_ip_id"`
	ByTime      uint64 `json:"by_round_trip"`
	// MissingBytes never came; Forgotten is how many holes were given up, being
	// more than 1,024 at a time.
	MissingBytes uint64 `json:"missing_bytes"`
	Forgotten    uint64 `json:"holes_forgotten"`
	// Extent (RFC 4737 section 4.2), in segments, and LateTime (section 4.3), in
	// ns, of the reordered.
	Extent   meter.Summary `json:"extent"`
	LateTime meter.Summary `json:"late_time_ns"`
	// NReordered[n-1] is how many are n-reordered (section 5.3).
	NReordered [meter.MaxN]uint64 `json:"n_reordered"`
}

// StreamOrder is the account of one tagged stream, by its sequence numbers.
type StreamOrder struct {
	Run        uint16             `json:"run"`
	Stream     uint16             `json:"stream"`
	Received   uint64             `json:"received"`
	Duplicated uint64             `json:"duplicated"`
	Missing    uint64             `json:"missing"`
	Late       uint64             `json:"late"` // more than 16,384 numbers behind: in no other figure
	Reordered  uint64             `json:"reordered"`
	Ratio      float64            `json:"reordered_ratio"`
	Extent     meter.Summary      `json:"extent"`
	LateTime   meter.Summary      `json:"late_time_ns"`
	NReordered [meter.MaxN]uint64 `json:"n_reordered"`
}

// ReorderReport is the account of a capture.
type ReorderReport struct {
	Directions []Order       `json:"directions"`
	Streams    []StreamOrder `json:"streams"`
	// SingleTags are tags of which one frame was found: foreign frames, most
	// likely. BeyondStreams counts frames of streams past the first 256.
	SingleTags    uint64 `json:"single_tags"`
	BeyondStreams uint64 `json:"frames_beyond_streams"`
}
