package study

import (
	"fmt"

	"commitlab/bench/result"
	"commitlab/bench/stat"
)

// alpha is the level at which a claim counts.
const alpha = 0.05

// enoughBlocks reports a study that has too few blocks to show a difference, however
// large, in some scenario.
func enoughBlocks(study result.Study) error {
	n := claims(study)
	need := stat.BlocksNeeded(alpha, n)
	if study.Blocks >= need {
		return nil
	}
	return fmt.Errorf("%d blocks cannot show a difference at any size in %d claims that are judged together (other configurations than the first, by primary metrics), want at least %d blocks (or exploratory: true, and no conclusions)",
		study.Blocks, n, need)
}

// claims is how many claims are judged together, at most: those against one cell, by
// each primary metric that its scenario times. A cell that repeats another is judged
// by itself.
func claims(study result.Study) int {
	judged := map[string]int{} // by cell
	for _, c := range study.Comparisons {
		if c.Kind == result.Claim {
			judged[c.A]++
		} else {
			judged[c.B]++
		}
	}
	most := 1
	for cell, n := range judged {
		metrics := 0
		for _, metric := range study.Primary {
			if err := (CellMetricSpec{Cell: cell, Metric: metric}).check(study.Cells); err == nil {
				metrics++
			}
		}
		most = max(most, n*metrics)
	}
	return most
}
