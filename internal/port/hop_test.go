package port_test

import (
	"net/netip"
	"testing"

	"squall/internal/lab"
	"squall/internal/port"
)

func TestNextHop(t *testing.T) {
	newNS(t) // as root, or not at all
	l, err := lab.New(lab.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	pair, err := lab.NewPair(lab.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer pair.Close()
	for _, row := range []struct {
		name   string
		end    lab.End
		mac    string
		router netip.Addr
	}{
		{"a host of a lab", l.VA, l.In.MAC.String(), l.In.IPv4.Addr()},
		{"the other one", l.VB, l.Out.MAC.String(), l.Out.IPv4.Addr()},
		{"a port without addresses", pair.A, "", netip.Addr{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, err := port.OpenIn(row.end.NS, row.end.Iface)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			mac, router, ok, err := p.NextHop()
			if err != nil || ok != (row.mac != "") || mac.String() != row.mac || router != row.router {
				t.Errorf("next hop %v (%v), %v, %v, want %v (%v)", mac, router, ok, err, row.mac, row.router)
			}
		})
	}
}
