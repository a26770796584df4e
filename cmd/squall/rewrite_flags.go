package main

import (
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"squall/pcaps"
	"squall/replay/rewrite"
)

// rewriteFlags say what is changed in a capture's frames.
type rewriteFlags struct {
	r rewrite.Rules
}

func (f *rewriteFlags) add(c *cobra.Command) {
	fs, r := c.Flags(), &f.r
	fs.StringVar(&r.SrcMAC, "smac", "", "source `MAC` address; also of Ethernet headers made for link types without one")
	fs.StringVar(&r.DstMAC, "dmac", "", "destination `MAC` address; likewise")
	fs.StringArrayVar(&r.MACMap, "mac-map", nil, "replace a MAC address on either side, `OLD=NEW`; repeatable")
	fs.StringArrayVar(&r.VLANAdd, "vlan-add", nil, "put a VLAN tag in front, `ID[:PCP[:DEI]][/TPID]`; repeatable, the first outermost")
	fs.StringVar(&r.VLANDel, "vlan-del", "", "take VLAN tags away: `outer|all`")
	fs.StringArrayVar(&r.VLANSet, "vlan-set", nil, "change VLAN tags, `[OLD=][ID][:PCP[:DEI]][/TPID]`; the n-th without OLD changes the n-th tag")
	fs.StringArrayVar(&r.Map, "map", nil, "replace IP addresses, `OLD=NEW`: two addresses, or prefixes of one length; repeatable")
	fs.StringArrayVar(&r.SrcMap, "src-map", nil, "the same of source addresses, `OLD=NEW`")
	fs.StringArrayVar(&r.DstMap, "dst-map", nil, "the same of destination addresses, `OLD=NEW`")
	fs.StringArrayVar(&r.PortMap, "port-map", nil, "replace TCP and UDP ports, `OLD=NEW` or 1-9=11-19; repeatable")
	fs.StringVar(&r.TTL, "ttl", "", "TTL or hop limit: `N`, +N or -N")
	fs.StringVar(&r.DSCP, "dscp", "", "DSCP, `0-63`")
	fs.StringArrayVar(&r.TEID, "teid", nil, "GTP-U tunnel identifier: `N`, +N, -N, or OLD=NEW, repeatable")
	fs.Int64Var(&r.SeqShift, "seq-shift", 0, "add `N` to TCP sequence numbers, acknowledgements and SACK blocks")
	fs.StringArrayVar(&r.SeqShiftFrom, "seq-shift-from", nil, "shift only the numbers of what hosts in `CIDR` send")
	fs.StringVar(&r.Layer, "layer", rewrite.Outer, "headers to change: `outer|inner|all`; inner is what is within GTP-U, GRE, VXLAN or IP")
	fs.BoolVar(&r.FixChecksums, "fix-checksums", false, "compute checksums anew; without it, wrong ones stay wrong")
	fs.BoolVar(&r.Unique, "unique-flows", false, "step the addresses from pass to pass, so that each has flows of its own")
	fs.StringArrayVar(&r.CopyStep, "copy-step", nil, "which addresses are stepped: `both|src|dst|CIDR` (default both)")
	fs.Uint64Var(&r.CopyStride, "copy-stride", 0, "how far addresses are stepped from copy to copy (default 1)")
}

// unique has the addresses of copies stepped, as --copies wants it.
func (f *rewriteFlags) unique() { f.r.Unique = true }

// rules returns what is asked for, checked.
func (f *rewriteFlags) rules() (rewrite.Rules, error) {
	if _, err := f.r.Compile(); err != nil {
		return rewrite.Rules{}, fmt.Errorf("--%w", err) // an error begins with the name of its rule, which is that of the flag
	}
	return f.r, nil
}

// reframer makes Ethernet headers with the addresses asked for. The rules have
// been checked.
func (f *rewriteFlags) reframer() *pcaps.Reframer {
	var r pcaps.Reframer
	r.Src, _ = net.ParseMAC(f.r.SrcMAC)
	r.Dst, _ = net.ParseMAC(f.r.DstMAC)
	return &r
}
