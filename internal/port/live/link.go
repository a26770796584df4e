package live

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"squall/internal/port"
)

// linkWatch looks at the port's link while frames go: what is redirected to a
// port without one is dropped, and no error says so.
type linkWatch struct {
	fd    int
	iface string
}

func newLinkWatch(p *port.Port) (linkWatch, error) {
	w := linkWatch{fd: -1, iface: p.Ref.Iface}
	err := p.NS.Do(func() (err error) {
		w.fd, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		return os.NewSyscallError("socket", err)
	})
	return w, err
}

// check returns an error that matches port.ErrLink or port.ErrGone where no frame
// can go out. It reads the flags of netdevice(7).
func (w linkWatch) check() error {
	req, err := unix.NewIfreq(w.iface)
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(w.fd, unix.SIOCGIFFLAGS, req); err != nil {
		if errors.Is(err, unix.ENODEV) {
			return port.ErrGone
		}
		return os.NewSyscallError("SIOCGIFFLAGS", err)
	}
	const need = unix.IFF_UP | unix.IFF_RUNNING
	if req.Uint16()&need != need {
		return port.ErrLink
	}
	return nil
}

func (w linkWatch) close() error {
	if w.fd < 0 {
		return nil
	}
	return unix.Close(w.fd)
}
