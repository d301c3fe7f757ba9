package engine

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"commitlab/engine/message"
)

// hasKey reports whether a record was put under key: as its unique key or as
// one of its keys.
func hasKey(rec *message.Record, key string) bool {
	if unique, ok := rec.Properties.Get(message.PropertyUniqueKey); ok && string(unique) == key {
		return true
	}
	for word := range rec.Properties.Keys() {
		if string(word) == key {
			return true
		}
	}
	return false
}

// Query finds messages of a topic by key, newest first: at most limit of them,
// stored at beginMs or later and at endMs or earlier (epoch milliseconds, both
// inclusive). A message is found under its unique key and each word of its
// keys, once.
//
// The index only proposes: every answer was compared with the record itself.
// Two keys with the same hash do not see each other's messages, and a record
// that is no longer in the log is passed over. If the disk does not give one that may
// be an answer, there is none: the error is ErrUnreadable. The caller releases each
// view.
func (s *Store) Query(topic, key string, limit int, beginMs, endMs int64) ([]View, error) {
	return s.AppendQuery(nil, topic, key, limit, beginMs, endMs)
}

// AppendQuery is Query that appends to dst, so that a caller in a loop need
// not allocate.
func (s *Store) AppendQuery(dst []View, topic, key string, limit int, beginMs, endMs int64) ([]View, error) {
	if s.index == nil {
		return dst, fmt.Errorf("query %s by key: %w", topic, ErrNoDispatch)
	}
	cursor := s.index.Search(message.KeyHash(topic, key), beginMs, endMs)
	defer cursor.Release()
	found, oldest := dst, int64(math.MaxInt64)
	for len(found)-len(dst) < limit && cursor.Next() {
		known := found[len(dst):]
		// Read in its place in the slice: a view is too large to be handed on by value.
		found = append(found, View{})
		view := &found[len(found)-1]
		if err := s.at(view, cursor.Physical(), cursor.Reach()); err != nil {
			found = found[:len(found)-1]
			if errors.Is(err, ErrUnreadable) {
				releaseAll(known)
				return dst, fmt.Errorf("query %s by key: %w", topic, err)
			}
			continue // removed with its file
		}
		// A sound index proposes only what is older than all before.
		at := view.PhysicalOffset
		if !view.answers(topic, key, beginMs, endMs) ||
			at >= oldest && slices.ContainsFunc(known, func(v View) bool { return v.PhysicalOffset == at }) {
			view.Release()
			found = found[:len(found)-1]
			continue
		}
		oldest = min(oldest, at)
	}
	// In a store that closes, what was passed over may have gone with it.
	if err := s.orClosing(cursor.Err()); err != nil {
		releaseAll(found[len(dst):])
		return dst, fmt.Errorf("query %s by key: %w", topic, err)
	}
	return found, nil
}

// answers reports whether the record is what a query asks for.
func (v *View) answers(topic, key string, beginMs, endMs int64) bool {
	return string(v.Topic) == topic && v.StoreTimestamp >= beginMs && v.StoreTimestamp <= endMs && hasKey(&v.Record, key)
}

func releaseAll(views []View) {
	for i := range views {
		views[i].Release()
	}
}
