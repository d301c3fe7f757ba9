//go:build !linux

package host

import "time"

// Slice is 0: the system does not tell.
func Slice() time.Duration { return 0 }
