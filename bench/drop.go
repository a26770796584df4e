package main

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"

	"squall/internal/lab"
)

// dropAll has a port drop what comes in by a native XDP program, the cheapest
// receiver that there is, until the function it returns is called.
func dropAll(e lab.End) (undo func() error, err error) {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "GPL", Instructions: asm.Instructions{
		asm.Mov.Imm(asm.R0, 1), // XDP_DROP
		asm.Return(),
	}})
	if err != nil {
		return nil, err
	}
	defer prog.Close()
	err = e.NS.Do(func() error {
		l, err := netlink.LinkByName(e.Iface)
		if err != nil {
			return err
		}
		x, err := link.AttachXDP(link.XDPOptions{Program: prog, Interface: l.Attrs().Index, Flags: link.XDPDriverMode})
		if err == nil {
			undo = x.Close
		}
		return err
	})
	return undo, err
}
