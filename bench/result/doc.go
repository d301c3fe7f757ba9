// Package result is the files of a measured run: their format, a writer that
// streams them while the run goes on, and a reader.
//
//	results/
//	  20260102T150405Z-quick/        one study
//	    study.json                   Study: cells, the order drawn, comparisons
//	    runs/
//	      append.tuned/              one cell
//	        001/                     one block: a run
//	          manifest.json          Manifest: what was run, on what; and, once it is over, End
//	          latency.hlog           one line per interval and tag: HdrHistogram interval log 1.3
//	          counters.jsonl         one line per interval: CountersLine
//	          outliers.jsonl         one line per slow operation: Outlier
//	        001~1/                   an earlier attempt at it
//	  20260102T150405Z-append-tuned/ a run on its own: the same files
//	    profiled/                    the run once more, with profilers on: the same files, and
//	      append-tuned.cpu.pprof     one file per kind of profile
//
// A tag is "<operation>.<kind>", such as "append.service", or "hiccup". The
// operations "append.inside" and "append.outside" are those of append once more,
// by whether they overlapped a disturbance (see Bystander). Raw
// distributions are kept, percentiles are computed from them when they are
// asked for, and only from merged histograms: percentiles of parts are never
// averaged, and a rate is a count divided by measured time, never by the time
// between the first line and the last.
//
// # What holds after a crash
//
// The line files grow by whole intervals; a process that is killed leaves at
// most one torn line, which readers leave out and report. The manifest is
// written without an End first and is replaced atomically after all other files
// are on disk, so a manifest with an End speaks of complete files, and a run
// without one is Interrupted and can be read as far as it got.
//
// # What a figure means
//
// All histograms have one geometry (1 ns to 100 s, 3 digits). A longer value is
// clamped to 100 s, counted in Extremes.OverRange, and the exact maximum is kept
// beside. A percentile is the upper end of its histogram cell, as every tool that
// reads the log shows it, and the exact maximum where the cell is the clamped
// one: never below the truth. No values is null, never 0.
//
// Readers stream and hold no file open between calls. Writer may be shared by
// goroutines; Run, Merged and Distribution may not while one of them changes.
package result
