package shell

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"squall/internal/netns"
)

// Host is a machine that ssh reaches.
type Host struct {
	// Name is [USER@]HOST, where HOST is a name, an address or a Host of
	// ssh_config(5).
	Name string
	// Port is that of sshd; 0 leaves it to ssh_config(5), 22 as a rule.
	Port uint16
	// Config is a file read instead of the user's configuration (ssh -F);
	// empty: the user's.
	Config string
	// NS is the network namespace that ssh connects from; nil: this one.
	NS *netns.NS
	// Patience is how long a connection and its login may take; 0: 5 s.
	Patience time.Duration
}

// ParseHost reads [USER@]HOST[:PORT]. An IPv6 address with a port stands in
// brackets.
func ParseHost(s string) (Host, error) {
	user, host, found := strings.Cut(s, "@")
	if !found {
		user, host = "", s
	}
	var h Host
	_, err := netip.ParseAddr(host)
	bracket, isBracket := strings.CutPrefix(host, "[")
	switch {
	case err == nil: // an IPv6 address without port is full of colons
	case isBracket:
		addr, port, ok := strings.Cut(bracket, "]")
		if _, err := netip.ParseAddr(addr); err != nil || !ok || port != "" && port[0] != ':' {
			return Host{}, fmt.Errorf("host %q: need [USER@]HOST[:PORT]", s)
		}
		host = addr
		if port != "" {
			err = h.setPort(port[1:])
			if err != nil {
				return Host{}, fmt.Errorf("host %q: %w", s, err)
			}
		}
	default:
		if name, port, ok := strings.Cut(host, ":"); ok {
			host, err = name, h.setPort(port)
			if err != nil {
				return Host{}, fmt.Errorf("host %q: %w", s, err)
			}
		}
	}
	h.Name = host
	if found {
		h.Name = user + "@" + host
	}
	// A name that begins with a hyphen would be an option of ssh.
	if host == "" || found && user == "" || strings.HasPrefix(host, "-") || strings.HasPrefix(user, "-") || strings.ContainsAny(h.Name, "[] \t\r\n\x00") {
		return Host{}, fmt.Errorf("host %q: need [USER@]HOST[:PORT]", s)
	}
	return h, nil
}

func (h *Host) setPort(s string) error {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 {
		return fmt.Errorf("port %q: need 1 to %d", s, math.MaxUint16)
	}
	h.Port = uint16(n)
	return nil
}

// String returns the host as [ParseHost] reads it.
func (h Host) String() string {
	if h.Port == 0 {
		return h.Name
	}
	user, host, found := strings.Cut(h.Name, "@")
	if !found {
		user, host = "", h.Name
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if found {
		host = user + "@" + host
	}
	return fmt.Sprintf("%s:%d", host, h.Port)
}

func (h Host) patience() time.Duration {
	if h.Patience > 0 {
		return h.Patience
	}
	return 5 * time.Second
}

// Command prepares the running of a line by the login shell of the host. The
// process is not started; it gets a group of its own, see [Kill].
func (h Host) Command(line string) *exec.Cmd {
	seconds := max(1, int(math.Ceil(h.patience().Seconds())))
	args := []string{"-T",
		"-o", "BatchMode=yes",
		"-o", "ConnectTimeout=" + strconv.Itoa(seconds),
		// A host that is gone is noticed while nothing is asked, too.
		"-o", "ServerAliveInterval=" + strconv.Itoa(seconds), "-o", "ServerAliveCountMax=2",
		"-o", "ControlMaster=no",
		// What a configuration may have for people at terminals.
		"-o", "RemoteCommand=none", "-o", "PermitLocalCommand=no", "-o", "ClearAllForwardings=yes",
	}
	if h.Config != "" {
		args = append(args, "-F", h.Config)
	}
	if h.Port != 0 {
		args = append(args, "-p", strconv.Itoa(int(h.Port)))
	}
	return group(exec.Command("ssh", append(args, "--", h.Name, line)...))
}

// Start starts a command in the namespace that the host is reached from.
func (h Host) Start(cmd *exec.Cmd) error { return start(h.NS, cmd) }

// Local prepares the running of a line by sh(1) on this machine, in a process
// group of its own.
func Local(line string) *exec.Cmd { return group(exec.Command("sh", "-c", line)) }

func group(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

func start(ns *netns.NS, cmd *exec.Cmd) error {
	err := ns.Do(cmd.Start)
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%w: install %s", err, cmd.Args[0])
	}
	return err
}

// Kill ends a started command with all of its process group, by SIGKILL.
func Kill(cmd *exec.Cmd) {
	if cmd.Process != nil {
		// ESRCH: all have ended already.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}

// Quote makes one word of sh(1) of s.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
