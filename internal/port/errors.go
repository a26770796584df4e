package port

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

var (
	// ErrLink: the port lost its link or was set down.
	ErrLink = errors.New("link is down")
	// ErrGone: the interface was deleted or moved to another namespace.
	ErrGone = errors.New("interface is gone")
	// ErrCapability: the process may not do it; the error names the capability.
	ErrCapability = errors.New("missing capability")
)

// Explain makes an error of the kernel about a port one that says what to do:
// it names the port and matches [ErrLink] (ENETDOWN), [ErrGone] (ENODEV, ENXIO)
// or [ErrCapability] (EPERM, for want of capability need). The kernel's error
// stays inside.
func (r Ref) Explain(err error, need string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrLink), errors.Is(err, ErrGone), errors.Is(err, ErrCapability):
		return err // explained before
	case errors.Is(err, unix.ENETDOWN):
		return fmt.Errorf("port %q: %w (%w)", r, ErrLink, err)
	case errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		return fmt.Errorf("port %q: %w (%w)", r, ErrGone, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("port %q: %w: need %s, run as root (%w)", r, ErrCapability, need, err)
	}
	return fmt.Errorf("port %q: %w", r, err)
}
