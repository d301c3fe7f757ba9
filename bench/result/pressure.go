package result

// Pressure is what was done beside a load, on purpose, to see how it bears it.
type Pressure struct {
	Kind  string `json:"kind"`  // "page-writer"
	Asked string `json:"asked"` // as given: "200MB/s"
	Did   string `json:"did"`   // what was really done, in words
	// Values are the figures behind Did, by name with its unit: "writtenBytes".
	Values map[string]float64 `json:"values,omitempty"`
	// Notes say why less was done than asked, or another thing in its place.
	Notes []string `json:"notes,omitempty"`
}
