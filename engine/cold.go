package engine

import "commitlab/engine/mmap"

// EvictLog makes the commit log durable and asks the system to let its files out
// of the page cache, so that what is read next comes from the disk. It is for
// measurements; other processes that have the files mapped keep them cached.
// LogCache tells what has stayed.
func (s *Store) EvictLog() error { return s.log.Evict() }

// LogCache counts the pages of the commit log's files in the page cache. Where
// the system does not tell, the error wraps errors.ErrUnsupported.
func (s *Store) LogCache() (mmap.CacheStat, error) { return s.log.CacheStat() }
