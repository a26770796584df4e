package port

import (
	"fmt"
	"strings"
)

// Ref names a port: one network interface in one network namespace.
type Ref struct {
	NetNS string // name under /run/netns, or a path where it holds a slash; empty: this process's own
	Iface string
}

// ParseRef reads [NETNS:]IFACE.
func ParseRef(s string) (Ref, error) {
	ns, iface, found := cutLast(s, ":")
	r := Ref{NetNS: ns, Iface: iface}
	switch {
	case iface == "":
		return Ref{}, fmt.Errorf("port %q: no interface; write eth1 or, in a network namespace, lab-a:va", s)
	case found && ns == "":
		return Ref{}, fmt.Errorf("port %q: no namespace before the colon; write eth1 or lab-a:va", s)
	case len(iface) > 15: // IFNAMSIZ is 16 with the final zero
		return Ref{}, fmt.Errorf("port %q: interface name has %d bytes, at most 15 fit", s, len(iface))
	case strings.ContainsAny(iface, "/ \t\n"):
		return Ref{}, fmt.Errorf("port %q: no interface has such a name", s)
	}
	return r, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return "", s, false
}

// String returns [NETNS:]IFACE.
func (r Ref) String() string {
	if r.NetNS == "" {
		return r.Iface
	}
	return r.NetNS + ":" + r.Iface
}
