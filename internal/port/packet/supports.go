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
	return capable()
}

// capable reports whether the calling thread has CAP_NET_RAW (capabilities(7)).
func capable() error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData // 64 bits in two halves
	if err := unix.Capget(&head, &data[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	if data[0].Effective&(1<<unix.CAP_NET_RAW) == 0 {
		return fmt.Errorf("%w: need %s, run as root", port.ErrCapability, capability)
	}
	return nil
}
