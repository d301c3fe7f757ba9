// Package storedir owns what lies in the root of a store directory and is not
// a log: the directory lock, the abort marker, the checkpoint, the progress of
// delayed messages, and the lists of damaged ranges that were given up and of topics
// that were deleted.
//
//	<root>/
//	├── commitlog/        00000000000000000000, 00000000001073741824, …
//	├── consumequeue/     <topic>/<queue id>/00000000000000000000, …
//	├── index/            yyyyMMddHHmmssSSS, …
//	├── config/           JSON, and the catalog of consume queues
//	├── abort             present while the store is open, or after a crash
//	├── checkpoint        4096 bytes: up to when what is durable
//	└── lock              byte 0 is locked while the store is open
//
// All of it is as Apache RocketMQ writes it, or in places that it does not look at, so
// that either opens the other's directory. The lock is taken before anything in the
// directory is read or changed, and given back after everything else.
package storedir
