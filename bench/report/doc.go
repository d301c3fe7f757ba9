// Package report turns results into what people read: a comparison as text, a
// page of figures, and exports for other programs. Both commands use it, so
// that loadgen prints the same figures at the end of a study as report does a
// year later.
//
//	study or run directories
//	  │ Load: streams logs, merges histograms per cell, pairs runs by block
//	  ▼
//	Report ── Groups (scenario × pace × parameters: what can be compared)
//	  │          └─ Cells (configurations) ── Runs (one per block)
//	  │          └─ Comparisons with the first cell, Checks of the method
//	  │       Quotients (figures of any two cells that a study asks for)
//	  ▼
//	tables ──► Text            the same tables in both,
//	      └──► HTML ◄── chart  and figures in the page
//	Export: hgrm, csv, json, bench
//
//	profiled run A, profiled run B ──► LoadProfiles ── hotspot ──► cost per operation
//	                                   by function: Text, CSV, JSON
//
// # Invariants
//
//   - A percentile is read from a histogram: of one run, or of the merged runs
//     of a cell. Percentiles are never averaged, and rates never taken from the
//     first and last time stamp of several runs.
//   - Comparisons are between runs, block by block, and never between
//     operations. What too few runs cannot tell is said to be not enough.
//   - A run that was interrupted, is invalid, failed, was profiled or is damaged
//     counts in no figure and in no comparison, and is always listed. Where a
//     cell has no other run, those are shown, marked, and compared with nothing.
//   - What does not exist (no operation, no due times, no end) is "–" in text
//     and HTML, an empty field in CSV and null in JSON. It is never 0.
//   - Profiles stand beside the comparisons and in none of them: a profiled run
//     explains a figure and gives none.
//   - Memory is bounded by cells, runs and tags: a log is streamed, and a run's
//     course over time is kept in a bounded number of points.
//
// Report and Profiles do not change after they were loaded; their methods may be
// called from several goroutines. The package reads results and never writes any.
package report
