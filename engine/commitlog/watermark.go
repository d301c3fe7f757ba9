package commitlog

import "fmt"

// A watermark is a named byte offset in the log.
type watermark struct {
	name   string
	offset int64
}

// checkOrder returns an error unless the watermarks do not descend.
func checkOrder(marks ...watermark) error {
	for i := 1; i < len(marks); i++ {
		if marks[i-1].offset > marks[i].offset {
			return fmt.Errorf("watermarks out of order: %s %d is beyond %s %d", marks[i-1].name, marks[i-1].offset, marks[i].name, marks[i].offset)
		}
	}
	return nil
}
