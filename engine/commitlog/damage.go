package commitlog

import "fmt"

// A DamageError says that bytes of the log that were durable are not records.
// Opening refuses, because to cut the log there would lose what is behind.
type DamageError struct {
	File     string // with the damage
	Offset   int64  // in the log, where records stop to make sense
	Position int64  // the same within File
	Behind   int64  // offset of a sound record behind the damage, -1 if there is none
	Durable  int64  // the log was durable up to this offset, -1 if only the record behind tells
	Reason   error  // why the bytes at Offset are no record
}

func (e *DamageError) Error() string {
	behind := fmt.Sprintf("a sound record follows at log offset %d", e.Behind)
	if e.Behind < 0 {
		behind = fmt.Sprintf("no sound record follows, but the log was durable up to log offset %d", e.Durable)
	}
	return fmt.Sprintf("commit log is damaged in %s at byte %d (log offset %d): %v; %s, so the log was not cut and nothing was changed (option damage: skip or truncate)",
		e.File, e.Position, e.Offset, e.Reason, behind)
}

func (e *DamageError) Unwrap() error { return e.Reason }
