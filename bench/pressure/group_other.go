//go:build !linux

package pressure

import "fmt"

// ownMemoryGroup finds none: control groups are of Linux.
func ownMemoryGroup() (memoryGroup, error) {
	return memoryGroup{}, fmt.Errorf("%w: control groups exist on Linux only", errNoGroup)
}
