package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"squall/internal/report"
	"squall/scenarios"
)

func newReport() *cobra.Command {
	var json bool
	c := &cobra.Command{
		Use:   "report DIRECTORY [DIRECTORY]",
		Short: "Print the report of a run again, or compare two runs",
		Long: `Of one run directory: its report. A run that did not come to its end (killed, power
lost, or still under way) is reported as far as its samples and events tell, and the
exit code is 3: nothing is known of the device.

Of two: where the second differs from the first, phase by phase. These are differences
of one run from another; whether two settings differ takes several runs of each.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 && len(args) != 2 {
				return fmt.Errorf("have %d arguments, need one run directory, or two to compare; see %s --help", len(args), c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 2 {
				return compareRuns(c, json, args[0], args[1])
			}
			return again(c, json, args[0])
		},
	}
	c.Flags().BoolVar(&json, "json", false, "print run.json, or what is known of a run that has none, or the comparison, as JSON")
	return c
}

// load reads a finished run, or else what is known of one that did not come to its end.
func load(path string) (*scenarios.Result, *report.Partial, error) {
	r, err := report.Load(path)
	if errors.Is(err, report.ErrNoResult) {
		p, err := report.LoadPartial(path)
		return nil, p, err
	}
	return r, nil, err
}

// again prints the report of a run.
func again(c *cobra.Command, json bool, path string) error {
	w := c.OutOrStdout()
	r, part, err := load(path)
	switch {
	case err != nil:
		return err
	case part == nil && json:
		return report.JSON(w, r)
	case part == nil:
		return report.Text(w, r)
	case json:
		err = report.JSON(w, part)
	default:
		err = report.PartialText(w, path, part)
	}
	if err != nil {
		return err
	}
	return verdictError{report.Incomplete}
}

// compareRuns prints where run b differs from run a.
func compareRuns(c *cobra.Command, json bool, a, b string) error {
	var sides [2]report.Side
	var end error
	for i, path := range []string{a, b} {
		r, part, err := load(path)
		switch {
		case err != nil:
			return err
		case part != nil:
			sides[i], end = report.SideOfPartial(path, part), verdictError{report.Incomplete}
		default:
			sides[i] = report.SideOf(path, r)
		}
	}
	x := report.Compare(sides[0], sides[1])
	var err error
	if json {
		err = report.JSON(c.OutOrStdout(), x)
	} else {
		err = report.ComparisonText(c.OutOrStdout(), x)
	}
	if err != nil {
		return err
	}
	return end
}
