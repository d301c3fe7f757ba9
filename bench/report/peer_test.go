package report

import (
	"strings"
	"testing"
	"time"

	"commitlab/bench/result"
)

// besideEngine is a study of two configurations of another program and two of
// this one.
func besideEngine() synthetic {
	same := always(time.Microsecond)
	return synthetic{
		name: "beside", blocks: 2, ticks: 5, perTick: 100,
		cells: []syntheticCell{
			{name: "java", label: "java", service: same, options: `{"peer":"rocketmq","jvm":"-Xmx2g","flush":"async","store":{"lock":"true"}}`},
			{name: "java-warm", label: "java-warm", service: same, options: `{"peer":"rocketmq","jvm":"-Xmx2g","flush":"async","store":{"lock":"true","warm":"true"}}`},
			{name: "sparse", label: "sparse", service: same, options: `{"allocate":"sparse","clock":"exact","flush":"async"}`},
			{name: "tuned", label: "tuned", service: same, options: `{"allocate":"fallocate","clock":"exact","flush":"async"}`},
		},
		end: func(cell string, _ int, e *result.End) bool {
			if strings.HasPrefix(cell, "java") {
				e.Target = map[string]string{"store": "RocketMQ V4_9_8", "runtime": "a virtual machine 17", "flags": "-Xmx2g"}
			}
			return true
		},
	}
}

// Columns of two programs have few options in common; what only one of them has is
// a difference where it differs among its own configurations.
func TestOptionsOfAnotherProgramAreComparedAmongThemselves(t *testing.T) {
	var names []string
	for _, d := range besideEngine().load(t).Groups[0].Options {
		names = append(names, d.Name)
	}
	if got, want := strings.Join(names, " "), "allocate store.warm"; got != want {
		t.Errorf("options that differ: %s; want %s", got, want)
	}
}

func TestReportSaysWhatAPeerIs(t *testing.T) {
	got := text(t, besideEngine().load(t), Options{})
	wantText(t, got, "java-warm is  ", "RocketMQ V4_9_8 on a virtual machine 17 with -Xmx2g", "A peer is another program on another runtime")
	if n := strings.Count(got, "\n  java is "); n != 1 {
		t.Errorf("what java is, is said %d times", n)
	}
	if strings.Contains(text(t, quickSix(t), Options{}), "A peer is") {
		t.Error("a report without a peer speaks of one")
	}
}

// A run that this machine could not make is listed with what is missing, and is in
// no figure.
func TestUnavailableRunIsListed(t *testing.T) {
	s := besideEngine()
	s.end = func(cell string, _ int, e *result.End) bool {
		if cell == "java" {
			*e = result.End{Status: result.Unavailable, Reason: "peer unavailable: no java on the PATH"}
		}
		return true
	}
	wantText(t, text(t, s.load(t), Options{}), "0 of 2  unavailable", "java block 1: unavailable: peer unavailable: no java on the PATH.")
}
