package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"

	"squall/internal/netns"
)

// setting is one sysctl. The kernel's Documentation/networking/ip-sysctl.rst
// explains each.
type setting struct{ name, value string }

// Order matters: writing ip_forward resets others below it.
var (
	routerSettings = []setting{{"net/ipv4/ip_forward", "1"}} // IPv6: see wire
	hostSettings   = []setting{
		{"net/ipv4/ip_forward", "0"}, {"net/ipv6/conf/all/forwarding", "0"},
		// A host that answered a storm with ICMP errors would be part of it.
		// The least time in ms between two errors to one address: 24 days.
		{"net/ipv4/icmp_ratelimit", "2147483647"},
		{"net/ipv6/icmp/ratelimit", "2147483647"},
	}
	// For "all" and "default", before there are interfaces to inherit them.
	eachSettings = []setting{
		{"net/ipv4/conf/*/rp_filter", "0"}, // sources of test frames are made up
		{"net/ipv4/conf/*/send_redirects", "0"},
		{"net/ipv4/conf/*/accept_redirects", "0"},
		{"net/ipv6/conf/*/disable_ipv6", "0"},
		{"net/ipv6/conf/*/accept_redirects", "0"},
		{"net/ipv6/conf/*/accept_ra", "0"},
		{"net/ipv6/conf/*/autoconf", "0"},
		{"net/ipv6/conf/*/router_solicitations", "0"},
		{"net/ipv6/conf/*/dad_transmits", "0"},
		{"net/ipv6/conf/*/accept_dad", "0"},
		{"net/ipv6/conf/*/addr_gen_mode", "1"}, // no link-local address
	}
)

const sysctlDir = "/proc/sys"

// haveIPv6 reports whether this kernel speaks IPv6; with ipv6.disable=1 it
// does not.
func haveIPv6() bool {
	_, err := os.Stat(filepath.Join(sysctlDir, "net/ipv6"))
	return err == nil
}

// prepare makes a new namespace a router or a host and brings lo up.
func prepare(ns *netns.NS, router bool) error {
	settings := hostSettings
	if router {
		settings = routerSettings
	}
	err := ns.Do(func() error {
		for _, s := range append(settings[:len(settings):len(settings)], eachSettings...) {
			for _, conf := range [...]string{"all", "default"} {
				name := strings.Replace(s.name, "*", conf, 1)
				if err := sysctl(name, s.value); err != nil {
					return err
				}
				if name == s.name {
					break
				}
			}
		}
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		return netlink.LinkSetUp(lo)
	})
	if err != nil {
		return fmt.Errorf("network namespace %q: %w", ns, err)
	}
	return nil
}

// sysctl sets a value of the calling thread's namespace: /proc/sys/net shows
// that of whoever opens it.
func sysctl(name, value string) error {
	if strings.HasPrefix(name, "net/ipv6/") && !haveIPv6() {
		return nil
	}
	err := os.WriteFile(filepath.Join(sysctlDir, name), []byte(value), 0)
	if err != nil {
		return fmt.Errorf("sysctl %s: %w", strings.ReplaceAll(name, "/", "."), err)
	}
	return nil
}
