package report

import (
	"os"
	"testing"
)

func TestTextGolden(t *testing.T) {
	r := quick(6).load(t)
	if err := r.Text(os.Stdout, Options{Runs: true}); err != nil {
		t.Fatal(err)
	}
}
