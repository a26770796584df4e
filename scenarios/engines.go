package scenarios

import (
	"fmt"

	"squall/internal/port"
	"squall/internal/port/packet"
)

// engine is one way to put frames on a port and to take them off. This file is
// the one place below cmd that names them.
type engine struct {
	name     string
	supports func(port.Info) error
	sender   func(*port.Port) (port.Sender, error)
	reader   func(*port.Port) (port.BatchReader, error)
}

// engines are in the order that auto prefers them.
var engines = []engine{
	{
		name:     "packet",
		supports: packet.Supports,
		sender: func(p *port.Port) (port.Sender, error) {
			return packet.Open(p, packet.Config{})
		},
		reader: func(p *port.Port) (port.BatchReader, error) {
			return packet.OpenReader(p, packet.ReaderConfig{})
		},
	},
}

// Offer is an engine and whether a port could use it.
type Offer struct {
	Name string
	Err  error // why not; nil: it could
}

// Engines returns the engines of this build, fastest first, for one port.
func Engines(info port.Info) []Offer {
	var all []Offer
	for _, e := range engines {
		all = append(all, Offer{Name: e.name, Err: e.supports(info)})
	}
	return all
}

// choose returns the engine asked for, or the first that the port supports.
func choose(name string, info port.Info) (engine, error) {
	var known string
	var last error
	for _, e := range engines {
		known += " " + e.name
		if name != "auto" && name != e.name {
			continue
		}
		err := e.supports(info)
		if err == nil {
			return e, nil
		}
		last = fmt.Errorf("engine %q on port %q: %w", e.name, info.Ref, err)
	}
	if last == nil {
		last = fmt.Errorf("engine %q: this version has auto%s", name, known)
	}
	return engine{}, last
}
