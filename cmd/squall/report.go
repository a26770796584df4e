package main

import (
	"github.com/spf13/cobra"

	"squall/internal/report"
)

func newReport() *cobra.Command {
	var json bool
	c := &cobra.Command{
		Use:   "report DIRECTORY",
		Short: "Print the report of a run again",
		Args:  oneArg("a run directory"),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := report.Load(args[0])
			if err != nil {
				return err
			}
			if json {
				return report.JSON(c.OutOrStdout(), r)
			}
			return report.Text(c.OutOrStdout(), r)
		},
	}
	c.Flags().BoolVar(&json, "json", false, "print run.json")
	return c
}
