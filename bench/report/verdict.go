package report

import (
	"fmt"

	"commitlab/bench/report/chart"
	"commitlab/bench/result"
)

// comparisonNotes says what the ratios of a tag may be taken for.
func (g *Group) comparisonNotes(tag string) []string {
	var notes []string
	var few *Comparison
	unpaired, enough := false, false
	for i := range g.Comparisons {
		p := &g.Comparisons[i]
		if p.Tag != tag {
			continue
		}
		unpaired = unpaired || !p.Paired
		enough = enough || p.Enough
		if !p.Enough && (few == nil || p.runs() < few.runs()) {
			few = p
		}
	}
	if few != nil {
		what := "blocks"
		if unpaired {
			what = "runs"
		}
		notes = append(notes, fmt.Sprintf("Ratios: not enough %s (%d of %d) to tell a difference from chance; they are shown without interval and are no finding.", what, few.runs(), few.Needed))
	}
	if unpaired {
		notes = append(notes, "Unpaired: the runs have no blocks in common, so that whatever changed on the machine between them is part of the ratio.")
	}
	if enough && !unpaired {
		notes = append(notes, "Ratios: Hodges–Lehmann estimate over the blocks, with the exact 95 % interval of the signed-rank test; ~ marks ratios where no difference was shown (adjusted p above 0.05).")
	}
	for _, c := range g.Checks {
		if s := c.verdict(tag); s != "" {
			notes = append(notes, s)
		}
	}
	return notes
}

func (c *Check) label() string {
	if c.Kind == result.AA {
		return "noise floor (A/A " + c.A.Label + ")"
	}
	return fmt.Sprintf("control (%s + %s)", c.A.Label, chart.Duration(float64(c.InjectedNs)))
}

// verdict says what an A/A pair or a control tells about the study, "" when it
// has too few blocks to tell.
func (c *Check) verdict(tag string) string {
	var told, differ bool
	for _, p := range c.Results {
		if p.Tag == tag && p.Enough {
			told = true
			differ = differ || p.mark() == ""
		}
	}
	switch {
	case !told:
		return ""
	case c.Kind == result.AA && differ:
		return fmt.Sprintf("UNTRUSTED: %s differs from itself in the A/A pair; something other than the configuration moves the figures of this study.", c.A.Label)
	case c.Kind == result.Control && !differ:
		return fmt.Sprintf("UNTRUSTED: the injected delay of %s was not found; this study could not have found a real one.", chart.Duration(float64(c.InjectedNs)))
	}
	return ""
}
