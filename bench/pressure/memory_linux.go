package pressure

import (
	"errors"
	"fmt"

	"github.com/prometheus/procfs"
)

// memoryState is the machine's memory in bytes.
type memoryState struct{ total, available int64 }

// memory reads it. Available is what can be had without paging out.
func memory() (memoryState, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return memoryState{}, err
	}
	info, err := fs.Meminfo()
	if err != nil {
		return memoryState{}, fmt.Errorf("read how much memory is free: %w", err)
	}
	if info.MemTotalBytes == nil || info.MemAvailableBytes == nil {
		return memoryState{}, errors.New("/proc/meminfo does not say how much memory is available")
	}
	return memoryState{int64(*info.MemTotalBytes), int64(*info.MemAvailableBytes)}, nil
}
