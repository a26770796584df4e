package meter

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"squall/internal/wire"
)

func TestTagMatcher(t *testing.T) {
	ours := wire.Tag{Run: 0xbeef, Stream: 3, Seq: 1<<40 + 5, Sent: 1<<47 + 9}
	foreign := ours
	foreign.Run++
	arrival := Arrival{Stream: 3, Seq: 1<<40 + 5, Size: 64, Sent: 1<<47 + 9, HasSent: true, At: 77}
	long := arrival
	long.Size = 14 + 20 + 8 + 100 + 4
	payload := make([]byte, 100)
	ours.Put(payload[100-wire.TagLen:])
	tests := []struct {
		name  string
		frame []byte
		want  Arrival
		match Match
	}{
		{"ours", tagged(ours), arrival, Ours},
		{"ours with padding", append(tagged(ours), 0, 0, 0)[:60:60], arrival, Ours},
		{"ours, longer", udp4(1, 2, payload), long, Ours},
		{"another run", tagged(foreign), Arrival{}, Foreign},
		{"no tag", udp4(1, 2, make([]byte, 30)), Arrival{}, Stray},
		{"no room", udp4(1, 2, nil), Arrival{}, Stray},
		{"tag cut short", tagged(ours)[:50], Arrival{}, Stray},
		{"empty", nil, Arrival{}, Stray},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, match := TagMatcher{Run: 0xbeef}.Match(tt.frame, 77)
			if match != tt.match {
				t.Errorf("match %d, want %d", match, tt.match)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("arrival (-want +got):\n%s", diff)
			}
		})
	}
}
