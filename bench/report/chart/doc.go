// Package chart draws the figures of a report as SVG text: latency by
// percentile, latency over time, and ratios between configurations.
//
//	values in nanoseconds ──► scale (log) ──► canvas (paths, text) ──► one <svg> element
//
// Every function is pure: the same input gives the same bytes, so that a
// report can be compared with a stored one. A figure carries no colour of its
// own; elements have classes and [CSS] gives these their colours, once for
// light and once for dark surroundings. Figures therefore belong inside a page
// that holds CSS, not into an <img>.
//
// Each figure has role="img" with a title and a description, and its markers
// have titles of their own, which browsers show under the pointer: the exact
// figures are reachable without a script. A figure is never the only place
// of a number; the tables of the page hold them all.
//
// Note: gonum.org/v1/plot writes colours and font metrics into its SVG, which
// can follow neither a dark page nor the reader's font; three fixed kinds of
// figure need less than its general machinery.
package chart
