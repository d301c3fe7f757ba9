package message

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Topics with a meaning to the store.
const (
	RetryTopicPrefix = "%RETRY%"
	ScheduleTopic    = "SCHEDULE_TOPIC_XXXX"      // delayed messages wait here, queue id = level - 1
	HalfTopic        = "RMQ_SYS_TRANS_HALF_TOPIC" // prepared messages wait here
)

// DefaultDelayLevels is the delay table of an unconfigured store.
const DefaultDelayLevels = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"

// unknownDelayMs is the delay of a level without an entry.
const unknownDelayMs = 1000

// DelayLevels is the delay of each level in ms; that of level 1 comes first.
type DelayLevels []int64

// ParseDelayLevels reads a table like DefaultDelayLevels: numbers with one of the
// units s, m, h, d, separated by one space.
func ParseDelayLevels(s string) (DelayLevels, error) {
	units := map[byte]int64{'s': 1000, 'm': 60_000, 'h': 3_600_000, 'd': 86_400_000}
	var levels DelayLevels
	for i, word := range strings.Split(s, " ") {
		if word == "" {
			return nil, fmt.Errorf("delay level %d in %q is empty", i+1, s)
		}
		last := len(word) - 1
		unit, known := units[word[last]]
		n, err := strconv.ParseInt(word[:last], 10, 64)
		if !known || err != nil || n < 0 || n > math.MaxInt64/unit {
			return nil, fmt.Errorf("delay level %d: got %q, want a number and one of s, m, h, d", i+1, word)
		}
		levels = append(levels, n*unit)
	}
	return levels, nil
}

// Cap limits a level to the highest one of the table.
func (d DelayLevels) Cap(level int) int { return min(level, len(d)) }

// DeliverAtMs is when a message of that level, stored at storeTimestampMs, is
// due, in epoch ms. A level that is not in the table means one second.
func (d DelayLevels) DeliverAtMs(level int, storeTimestampMs int64) int64 {
	if level < 1 || level > len(d) {
		return storeTimestampMs + unknownDelayMs
	}
	return storeTimestampMs + d[level-1]
}

// TagsCode is the third field of the record's consume queue entry: the hash of
// its whole TAGS value, 0 without one. A record that waits in the schedule topic
// has the time of its delivery there instead.
//
// A delay level that is no number is ignored here; the Java store takes the whole
// record for damaged.
func (r *Record) TagsCode(d DelayLevels) int64 {
	if string(r.Topic) == ScheduleTopic {
		if v, ok := r.Properties.Get(PropertyDelay); ok {
			level, err := strconv.ParseInt(string(v), 10, 32)
			if capped := d.Cap(int(level)); err == nil && capped > 0 {
				return d.DeliverAtMs(capped, r.StoreTimestamp)
			}
		}
	}
	tags, _ := r.Properties.Get(PropertyTags)
	return int64(StringHash(tags))
}
