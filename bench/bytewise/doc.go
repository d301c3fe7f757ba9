// Package bytewise compares two store directories that two implementations made
// from the same plan, byte by byte: each record of the log and each unit of the
// consume queues.
//
// A plan fixes all that a producer decides. What it cannot fix is told apart and
// counted, and nothing else may differ:
//
//	store timestamp          the clock of the store
//	properties of a delayed  put together again from a map, which has no order: the
//	  message                order is another, a property without value is dropped,
//	                         the last separator is there or not
//	physical offset          follows where a record before has another size
//	place of a blank         likewise
//	tags code of a delayed   the time of its delivery, counted from the store's clock
//	  message
//
// Both directories must have been closed in order. They are read, not opened as
// stores, and without any trust in what is compared: records are cut out by their
// sizes, and every difference is looked for in the bytes.
package bytewise
