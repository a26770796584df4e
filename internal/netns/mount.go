package netns

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Mount names the namespace under [Dir], as ip netns add does: ip netns exec
// and [Open] find it there, and it lives on until [Unmount], also when this
// process has ended. The error for a name that is taken matches [fs.ErrExist].
func (n *NS) Mount(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if err := shareDir(); err != nil {
		return fmt.Errorf("network namespace %q: %w", name, explain(err))
	}
	path := filepath.Join(Dir, name)
	f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE|os.O_EXCL, 0)
	if err != nil {
		return fmt.Errorf("network namespace %q: %w", name, explain(err))
	}
	f.Close()
	if err := unix.Mount(n.Path(), path, "", unix.MS_BIND, ""); err != nil {
		return errors.Join(
			fmt.Errorf("network namespace %q: %w", name, explain(os.NewSyscallError("mount", err))),
			os.Remove(path))
	}
	return nil
}

// Unmount takes the name away. The namespace ends with it unless a handle,
// socket or process still holds it. The error for a name that does not exist
// matches [fs.ErrNotExist].
func Unmount(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	path := filepath.Join(Dir, name)
	// EINVAL: a leftover file that is no mount point, as after a kill between
	// the two steps of Mount. It is only to be removed.
	if err := unix.Unmount(path, unix.MNT_DETACH); err != nil && err != unix.EINVAL {
		return fmt.Errorf("network namespace %q: %w", name, explain(os.NewSyscallError("umount", err)))
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("network namespace %q: %w", name, explain(err))
	}
	return nil
}

func checkName(name string) error {
	if name == "" || name == "." || name == ".." || strings.Contains(name, "/") || len(name) > unix.NAME_MAX {
		return fmt.Errorf("network namespace name %q: %w, need a file name", name, fs.ErrInvalid)
	}
	return nil
}

// shareDir makes Dir a shared mount of its own, as ip netns add does
// (iproute2 ip/ipnetns.c, netns_add): a name removed here then vanishes from
// other mount namespaces too, and does not keep its namespace alive there.
func shareDir() error {
	if err := os.MkdirAll(Dir, 0o755); err != nil {
		return err
	}
	err := unix.Mount("", Dir, "none", unix.MS_SHARED|unix.MS_REC, "")
	if err != unix.EINVAL { // EINVAL: not a mount point yet
		return os.NewSyscallError("mount", err)
	}
	if err := unix.Mount(Dir, Dir, "none", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return os.NewSyscallError("mount", err)
	}
	return os.NewSyscallError("mount", unix.Mount("", Dir, "none", unix.MS_SHARED|unix.MS_REC, ""))
}
