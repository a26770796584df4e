package shell_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"squall/internal/probe/shell"
)

// long is a time that no test waits for.
const long = 5 * time.Minute

// ended waits until a process is no more, or is a zombie that waits for its
// parent.
func ended(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if syscall.Kill(pid, 0) == syscall.ESRCH {
			return
		}
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	t.Errorf("process %d still runs", pid)
}

func TestRun(t *testing.T) {
	tests := []struct {
		name, line, out, err string
	}{
		{"output", "echo drops: 7", "drops: 7\n", ""},
		{"no end of line", "printf 7", "7", ""},
		{"standard error apart", "echo no >&2; echo 7", "7\n", ""},
		{"no input", "cat; echo 7", "7\n", ""},
		{"status", "echo 7; exit 3", "7\n", "exit status 3"},
		{"status with words", "echo no such device >&2; exit 3", "", "no such device (exit status 3)"},
		{"syntax", "if", "", "exit status 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := shell.Run(nil, tt.line, long)
			if string(out) != tt.out {
				t.Errorf("output: have %q, want %q", out, tt.out)
			}
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error: have %v, want %q", err, tt.err)
			}
		})
	}
}

// A line that takes too long is killed with all that it started.
func TestRunTimeout(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	_, err := shell.Run(nil, "sleep 300 & echo $! >"+file+"; sleep 300", 300*time.Millisecond)
	if !errors.Is(err, shell.ErrTimeout) {
		t.Errorf("error: have %v, want %v", err, shell.ErrTimeout)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Skipf("sh was killed before it had begun: %v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	ended(t, pid)
}

// What a line leaves in the background ends with it.
func TestRunBackground(t *testing.T) {
	out, err := shell.Run(nil, "sleep 300 >/dev/null & echo $!", long)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	ended(t, pid)
}

func TestRunLimit(t *testing.T) {
	_, err := shell.Run(nil, "yes", long)
	if err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("endless output: have %v, want an error with its limit", err)
	}
}

func TestFollow(t *testing.T) {
	lines := make(chan string, 10)
	s, err := shell.Follow(nil, nil, "echo one; echo two; echo why >&2; exit 3", func(l string) { lines <- l })
	if err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	if one, two := <-lines, <-lines; one != "one" || two != "two" {
		t.Errorf("lines: have %q and %q", one, two)
	}
	if s.Err() == nil || s.Err().Error() != "why" {
		t.Errorf("error: have %v, want why", s.Err())
	}
	s, err = shell.Follow(nil, nil, "echo $$; exec sleep 300", func(l string) { lines <- l })
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(<-lines)
	if err != nil {
		t.Fatal(err)
	}
	s.Stop()
	<-s.Done()
	ended(t, pid)
}
