package main

import (
	"context"
	"encoding/json"
	"fmt"

	"commitlab/bench/host"
)

// doctorCommand judges the machine.
type doctorCommand struct {
	Dir    string `default:"." help:"Directory whose disk is to be measured."`
	Format string `default:"text" enum:"text,json" help:"text or json."`
}

// Run prints the findings, the worst first. A machine on which a run would
// fail makes it exit with 1.
func (c *doctorCommand) Run(ctx context.Context, con console) error {
	findings := append(host.Preflight(c.Dir), peerFinding(ctx))
	if c.Format == "json" {
		e := json.NewEncoder(con.stdout)
		e.SetIndent("", "  ")
		if err := e.Encode(findings); err != nil {
			return err
		}
	} else {
		printFindings(con, findings)
	}
	for _, f := range findings {
		if f.Severity == host.Problem {
			return fmt.Errorf("a run in %s would not measure what it says: %s", c.Dir, f.What)
		}
	}
	return nil
}

func printFindings(con console, findings []host.Finding) {
	for _, f := range findings {
		fmt.Fprintf(con.stdout, "%s: %s\n  why:  %s\n", f.Severity, f.What, f.Why)
		if f.Mend != "" {
			fmt.Fprintf(con.stdout, "  mend: %s\n", f.Mend)
		}
	}
}
