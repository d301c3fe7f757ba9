// Package hotspot says by function where one profiled run spends, or where two
// differ: cost per operation, of A, of B, and B−A.
//
//	Side A: profile, operations, window ─┐
//	                                     ├─ checked: alike? ─► Table ─► per Measure: Total, Functions
//	Side B: profile, operations, window ─┘                                  each Flat and Cumulative
//
// A profile's values grow with the time it was taken for and with the load, so
// that subtracting two profiles says nothing. Here each side is divided by its own
// operations first:
//
//	cost per operation = Σ sample values / (operations · covered / window)
//
// where covered is the part of the window that the profile saw: profilers take a
// moment to start. Without operations on either side, both are divided by the
// covered seconds instead, and Table.PerOperation is false.
//
// # Invariants
//
//   - Only what is alike is compared: the same kind, sample types, units and
//     sampling period. Everything else is an error and never a converted figure.
//     The wall clock's period alone may differ: it is the rate that its sampler
//     kept up with, and each sample is weighted by it.
//   - There is no percentage. The differences have both signs, and a share of
//     their sum would mean nothing.
//   - A function counts once per sample in Cumulative, however often it recurses,
//     so that no cumulative cost exceeds the total. Flat costs add up to it.
//   - Functions are told apart by name, which holds the package: two builds of
//     the program compare, though their addresses differ.
//
// # Resolution
//
// A profile is a sample. A function that n samples hit has a standard error of
// √n samples, from counting alone; Cost carries it as Noise, and a difference
// within three of it is not Resolved. One side alone is compared with nothing in
// the same way: what fewer than ten samples hit is not resolved. How much two
// runs of the same program differ comes on top and is not known from one of each:
// on a machine that gives the program little of its processors, that is most of it.
//
// The package is pure: it reads no file and keeps nothing. Profiles are not
// changed; a Table does not change after it was made.
package hotspot
