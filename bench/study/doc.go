// Package study compares configurations: it plans which cell runs when, and
// runs each in a process and a directory of its own.
//
//	study file ─ Parse ─► Spec ─ Plan ─► result.Study (study.json) ─ Runner ─► runs/<cell>/<block>/
//	             strict          cells, byte budgets,                │
//	                             order                               └ Launch, one process per slot:
//	                                                                   RunSlot ─► Run.Execute ─► bench/measure or bench/peer
//
// A cell is a configuration under one load of one scenario. A block runs every
// cell once; what is compared is compared within a block. The order within
// blocks is balanced (see order), so that neither the position nor the
// predecessor favours a configuration. A comparison is between configurations of
// one scenario. A ratio (RatioSpec) divides any figure by any other of the same block:
// one scenario by another, or a latency by the machine's own hiccups.
//
// Between two runs the old files are removed, and with them their pages in the
// page cache; everything is written back; the machine rests for a while.
//
// Everything that decides a run is in study.json before the first one begins.
// A study can therefore be continued after an interrupt, by any process that
// has its directory: runs that ended stand, the others are done.
//
// # Concurrency
//
// One Runner works on a directory at a time. RunSlot runs in a process that
// does nothing else, or the figures are worth nothing.
package study
