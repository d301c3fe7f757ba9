//go:build !linux

package host

import "errors"

// system has nothing to read on this operating system.
func (f *Facts) system(string) {
	f.unknown("machine", errors.ErrUnsupported)
}
