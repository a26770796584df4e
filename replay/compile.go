package replay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"squall/internal/plan"
	"squall/internal/wire"
	"squall/pcaps"
)

// DefaultLimit is how much memory, in bytes, a plan may take unless told
// otherwise.
const DefaultLimit = 2 << 30

// Options say what a plan may hold. The zero value is ready.
type Options struct {
	// MTU of the port, in bytes; frames that it cannot carry are left out. 0: no
	// bound.
	MTU int
	// Limit bounds the memory of the plan, in bytes. 0: DefaultLimit.
	Limit uint64
}

// Summary says what became of the records of a capture:
// Records = Frames + Cut + Long + Short.
type Summary struct {
	Records uint64 // in the capture
	Frames  uint64 // in the plan
	Bytes   uint64 // of these, without FCS

	// Left out of the plan:
	Cut   uint64 // by the snap length: fewer bytes captured than the frame had
	Long  uint64 // longer than the port's MTU allows
	Short uint64 // shorter than an Ethernet header, 14 bytes

	// Backwards counts frames of the plan whose time stamp was before that of
	// the frame in front: they are due with it.
	Backwards uint64
	// First is the time stamp of the plan's first frame, ns since 1970.
	First int64
	// Duration is from the first frame of the plan to the last, as captured.
	Duration time.Duration
}

// Left returns how many records are not in the plan.
func (s Summary) Left() uint64 { return s.Cut + s.Long + s.Short }

// Source is where records come from: a *pcaps.Reader. Next returns io.EOF after
// the last.
type Source interface {
	Next() (pcaps.Record, error)
}

// Compile makes a plan of the capture at path. See CompileFrom.
func Compile(path string, o Options) (*plan.Plan, Summary, error) {
	r, err := pcaps.Open(path)
	if err != nil {
		return nil, Summary{}, err
	}
	defer r.Close()
	return compile(r, path, r.Size(), o)
}

// CompileFrom makes a plan of the records of a capture called name.
//
// Where the capture is cut in mid-record (pcaps.ErrTruncated) it returns the
// plan of the sound records together with the error: the caller may refuse, or
// warn and go on. With every other error the plan is nil: a record that is not
// Ethernet, no frame to send, more memory than the limit, or an error of the
// source.
func CompileFrom(from Source, name string, o Options) (*plan.Plan, Summary, error) {
	return compile(from, name, 0, o)
}

// compile makes a plan of a capture of size bytes, where that is known.
func compile(from Source, name string, size int64, o Options) (*plan.Plan, Summary, error) {
	if o.Limit == 0 {
		o.Limit = DefaultLimit
	}
	var (
		sum   Summary
		table plan.Table
		due   []int64
		end   error
	)
	table.Grow(int(min(uint64(size), o.Limit)))
	for {
		r, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, pcaps.ErrTruncated) {
			end = err
			break
		}
		if err != nil {
			return nil, sum, err
		}
		sum.Records++
		if r.LinkType != pcaps.Ethernet {
			return nil, sum, fmt.Errorf("capture %q: record %d is %v; only Ethernet captures are replayed", name, sum.Records, r.LinkType)
		}
		switch {
		case r.Cut():
			sum.Cut++
			continue
		case len(r.Data) < wire.HeaderLen:
			sum.Short++
			continue
		case o.MTU > 0 && len(r.Data) > longest(r.Data, o.MTU):
			sum.Long++
			continue
		}
		// A frame costs its bytes, where it ends in the table and when it is due.
		if need := uint64(table.Bytes() + len(r.Data) + 16*(len(due)+1)); need > o.Limit {
			return nil, sum, fmt.Errorf("capture %q: its first %d frames take more than the %d MiB of memory that a replay may; replay a part of it", name, sum.Records, o.Limit>>20)
		}
		if len(due) == 0 {
			sum.First = r.Time
		}
		at := r.Time - sum.First
		if n := len(due); n > 0 && at < due[n-1] {
			at = due[n-1]
			sum.Backwards++
		}
		table.Append(r.Data)
		due = append(due, at)
	}
	if len(due) == 0 {
		if end != nil {
			return nil, sum, end
		}
		return nil, sum, sum.nothing(name)
	}
	sum.Frames, sum.Bytes = uint64(len(due)), uint64(table.Bytes())
	sum.Duration = time.Duration(due[len(due)-1])
	p, err := plan.New(plan.Plan{
		Streams: []*plan.Stream{{Name: filepath.Base(name), Heads: table, Tag: plan.TagNone}},
		Due:     due,
		Pass:    sum.Frames,
	})
	if err != nil {
		return nil, sum, fmt.Errorf("capture %q: %w", name, err)
	}
	return p, sum, end
}

// longest returns how long, without FCS, a frame that begins like this one may
// be on a port with the MTU: beyond the Ethernet header Linux grants one tag
// whose type is 0x8100 and no other (packet_snd and
// packet_extra_vlan_len_allowed in net/packet/af_packet.c).
func longest(frame []byte, mtu int) int {
	if binary.BigEndian.Uint16(frame[12:]) == wire.EtherTypeVLAN {
		return mtu + wire.HeaderLen + 4
	}
	return mtu + wire.HeaderLen
}

func (s Summary) nothing(name string) error {
	if s.Records == 0 {
		return fmt.Errorf("capture %q: %w", name, pcaps.ErrNoRecords)
	}
	var why []string
	for _, c := range []struct {
		n    uint64
		what string
	}{
		{s.Cut, "cut by the snap length"},
		{s.Long, "longer than the port's MTU allows"},
		{s.Short, "shorter than an Ethernet header"},
	} {
		if c.n > 0 {
			why = append(why, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	return fmt.Errorf("capture %q: no frame can be sent: of %d, %s", name, s.Records, strings.Join(why, ", "))
}

// Fingerprints returns wire.Fingerprint of every frame of one pass, in order:
// what a receiver matches arrivals by. They hold within this process.
func Fingerprints(p *plan.Plan) []uint64 {
	prints := make([]uint64, p.Pass)
	frame := make([]byte, p.MaxLen())
	for i := range prints {
		prints[i] = wire.Fingerprint(frame[:p.Write(frame, uint64(i), 0)])
	}
	return prints
}
