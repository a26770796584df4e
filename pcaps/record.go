package pcaps

// Record is one captured frame.
type Record struct {
	// Data is what was captured, without FCS where the capture says that its
	// frames have one. It is the Reader's, valid until the next call of Next.
	Data []byte
	// Len is the frame's length on the wire in bytes, without FCS likewise: more
	// than len(Data) where the capture's snap length cut it.
	Len int
	// Time is when it was captured, in ns since 1970, as far as Clock has it.
	Time int64
	// LinkType says what Data begins with.
	LinkType LinkType
	// Interface is the number of the pcapng interface within its section; 0 in
	// a pcap file.
	Interface int
	// Clock says whether Time is right.
	Clock Clock
}

// Cut reports whether the snap length cut the frame.
func (r Record) Cut() bool { return len(r.Data) < r.Len }

// dropFCS takes the n bytes of the FCS off the frame, or of its end that was
// captured.
func (r *Record) dropFCS(n int) {
	r.Len = max(r.Len-n, 0)
	r.Data = r.Data[:min(len(r.Data), r.Len)]
}
