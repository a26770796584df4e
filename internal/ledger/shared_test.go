package ledger

import "testing"

// A router that is passed both ways counts the losses of both in one counter: each
// way names its own.
func TestShared(t *testing.T) {
	way := append([]Hop(nil), router...)
	way[2].Shared = true
	changes := moved("r", "Ip.InHdrErrors", 15)
	for _, row := range []struct {
		name               string
		sent, received     uint64
		named, unexplained int64
	}{
		{"ten of the fifteen", 100, 90, 10, 0},
		{"the other five", 100, 95, 5, 0},
		{"none", 100, 100, 0, 0},
		{"more than there are", 100, 80, 15, 5},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := Balance(Input{Sent: row.sent, Way: way, Changes: changes, Streams: received(row.received), Receiver: "b"})
			var named int64
			for _, n := range l.Named {
				named += int64(n.Frames)
			}
			if named != row.named || l.Unexplained != row.unexplained {
				t.Errorf("named %d, unexplained %d, want %d and %d", named, l.Unexplained, row.named, row.unexplained)
			}
		})
	}
}
