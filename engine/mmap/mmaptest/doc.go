// Package mmaptest has a mmap.Mapper whose mappings are ordinary Go memory, for
// tests that must see data races, injected failures and power cuts.
//
// # Three layers
//
//	live bytes       what Region.Bytes shows; one buffer per file, shared by all its
//	                 Regions. The race detector watches it.
//	page cache       the file itself: gets the live bytes at Sync, SyncData and
//	                 WriteAt, and all of them when the last Region is unmapped, as
//	                 they would be in the system's cache by then.
//	durable image    what Sync and SyncData covered, byte for byte. For a file that
//	                 the Heap first meets in Map it starts as the file's content.
//
// [Heap.CrashClone] writes a directory as a power cut would leave it: each file that
// the Heap knows as its durable image, plus, if asked, any of the 512-byte sectors,
// lengths and names that happened to reach the disk.
//
// A Heap also stands in for the calls on files and directories that go with mapping
// (disk.go), so that the trace has the whole story of a file in order, any call can be
// made to fail, and a name counts as durable only after SyncDir.
//
// # Where it is stricter or looser than the system
//
//   - Sync makes exactly its range durable, not the rest of the pages. It reads
//     exactly these bytes, so that a writer elsewhere in the page is no race.
//   - SyncData too makes only its range durable.
//   - Memory of the last Region of a file is overwritten at Unmap: use after unmap
//     shows as a race or as bytes 0xDE.
//   - ReplaceWithZeros leaves slices handed out before as they were; Bytes called
//     later shows zeros.
//   - A file that is written or truncated behind the Region's back shows this only
//     once it is mapped anew.
//   - Nothing ever faults.
//
// A Heap and its Regions may be used from several goroutines. They share a mutex,
// which never covers the live bytes that the caller stores by itself.
package mmaptest
