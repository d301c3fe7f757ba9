package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/perf/benchfmt"
)

func export(t *testing.T, r *Report, f Format, o ExportOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Export(&b, f, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func records(t *testing.T, text string) (header []string, rows []map[string]string) {
	t.Helper()
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range all[1:] {
		row := map[string]string{}
		for i, name := range all[0] {
			row[name] = record[i]
		}
		rows = append(rows, row)
	}
	return all[0], rows
}

// The header named one unit and the values were in another.
func TestB145_HeaderAndValuesChangeUnitTogether(t *testing.T) {
	r := two(1, always(3*time.Millisecond), always(time.Millisecond)).load(t)
	for unit, want := range map[Unit]float64{Nanoseconds: 3e6, Microseconds: 3e3, Milliseconds: 3} {
		header, rows := records(t, export(t, r, CSV, ExportOptions{Unit: unit, Config: "a", Tag: "append.service"}))
		column := "max_" + string(unit)
		got, err := strconv.ParseFloat(rows[0][column], 64)
		if err != nil || got != want {
			t.Errorf("%s is %q (%v), want %v; header %v", column, rows[0][column], err, want, header)
		}
		hgrm := export(t, r, HGRM, ExportOptions{Unit: unit, Config: "a", Tag: "append.service"})
		if !strings.Contains(hgrm, "unit = "+string(unit)+"]") {
			t.Errorf("the percentile distribution does not name its unit %s:\n%s", unit, hgrm)
		}
	}
}

// Commas of a locale or of a label broke rows.
func TestB147_RowsParseToTheSameValues(t *testing.T) {
	t.Setenv("LANG", "de_DE.UTF-8")
	t.Setenv("TZ", "America/Sao_Paulo")
	s := two(1, always(1234567*time.Nanosecond), always(time.Millisecond))
	label := "a,b \"c\"\nd"
	s.cells[0].label = label
	text := export(t, s.load(t), CSV, ExportOptions{Tag: "append.service"})
	_, rows := records(t, text)
	if rows[0]["config"] != label || rows[0]["max_us"] != "1234.567" {
		t.Errorf("config %q, max_us %q; want %q and 1234.567", rows[0]["config"], rows[0]["max_us"], label)
	}
	if strings.Contains(text, "\r") || !strings.Contains(text, `"a,b ""c""`+"\n"+`d"`) {
		t.Errorf("the label is not written as it is:\n%q", text)
	}
}

// Seconds in which nothing ended broke the JSON and gave minima of 9.2e15.
func TestB130_EmptySecondsAreNullAndHoles(t *testing.T) {
	s := two(1, always(time.Millisecond), always(time.Millisecond))
	s.count = func(_, tick int) int {
		if tick >= 2 && tick <= 3 {
			return 0
		}
		return 100
	}
	r := s.load(t)
	series := r.Groups[0].Cells[0].Runs[0].Latency["append.service"].Series
	for i, p := range series {
		empty := i == 2 || i == 3
		if (p.Count == 0) != empty || math.IsNaN(p.Max) != empty {
			t.Errorf("interval %d: count %d, max %v", i, p.Count, p.Max)
		}
	}
	var any map[string]any
	if err := json.Unmarshal([]byte(export(t, r, JSON, ExportOptions{})), &any); err != nil {
		t.Error(err)
	}
	if page := pageOf(t, r); strings.Contains(page, "NaN") {
		t.Error("the page shows NaN")
	}
}

// What has no value is null, not 0.
func TestB117_NoOperationsAreNullAndEmpty(t *testing.T) {
	s := two(1, always(time.Millisecond), always(time.Millisecond))
	s.count = func(int, int) int { return 0 }
	r := s.load(t)
	var got struct {
		Groups []struct {
			Cells []struct {
				LatencyNs map[string]map[string]*float64 `json:"latency_ns"`
			}
		}
	}
	if err := json.Unmarshal([]byte(export(t, r, JSON, ExportOptions{})), &got); err != nil {
		t.Fatal(err)
	}
	figures := got.Groups[0].Cells[0].LatencyNs["append.service"]
	if figures["count"] == nil || *figures["count"] != 0 {
		t.Errorf("count %v, want 0", figures["count"])
	}
	_, rows := records(t, export(t, r, CSV, ExportOptions{Config: "a", Tag: "append.service"}))
	for _, s := range Statistics {
		v, there := figures[s.Name]
		if !there || v != nil || rows[0][s.Name+"_us"] != "" {
			t.Errorf("%s: JSON %v (there: %v), CSV %q; want null and an empty field", s.Name, v, there, rows[0][s.Name+"_us"])
		}
	}
}

func TestBenchLinesAreReadByBenchfmt(t *testing.T) {
	r := two(6, always(time.Millisecond), always(2*time.Millisecond)).load(t)
	reader := benchfmt.NewReader(strings.NewReader(export(t, r, Bench, ExportOptions{})), "export")
	count := map[string]int{}
	for reader.Scan() {
		switch rec := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Error(rec)
		case *benchfmt.Result:
			count[string(rec.Name)]++
			for _, unit := range []string{"sec/op", "p99-sec/op", "p99.9-response-sec/op", "ops/s"} {
				if _, ok := rec.Value(unit); !ok {
					t.Errorf("%s has no %s: %v", rec.Name, unit, rec.Values)
				}
			}
		}
	}
	for _, name := range []string{"Append/config=a/pace=1000/workers=1-2", "Append/config=b/pace=1000/workers=1-2"} {
		if count[name] != 6 {
			t.Errorf("%d lines of %s, want one per run: %v", count[name], name, count)
		}
	}
}

func TestExportOfNothingIsAnError(t *testing.T) {
	r := two(1, always(time.Millisecond), always(time.Millisecond)).load(t)
	for _, c := range []struct {
		format Format
		o      ExportOptions
		want   string
	}{
		{CSV, ExportOptions{Config: "c"}, `configuration "c"`},
		{CSV, ExportOptions{Tag: "get.service"}, `tag "get.service"`},
		{CSV, ExportOptions{Unit: "s"}, `unit "s"`},
		{"xlsx", ExportOptions{}, `format "xlsx"`},
	} {
		err := r.Export(&bytes.Buffer{}, c.format, c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %+v: error %v, want one with %s", c.format, c.o, err, c.want)
		}
	}
}
