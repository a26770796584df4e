package main

import "github.com/spf13/cobra"

func newPcap() *cobra.Command {
	c := &cobra.Command{
		Use:   "pcap",
		Short: "Look at captures, and make new ones",
		Long: `pcap reads captures (pcap and pcapng, packed with gzip or zstd or not) and says what
is in them, or makes new ones. Nothing is sent.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(
		newPcapCompare(),
		newPcapConvert(),
		newPcapDupacks(),
		newPcapInfo(),
		newPcapImpair(),
		newPcapMake(),
		newPcapReorder(),
		newPcapRewrite(),
		newPcapSlice(),
		newPcapSplit(),
	)
	return c
}
