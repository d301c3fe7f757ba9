// Package fsutil holds the file-system calls of the store that the os package does
// not have: real blocks, holes, durable names, an exclusive directory lock, and
// questions about a file system.
//
// What a name and a size are worth after a power cut decides the order of calls:
//
//	CreateNew, Fallocate, ZeroFill  the file has blocks and no name
//	(*os.File).Sync                 its size and blocks are durable
//	Publish                         it is there as a whole; its name may be lost
//	SyncDir                         its name is durable; only now promise anything in it
//	Remove, ReplaceFile             come with their own SyncDir
//
// Functions here keep no state, except that [AcquireLock] knows the locks held by
// this process. All may be called concurrently. Errors wrap the errno; a call that
// the file system or the operating system does not have wraps errors.ErrUnsupported.
package fsutil
