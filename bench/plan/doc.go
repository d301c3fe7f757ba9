// Package plan says what a store is filled with when two implementations are
// held against each other: every kind of message that the format knows, the same
// for both because both read it from the same lines.
//
//	{"kind":"plan","seed":1,"operations":400,"commitLogFileBytes":65536,…}
//	{"kind":"put","n":0,"since":"v4","messages":[{"topic":"AaTopic","queueId":1,…}]}
//	{"kind":"batch","n":1,"since":"v4","messages":[{…},{…},{…}]}
//
// The head has the sizes of the store's files, so that a small plan rolls all of
// them. Every other line is one call of the store. What only RocketMQ 5 can hold
// is marked "since":"v5" and left out for 4.x. All that a producer decides stands
// in the line, clocks and hosts as well; a body stands there as its length and a
// seed. What the store decides (offsets, store times) is in no plan.
//
// Generate is a pure function of its Spec. Apply puts a plan into a store of
// this module; scripts/rocketmq does it with RocketMQ's.
//
// What a plan leaves out is what one of the implementations gets wrong on
// purpose of neither: records larger than a file, topics whose length byte
// overflows, delays that come due while somebody looks.
package plan
