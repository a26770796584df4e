package xdp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"squall/internal/lab"
	"squall/internal/port"
	"squall/internal/port/porttest"
	"squall/internal/port/xdp"
)

// Tests that change the whole process run this binary again, with what it is to
// do in the environment.
const (
	lockEnv = "SQUALL_TEST_MEMLOCK" // limit in bytes
	holdEnv = "SQUALL_TEST_HOLD"    // [NETNS:]IFACE
)

func TestMain(m *testing.M) {
	var err error
	switch {
	case os.Getenv(lockEnv) != "":
		err = lockChild(os.Getenv(lockEnv))
	case os.Getenv(holdEnv) != "":
		err = holdChild(os.Getenv(holdEnv))
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func child(t *testing.T, env, value string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), env+"="+value)
	cmd.Stderr = os.Stderr
	return cmd
}

// lockChild opens a writer and a reader under a limit on locked memory, sends
// from the one to the other and prints how much each has locked.
func lockChild(value string) error {
	limit, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	pair, err := lab.NewPair(lab.Config{Queues: 2})
	if err != nil {
		return err
	}
	defer pair.Close()
	a, err := port.OpenIn(pair.A.NS, pair.A.Iface)
	if err != nil {
		return err
	}
	b, err := port.OpenIn(pair.B.NS, pair.B.Iface)
	if err != nil {
		return err
	}
	// As a user whose limit holds. It is of this thread only.
	runtime.LockOSThread()
	if err := dropCaps(unix.CAP_IPC_LOCK); err != nil {
		return err
	}
	w, err := xdp.Open(a, xdp.Config{})
	if err != nil {
		return err
	}
	defer w.Close()
	r, err := xdp.OpenReader(b, xdp.ReaderConfig{})
	if err != nil {
		return err
	}
	defer r.Close()
	const count = 64
	p := porttest.Plan(60)
	for sent := 0; sent < count; {
		slots := w.Reserve(count - sent)
		for i := range slots {
			slots[i].Len = p.Write(slots[i].Data, uint64(sent+i), 0)
		}
		n, err := w.Submit(context.Background(), len(slots))
		if err != nil {
			return err
		}
		sent += n
	}
	received := 0
	for {
		frames, err := r.Receive(100 * time.Millisecond)
		if err != nil {
			return err
		}
		if len(frames) == 0 {
			break
		}
		received += len(frames)
	}
	fmt.Println(w.Info().Memory, w.Info().Wanted, r.Info().Memory, r.Info().Wanted, received)
	fmt.Println(r.Info())
	return nil
}

// The memory fits the limit on locked memory, with room for a second engine, and
// where it does not an error says what to do.
func TestLockedMemory(t *testing.T) {
	// CAP_IPC_LOCK has no limit.
	if i := openReader(t, newPair(t, lab.Config{Queues: 2}).B, xdp.ReaderConfig{}).Info(); i.Memory != i.Wanted {
		t.Errorf("without a limit locked %d bytes, want %d", i.Memory, i.Wanted)
	}
	const wantedW, wantedR = 1024 * 2048, 2 * 8192 * 2048
	tests := []struct {
		limit int
		w, r  int // locked by the writer and the reader
	}{
		{8 << 20, wantedW, 4 << 20},
		{2 << 20, 1 << 20, 1 << 20},
		{512 << 10, 256 << 10, 256 << 10},
	}
	for _, tt := range tests {
		out, err := child(t, lockEnv, strconv.Itoa(tt.limit)).Output()
		if err != nil {
			t.Errorf("limit %d: %v: %s", tt.limit, err, out)
			continue
		}
		first, line, _ := strings.Cut(string(out), "\n")
		if want := fmt.Sprint(tt.w, wantedW, tt.r, wantedR, 64); first != want {
			t.Errorf("limit %d: locked, wanted by the writer, by the reader, received: %s, want %s", tt.limit, first, want)
		}
		if short := strings.Contains(line, "of 32768 KiB wanted (RLIMIT_MEMLOCK)"); short != (tt.r < wantedR) {
			t.Errorf("limit %d: %q", tt.limit, line)
		}
	}
	out, err := child(t, lockEnv, strconv.Itoa(64<<10)).Output()
	if err == nil || !strings.Contains(string(out), "have a limit of 64 KiB") || !strings.Contains(string(out), "need 128 KiB") || !strings.Contains(string(out), "ulimit -l") {
		t.Errorf("limit 64 KiB: error %v: %s", err, out)
	}
}

// holdChild opens a port and waits to be killed.
func holdChild(value string) error {
	ref, err := port.ParseRef(value)
	if err != nil {
		return err
	}
	p, err := port.Open(ref)
	if err != nil {
		return err
	}
	if _, _, err := xdp.OpenBoth(p, xdp.Config{}, xdp.ReaderConfig{}); err != nil {
		return err
	}
	fmt.Println("open")
	time.Sleep(time.Minute)
	return errors.New("not killed")
}

// A process that is killed leaves no program, no promiscuous mode and no socket.
func TestKilled(t *testing.T) {
	pair := newPair(t, lab.Config{})
	cmd := child(t, holdEnv, pair.B.NS.Path()+":"+pair.B.Iface)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || line != "open\n" {
		t.Errorf("child says %q, error %v", line, err)
	}
	if l := link(t, pair.B); !l.Xdp.Attached || l.Promisc != 1 {
		t.Errorf("while it runs: XDP %+v, promiscuity %d, want attached, 1", l.Xdp, l.Promisc)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		l := link(t, pair.B)
		if !l.Xdp.Attached && l.Promisc == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("10 s after its end: XDP %+v, promiscuity %d, want none", l.Xdp, l.Promisc)
		}
	}
	openReader(t, pair.B, xdp.ReaderConfig{})
}
