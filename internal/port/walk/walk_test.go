package walk_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"squall/internal/pace"
	"squall/internal/port"
	"squall/internal/port/porttest"
	"squall/internal/port/walk"
	"squall/internal/wire"
)

// rate returns a schedule of n frames in every d.
func rate(n uint64, d time.Duration) pace.Constant {
	return pace.Constant{Frames: n, Ns: uint64(d)}
}

// sequence reads the number that each frame's tag carries.
func sequence(t *testing.T, frames []porttest.Frame) []uint64 {
	t.Helper()
	seqs := make([]uint64, len(frames))
	for i, f := range frames {
		tag, ok := wire.FindTag(f.Data)
		if !ok {
			t.Fatalf("frame %d has no tag: % x", i, f.Data)
		}
		seqs[i] = tag.Seq
	}
	return seqs
}

// upTo returns from, from+1, ... of n numbers.
func upTo(from, n uint64) []uint64 {
	s := make([]uint64, n)
	for i := range s {
		s[i] = from + uint64(i)
	}
	return s
}

func TestWalkSends(t *testing.T) {
	tests := []struct {
		name   string
		job    port.Job
		writer *porttest.Writer
		want   uint64
	}{
		{"count, as fast as can be", port.Job{Schedule: pace.Max{}, Count: 1000}, &porttest.Writer{}, 1000},
		{"count below a batch", port.Job{Schedule: pace.Max{}, Count: 3}, &porttest.Writer{}, 3},
		{"one frame a batch", port.Job{Schedule: pace.Max{}, Count: 70}, &porttest.Writer{Batch: 1}, 70},
		{"fewer slots than asked for", port.Job{Schedule: pace.Max{}, Count: 100}, &porttest.Writer{Slots: 7}, 100},
		{"count at a rate", port.Job{Schedule: rate(100, time.Millisecond), Count: 500}, &porttest.Writer{}, 500},
		{"count from the middle of a plan", port.Job{Schedule: pace.Max{}, First: 1 << 33, Count: 65}, &porttest.Writer{}, 65},
		// A frame is due at 0, 1, ... 9 ms; the one at 10 ms is not sent.
		{"duration, frame due at its end", port.Job{Schedule: rate(1, time.Millisecond), Duration: 10 * time.Millisecond, CatchUp: int64(time.Minute)}, &porttest.Writer{}, 10},
		{"duration, frame due 1 ns before its end", port.Job{Schedule: rate(1, time.Millisecond), Duration: 10*time.Millisecond + 1, CatchUp: int64(time.Minute)}, &porttest.Writer{}, 11},
		{"bursts", port.Job{Schedule: pace.Bursts{N: 10, Of: rate(1, 5*time.Millisecond)}, Duration: 10 * time.Millisecond, CatchUp: int64(time.Minute)}, &porttest.Writer{}, 20},
		{"count before duration", port.Job{Schedule: rate(1, time.Millisecond), Count: 3, Duration: time.Hour}, &porttest.Writer{}, 3},
		{"count after duration", port.Job{Schedule: rate(1, time.Millisecond), Count: 300, Duration: 3 * time.Millisecond, CatchUp: int64(time.Minute)}, &porttest.Writer{}, 3},
		{"captured times, second pass", port.Job{
			Schedule: pace.Captured{Times: []int64{0, 100, 100, 2000}, Num: 1, Den: 1, Period: 3000},
			Count:    6,
		}, &porttest.Writer{}, 6},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := tt.writer
			job := tt.job
			job.Plan = porttest.Plan(60, 32, 1514)
			job.Progress = &port.Progress{}
			sent, err := walk.Walk(t.Context(), w, job)
			if err != nil {
				t.Fatal(err)
			}
			if sent.Frames != tt.want || sent.Failed != 0 || sent.Retries != 0 {
				t.Errorf("sent %d frames, %d failed, %d retries, want %d, 0, 0", sent.Frames, sent.Failed, sent.Retries, tt.want)
			}
			if diff := cmp.Diff(upTo(job.First, tt.want), sequence(t, w.Frames())); diff != "" {
				t.Errorf("sequence (-want +got):\n%s", diff)
			}
			var bytes uint64
			for _, f := range w.Frames() {
				bytes += uint64(max(len(f.Data)+4, 64))
			}
			if sent.Bytes != bytes {
				t.Errorf("sent %d bytes, want %d", sent.Bytes, bytes)
			}
			if p := job.Progress; p.Frames.Load() != sent.Frames || p.Bytes.Load() != sent.Bytes {
				t.Errorf("progress has %d frames, %d bytes, want %d, %d", p.Frames.Load(), p.Bytes.Load(), sent.Frames, sent.Bytes)
			}
		})
	}
}

// Frames go no earlier than their schedule says, and a tag has a time between
// that and when its batch was handed over.
func TestWalkNeverEarly(t *testing.T) {
	schedules := map[string]pace.Schedule{
		"constant": rate(50, time.Millisecond),
		"bursts":   pace.Bursts{N: 16, Of: rate(2, time.Millisecond)},
		"ramp":     pace.Ramp{From: 0, To: 100_000, Over: int64(5 * time.Millisecond)},
		"captured": pace.Captured{Times: []int64{0, 0, 300_000, 301_000, 800_000}, Num: 1, Den: 1, Period: 1_000_000},
	}
	for name, s := range schedules {
		t.Run(name, func(t *testing.T) {
			w := &porttest.Writer{}
			const count = 400
			sent, err := walk.Walk(t.Context(), w, port.Job{Plan: porttest.Plan(60), Schedule: s, Count: count})
			if err != nil {
				t.Fatal(err)
			}
			for i, f := range w.Frames() {
				due := sent.Start + s.Due(uint64(i)) // or later, where the schedule slipped
				tag, _ := wire.FindTag(f.Data)
				stamp := f.At - wire.Latency(tag.Sent, f.At)
				if stamp < due || stamp > f.At {
					t.Errorf("frame %d stamped %d ns after it was due, %d ns before it was handed over, want neither negative", i, stamp-due, f.At-stamp)
				}
			}
			if e := sent.Error; e.P50 < 0 || e.P50 > e.P99 || e.P99 > e.P999 || e.P999 > e.Max || e.Max == 0 {
				t.Errorf("send error %+v does not rise", e)
			}
		})
	}
}

func TestWalkBatchHoldsOnlyFramesDue(t *testing.T) {
	// Two frames that are due together, each 2 ms: however late the walk is, a
	// batch has whole pairs of them, and no pair that is not due.
	w := &porttest.Writer{}
	s := pace.Bursts{N: 2, Of: rate(1, 2*time.Millisecond)}
	sent, err := walk.Walk(t.Context(), w, port.Job{Plan: porttest.Plan(60), Schedule: s, Count: 20})
	if err != nil {
		t.Fatal(err)
	}
	frames, i := w.Frames(), 0
	for _, n := range w.Batches() {
		if n%2 != 0 {
			t.Errorf("batch of %d frames, want pairs", n)
		}
		last := i + n - 1
		if due := sent.Start + s.Due(uint64(last)); frames[last].At < due {
			t.Errorf("frame %d went %d ns early", last, due-frames[last].At)
		}
		i += n
	}

	w = &porttest.Writer{Batch: 32}
	if _, err := walk.Walk(t.Context(), w, port.Job{Plan: porttest.Plan(60), Schedule: pace.Max{}, Count: 70}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{32, 32, 6}, w.Batches()); diff != "" {
		t.Errorf("batches at full speed (-want +got):\n%s", diff)
	}
}

func TestWalkLastsAsLongAsItsDuration(t *testing.T) {
	const d = 30 * time.Millisecond
	tests := []struct {
		name     string
		schedule pace.Schedule
		timed    bool
	}{
		{"one frame, due at once", rate(1, time.Hour), true},
		{"full speed", pace.Max{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := &porttest.Writer{Discard: true}
			sent, err := walk.Walk(t.Context(), w, port.Job{Plan: porttest.Plan(60), Schedule: tt.schedule, Duration: d})
			if err != nil {
				t.Fatal(err)
			}
			if got := sent.End - sent.Start; got < int64(d) {
				t.Errorf("job took %v, want %v", time.Duration(got), d)
			}
			if now := pace.Now(); now < sent.Start+int64(d) {
				t.Errorf("returned %v before the end", time.Duration(sent.Start+int64(d)-now))
			}
			if sent.Frames == 0 || sent.Frames != w.Count() {
				t.Errorf("sent %d frames, want %d", sent.Frames, w.Count())
			}
			if got := sent.Error != (port.SendError{}); got != tt.timed {
				t.Errorf("send error %+v, want one: %v", sent.Error, tt.timed)
			}
		})
	}
}

func TestWalkEndsWhereTheWriterFails(t *testing.T) {
	tests := []struct {
		name   string
		err    error
		accept int // of the second batch
		want   port.Sent
		is     error
		says   string
	}{
		{"in the middle of a batch", fmt.Errorf("port %q: %w", "va", port.ErrLink), 5, port.Sent{Frames: 15, Bytes: 15 * 64, Failed: 1}, port.ErrLink, `sending frame 115: port "va": link is down`},
		{"at the start of a batch", fmt.Errorf("port %q: %w", "va", port.ErrGone), 0, port.Sent{Frames: 10, Bytes: 640, Failed: 1}, port.ErrGone, "sending frame 110"},
		{"frame too long", unix.EMSGSIZE, 1, port.Sent{Frames: 11, Bytes: 11 * 64, Failed: 1}, unix.EMSGSIZE, "sending frame 111"},
		{"without a reason", nil, 9, port.Sent{Frames: 19, Bytes: 19 * 64, Failed: 1}, nil, "took 9 of 10 frames"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := &porttest.Writer{Batch: 10, Accept: func(_ context.Context, frame uint64, n int) (int, error) {
				if frame == 0 {
					return n, nil
				}
				return tt.accept, tt.err
			}}
			progress := &port.Progress{}
			sent, err := walk.Walk(t.Context(), w, port.Job{Plan: porttest.Plan(60), Schedule: pace.Max{}, First: 100, Count: 100, Progress: progress})
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want one with %q", err, tt.says)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("error %v is not %v", err, tt.is)
			}
			if sent.Start == 0 || sent.End < sent.Start {
				t.Errorf("times %d to %d", sent.Start, sent.End)
			}
			sent.Start, sent.End = 0, 0
			if diff := cmp.Diff(tt.want, sent); diff != "" {
				t.Errorf("account (-want +got):\n%s", diff)
			}
			if got := progress.Failed.Load(); got != 1 {
				t.Errorf("progress has %d failed, want 1", got)
			}
			if diff := cmp.Diff(upTo(100, tt.want.Frames), sequence(t, w.Frames())); diff != "" {
				t.Errorf("sequence (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWalkStops(t *testing.T) {
	// A writer that cancels after 20 frames, and one that has no more room then
	// and waits until it is stopped.
	for _, name := range []string{"between batches", "while waiting for a frame", "while waiting for room"} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var schedule pace.Schedule = pace.Max{}
			if name == "while waiting for a frame" {
				schedule = pace.Captured{Times: append(make([]int64, 20), int64(time.Hour)), Num: 1, Den: 1}
			}
			w := &porttest.Writer{Batch: 10}
			w.Accept = func(ctx context.Context, frame uint64, n int) (int, error) {
				if frame+uint64(n) < 20 {
					return n, nil
				}
				cancel()
				if name == "while waiting for room" {
					<-ctx.Done()
					return 4, ctx.Err()
				}
				return n, nil
			}
			want := uint64(20)
			if name == "while waiting for room" {
				want = 14
			}
			sent, err := walk.Walk(ctx, w, port.Job{Plan: porttest.Plan(60), Schedule: schedule})
			if err != nil {
				t.Fatalf("a stop is no error: %v", err)
			}
			if sent.Frames != want || sent.Failed != 0 {
				t.Errorf("sent %d frames, %d failed, want %d, 0", sent.Frames, sent.Failed, want)
			}
		})
	}
}

// A writer that never has room again does not outlive the job's duration.
func TestWalkEndsWithoutRoom(t *testing.T) {
	w := &porttest.Writer{Accept: func(ctx context.Context, frame uint64, _ int) (int, error) {
		<-ctx.Done()
		return 0, ctx.Err()
	}}
	sent, err := walk.Walk(t.Context(), w, port.Job{
		Plan: porttest.Plan(60), Schedule: rate(1, time.Microsecond),
		Duration: 5 * time.Millisecond, CatchUp: int64(time.Millisecond),
	})
	if err != nil || sent.Frames != 0 || sent.Failed != 0 {
		t.Errorf("sent %d frames, %d failed, error %v, want 0, 0, none", sent.Frames, sent.Failed, err)
	}
	if got := sent.End - sent.Start; got < int64(5*time.Millisecond) {
		t.Errorf("job took %v, want 5ms", time.Duration(got))
	}
}

func TestWalkCountsRetries(t *testing.T) {
	w := &porttest.Writer{Batch: 10}
	w.Retry(1000) // of an earlier job
	const stall = 3 * time.Millisecond
	w.Accept = func(_ context.Context, frame uint64, n int) (int, error) {
		if frame == 20 {
			w.Retry(7)
			time.Sleep(stall)
		}
		return n, nil
	}
	progress := &port.Progress{}
	sent, err := walk.Walk(t.Context(), w, port.Job{Plan: porttest.Plan(60), Schedule: pace.Captured{Times: make([]int64, 50), Num: 1, Den: 1}, Count: 50, Progress: progress})
	if err != nil {
		t.Fatal(err)
	}
	if sent.Retries != 7 || progress.Retries.Load() != 7 {
		t.Errorf("%d retries, %d in progress, want 7", sent.Retries, progress.Retries.Load())
	}
	if sent.Frames != 50 {
		t.Errorf("sent %d frames, want 50", sent.Frames)
	}
	// All were due at once, so 30 of them went no sooner than the stall was over.
	if sent.Error.P50 < int64(stall) {
		t.Errorf("median send error %v, want the stall of %v in it", time.Duration(sent.Error.P50), stall)
	}
}

func TestWalkStamps(t *testing.T) {
	w := &porttest.Writer{}
	stamps := port.NewStamps(64)
	const first, count = 1000, 200
	if _, err := walk.Walk(t.Context(), w, port.Job{Plan: porttest.Plan(60), Schedule: pace.Max{}, First: first, Count: count, Stamps: stamps}); err != nil {
		t.Fatal(err)
	}
	for i, f := range w.Frames() {
		tag, _ := wire.FindTag(f.Data)
		at, ok := stamps.SentAt(first + uint64(i))
		if remembered := i >= count-64; ok != remembered {
			t.Fatalf("frame %d remembered: %v, want %v", i, ok, remembered)
		}
		if ok && wire.Latency(tag.Sent, at) != 0 {
			t.Errorf("frame %d: stamp %d ns after its tag, want the same", i, wire.Latency(tag.Sent, at))
		}
	}
}

func TestWalkRefusesFramesTooLong(t *testing.T) {
	w := &porttest.Writer{}
	sent, err := walk.Walk(t.Context(), w, port.Job{Plan: porttest.Plan(60, porttest.SlotLen+1), Schedule: pace.Max{}, Count: 1})
	if err == nil || !strings.Contains(err.Error(), "frame size 2053 is above what the port takes: at most 2052") {
		t.Errorf("error %v", err)
	}
	if sent.Frames != 0 || w.Count() != 0 {
		t.Errorf("sent %d frames, want none", sent.Frames)
	}
}

// Memory is allocated by the walk, not by the frame.
func TestWalkDoesNotAllocate(t *testing.T) {
	p := porttest.Plan(60, 590, 1514)
	w := &porttest.Writer{Discard: true}
	schedules := map[string]pace.Schedule{
		"max":      pace.Max{},
		"constant": rate(100, time.Microsecond),
		"captured": pace.Captured{Times: []int64{0, 10, 20}, Num: 1, Den: 1, Period: 30},
	}
	for name, s := range schedules {
		t.Run(name, func(t *testing.T) {
			allocs := func(count uint64) float64 {
				job := port.Job{Plan: p, Schedule: s, Count: count, Progress: &port.Progress{}, Stamps: port.NewStamps(64)}
				return testing.AllocsPerRun(5, func() {
					if _, err := walk.Walk(context.Background(), w, job); err != nil {
						t.Fatal(err)
					}
				})
			}
			if few, many := allocs(64), allocs(64*200); many > few {
				t.Errorf("%v allocations for 64 frames, %v for 12800, want no more", few, many)
			}
		})
	}
}

func BenchmarkWalk(b *testing.B) {
	p := porttest.Plan(60)
	for _, bench := range []struct {
		name     string
		schedule pace.Schedule
	}{
		{"max", pace.Max{}},
		{"timed", rate(100, time.Microsecond)}, // out of reach, so never waited for
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			w := &porttest.Writer{Discard: true}
			sent, err := walk.Walk(b.Context(), w, port.Job{Plan: p, Schedule: bench.schedule, Count: uint64(b.N)})
			if err != nil || sent.Frames != uint64(b.N) {
				b.Fatal(sent, err)
			}
		})
	}
}
