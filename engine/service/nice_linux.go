package service

import "syscall"

// lowerPriority makes the calling thread nicer. It needs no privilege and can
// only fail for a thread that does not exist.
func lowerPriority(nice int) {
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), nice)
}
