// Package engine is a message store in the design of the local file store of
// Apache RocketMQ, compatible with it on disk.
package engine
