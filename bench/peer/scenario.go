package peer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"commitlab/bench/pace"
)

// needs is what a scenario of bench/scenario wants of a peer that does it.
type needs struct {
	scenario string
	flush    string // what it measures; "" for either
	dispatch string // "" for either, off unless the configuration says on
	reads    bool   // nothing is written while it is measured
	// store holds settings of RocketMQ's that the scenario has unless others are
	// given.
	store map[string]string
}

// scenarios lists what a peer can do.
var scenarios = []needs{
	{scenario: "append", flush: async},
	{scenario: "append_sync", flush: sync},
	{scenario: "dispatch", dispatch: on},
	{scenario: "dispatch_rebuild", dispatch: on},
	{scenario: "lookup", dispatch: on, reads: true},
	{scenario: "get", dispatch: on, reads: true},
	{scenario: "destroy", store: map[string]string{"mappedFileSizeCommitLog": "268435456"}},
}

func needsOf(scenario string) (needs, bool) {
	i := slices.IndexFunc(scenarios, func(n needs) bool { return n.scenario == scenario })
	if i < 0 {
		return needs{}, false
	}
	return scenarios[i], true
}

// Resolve fills in what a scenario needs. A scenario that the peer cannot do, a
// setting that contradicts it and a schedule that the peer cannot keep are
// errors, all joined.
func (o Options) Resolve(scenario string, p pace.Pacer) (Options, error) {
	n, ok := needsOf(scenario)
	if !ok {
		var names []string
		for _, n := range scenarios {
			names = append(names, n.scenario)
		}
		return o, fmt.Errorf("scenario %s: peer %s does only %s", scenario, o.Peer, strings.Join(names, ", "))
	}
	var errs []error
	if _, ok := ratePerSecond(p); !ok {
		errs = append(errs, fmt.Errorf("rate %s: peer %s keeps a constant rate or a closed loop only", p, o.Peer))
	}
	fill := func(option string, field *string, want, byDefault string) {
		switch {
		case want == "" && *field == "":
			*field = byDefault
		case want != "" && *field != "" && *field != want:
			errs = append(errs, fmt.Errorf("option %s: got %s, want %s: that is what scenario %s measures", option, *field, want, scenario))
		case want != "":
			*field = want
		}
	}
	fill("flush", &o.Flush, n.flush, async)
	fill("dispatch", &o.Dispatch, n.dispatch, off)
	o.Store = maps.Clone(o.Store)
	for key, value := range n.store {
		if _, given := o.Store[key]; !given {
			o.Store[key] = value
		}
	}
	return o, errors.Join(errs...)
}

// ratePerSecond is 0 for a closed loop; ok is false for a schedule that a peer
// does not know.
func ratePerSecond(p pace.Pacer) (rate float64, ok bool) {
	if pace.IsClosed(p) {
		return 0, true
	}
	constant, ok := p.(pace.Constant)
	return constant.Rate(0), ok
}

// Durability says what a crash would lose, in words, for the manifest.
func (o Options) Durability(scenario string) string {
	if n, _ := needsOf(scenario); n.reads {
		return "nothing is written while it is measured"
	}
	transient := o.Store["transientStorePoolEnable"] == "true"
	switch {
	case o.Flush == sync && transient:
		return "sync flush (force): durable when put returns; the store leaves its transient pool out of it"
	case o.Flush == sync:
		return "sync flush (force): durable when put returns"
	}
	interval := func(key, byDefault string) string {
		if v := o.Store[key]; v != "" {
			return v
		}
		return byDefault
	}
	text := fmt.Sprintf("async flush every %s ms of %s pages or more, of all every %s ms",
		interval("flushIntervalCommitLog", "500"), interval("flushCommitLogLeastPages", "4"), interval("flushCommitLogThoroughInterval", "10000"))
	if transient {
		text = fmt.Sprintf("transient buffers, committed every %s ms (lost with the process); ", interval("commitIntervalCommitLog", "200")) + text
	}
	return text
}
