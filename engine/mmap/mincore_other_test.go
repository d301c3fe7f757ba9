//go:build !linux

package mmap

import "errors"

func mincore(_, _ []byte) error { return errors.ErrUnsupported }
