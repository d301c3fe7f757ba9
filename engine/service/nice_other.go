//go:build !linux

package service

// lowerPriority does nothing: threads have no priority of their own here.
func lowerPriority(int) {}
