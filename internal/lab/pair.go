package lab

import (
	"errors"
	"fmt"

	"squall/internal/netns"
)

// Pair is one cable between two namespaces, without addresses and without
// IPv6: nothing is sent on it but what a test sends.
//
//	pair-a: va ═════ vb :pair-b
type Pair struct {
	A, B End
}

// NewPair makes a pair, whole or not at all. It needs root. Config.Name and
// Config.TBF are for a Lab.
func NewPair(cfg Config) (*Pair, error) {
	if cfg.Name != "" || cfg.TBF != (TBF{}) {
		return nil, errors.New("pair: takes neither a name nor a tbf")
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("pair: %w", err)
	}
	p := &Pair{A: End{Iface: "va", MAC: mac(0xa1)}, B: End{Iface: "vb", MAC: mac(0xb1)}}
	if err := p.build(cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("pair: %w", err), p.Close())
	}
	return p, nil
}

func (p *Pair) build(cfg Config) (err error) {
	if p.A.NS, err = netns.New("pair-a"); err != nil {
		return err
	}
	if p.B.NS, err = netns.New("pair-b"); err != nil {
		return err
	}
	for _, ns := range [...]*netns.NS{p.A.NS, p.B.NS} {
		err := ns.Do(func() error { return sysctl("net/ipv6/conf/default/disable_ipv6", "1") })
		if err != nil {
			return err
		}
	}
	return cable(p.A, p.B, cfg)
}

// Close takes the pair down.
func (p *Pair) Close() error { return errors.Join(p.A.NS.Close(), p.B.NS.Close()) }
