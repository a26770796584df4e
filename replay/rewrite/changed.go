package rewrite

// Changed says which rules changed a frame, one bit each.
type Changed uint16

// What can change.
const (
	ChangedMAC      Changed = 1 << iota // a MAC address
	ChangedVLAN                         // a VLAN tag
	ChangedAddress                      // an IP address, by a map
	ChangedStep                         // an IP address, by the number of the copy
	ChangedPort                         // a TCP or UDP port
	ChangedTTL                          // a TTL or hop limit
	ChangedDSCP                         // a DSCP
	ChangedTEID                         // a GTP-U tunnel endpoint identifier
	ChangedSequence                     // a TCP sequence or acknowledgement number
	ChangedChecksum                     // a wrong checksum, by FixChecksums
	// Apart: the frame is a first fragment too short to hold the checksum that
	// the change of an address, port or sequence number belongs into: that of the
	// datagram, once reassembled, is off by it.
	Apart
)

var changes = []string{"mac", "vlan", "address", "copy-step", "port", "ttl", "dscp", "teid", "sequence", "checksum", "checksum-out-of-reach"}

// Counts says how many frames each rule changed.
type Counts struct {
	Frames  uint64 // rewritten
	Changed uint64 // of these, by any rule
	by      [16]uint64
}

// Add counts a frame.
func (c *Counts) Add(by Changed) {
	c.Frames++
	if by != 0 {
		c.Changed++
	}
	for i := range changes {
		if by&(1<<i) != 0 {
			c.by[i]++
		}
	}
}

// Each calls f with the name and number of frames of each rule that changed any.
func (c *Counts) Each(f func(rule string, frames uint64)) {
	for i, name := range changes {
		if c.by[i] > 0 {
			f(name, c.by[i])
		}
	}
}
