package packet

import (
	"fmt"

	"golang.org/x/sys/unix"

	"squall/internal/port"
)

// Supports returns nil where this process could use the port with this engine,
// now and as far as can be told without trying, else why not.
func Supports(i port.Info) error {
	if i.LinkType != "ether" {
		return fmt.Errorf("link type %q, need Ethernet", i.LinkType)
	}
	if !i.Up {
		return fmt.Errorf("%w: set it up with ip link", port.ErrLink)
	}
	return port.Capable(unix.CAP_NET_RAW)
}
