package netns

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Dir holds the named namespaces, one bind mount each (ip-netns(8)).
const Dir = "/run/netns"

// threadPath is the namespace of the calling thread. /proc/self would be that
// of the process's first thread.
const threadPath = "/proc/thread-self/ns/net"

// NS is a handle on a network namespace. Use [Current], [Open] or [New]; the
// zero value means the caller's current namespace.
type NS struct {
	file *os.File
	name string
}

// Current opens the calling thread's namespace. Its name is empty.
func Current() (*NS, error) { return open(threadPath, "") }

// Open opens a namespace by its name under [Dir], or by a path when name holds
// a slash, such as /proc/PID/ns/net. An empty name means the current one. The
// error for one that does not exist matches [fs.ErrNotExist] and lists those
// that do.
func Open(name string) (*NS, error) {
	if name == "" {
		return Current()
	}
	path := name
	if !strings.Contains(name, "/") {
		path = filepath.Join(Dir, name)
	}
	n, err := open(path, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("network namespace %q: %w (%s)", name, fs.ErrNotExist, have())
	}
	return n, err
}

func open(path, name string) (*NS, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("network namespace %q: %w", name, err)
	}
	// ioctl_ns(2). Anything else than a namespace file answers ENOTTY.
	if kind, err := unix.IoctlRetInt(int(f.Fd()), unix.NS_GET_NSTYPE); err != nil || kind != unix.CLONE_NEWNET {
		f.Close()
		return nil, fmt.Errorf("network namespace %q: %s is not a network namespace", name, path)
	}
	return &NS{file: f, name: name}, nil
}

// have lists the named namespaces for an error message.
func have() string {
	entries, err := os.ReadDir(Dir)
	if err != nil || len(entries) == 0 {
		return "there is none under " + Dir + "; see ip netns add"
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = fmt.Sprintf("%q", e.Name())
	}
	return "have " + strings.Join(names, ", ")
}

// New makes a network namespace that nothing but the returned handle holds. It
// starts with one interface, lo, which is down. The name is for display only;
// an empty one becomes "netns-" and the inode number. Needs CAP_SYS_ADMIN.
func New(name string) (*NS, error) {
	var n *NS
	err := visit(
		func() error { return os.NewSyscallError("unshare", unix.Unshare(unix.CLONE_NEWNET)) },
		func() (err error) {
			n, err = open(threadPath, name)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("making network namespace %q: %w", name, explain(err))
	}
	if n.name == "" {
		n.name = fmt.Sprintf("netns-%d", n.id().ino)
	}
	return n, nil
}

// Do runs fn in the namespace, on the calling goroutine, and returns fn's
// error. The goroutine is locked to its OS thread meanwhile. Calls nest. A
// panic or runtime.Goexit in fn passes through, after the way back.
//
// Where the way back is barred (the process gave up CAP_SYS_ADMIN in fn), Do
// says so and leaves the goroutine locked: its thread, which is in the wrong
// namespace, ends with the goroutine and never runs another.
func (n *NS) Do(fn func() error) error {
	if n == nil || n.file == nil {
		return fn()
	}
	entered := false
	err := visit(
		func() error { return os.NewSyscallError("setns", unix.Setns(n.FD(), unix.CLONE_NEWNET)) },
		func() error {
			entered = true
			return fn()
		})
	if err != nil && !entered {
		return fmt.Errorf("entering network namespace %q: %w", n.name, explain(err))
	}
	return err
}

// visit moves the thread with enter, runs fn and moves the thread back.
func visit(enter, fn func() error) (err error) {
	runtime.LockOSThread()
	home, err := os.Open(threadPath)
	if err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("own network namespace: %w", err)
	}
	defer home.Close()
	if err := enter(); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer func() {
		if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back != nil {
			err = errors.Join(err, fmt.Errorf("returning to own network namespace: %w", os.NewSyscallError("setns", back)))
			return // still locked, see Do
		}
		runtime.UnlockOSThread()
	}()
	return fn()
}

// explain names the capability behind a refusal.
func explain(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w (needs CAP_SYS_ADMIN: run as root)", err)
	}
	return err
}

// Clone returns a second handle on the same namespace, to be closed by itself;
// nil for the current one.
func (n *NS) Clone() (*NS, error) {
	if n == nil || n.file == nil {
		return nil, nil
	}
	return open(n.Path(), n.name)
}

// FD returns the descriptor that holds the namespace, for setns(2) and
// IFLA_NET_NS_FD; -1 for the current namespace and after Close.
func (n *NS) FD() int {
	if n == nil || n.file == nil {
		return -1
	}
	return int(n.file.Fd())
}

// Path returns a file that other processes can enter the namespace by, as in
// nsenter --net=PATH, while this process holds the handle.
func (n *NS) Path() string {
	if n == nil || n.file == nil {
		return fmt.Sprintf("/proc/%d/task/%d/ns/net", os.Getpid(), unix.Gettid())
	}
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.FD())
}

// String returns the name the handle was opened or made with; empty for the
// current namespace.
func (n *NS) String() string {
	if n == nil {
		return ""
	}
	return n.name
}

// Label returns how an interface of this namespace is written,
// [NETNS:]IFACE.
func (n *NS) Label(iface string) string {
	if n.String() == "" {
		return iface
	}
	return n.name + ":" + iface
}

// Same reports whether both handles mean the same namespace. A nil handle is
// the calling thread's; a closed one is the same as none.
func (n *NS) Same(other *NS) bool {
	a, b := n.id(), other.id()
	return a == b && a != identity{}
}

// identity tells namespaces apart for as long as one of them is held
// (namespaces(7)).
type identity struct{ dev, ino uint64 }

func (n *NS) id() identity {
	var st unix.Stat_t
	var err error
	if n == nil || n.file == nil {
		err = unix.Stat(threadPath, &st)
	} else {
		err = unix.Fstat(n.FD(), &st)
	}
	if err != nil {
		return identity{}
	}
	return identity{dev: st.Dev, ino: st.Ino}
}

// Close gives the handle up. An unnamed namespace ends with the last handle,
// socket and process in it.
func (n *NS) Close() error {
	if n == nil || n.file == nil {
		return nil
	}
	return n.file.Close()
}
