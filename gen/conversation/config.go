package conversation

import (
	"errors"
	"fmt"
	"math/bits"
	"net"
	"net/netip"
	"slices"
	"time"

	"squall/internal/pace"
	"squall/internal/wire"
)

// Cause is what makes a receiver repeat an ACK.
type Cause uint8

const (
	// Reorder: a segment is held back in front of the tap, which sees it behind
	// those that passed it.
	Reorder Cause = iota
	// Loss: a segment is lost and sent again. A tap at the sender sees it twice,
	// any other once.
	Loss
	// AcksOnly: a segment is held back behind the tap, which sees the data in
	// order and the duplicate ACKs.
	AcksOnly
)

// Tap is where the frames are seen.
type Tap uint8

const (
	AtClient Tap = iota // at the end of the conversation that opened it
	AtServer            // at the other end
	Middle              // half way
)

// Times of the model, in ns.
const (
	turn       = 1000                         // from the arrival of a segment to the answer
	delayedAck = int64(40 * time.Millisecond) // see the package comment
	minRTO     = int64(time.Second)           // RFC 6298 section 2.4
	defaultRTT = time.Millisecond
	maxWindow  = 1 << 30 // RFC 7323 section 2.3
	dupThresh  = 3       // RFC 5681 section 3.2
	minWindow  = 1 << 16 // the default where no more is needed
)

// Config says what conversation is made. The zero value of a field means its
// default, except where it says "required".
type Config struct {
	// Client opens the conversation. Default 198.18.0.1:49184, or 2001:2::1
	// where Server is an IPv6 address.
	Client netip.AddrPort
	// Server is opened to. Default 198.18.1.1:5001, or 2001:2:0:1::1. Both are
	// IPv4 or both are IPv6.
	Server netip.AddrPort
	// ClientMAC and ServerMAC, 6 bytes. Default 02:00:00:00:00:01 and :02.
	ClientMAC, ServerMAC net.HardwareAddr
	// ClientSends: the client sends the data and the server acknowledges.
	// Default the other way round, a download.
	ClientSends bool

	// Runs is how many runs of duplicate ACKs there are, 0 or more.
	Runs int
	// Lengths of the runs, 1 or more each, in turn. Default 10.
	Lengths []int
	// Gap is the time from the start of one run to the start of the next, from
	// the first segment to the first run, and from the start of the last to the
	// end of the data. Default 1 s. A run starts in the first slot from then on
	// that may begin one: at most two segments later.
	Gap time.Duration
	// Cause of the runs.
	Cause Cause

	// FrameSize is the size of a data frame with FCS. Default 1518.
	FrameSize int
	// Rate in data frames a second, required.
	Rate pace.Constant
	// Bytes of data; 0: what comes to pass until one Gap after the last run.
	Bytes uint64
	// RTT is the round trip time between the ends, above 0. Default 1 ms; with
	// Loss as much as the longest run needs.
	RTT time.Duration
	// Window that both ends advertise, in bytes, up to 2^30; rounded up to what
	// its scale can express. Default as wide as needed, 65536 or more.
	Window int
	// SACK and Timestamps: the options that both ends use.
	SACK, Timestamps bool

	Tap Tap
	// Seed is where initial sequence numbers, identifications, clocks and the
	// content come from.
	Seed uint64
	// Start is the time of the first frame, ns since 1970.
	Start int64
}

// A Conversation is ready to be made. Config is complete: no field is at its
// default any more.
type Conversation struct {
	Config
	ip, options, mss int // bytes: IP header, TCP options of a data segment, data of a full segment
	scale            int // window scale
}

// New checks c and completes it. Errors name the field and what it needs.
func New(c Config) (*Conversation, error) {
	v := &Conversation{Config: c}
	for _, step := range []func() error{v.addresses, v.sizes, v.schedule, v.window, v.amount} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (c *Conversation) addresses() error {
	six := c.Client.IsValid() && c.Client.Addr().Is6() || c.Server.IsValid() && c.Server.Addr().Is6()
	client, server := "198.18.0.1:49184", "198.18.1.1:5001"
	if six {
		client, server = "[2001:2::1]:49184", "[2001:2:0:1::1]:5001"
	}
	for _, e := range []struct {
		addr *netip.AddrPort
		mac  *net.HardwareAddr
		name string
		def  string
		last byte
	}{
		{&c.Client, &c.ClientMAC, "client", client, 1},
		{&c.Server, &c.ServerMAC, "server", server, 2},
	} {
		if !e.addr.IsValid() {
			*e.addr = netip.MustParseAddrPort(e.def)
		}
		if e.addr.Addr().Is6() != six || e.addr.Addr().Is4In6() {
			return fmt.Errorf("%s %v: need two IPv4 or two IPv6 addresses", e.name, e.addr)
		}
		if *e.mac == nil {
			*e.mac = net.HardwareAddr{2, 0, 0, 0, 0, e.last}
		}
		if len(*e.mac) != 6 {
			return fmt.Errorf("MAC address %v of the %s: have %d bytes, need 6", *e.mac, e.name, len(*e.mac))
		}
	}
	if c.Client == c.Server {
		return fmt.Errorf("client and server are both %v", c.Client)
	}
	c.ip = 20
	if six {
		c.ip = 40
	}
	return nil
}

func (c *Conversation) sizes() error {
	if c.FrameSize == 0 {
		c.FrameSize = 1518
	}
	if c.Timestamps {
		c.options = 12
	}
	headers := wire.HeaderLen + c.ip + 20 + c.options
	c.mss = c.FrameSize - wire.FCSLen - headers
	least, most := max(64, headers+1+wire.FCSLen), 65535+wire.HeaderLen+wire.FCSLen
	if c.FrameSize < least || c.FrameSize > most {
		return fmt.Errorf("frame size %d: need %d to %d bytes with FCS, or no segment has data and fits into an IP packet", c.FrameSize, least, most)
	}
	return nil
}

// spacing is the time from slot to slot, rounded up.
func (c *Conversation) spacing() int64 {
	return int64((c.Rate.Ns + c.Rate.Frames - 1) / c.Rate.Frames)
}

func (c *Conversation) schedule() error {
	if c.Rate.Frames == 0 || c.Rate.Ns == 0 {
		return errors.New("rate: a conversation needs one")
	}
	g := c.spacing()
	if len(c.Lengths) == 0 {
		c.Lengths = []int{10}
	}
	if c.Gap == 0 {
		c.Gap = time.Second
	}
	longest := slices.Max(c.Lengths)
	switch {
	case c.Runs < 0:
		return fmt.Errorf("runs: have %d, need 0 or more", c.Runs)
	case slices.Min(c.Lengths) < 1 || longest > 1<<20:
		return fmt.Errorf("length of a run: have %d, need 1 to %d", c.Lengths, 1<<20)
	case c.RTT < 0 || c.RTT > time.Minute:
		return fmt.Errorf("round trip time: have %v, need more than 0 and at most a minute", c.RTT)
	case g > int64(time.Hour) || c.Gap > 24*365*time.Hour:
		return fmt.Errorf("gap %v at %g frames a second: out of range", c.Gap, c.Rate.Rate())
	}
	if least := c.leastRTT(longest); c.RTT == 0 {
		c.RTT = max(defaultRTT, least)
	} else if c.Cause == Loss && c.RTT < least {
		return fmt.Errorf("round trip time %v: a sender at this rate fills the hole before %d duplicate ACKs have come; need %v or more, or a higher rate", c.RTT, longest, least)
	}
	if takes := c.takes(); c.Gap <= 0 || c.Runs > 0 && c.Gap < takes {
		return fmt.Errorf("gap %v: have runs of %d, which take up to %v each at this rate; need a gap of that or more", c.Gap, c.Lengths, takes)
	}
	return nil
}

// leastRTT is the least round trip time with which a lost segment is sent again
// no sooner than a run of n needs: the third duplicate ACK, of the segment sent
// 3 slots after the lost one, has to come back n slots after it or later.
func (c *Conversation) leastRTT(n int) time.Duration {
	if c.Cause != Loss {
		return 0
	}
	return time.Duration(int64(n-dupThresh) * c.spacing())
}

// takes is the longest time from the start of a run to where the next may start.
func (c *Conversation) takes() time.Duration {
	g := c.spacing()
	t := int64(0)
	for _, n := range c.Lengths {
		one := int64(n+4) * g
		if c.Cause == Loss {
			one += int64(c.RTT) + turn + g
			if n < dupThresh {
				one += c.rto()
			}
		}
		t = max(t, one)
	}
	return time.Duration(t)
}

// rto is the sender's retransmission timeout: what RFC 6298 section 2.2 makes of
// one measurement, R + 4*R/2.
func (c *Conversation) rto() int64 { return max(minRTO, 3*int64(c.RTT)) }

func (c *Conversation) window() error {
	under := float64(c.RTT+2*turn)/1e9*c.Rate.Rate() + float64(slices.Max(c.Lengths)) + 6
	need := int(min(under*float64(c.mss), 1<<60))
	switch {
	case need > maxWindow:
		return fmt.Errorf("%d bytes are under way at this rate, length and round trip time: a TCP window has at most %d", need, maxWindow)
	case c.Window == 0:
		c.Window = max(minWindow, need)
	case c.Window < need || c.Window > maxWindow:
		return fmt.Errorf("window: have %d bytes, need %d to %d at this rate, length and round trip time", c.Window, need, maxWindow)
	}
	c.scale = max(0, bits.Len(uint(c.Window))-16)
	unit := 1 << c.scale
	if c.Window = (c.Window + unit - 1) / unit * unit; c.Window>>c.scale > 65535 {
		c.scale++
	}
	return nil
}

func (c *Conversation) amount() error {
	if c.Bytes == 0 {
		return nil
	}
	if c.Bytes > 1<<48 {
		return fmt.Errorf("bytes: have %d, need at most %d", c.Bytes, uint64(1)<<48)
	}
	if c.Runs == 0 {
		return nil
	}
	slots := float64(c.Runs)*c.Gap.Seconds()*c.Rate.Rate() + float64(slices.Max(c.Lengths)+4)
	if need := uint64(slots+1) * uint64(c.mss); c.Bytes < need {
		return fmt.Errorf("bytes: have %d, need %d or more to send at this rate until the last run is over", c.Bytes, need)
	}
	return nil
}
