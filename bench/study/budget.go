package study

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"commitlab/bench/host"
	"commitlab/bench/pace"
	"commitlab/bench/scenario"
	"commitlab/bench/workload"
)

// RoomAt measures the room for a run below dir, or below the nearest parent of
// it that exists.
func RoomAt(dir string) (Room, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Room{}, err
	}
	for {
		facts := host.Collect(dir)
		if facts.Dir.TotalBytes > 0 {
			return Room{Disk: int64(facts.Dir.AvailableBytes), Memory: int64(facts.AvailableBytes)}, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return Room{}, errors.New("free space is not known")
		}
		dir = parent
	}
}

// Budget is the byte budget of a run that does not give one. In an open loop it
// is what the schedule will write, with a twentieth to spare; a disk that
// would be more than half full of it is an error. A closed loop takes the
// scenario's default, cut to half of the disk and a quarter of the memory, so
// that it does not measure paging; so does a scenario that only reads, whose
// budget is what it reads from. A scenario that takes old files down writes more
// than the disk holds, so neither limits it.
func Budget(s scenario.Scenario, w workload.Spec, p pace.Pacer, length time.Duration, room Room) (int64, error) {
	if s.Reads || pace.IsClosed(p) {
		if s.Rolling {
			return s.MaxBytes, nil
		}
		budget := min(s.MaxBytes, room.Disk/2)
		if room.Memory > 0 {
			budget = min(budget, room.Memory/4)
		}
		return max(budget, 1), nil
	}
	record, err := scenario.RecordBytes(w)
	if err != nil {
		return 0, err
	}
	need := int64(float64(pace.Count(p, length))*record*1.05) + 1<<20
	if need > room.Disk/2 && !s.Rolling {
		return 0, fmt.Errorf("rate %s for %s writes %d MiB, more than half of the %d MiB that are free; want a shorter run, a lower rate or a maxBytes at which it may end",
			p, length, need>>20, room.Disk>>20)
	}
	return need, nil
}
