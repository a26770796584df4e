package shell_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"squall/internal/probe/shell"
	"squall/internal/probe/sshtest"
)

func sessionOf(t *testing.T, h shell.Host) *shell.Session {
	t.Helper()
	s := shell.NewSession(h)
	t.Cleanup(func() { s.Close() })
	return s
}

func TestSession(t *testing.T) {
	server := sshtest.Start(t)
	s := sessionOf(t, server.Host)
	tests := []struct {
		name, line, out, err string
	}{
		{"output", "echo drops: 7", "drops: 7\n", ""},
		{"no end of line", "printf 7", "7", ""},
		{"nothing", "true", "", ""},
		{"empty lines", "echo; echo", "\n\n", ""},
		{"no input", "cat; echo 7", "7\n", ""},
		{"quotes", `echo 'it'"'"'s $HOME'`, "it's $HOME\n", ""},
		{"status", "echo no such device >&2; exit 3", "", "no such device (exit status 3)"},
		{"the error of the line before is not this one's", "exit 3", "", ": exit status 3"},
		{"syntax", "if", "", "exit status 2"},
		{"the sh lives on", "echo 7", "7\n", ""},
		{"in the server's namespace", "ls /proc/net/dev_snmp6 2>/dev/null | grep -vx lo; true", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := s.Run(tt.line, time.Minute)
			if string(out) != tt.out {
				t.Errorf("output: have %q, want %q", out, tt.out)
			}
			if (err == nil) != (tt.err == "") || err != nil && !strings.HasSuffix(err.Error(), tt.err) && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error: have %v, want %q", err, tt.err)
			}
		})
	}
	shells := 0
	for _, line := range server.Running() {
		if line == "/bin/sh" {
			shells++
		}
	}
	if shells != 1 {
		t.Errorf("shells at the far end: have %d, want 1 for all lines: %q", shells, server.Running())
	}
	if _, err := s.Run("head -c 5000000 /dev/zero", time.Minute); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("output over the limit: have %v", err)
	}
	if out, err := s.Run("echo 7", time.Minute); err != nil || string(out) != "7\n" {
		t.Errorf("after that: have %q, %v; want it connected anew", out, err)
	}
}

// A line that hangs is ended at the far end, and the session lives on.
func TestSessionLineHangs(t *testing.T) {
	server := sshtest.Start(t)
	s := sessionOf(t, server.Host)
	if _, err := s.Run("sleep 299", time.Second); !errors.Is(err, shell.ErrTimeout) {
		t.Errorf("error: have %v, want %v", err, shell.ErrTimeout)
	}
	for end := time.Now().Add(30 * time.Second); slices.Contains(server.Running(), "sleep 299"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still running: %q", server.Running())
		}
	}
	if out, err := s.Run("echo 7", time.Minute); err != nil || string(out) != "7\n" {
		t.Errorf("next line: have %q, %v", out, err)
	}
}

// Close ends a line that is being waited for, and nothing is left behind.
func TestSessionClose(t *testing.T) {
	server := sshtest.Start(t)
	s := sessionOf(t, server.Host)
	if _, err := s.Run("true", time.Minute); err != nil {
		t.Fatal(err)
	}
	result := make(chan error)
	file := filepath.Join(t.TempDir(), "pid")
	go func() {
		_, err := s.Run("echo $$ >"+file+"; exec sleep 298", long)
		result <- err
	}()
	for !slices.Contains(server.Running(), "sleep 298") {
		time.Sleep(10 * time.Millisecond)
	}
	// It is left to timeout(1), which we need not wait for.
	t.Cleanup(func() {
		text, err := os.ReadFile(file)
		pid, err2 := strconv.Atoi(strings.TrimSpace(string(text)))
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		_ = syscall.Kill(pid, syscall.SIGKILL) // ESRCH: it ended by itself
	})
	s.Close()
	if err := <-result; !errors.Is(err, shell.ErrClosed) {
		t.Errorf("error: have %v, want %v", err, shell.ErrClosed)
	}
	if _, err := s.Run("true", long); !errors.Is(err, shell.ErrClosed) {
		t.Errorf("a closed session: have %v, want %v", err, shell.ErrClosed)
	}
	for end := time.Now().Add(30 * time.Second); slices.Contains(server.Running(), "/bin/sh"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still running: %q", server.Running())
		}
	}
}

// A host that dies and comes back.
func TestSessionHostGone(t *testing.T) {
	server := sshtest.Start(t)
	s := sessionOf(t, server.Host)
	if _, err := s.Run("true", time.Minute); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if _, err := s.Run("true", time.Minute); err == nil {
		t.Fatal("a host that is gone: no error")
	}
	_, err := s.Run("true", time.Minute)
	if err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("connecting to it: have %v, want what ssh says", err)
	}
	server.Up("/usr/sbin/sshd")
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		out, err := s.Run("echo 7", time.Minute)
		if err == nil && string(out) == "7\n" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("back: have %q, %v", out, err)
		}
	}
}

// A host that goes without a word is given up by the line's time.
func TestSessionSilence(t *testing.T) {
	server := sshtest.Start(t)
	s := sessionOf(t, server.Host)
	if _, err := s.Run("true", time.Minute); err != nil {
		t.Fatal(err)
	}
	server.Link(false)
	if _, err := s.Run("true", 200*time.Millisecond); !errors.Is(err, shell.ErrTimeout) {
		t.Errorf("error: have %v, want %v", err, shell.ErrTimeout)
	}
}

func TestSessionRefused(t *testing.T) {
	server := sshtest.Start(t)
	tests := []struct {
		name, want string
		change     func(*shell.Host)
	}{
		{"no such user", "Permission denied", func(h *shell.Host) { h.Name = "nobody@127.0.0.1" }},
		{"nobody listens", "refused", func(h *shell.Host) { h.Port = 1 }},
		{"no such configuration", "ssh_config.none", func(h *shell.Host) { h.Config += ".none" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := server.Host
			tt.change(&h)
			_, err := sessionOf(t, h).Run("true", time.Minute)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("have %v, want an error with %q", err, tt.want)
			}
		})
	}
	t.Run("no ssh", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		_, err := sessionOf(t, server.Host).Run("true", time.Minute)
		if !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "install ssh") {
			t.Errorf("have %v, want one that says what to install", err)
		}
	})
}
