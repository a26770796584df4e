package port

import (
	"fmt"

	"squall/internal/netns"
)

// OpenIn looks up a port of a namespace that the caller has a handle on, such as
// one without a name. It is otherwise as [Open]; the caller keeps its handle.
func OpenIn(ns *netns.NS, iface string) (*Port, error) {
	ref := Ref{NetNS: ns.String(), Iface: iface}
	own, err := ns.Clone()
	if err != nil {
		return nil, ref.Explain(err, "CAP_SYS_ADMIN")
	}
	return open(ref, own)
}

// Inspect reads the information of an open port as it is now.
func (p *Port) Inspect() (Info, error) {
	atHome := home(p.NS)
	var infos []Info
	err := p.NS.Do(func() (err error) {
		infos, err = readInfos(p.Ref.NetNS, atHome)
		return err
	})
	if err != nil {
		return Info{}, p.Ref.Explain(err, "CAP_SYS_ADMIN")
	}
	for _, i := range infos {
		if i.Index == p.Index {
			return i, nil
		}
	}
	return Info{}, fmt.Errorf("port %q: %w", p.Ref, ErrGone)
}
