// Package stat compares configurations by values of whole runs: the p99 of a
// run, its rate. An operation is not a sample, since all operations of a run
// share one state of page cache, file layout and disk; a run is.
//
// Configurations A and B are run side by side in blocks, and each block gives
// one difference
//
//	d = ln(b / a)
//
// so that +10 % and -10 % do not cancel wrongly and every result can be shown
// as a ratio, exp(d). [Paired] answers from the differences: how large (the
// Hodges–Lehmann estimate), how sure (the exact interval that the Wilcoxon
// signed-rank test would not reject), and whether it is chance (the exact
// sign-flip permutation test). [Unpaired] does the same for runs that were not
// made in blocks, by the Mann–Whitney test.
//
// No method here assumes a distribution. Latency has none that is known, and
// with ten blocks none could be checked.
//
// All functions are pure: they change no argument and keep no state. Inputs
// that carry no information (no runs, one run, equal runs, runs without a
// value) are answered as such, with Enough false or p = 1, never with an error,
// a panic or NaN in a field that is printed.
package stat
