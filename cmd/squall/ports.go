package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"squall/internal/port"
	"squall/scenarios"
)

func newPorts() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "ports",
		Short: "List the ports and what squall could do with them",
		Long: `ports lists the network interfaces of this namespace and of all named ones: driver,
speed, MTU, queues, rings, which engines could use each and why others could not,
and what the machine itself uses the port for.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			infos, err := port.List()
			if err != nil && len(infos) == 0 {
				return err
			}
			if err != nil {
				fmt.Fprintf(c.ErrOrStderr(), "squall: %v\n", err)
			}
			if asJSON {
				return portsJSON(c.OutOrStdout(), infos)
			}
			return portsText(c.OutOrStdout(), infos)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func portsText(w io.Writer, infos []port.Info) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PORT\tDRIVER\tSTATE\tSPEED\tMTU\tQUEUES TX/RX\tRINGS TX/RX\tENGINES\tIN USE")
	var notes []string
	for i := range infos {
		p := &infos[i]
		can, cannot := engines(p)
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%d/%d\t%s\t%s\t%s\n", p.Ref, dash(p.Driver), p.State, speed(p.LinkBits), p.MTU,
			p.TxQueues, p.RxQueues, rings(p.Ring), dash(strings.Join(can, " ")), dash(use(p)))
		for _, why := range cannot {
			notes = append(notes, fmt.Sprintf("%s: %s\n", p.Ref, why))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(notes) > 0 {
		notes = append([]string{"\n"}, notes...)
	}
	_, err := io.WriteString(w, strings.Join(notes, ""))
	return err
}

// engines returns the engines that could use the port, and why others could
// not, those with one reason together.
func engines(p *port.Info) (can, cannot []string) {
	names := map[string][]string{}
	var reasons []string
	for _, e := range scenarios.Engines(*p) {
		if e.Err == nil {
			can = append(can, e.Name)
			continue
		}
		why := e.Err.Error()
		if names[why] == nil {
			reasons = append(reasons, why)
		}
		names[why] = append(names[why], e.Name)
	}
	for _, why := range reasons {
		cannot = append(cannot, fmt.Sprintf("no %s: %s", strings.Join(names[why], ", "), why))
	}
	return can, cannot
}

// use says what the machine uses the port for.
func use(p *port.Info) string {
	var s []string
	if p.Management != "" {
		s = append(s, "management: "+p.Management)
	} else if p.DefaultRoute {
		s = append(s, "default route")
	}
	for _, a := range p.Addrs {
		s = append(s, a.String())
	}
	return strings.Join(s, ", ")
}

func speed(bits uint64) string {
	switch {
	case bits == 0:
		return "-"
	case bits%1e9 == 0:
		return fmt.Sprintf("%dG", bits/1e9)
	case bits > 1e9:
		return fmt.Sprintf("%gG", float64(bits)/1e9)
	}
	return fmt.Sprintf("%dM", bits/1e6)
}

func rings(r port.Ring) string {
	if r == (port.Ring{}) {
		return "-"
	}
	return fmt.Sprintf("%d/%d", r.Tx, r.Rx)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// portJSON is one port in JSON. Speed is in bits a second, 0 unknown.
type portJSON struct {
	Port       string            `json:"port"`
	Driver     string            `json:"driver"`
	Bus        string            `json:"bus"`
	MAC        string            `json:"mac"`
	State      string            `json:"state"`
	Speed      uint64            `json:"speed"`
	MTU        int               `json:"mtu"`
	TxQueues   int               `json:"tx_queues"`
	RxQueues   int               `json:"rx_queues"`
	TxRing     int               `json:"tx_ring"`
	RxRing     int               `json:"rx_ring"`
	Addresses  []string          `json:"addresses"`
	Management string            `json:"management"`
	Engines    map[string]string `json:"engines"` // "" where it could, else why not
}

func portsJSON(w io.Writer, infos []port.Info) error {
	list := []portJSON{}
	for i := range infos {
		p := &infos[i]
		j := portJSON{Port: p.Ref.String(), Driver: p.Driver, Bus: p.Bus, MAC: p.MAC.String(), State: p.State, Speed: p.LinkBits, MTU: p.MTU,
			TxQueues: p.TxQueues, RxQueues: p.RxQueues, TxRing: p.Ring.Tx, RxRing: p.Ring.Rx, Management: p.Management,
			Addresses: []string{}, Engines: map[string]string{}}
		for _, a := range p.Addrs {
			j.Addresses = append(j.Addresses, a.String())
		}
		for _, e := range scenarios.Engines(*p) {
			j.Engines[e.Name] = ""
			if e.Err != nil {
				j.Engines[e.Name] = e.Err.Error()
			}
		}
		list = append(list, j)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(list)
}
