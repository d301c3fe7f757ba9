package pressure

import (
	"errors"
	"fmt"
	"strings"
)

// Kind is one kind of pressure, for lists.
type Kind struct {
	Name    string
	Example string // of its argument
	Doc     string // one line

	parse func(argument string) (source, error)
}

// Kinds lists the kinds in the order in which they are shown.
var Kinds = []Kind{
	{"held-readers", "8/2s", "readers that each keep a record of the oldest file for so long, default 2s", parseHeldReaders},
	{"page-writer", "200MB/s", "a file of its own written at this rate and dropped, again and again", parsePageWriter},
	{"ballast", "2GiB/locked", "memory touched, or locked", parseBallast},
	{"memory-limit", "2GiB", "a memory control group for this process; ballast where that cannot be", parseMemoryLimit},
	{"disk-filler", "85%", "blocks reserved until so much of the disk is used, at most 95%", parseDiskFiller},
	{"fsync-storm", "100/s", "durable writes of 4 KiB at this rate, or max", parseFsyncStorm},
	{"cpu-hog", "1", "processes that do nothing but compute", parseCPUHog},
}

// Spec is one kind of pressure and how much of it.
type Spec struct {
	Kind  string
	Asked string // the argument as given

	source source
}

// source is a kind of pressure with its argument.
type source interface {
	// missing says what the machine or the scenario lacks for it and what is done
	// in its place; "" if nothing.
	missing(env Env) string
	// start begins. When it fails it leaves nothing behind.
	start(env Env) (running, error)
}

// running is pressure that was started.
type running interface {
	// stop ends it, gives back what it took, and tells what it did. It is called
	// once.
	stop() (Report, error)
}

// Env is where pressure is put on.
type Env struct {
	// Dir is a directory on the disk under test, which exists.
	Dir string
	// Holder gives readers records to hold; nil if the scenario has none.
	Holder Holder
}

// Report tells what one kind of pressure really did.
type Report struct {
	Kind, Asked string
	Did         string             // in words
	Values      map[string]float64 // the figures behind it, by name with its unit
	Notes       []string           // why less was done than asked, or another thing
}

// Set is kinds of pressure that are put on together. The zero value is none.
type Set []Spec

// Parse reads a list such as "held-readers=8,page-writer=200MB/s"; "" is none.
// All problems are joined.
func Parse(text string) (Set, error) {
	var set Set
	var errs []error
	seen := map[string]bool{}
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	for item := range strings.SplitSeq(text, ",") {
		name, argument, ok := strings.Cut(strings.TrimSpace(item), "=")
		kind := find(name)
		switch {
		case kind == nil:
			errs = append(errs, fmt.Errorf("pressure %q does not exist; want one of %s", name, strings.Join(names(), ", ")))
			continue
		case !ok || argument == "":
			errs = append(errs, fmt.Errorf("pressure %s: it needs an argument, such as %s=%s", name, name, kind.Example))
			continue
		case seen[name]:
			errs = append(errs, fmt.Errorf("pressure %s is given twice", name))
			continue
		}
		seen[name] = true
		source, err := kind.parse(argument)
		if err != nil {
			errs = append(errs, fmt.Errorf("pressure %s: got %q, want %w", name, argument, err))
			continue
		}
		set = append(set, Spec{Kind: name, Asked: argument, source: source})
	}
	return set, errors.Join(errs...)
}

// String is the list that Parse reads.
func (s Set) String() string {
	var items []string
	for _, spec := range s {
		items = append(items, spec.Kind+"="+spec.Asked)
	}
	return strings.Join(items, ",")
}

// Missing says of each kind that will not be what was asked for what the machine
// or the scenario lacks. It starts nothing.
func (s Set) Missing(env Env) []string {
	var all []string
	for _, spec := range s {
		if m := spec.source.missing(env); m != "" {
			all = append(all, spec.Kind+": "+m)
		}
	}
	return all
}

func find(name string) *Kind {
	for i := range Kinds {
		if Kinds[i].Name == name {
			return &Kinds[i]
		}
	}
	return nil
}

func names() []string {
	var all []string
	for _, k := range Kinds {
		all = append(all, k.Name)
	}
	return all
}
