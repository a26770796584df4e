package netns_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"squall/internal/netns"
)

// childEnv makes this test binary a process that builds a namespace and ends
// in the way the value says; see TestEndsWithProcess.
const childEnv = "SQUALL_NETNS_CHILD"

func TestMain(m *testing.M) {
	if end := os.Getenv(childEnv); end != "" {
		child(end)
	}
	os.Exit(m.Run())
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs CAP_SYS_ADMIN and CAP_NET_ADMIN")
	}
}

func newNS(t *testing.T, name string) *netns.NS {
	t.Helper()
	needRoot(t)
	n, err := netns.New(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

func links(t *testing.T) []string {
	t.Helper()
	list, err := netlink.LinkList()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range list {
		names = append(names, l.Attrs().Name)
	}
	return names
}

func TestNewIsEmpty(t *testing.T) {
	n := newNS(t, "")
	var got []string
	if err := n.Do(func() error { got = links(t); return nil }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"lo"}, got); diff != "" {
		t.Errorf("links of a new namespace (-want +got):\n%s", diff)
	}
	if n.Same(nil) {
		t.Error("New returned the current namespace")
	}
	if !strings.HasPrefix(n.String(), "netns-") {
		t.Errorf("name of an unnamed namespace: %q", n)
	}
}

func TestDo(t *testing.T) {
	a, b := newNS(t, "a"), newNS(t, "b")
	boom := errors.New("boom")
	closed, err := netns.New("closed")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()

	tests := []struct {
		name string
		ns   *netns.NS
		fn   func() error
		want error
	}{
		{"inside", a, func() error { return in(a) }, nil},
		{"nil is here", nil, func() error { return in(nil) }, nil},
		{"zero is here", &netns.NS{}, func() error { return in(&netns.NS{}) }, nil},
		{"error of fn", a, func() error { return boom }, boom},
		{"nested", a, func() error { return b.Do(func() error { return in(b) }) }, nil},
		{"back from nested", a, func() error {
			return errors.Join(b.Do(func() error { return nil }), in(a))
		}, nil},
		{"nil inside is there", a, func() error { return (*netns.NS)(nil).Do(func() error { return in(a) }) }, nil},
		{"closed", closed, func() error { return errors.New("fn ran") }, unix.EBADF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			runtime.LockOSThread() // so that "back" below is about the thread Do used
			defer runtime.UnlockOSThread()
			home, err := netns.Current()
			if err != nil {
				t.Fatal(err)
			}
			defer home.Close()
			if err := tt.ns.Do(tt.fn); !errors.Is(err, tt.want) {
				t.Errorf("Do: have %v, want %v", err, tt.want)
			}
			if err := in(home); err != nil {
				t.Errorf("after Do: %v", err)
			}
		})
	}
}

// in says whether the calling thread is in n.
func in(n *netns.NS) error {
	if !n.Same(nil) {
		return fmt.Errorf("thread is not in %q", n)
	}
	return nil
}

func TestDoPanicReturns(t *testing.T) {
	n := newNS(t, "panics")
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := netns.Current()
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	func() {
		defer func() {
			if r := recover(); r != "storm" {
				t.Errorf("recovered %v, want the panic of fn", r)
			}
		}()
		n.Do(func() error { panic("storm") })
	}()
	if err := in(home); err != nil {
		t.Errorf("after the panic: %v", err)
	}
}

// A thread that cannot go back must not run anything else.
func TestDoWayBackBarred(t *testing.T) {
	n := newNS(t, "trap")
	err := make(chan error)
	go func() {
		err <- n.Do(func() error {
			// Capabilities belong to the thread, capabilities(7).
			hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
			var data [2]unix.CapUserData
			if err := unix.Capget(&hdr, &data[0]); err != nil {
				return err
			}
			data[0].Effective &^= 1 << unix.CAP_SYS_ADMIN
			return unix.Capset(&hdr, &data[0])
		})
	}()
	if err := <-err; !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "returning") {
		t.Errorf("Do: have %v, want the return refused", err)
	}
	// Each on a thread of its own, new or used before.
	strays := make(chan bool)
	hold := make(chan struct{})
	for range 20 {
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			strays <- n.Same(nil)
			<-hold
		}()
	}
	for range 20 {
		if <-strays {
			t.Error("a thread runs on in the namespace")
		}
	}
	close(hold)
}

// Two goroutines in two namespaces at once must not see each other's.
func TestDoConcurrent(t *testing.T) {
	spaces := []*netns.NS{newNS(t, "0"), newNS(t, "1"), newNS(t, "2")}
	done := make(chan error)
	for i := range 9 {
		n := spaces[i%len(spaces)]
		go func() {
			var err error
			for range 50 {
				err = errors.Join(err, n.Do(func() error { runtime.Gosched(); return in(n) }))
			}
			done <- err
		}()
	}
	for range 9 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestSame(t *testing.T) {
	a, b := newNS(t, "a"), newNS(t, "b")
	again, err := netns.Open(a.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	here, err := netns.Current()
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	gone, err := netns.New("twin")
	if err != nil {
		t.Fatal(err)
	}
	twin, err := gone.Clone()
	if err != nil {
		t.Fatal(err)
	}
	defer twin.Close()
	wasSame := twin.Same(gone) && twin.String() == "twin"
	gone.Close()
	if !wasSame || twin.Do(func() error { return in(twin) }) != nil {
		t.Error("a clone is another namespace, or ends with its origin")
	}
	if none, err := (*netns.NS)(nil).Clone(); none != nil || err != nil {
		t.Errorf("clone of nil: have %v and %v", none, err)
	}
	closed, err := netns.New("")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()

	tests := []struct {
		name string
		x, y *netns.NS
		want bool
	}{
		{"itself", a, a, true},
		{"opened twice", a, again, true},
		{"two", a, b, false},
		{"nil and current", nil, here, true},
		{"zero and nil", &netns.NS{}, nil, true},
		{"nil and another", nil, a, false},
		{"closed", closed, closed, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.x.Same(tt.y); got != tt.want {
				t.Errorf("have %v, want %v", got, tt.want)
			}
		})
	}
}

func TestLabel(t *testing.T) {
	here, err := netns.Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	for _, n := range []*netns.NS{nil, {}, here} {
		if got := n.Label("eth1"); got != "eth1" {
			t.Errorf("current namespace: %q", got)
		}
	}
	if got := newNS(t, "lab-a").Label("va"); got != "lab-a:va" {
		t.Errorf("named namespace: %q", got)
	}
}

func TestMount(t *testing.T) {
	n := newNS(t, "display")
	name := fmt.Sprintf("squall-test-%d", os.Getpid())
	if err := n.Mount(name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { netns.Unmount(name) })

	other := newNS(t, "other")
	if err := other.Mount(name); !errors.Is(err, fs.ErrExist) {
		t.Errorf("second Mount: have %v, want %v", err, fs.ErrExist)
	}
	opened, err := netns.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if !opened.Same(n) {
		t.Error("Open found another namespace")
	}
	if opened.String() != name {
		t.Errorf("name: have %q, want %q", opened, name)
	}
	_, err = netns.Open("no-such")
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), `"no-such"`) || !strings.Contains(err.Error(), name) {
		t.Errorf("missing namespace: have %v, want its name and %q among those there are", err, name)
	}
	if err := netns.Unmount(name); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(netns.Dir, name)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Unmount: have %v, want %v", err, fs.ErrNotExist)
	}
	if err := netns.Unmount(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("second Unmount: have %v, want %v", err, fs.ErrNotExist)
	}
}

func TestNameRefused(t *testing.T) {
	var n *netns.NS
	for _, name := range []string{"", ".", "..", "a/b", strings.Repeat("x", 256)} {
		if err := n.Mount(name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("Mount(%.10q): have %v, want %v", name, err, fs.ErrInvalid)
		}
		if err := netns.Unmount(name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("Unmount(%.10q): have %v, want %v", name, err, fs.ErrInvalid)
		}
	}
}

func TestOpenRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, "/proc/self/ns/uts"} {
		if _, err := netns.Open(path); err == nil || !strings.Contains(err.Error(), "is not a network namespace") {
			t.Errorf("Open(%q): have %v", path, err)
		}
	}
}

func TestCommand(t *testing.T) {
	n := newNS(t, "commands")
	script := []string{"-c", "readlink /proc/self/ns/net; echo oops >&2"}
	want := readlink(t, n)
	out, err := n.Command("sh", script...).Output()
	if err != nil || strings.TrimSpace(string(out)) != want {
		t.Errorf("Output: have %q and %v, want %q", out, err, want)
	}
	out, err = n.Command("sh", script...).CombinedOutput()
	if err != nil || string(out) != want+"\noops\n" {
		t.Errorf("CombinedOutput: have %q and %v", out, err)
	}
	var buf strings.Builder
	cmd := n.Command("sh", script...)
	cmd.Stdout = &buf
	if err := cmd.Run(); err != nil || strings.TrimSpace(buf.String()) != want {
		t.Errorf("Run: have %q and %v, want %q", buf.String(), err, want)
	}
	out, err = exec.Command("nsenter", "--net="+n.Path(), "readlink", "/proc/self/ns/net").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != want {
		t.Errorf("nsenter: have %q and %v, want %q", out, err, want)
	}
}

func readlink(t *testing.T, n *netns.NS) string {
	t.Helper()
	var link string
	err := n.Do(func() (err error) {
		link, err = os.Readlink("/proc/thread-self/ns/net")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return link
}

// A veth ends with either of its namespaces. One end here, the other in a
// namespace of a child process: when ours vanishes, theirs was freed.
func TestEndsWithProcess(t *testing.T) {
	for _, end := range []string{"kill", "panic", "exit", "panic inside"} {
		t.Run(end, func(t *testing.T) {
			here := newNS(t, "here")
			cmd := here.Command(os.Args[0])
			cmd.Env = append(os.Environ(), childEnv+"="+end)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatalf("child said %q: %v", line, err)
			}
			if err := here.Do(func() error { _, err := netlink.LinkByName("leash"); return err }); err != nil {
				t.Fatalf("the test's own link: %v", err)
			}
			if end == "kill" {
				cmd.Process.Signal(syscall.SIGKILL)
			} else {
				cmd.Process.Signal(syscall.SIGUSR1)
			}
			cmd.Wait()
			// The kernel frees on a work queue, a little later.
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
				var got []string
				if err := here.Do(func() error { got = links(t); return nil }); err != nil {
					t.Fatal(err)
				}
				if len(got) == 1 {
					return
				}
				if time.Now().After(deadline) {
					t.Fatalf("links a minute after the process ended: %q", got)
				}
			}
		})
	}
}

// child makes a namespace with one end of a veth in it, says so and ends.
func child(end string) {
	usr1 := make(chan os.Signal, 1)
	signal.Notify(usr1, syscall.SIGUSR1)
	n, err := netns.New("child")
	if err == nil {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = "leash"
		veth := netlink.NewVeth(attrs)
		veth.PeerName, veth.PeerNamespace = "dog", netlink.NsFd(n.FD())
		err = netlink.LinkAdd(veth)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	fmt.Println("ready")
	<-usr1
	switch end {
	case "panic":
		panic("storm")
	case "panic inside":
		n.Do(func() error { panic("storm") })
	case "exit":
		os.Exit(0)
	}
	select {} // kill
}
