package storedir

import (
	"encoding/binary"
	"hash/crc32"
)

// Positions behind the times, in the same sector of the checkpoint file, and like
// them big-endian. RocketMQ neither reads nor overwrites these bytes.
//
//	256  8  magic
//	264 24  the three times, again
//	288  8  queues: log offset        296  8  queues: sum
//	304  8  index: log offset         312  8  index: last record
//	320  8  delays: log offset        328  8  delays: sum
//	336  8  CRC-32 of [256, 336)
//	344  8  log: offset               352  8  the same, inverted
//
// The times stand there twice so that positions of this store are not believed
// after RocketMQ has used the directory: it moves the first copy only.
const (
	positionsAt    = 256
	positionsMagic = 0x636c_6162_706f_7301

	timesAgainAt  = positionsAt + 8
	queuesAt      = timesAgainAt + 3*8
	queuesSumAt   = queuesAt + 8
	indexedAt     = queuesSumAt + 8
	indexEndAt    = indexedAt + 8
	delaysAt      = indexEndAt + 8
	delaysSumAt   = delaysAt + 8
	sumAt         = delaysSumAt + 8
	logDurableAt  = sumAt + 8
	logInvertedAt = logDurableAt + 8
	positionsEnd  = logInvertedAt + 8
)

// Positions say in log offsets what is durable or done. Other than times they do
// not depend on the clock and name a place exactly. Zero positions claim nothing.
type Positions struct {
	// Known: the other fields were saved by this store, and nobody else has
	// written to the checkpoint since.
	Known bool
	// LogDurable: the log is durable up to here.
	LogDurable int64
	// QueuesDurable: every queue has the units of its records below, durably.
	// QueuesSum tells the queues apart from such that lack some, or are missing.
	QueuesDurable int64
	QueuesSum     uint64
	// Indexed: the keys of all records below were entered into the index, the last
	// of them at IndexEnd; -1 if there was none. It does not say that they are
	// durable, but an index that still reaches to IndexEnd has them all.
	Indexed  int64
	IndexEnd int64
	// DelaysSaved: the saved progress of delayed messages covers what was delivered
	// below. It is worth nothing if the offsets in it add up to less than DelaysSum.
	DelaysSaved int64
	DelaysSum   int64
}

// encode writes the positions into a checkpoint that has its times already.
func (p Positions) encode(b []byte) {
	if !p.Known {
		clear(b[positionsAt:positionsEnd])
		return
	}
	put := func(at int, n int64) { binary.BigEndian.PutUint64(b[at:], uint64(n)) }
	put(positionsAt, positionsMagic)
	copy(b[timesAgainAt:queuesAt], b[commitLogAt:masterFlushedAt])
	put(queuesAt, p.QueuesDurable)
	put(queuesSumAt, int64(p.QueuesSum))
	put(indexedAt, p.Indexed)
	put(indexEndAt, p.IndexEnd)
	put(delaysAt, p.DelaysSaved)
	put(delaysSumAt, p.DelaysSum)
	put(sumAt, int64(crc32.ChecksumIEEE(b[positionsAt:sumAt])))
	encodeLogDurable(b[logDurableAt:], p.LogDurable)
}

func encodeLogDurable(b []byte, offset int64) {
	binary.BigEndian.PutUint64(b, uint64(offset))
	binary.BigEndian.PutUint64(b[8:], ^uint64(offset))
}

// decodePositions reads the positions of a checkpoint; they are zero unless they
// are whole and belong to its times.
func decodePositions(b []byte) Positions {
	if len(b) < positionsEnd {
		return Positions{}
	}
	get := func(at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }
	p := Positions{
		Known:         true,
		LogDurable:    get(logDurableAt),
		QueuesDurable: get(queuesAt), QueuesSum: uint64(get(queuesSumAt)),
		Indexed: get(indexedAt), IndexEnd: get(indexEndAt),
		DelaysSaved: get(delaysAt), DelaysSum: get(delaysSumAt),
	}
	whole := get(positionsAt) == positionsMagic && get(sumAt) == int64(crc32.ChecksumIEEE(b[positionsAt:sumAt])) &&
		get(logInvertedAt) == ^p.LogDurable && string(b[timesAgainAt:queuesAt]) == string(b[commitLogAt:masterFlushedAt])
	if !whole || min(p.LogDurable, p.QueuesDurable, p.Indexed, p.DelaysSaved) < 0 {
		return Positions{}
	}
	return p
}
