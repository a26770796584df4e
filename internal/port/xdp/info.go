package xdp

import (
	"fmt"
	"strings"
)

// Info says how the engine runs on a port.
type Info struct {
	Queues []int
	// ZeroCopy: the card reads and writes the frames themselves. Asked of the
	// kernel (XDP_OPTIONS) after it took the sockets.
	ZeroCopy bool
	// Program says how the XDP program is attached: "native", in the driver;
	// "generic", before the stack; empty where there is none.
	Program string
	// Memory is how much is locked for frames, in bytes, and Wanted how much
	// would have been without a limit (RLIMIT_MEMLOCK).
	Memory, Wanted int
}

// Mode returns "zero-copy" or "copy" and, where there is an XDP program, how it
// is attached: "copy, native".
func (i Info) Mode() string {
	mode := "copy"
	if i.ZeroCopy {
		mode = "zero-copy"
	}
	if i.Program != "" {
		mode += ", " + i.Program
	}
	return mode
}

// String returns a line for a report.
func (i Info) String() string {
	s := fmt.Sprintf("%s, queues %s, %d KiB locked", i.Mode(), strings.Trim(fmt.Sprint(i.Queues), "[]"), i.Memory>>10)
	if i.Memory < i.Wanted {
		s += fmt.Sprintf(" of %d KiB wanted (RLIMIT_MEMLOCK)", i.Wanted>>10)
	}
	return s
}
