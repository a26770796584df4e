package gen

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Simple is the stream that flags describe. Zero values mean the defaults of
// Spec.
type Simple struct {
	Name  string
	Proto string // udp (also where empty), tcp, icmp, arp, ipv4, ipv6 or ethernet
	Size  string
	Flows uint64
	Seed  uint64
	Rate  string
	Tag   string

	Src, Dst         string // IPv4 or IPv6 addresses, of one family
	SrcPort, DstPort uint16
	SrcMAC, DstMAC   string
	VLAN             []uint16 // 802.1Q IDs, outermost first
	DSCP             uint8
	TTL              uint8  // or hop limit
	TCPFlags         string // syn+ack
	FlowOrder        string
	FlowRun          uint64
	IPv6             bool // where no address says so
}

// Spec returns the stream. It returns an error where addresses are not of one
// family or a field does not belong to the protocol.
func (s Simple) Spec() (Spec, error) {
	ip, six, err := s.family()
	if err != nil {
		return Spec{}, err
	}
	proto := s.Proto
	if proto == "" {
		proto = "udp"
	}
	layers := []Layer{layer("ethernet", "src", s.SrcMAC, "dst", s.DstMAC)}
	for _, id := range s.VLAN {
		layers = append(layers, layer("vlan", "id", strconv.Itoa(int(id))))
	}
	ports := layer(proto, "src", number(s.SrcPort), "dst", number(s.DstPort))
	switch proto {
	case "udp":
		layers = append(layers, ip, ports)
	case "tcp":
		ports.Fields["flags"] = s.TCPFlags
		if s.TCPFlags != "" && !strings.Contains(s.TCPFlags, "ack") {
			ports.Fields["ack"] = "0" // RFC 9293 section 3.1: without the flag the number means nothing
		}
		layers = append(layers, ip, ports)
	case "icmp":
		layers = append(layers, ip, layer("icmp"))
	case "ipv4", "ipv6":
		layers = append(layers, ip)
	case "arp":
		layers = append(layers, layer("arp", "sender_ip", s.Src, "target_ip", s.Dst))
	case "ethernet":
	default:
		return Spec{}, fmt.Errorf("protocol %q: have none of that name, need udp, tcp, icmp, arp, ipv4, ipv6 or ethernet", proto)
	}
	switch {
	case proto != "udp" && proto != "tcp" && (s.SrcPort != 0 || s.DstPort != 0):
		return Spec{}, fmt.Errorf("protocol %q has no ports", proto)
	case proto != "tcp" && s.TCPFlags != "":
		return Spec{}, fmt.Errorf("protocol %q has no TCP flags", proto)
	case proto == "ethernet" && (s.Src != "" || s.Dst != ""):
		return Spec{}, fmt.Errorf("protocol %q has no IP addresses", proto)
	case (proto == "ethernet" || proto == "arp") && (s.DSCP != 0 || s.TTL != 0):
		return Spec{}, fmt.Errorf("protocol %q has neither DSCP nor TTL", proto)
	case (proto == "ipv4" || proto == "arp") && six:
		return Spec{}, fmt.Errorf("protocol %q has no IPv6 addresses", proto)
	}
	for _, l := range layers {
		for k, v := range l.Fields {
			if v == "" {
				delete(l.Fields, k)
			}
		}
	}
	return Spec{
		Name: s.Name, Layers: layers, Size: s.Size, Flows: s.Flows, Seed: s.Seed,
		Rate: s.Rate, Tag: s.Tag, FlowOrder: s.FlowOrder, FlowRun: s.FlowRun,
	}, nil
}

// family returns the IP layer that the addresses call for.
func (s Simple) family() (Layer, bool, error) {
	four, six := s.Proto == "ipv4" || s.Proto == "arp", s.IPv6 || s.Proto == "ipv6"
	for _, text := range []string{s.Src, s.Dst} {
		if text == "" {
			continue
		}
		a, err := netip.ParseAddr(text)
		if err != nil {
			return Layer{}, false, fmt.Errorf("address %q: need one like 198.18.0.1 or 2001:2::1", text)
		}
		four, six = four || a.Is4(), six || a.Is6()
	}
	if four && six {
		return Layer{}, false, fmt.Errorf("addresses %q and %q, protocol %q: need all of IPv4 or all of IPv6", s.Src, s.Dst, s.Proto)
	}
	if six {
		return layer("ipv6", "src", s.Src, "dst", s.Dst, "dscp", number(s.DSCP), "hop_limit", number(s.TTL)), true, nil
	}
	return layer("ipv4", "src", s.Src, "dst", s.Dst, "dscp", number(s.DSCP), "ttl", number(s.TTL)), false, nil
}

func layer(name string, fields ...string) Layer {
	l := Layer{Name: name, Fields: make(map[string]string)}
	for i := 0; i < len(fields); i += 2 {
		l.Fields[fields[i]] = fields[i+1]
	}
	return l
}

func number[T uint8 | uint16](v T) string {
	if v == 0 {
		return ""
	}
	return strconv.Itoa(int(v))
}
