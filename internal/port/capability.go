package port

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

var capabilityNames = map[int]string{
	unix.CAP_NET_RAW:   "CAP_NET_RAW",
	unix.CAP_NET_ADMIN: "CAP_NET_ADMIN",
	unix.CAP_SYS_ADMIN: "CAP_SYS_ADMIN",
	unix.CAP_BPF:       "CAP_BPF",
	unix.CAP_IPC_LOCK:  "CAP_IPC_LOCK",
}

// Capable returns nil where the calling thread has these capabilities of
// capabilities(7), and otherwise an error that names those it lacks and matches
// [ErrCapability]. CAP_SYS_ADMIN includes CAP_BPF.
func Capable(need ...int) error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData // 64 bits in two halves
	if err := unix.Capget(&head, &data[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	has := func(c int) bool { return data[c/32].Effective&(1<<(c%32)) != 0 }
	var lacks []string
	for _, c := range need {
		if !has(c) && !(c == unix.CAP_BPF && has(unix.CAP_SYS_ADMIN)) {
			lacks = append(lacks, capabilityNames[c])
		}
	}
	if len(lacks) > 0 {
		return fmt.Errorf("%w: need %s, run as root", ErrCapability, strings.Join(lacks, " and "))
	}
	return nil
}
