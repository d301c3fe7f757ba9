// Report reads results that loadgen left behind and shows them: as text, as a
// page, or in the formats of other tools.
//
//	report RESULT...                       the comparison as text
//	report html RESULT... -o FILE          one self-contained page
//	report export --format csv RESULT...   hgrm, csv, json or bench
//	report compare A B                     two results that were not run together
//	report profile A [B]                   by function where profiled runs spend, or differ
//
// A RESULT is the directory of a study or of a run; profiles are of runs. The report goes to stdout,
// errors go to stderr. The exit code is 0, 2 for a wrong command line, or 1 if
// a result could not be read.
package main

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	err := run(os.Args[1:], os.Stdout, os.Stderr)
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "report:", err)
	if errors.As(err, new(usageError)) {
		os.Exit(2)
	}
	os.Exit(1)
}
