package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"squall/internal/convo"
	"squall/pcaps"
)

// other is the name of the file for what belongs to no conversation.
const other = "other"

// parse reads --by.
func (s *splitter) parse(by string) (name func(*pcaps.Record) string, err error) {
	what, figure, given := strings.Cut(by, "=")
	bad := func(need string) error { return fmt.Errorf("--by %q: need %s", by, need) }
	switch what {
	case "conversation", "interface", "side":
		if given {
			return nil, bad(what + " alone")
		}
	case "time", "frames", "size":
		s.pieces = true
	default:
		return nil, bad("conversation, interface, side, time=1s, frames=1000 or size=100M")
	}
	switch what {
	case "conversation":
		return func(rec *pcaps.Record) string {
			if c, _ := s.find(rec); c != nil {
				return strconv.Itoa(c.ID)
			}
			return other
		}, nil
	case "side":
		return func(rec *pcaps.Record) string {
			switch c, fromClient := s.find(rec); {
			case c == nil:
				return other
			case fromClient:
				return "client"
			}
			return "server"
		}, nil
	case "interface":
		return func(rec *pcaps.Record) string { return strconv.Itoa(rec.Interface) }, nil
	case "time":
		every, err := time.ParseDuration(figure)
		if err != nil || every <= 0 {
			return nil, bad("a time above 0, as time=1s")
		}
		return s.byTime(int64(every)), nil
	case "frames":
		n, err := strconv.ParseUint(figure, 10, 64)
		if err != nil || n == 0 {
			return nil, bad("a number above 0, as frames=1000")
		}
		return func(*pcaps.Record) string { return piece((s.sum.Read - 1) / n) }, nil
	}
	n, err := parseBytes(figure)
	if err != nil || n == 0 {
		return nil, bad("bytes above 0, as size=100M (k, M, G: powers of 1000)")
	}
	return s.bySize(n), nil
}

func piece(n uint64) string { return fmt.Sprintf("%05d", n) }

// parseBytes reads 1500, 64k, 100M, 2G.
func parseBytes(s string) (uint64, error) {
	unit := uint64(1)
	for i, suffix := range []string{"k", "M", "G"} {
		if rest, ok := strings.CutSuffix(s, suffix); ok {
			s, unit = rest, uint64(math.Pow10(3*(i+1)))
		}
	}
	n, err := strconv.ParseUint(s, 10, 32)
	return n * unit, err
}

// find returns the conversation of a record; nil where it has none.
func (s *splitter) find(rec *pcaps.Record) (*convo.Conversation, bool) {
	frame, _, _, err := s.shape.Frame(*rec)
	if err != nil || !s.packet.Decode(frame) {
		return nil, false
	}
	return s.table.Find(&s.packet)
}

// byTime numbers pieces by the time since the first frame. Frames that are late stay
// in the piece that was begun, and those without a sound time.
func (s *splitter) byTime(every int64) func(*pcaps.Record) string {
	first, now, begun := int64(0), uint64(0), false
	return func(rec *pcaps.Record) string {
		if rec.Clock != pcaps.ClockSound {
			return piece(now)
		}
		if !begun {
			first, begun = rec.Time, true
		}
		if n := (rec.Time - first) / every; rec.Time < first || uint64(n) < now {
			s.sum.Earlier++
		} else {
			now = uint64(n)
		}
		return piece(now)
	}
}

// bySize begins another piece where the file would grow beyond a size. In pcapng an
// interface is taken to be described (32 bytes) whenever it is not that of the frame in
// front: more than is written, never less.
func (s *splitter) bySize(most uint64) func(*pcaps.Record) string {
	now, size, begun, before := uint64(0), uint64(0), false, [2]int{}
	return func(rec *pcaps.Record) string {
		head, n, describe := uint64(24), uint64(16+len(rec.Data)), uint64(0)
		if s.format.Container == pcaps.Pcapng {
			head, n, describe = 28, uint64(32+(len(rec.Data)+3)&^3), 32
		}
		from := [2]int{rec.Interface, int(rec.LinkType)}
		if begun && from == before {
			describe = 0
		}
		before = from
		switch {
		case !begun:
			size, begun = head, true
		case size+describe+n > most:
			size, now = head, now+1
			if s.format.Container == pcaps.Pcapng {
				describe = 32
			}
		}
		size += describe + n
		return piece(now)
	}
}
