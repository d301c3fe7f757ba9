package report

import (
	"encoding/json"
	"fmt"

	"commitlab/bench/report/chart"
)

// coldCache is what the counters of a scenario that reads a cold log tell of it.
type coldCache struct {
	LogBytes    uint64 `json:"logBytes"`
	Blocks      int64  `json:"blocks"` // reads in a round
	Rounds      int64  `json:"rounds"`
	Unknown     string `json:"unknown"` // why what is cached is not known
	FilledBytes uint64 `json:"filledBytes"`
	RoundBytes  uint64 `json:"roundBytes"`
	LeftBytes   uint64 `json:"leftBytes"`
}

// coldTable tells how cold a log was that was read from the disk: without that, how
// it was read tells nothing.
func (g *Group) coldTable() table {
	t := table{
		ID: "cold", Title: "How cold the log was",
		Caption: "Its pages were dropped from the page cache before each round, in which one record is read of each block. That stands for a memory that is smaller than the log; it is no limit of memory.",
		Columns: []string{"configuration", "log", "reads in a round", "rounds", "cached when filled", "after a round, most", "once dropped, most"},
	}
	for i, c := range g.Cells {
		sum, ok := c.cold()
		if !ok {
			continue
		}
		cells := []string{bytesText(sum.LogBytes), chart.Count(sum.Blocks), chart.Count(sum.Rounds)}
		if sum.Unknown == "" {
			cells = append(cells, bytesText(sum.FilledBytes), bytesText(sum.RoundBytes), bytesText(sum.LeftBytes))
		} else {
			cells = append(cells, chart.NoData, chart.NoData, chart.NoData)
			t.Notes = append(t.Notes, fmt.Sprintf("%s: how much of the log was cached is not known: %s.", c.Label, sum.Unknown))
		}
		t.Rows = append(t.Rows, row{Kind: value, Colour: colour(i), Label: c.Label, Cells: cells})
	}
	return t
}

// cold adds up the rounds of the shown runs and takes the most of their other
// figures; it is false where there are none.
func (c *Cell) cold() (sum coldCache, ok bool) {
	for _, r := range c.shown() {
		var counters struct {
			Cache *coldCache `json:"cache"`
		}
		if end := r.Manifest.End; end == nil || json.Unmarshal(end.Counters, &counters) != nil || counters.Cache == nil {
			continue
		}
		one := counters.Cache
		ok = true
		sum.Rounds += one.Rounds
		sum.Blocks, sum.LogBytes = max(sum.Blocks, one.Blocks), max(sum.LogBytes, one.LogBytes)
		sum.FilledBytes, sum.RoundBytes, sum.LeftBytes = max(sum.FilledBytes, one.FilledBytes), max(sum.RoundBytes, one.RoundBytes), max(sum.LeftBytes, one.LeftBytes)
		if one.Unknown != "" {
			sum.Unknown = one.Unknown
		}
	}
	return sum, ok
}
