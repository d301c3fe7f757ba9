//go:build !linux

package pressure

import "errors"

// memoryState is the machine's memory in bytes.
type memoryState struct{ total, available int64 }

// memory is not known here, so nothing is taken of it.
func memory() (memoryState, error) {
	return memoryState{}, errors.Join(errors.ErrUnsupported, errors.New("free memory is read on Linux only"))
}
