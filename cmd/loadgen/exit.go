package main

import (
	"context"
	"errors"
	"fmt"

	"commitlab/bench/result"
)

// The exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInvalid     = 4
	exitUnavailable = 5
	exitInterrupted = 130
)

// codedError is an error that decides the exit code.
type codedError struct {
	code int
	error
}

func (e codedError) Unwrap() error { return e.error }

func usage(err error) error { return codedError{exitUsage, err} }

// exitCode is the code of what run returned.
func exitCode(err error) int {
	var coded codedError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &coded):
		return coded.code
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	default:
		return exitFailed
	}
}

// statusError says how a run ended; nil if it is ok.
func statusError(status result.Status, reason string) error {
	err := fmt.Errorf("run is %s: %s", status, reason)
	switch status {
	case result.OK:
		return nil
	case result.Interrupted:
		return codedError{exitInterrupted, err}
	case result.Invalid:
		return codedError{exitInvalid, err}
	case result.Unavailable:
		return codedError{exitUnavailable, err}
	default:
		return codedError{exitFailed, err}
	}
}
