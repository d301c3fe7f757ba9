// Package answers writes down everything a store answers about what it holds, in
// a form that another implementation can write as well, and compares two such
// texts. It is how this store and RocketMQ's check each other: both open the
// same directory and must give the same lines.
//
//	{"kind":"log",…}      first and last offset
//	{"kind":"record",…}   every record, by physical offset: all fields, SHA-256 of its bytes
//	{"kind":"queue",…}    first and next offset of a queue; then of this queue
//	{"kind":"message",…}    every unit with the record it leads to
//	{"kind":"get",…}        what a consumer is told at and beyond its ends
//	{"kind":"time",…}       where store times lead to, around the first, a middle and the last
//	{"kind":"key",…}      for every topic and key: the records found by it
//
// Queues come in the order of topic and id, keys of topic and key, each compared
// by bytes. Left out are queues that never had a message: whether one is listed
// is chance in RocketMQ. Lines of kind time are written for release 5 only,
// which has the two bounds; 4.x answers with the nearer neighbour.
//
// Keys are what a client of RocketMQ gets: its store compares hashes, the client
// then drops what has another key. Both sides do the same here.
package answers
