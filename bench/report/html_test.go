package report

import (
	"os"
	"testing"
)

func TestHTMLGolden(t *testing.T) {
	for n, s := range map[string]synthetic{"6": quick(6), "3": quick(3)} {
		r := s.load(t)
		f, _ := os.Create("/tmp/report" + n + ".html")
		if err := r.HTML(f, Options{Runs: true}); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
}
