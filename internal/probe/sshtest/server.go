// Package sshtest runs a real sshd(8) for tests, in a network namespace of its
// own, with keys and configurations of its own, which end with the test.
package sshtest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"squall/internal/netns"
	"squall/internal/probe/shell"
)

// Server is a running sshd.
type Server struct {
	NS   *netns.NS  // where it listens, on 127.0.0.1
	Host shell.Host // how to reach it

	t    *testing.T
	cmd  *exec.Cmd
	dir  string
	log  lockedBuffer
	once sync.Once
}

const port = 2222

// Start starts an sshd and waits until it listens. It skips the test without
// root, and fails it without sshd or when sshd does not come up.
func Start(t *testing.T) *Server {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs CAP_SYS_ADMIN")
	}
	sshd, err := exec.LookPath("/usr/sbin/sshd")
	if err != nil {
		t.Fatalf("%v: install openssh-server", err)
	}
	ns, err := netns.New("sshtest")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ns.Close() })
	s := &Server{NS: ns, t: t, dir: t.TempDir()}
	s.Link(true)
	for _, key := range [...]string{"host", "user"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", s.path(key)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v: %s", err, out)
		}
	}
	s.write("sshd_config", "Port %d\nListenAddress 127.0.0.1\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\nPrintMotd no\n",
		port, s.path("host"), s.path("user.pub"))
	s.write("ssh_config", "Host *\nUser root\nIdentityFile %s\nIdentitiesOnly yes\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nGlobalKnownHostsFile /dev/null\nLogLevel ERROR\n",
		s.path("user"))
	s.Host = shell.Host{Name: "127.0.0.1", Port: port, Config: s.path("ssh_config"), NS: ns}
	t.Cleanup(s.Kill)
	s.Up(sshd)
	return s
}

func (s *Server) path(name string) string { return filepath.Join(s.dir, name) }

func (s *Server) write(name, format string, args ...any) {
	s.t.Helper()
	if err := os.WriteFile(s.path(name), fmt.Appendf(nil, format, args...), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// Up starts the sshd, for the first time or after Kill.
func (s *Server) Up(sshd string) {
	s.t.Helper()
	// sshd's own directory for its unprivileged half, of which boot is the maker.
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		s.t.Fatal(err)
	}
	cmd := s.NS.Command(sshd, "-D", "-e", "-f", s.path("sshd_config"))
	cmd.Stderr = &s.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.cmd, s.once = cmd.Cmd, sync.Once{}
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		err := s.NS.Do(func() error {
			conn, err := net.Dial("tcp", addr)
			if err == nil {
				conn.Close()
			}
			return err
		})
		if err == nil {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("sshd does not listen: %v\n%s", err, s.log.String())
		}
	}
}

// Kill ends the sshd with its connections and what runs in them, by SIGKILL:
// the far ends see the connections end.
func (s *Server) Kill() {
	s.once.Do(func() {
		// The listener first, so that no connection is added.
		pids := []int{s.cmd.Process.Pid}
		for i := 0; i < len(pids); i++ {
			below := children(pids[i])
			_ = syscall.Kill(pids[i], syscall.SIGKILL) // ESRCH: ended by itself
			pids = append(pids, below...)
		}
		_ = s.cmd.Wait() // killed
	})
}

// Link takes the namespace's loopback up or down. While it is down the host is
// gone without a word.
func (s *Server) Link(up bool) {
	s.t.Helper()
	err := s.NS.Do(func() error {
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		if up {
			return netlink.LinkSetUp(lo)
		}
		return netlink.LinkSetDown(lo)
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// Running returns the command lines of the processes below sshd.
func (s *Server) Running() (lines []string) {
	pids := children(s.cmd.Process.Pid)
	for i := 0; i < len(pids); i++ {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pids[i])) // gone since: none
		lines = append(lines, strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " ")))
		pids = append(pids, children(pids[i])...)
	}
	return lines
}

// children are the processes that a process has started.
func children(pid int) (pids []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // a good pattern
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // gone since
		}
		// proc_pid_stat(5): pid (comm) state ppid; the name may have brackets.
		f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if len(f) > 1 && f[1] == strconv.Itoa(pid) {
			child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// lockedBuffer is a buffer that a process writes to while a test reads it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
