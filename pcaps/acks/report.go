package acks

import (
	"net/netip"
	"time"

	"squall/internal/convo"
)

// Time is when a frame was captured: ns since 1970, where the capture says.
type Time struct {
	NS    int64
	Known bool
}

// String returns the time in RFC 3339 with nanoseconds, in UTC; "" where it is
// not known.
func (t Time) String() string {
	if !t.Known {
		return ""
	}
	return time.Unix(0, t.NS).UTC().Format("2006-01-02T15:04:05.000000000Z")
}

// MarshalText is String.
func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// name writes an end as address:port.
func name(e convo.Endpoint) string { return netip.AddrPortFrom(e.Addr, e.Port).String() }

// Run is one run of duplicate ACKs.
type Run struct {
	Conversation int    `json:"conversation"` // its number in the capture, from 0
	From         string `json:"from"`         // who sent the ACKs, address:port
	To           string `json:"to"`
	Ack          uint32 `json:"ack"`    // the number that they repeat
	Length       uint64 `json:"length"` // duplicates: the first ACK of the number is none
	First        Time   `json:"first"`  // of the first and the last duplicate
	Last         Time   `json:"last"`
	// Between is how many other segments of this direction came in between.
	Between uint64 `json:"between"`
	// NewSACK is how many of the duplicates had SACK news (duplicates by RFC
	// 6675 too), DSACK how many reported a duplicate segment (RFC 2883): signs
	// of segments that came twice rather than late.
	NewSACK uint64 `json:"new_sack"`
	DSACK   uint64 `json:"dsack"`
	// ZeroWindow is how many had a window of 0: answers to window probes, which
	// the definition does not tell from others.
	ZeroWindow uint64 `json:"zero_window"`
	// Copies is how many were in the capture before, as one of the last 64
	// segments of the direction (same IPv4 identification and numbers): taken on
	// both sides of a router, say.
	Copies uint64 `json:"copies"`
}

// Findings counts the segments of a direction by what they are as ACKs. Each
// is in one of them.
type Findings struct {
	NoAck     uint64 `json:"no_ack"`
	Control   uint64 `json:"syn_fin_rst"`
	Data      uint64 `json:"data"`
	New       uint64 `json:"new"`
	Older     uint64 `json:"older"`
	Window    uint64 `json:"window_changed"`
	Settled   uint64 `json:"nothing_outstanding"`
	Duplicate uint64 `json:"duplicate"`
	// Unlike is not 0 with another Rule than RFC5681 only: see there.
	Unlike uint64 `json:"rfc5681_only,omitempty"`
}

// Direction is the account of the ACKs of one end.
type Direction struct {
	Conversation  int    `json:"conversation"`
	From          string `json:"from"`
	To            string `json:"to"`
	Segments      uint64 `json:"segments"`
	DuplicateAcks uint64 `json:"duplicate_acks"`
	Runs          uint64 `json:"runs"`
	AtLeast       uint64 `json:"runs_at_least"` // that reach Config.AtLeast
	Longest       uint64 `json:"longest"`
	// SACKDuplicates are segments with SACK news: duplicate ACKs by RFC 6675
	// section 2, whatever else they carry.
	SACKDuplicates uint64 `json:"sack_duplicates"`
	// Copies of DuplicateAcks: see Run.
	Copies uint64 `json:"copies"`
	// Unseen counts ACKs of data that the capture does not have.
	Unseen uint64 `json:"acks_of_unseen"`
	// OneSided: the capture has no segment of the other direction, so that
	// something was taken to be outstanding throughout.
	OneSided bool     `json:"one_sided"`
	Findings Findings `json:"findings"`
}

// Bin is how many runs have a length.
type Bin struct {
	Length uint64 `json:"length"`
	Runs   uint64 `json:"runs"`
}

// DupAckReport is the account of a capture.
type DupAckReport struct {
	Rule          string      `json:"rule"`
	AtLeast       int         `json:"at_least"`
	Segments      uint64      `json:"segments"`
	DuplicateAcks uint64      `json:"duplicate_acks"`
	RunCount      uint64      `json:"run_count"`
	RunsAtLeast   uint64      `json:"runs_at_least"`
	Lengths       []Bin       `json:"lengths"`
	Directions    []Direction `json:"directions"`
	Runs          []Run       `json:"runs"`          // by time of the first duplicate
	More          uint64      `json:"runs_not_kept"` // beyond Config.Keep
}
