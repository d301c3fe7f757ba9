package storedir

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"commitlab/engine/fsutil"
)

// Layout of the checkpoint file, big-endian; the rest is zero.
//
//	0   8  commit log is durable for records stored before, epoch ms
//	8   8  consume queues likewise
//	16  8  index likewise
//	24  8  master flushed offset    (RocketMQ 5: replication, not used here)
//	32  8  confirm offset           (RocketMQ 5: replication, not used here)
const (
	checkpointBytes = 4096

	commitLogAt     = 0
	consumeQueueAt  = commitLogAt + 8
	indexAt         = consumeQueueAt + 8
	masterFlushedAt = indexAt + 8
	confirmAt       = masterFlushedAt + 8
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
}

// A CheckpointFile is the open checkpoint of a store.
type CheckpointFile struct{ f *os.File }

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
	}, nil
}

// Save makes v durable in place. All fields lie in one sector, so a power cut
// leaves the old or the new values. Not for concurrent use.
func (c *CheckpointFile) Save(v Checkpoint) error {
	b := make([]byte, checkpointBytes)
	put := func(at int, n int64) { binary.BigEndian.PutUint64(b[at:], uint64(n)) }
	put(commitLogAt, v.CommitLogMs)
	put(consumeQueueAt, v.ConsumeQueueMs)
	put(indexAt, v.IndexMs)
	put(masterFlushedAt, v.MasterFlushedOffset)
	put(confirmAt, v.ConfirmOffset)
	if _, err := c.f.WriteAt(b, 0); err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	if err := c.f.Sync(); err != nil {
		return fmt.Errorf("sync checkpoint: %w", err)
	}
	return nil
}

// Close gives the file up; nothing is saved.
func (c *CheckpointFile) Close() error { return c.f.Close() }
