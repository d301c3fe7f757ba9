//go:build !linux

package host

import (
	"errors"
	"fmt"
	"time"
)

// Slice is 0: the system does not tell.
func Slice() time.Duration { return 0 }

// SetSlice has no answer here: the error is errors.ErrUnsupported.
func SetSlice(time.Duration) error {
	return fmt.Errorf("slices of threads: %w", errors.ErrUnsupported)
}
