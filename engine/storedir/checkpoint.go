package storedir

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"commitlab/engine/fsutil"
)

// Layout of the checkpoint file, big-endian; the rest is zero, but for the
// positions, see there.
//
//	0   8  commit log is durable for records stored before, epoch ms
//	8   8  consume queues likewise
//	16  8  index likewise
//	24  8  master flushed offset    (RocketMQ 5: replication, not used here)
//	32  8  confirm offset           (RocketMQ 5: replication, not used here)
//	40  8  units are durable of the records before this offset (RocketMQ 5.5, whose
//	       recovery starts there; only written here, see Positions.QueuesDurable)
const (
	checkpointBytes = 4096

	commitLogAt     = 0
	consumeQueueAt  = commitLogAt + 8
	indexAt         = consumeQueueAt + 8
	masterFlushedAt = indexAt + 8
	confirmAt       = masterFlushedAt + 8
	queuesOffsetAt  = confirmAt + 8
)

// A Checkpoint says up to which store time the parts of the store are durable,
// in epoch milliseconds; 0 means nothing is known.
type Checkpoint struct {
	CommitLogMs    int64
	ConsumeQueueMs int64
	IndexMs        int64
	// Kept as found, for a broker that replicates.
	MasterFlushedOffset int64
	ConfirmOffset       int64
	// Positions say more exactly what the times say, if they are known.
	Positions Positions
}

// A CheckpointFile is the open checkpoint of a store. It is safe for concurrent
// use.
type CheckpointFile struct {
	f *os.File

	mu         sync.Mutex
	logDurable int64 // guarded by mu; as last noted
}

// OpenCheckpoint opens the checkpoint and reads it; a missing or empty one is
// made, durably, and is all zeros. A file too short for its fields is an error.
func (l Layout) OpenCheckpoint() (*CheckpointFile, Checkpoint, error) {
	f, err := os.OpenFile(l.Checkpoint(), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, Checkpoint{}, fmt.Errorf("open checkpoint: %w", err)
	}
	file := &CheckpointFile{f: f}
	c, err := file.load()
	if err != nil {
		return nil, Checkpoint{}, errors.Join(err, f.Close())
	}
	return file, c, nil
}

func (c *CheckpointFile) load() (Checkpoint, error) {
	b := make([]byte, checkpointBytes)
	n, err := c.f.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return Checkpoint{}, fmt.Errorf("read checkpoint: %w", err)
	}
	if n == 0 {
		if err := c.Save(Checkpoint{}); err != nil {
			return Checkpoint{}, err
		}
		return Checkpoint{}, fsutil.SyncDir(filepath.Dir(c.f.Name()))
	}
	return decodeCheckpoint(c.f.Name(), b[:n])
}

// ReadCheckpoint reads the checkpoint and changes nothing. A missing file is an
// error that is fs.ErrNotExist; an empty one is all zeros, as for OpenCheckpoint.
func (l Layout) ReadCheckpoint() (Checkpoint, error) {
	b, err := os.ReadFile(l.Checkpoint())
	if err != nil {
		return Checkpoint{}, fmt.Errorf("read checkpoint: %w", err)
	}
	if len(b) == 0 {
		return Checkpoint{}, nil
	}
	return decodeCheckpoint(l.Checkpoint(), b)
}

func decodeCheckpoint(path string, b []byte) (Checkpoint, error) {
	if len(b) < confirmAt+8 {
		return Checkpoint{}, fmt.Errorf("checkpoint %s: %d bytes, expected %d", path, len(b), checkpointBytes)
	}
	field := func(at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }
	return Checkpoint{
		CommitLogMs: field(commitLogAt), ConsumeQueueMs: field(consumeQueueAt), IndexMs: field(indexAt),
		MasterFlushedOffset: field(masterFlushedAt), ConfirmOffset: field(confirmAt),
		Positions: decodePositions(b),
	}, nil
}

// Save makes v durable in place. All fields lie in one sector, so a power cut
// leaves the old or the new values. A log offset that was noted and is larger
// stays.
func (c *CheckpointFile) Save(v Checkpoint) error {
	if err := c.write(v); err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	if err := c.f.Sync(); err != nil {
		return fmt.Errorf("sync checkpoint: %w", err)
	}
	return nil
}

func (c *CheckpointFile) write(v Checkpoint) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	v.Positions.LogDurable = max(v.Positions.LogDurable, c.logDurable)
	b := make([]byte, checkpointBytes)
	put := func(at int, n int64) { binary.BigEndian.PutUint64(b[at:], uint64(n)) }
	put(commitLogAt, v.CommitLogMs)
	put(consumeQueueAt, v.ConsumeQueueMs)
	put(indexAt, v.IndexMs)
	put(masterFlushedAt, v.MasterFlushedOffset)
	put(confirmAt, v.ConfirmOffset)
	put(queuesOffsetAt, v.Positions.QueuesDurable)
	v.Positions.encode(b)
	_, err := c.f.WriteAt(b, 0)
	return err
}

// NoteLogDurable writes into a checkpoint with known positions up to where the
// log is durable, and syncs nothing: a process that is killed leaves it, a power
// cut may take it back to what was saved. It costs one small write.
func (c *CheckpointFile) NoteLogDurable(offset int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b [logInvertedAt + 8 - logDurableAt]byte
	encodeLogDurable(b[:], offset)
	if _, err := c.f.WriteAt(b[:], logDurableAt); err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	c.logDurable = offset
	return nil
}

// Close gives the file up; nothing is saved.
func (c *CheckpointFile) Close() error { return c.f.Close() }
