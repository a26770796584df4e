package ledger

import (
	"regexp"
	"strings"

	"squall/internal/probe"
)

// view returns the counter that a change is of. Those of the single CPUs'
// backlogs are one, and so are those of a driver's queues: rx_queue_N_drops.
func view(c probe.Change) View {
	if c.Where == backlog.Where && strings.HasSuffix(c.Name, "."+backlog.Counter) {
		return backlog
	}
	return View{c.Where, queue.ReplaceAllString(c.Name, "${1}_queue_N_")}
}

var queue = regexp.MustCompile(`^(rx|tx)_queue_[0-9]+_`)

// traffic reports whether a counter moves with every frame: no news.
func traffic(name string) bool {
	if strings.HasPrefix(name, "rx_pp_") { // the page pool's, by page
		return true
	}
	if queue.MatchString(name) {
		return perFrame.MatchString(name)
	}
	switch name[strings.LastIndex(name, ".")+1:] {
	case "rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "packets", "bytes", "processed", "received_rps",
		"InReceives", "InOctets", "InDelivers", "ForwDatagrams", "OutForwDatagrams", "OutOctets", "OutRequests", "OutTransmits",
		"InNoECTPkts", "InECT0Pkts", "InECT1Pkts", "InCEPkts", "overlimits", "requeues", "time_squeeze":
		return true
	}
	return false
}

// perFrame are what drivers count for each queue with every frame: rx_queue_0_packets,
// and of veth rx_queue_0_xdp_packets, rx_queue_0_xdp_redirect, tx_queue_0_xdp_xmit.
var perFrame = regexp.MustCompile(`_(packets|bytes|xdp_redirect|xdp_tx|xdp_xmit)$`)
