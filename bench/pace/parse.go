package pace

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Parse reads the notation of a schedule:
//
//	max                      closed loop (also the empty string)
//	200000   200k   1.5M     constant rate per second
//	ramp:1k-100k/10s         from 1,000/s to 100,000/s within 10 s, then constant
//	step:1k,5k,20k/10s       each rate for 10 s, the last one stays
//	poisson:5k               independent arrivals, 5,000/s on average
//	poisson:5k/seed=7        the same from another seed (default 1)
//	burst:100/10ms           100 operations at once, every 10 ms
func Parse(s string) (Pacer, error) {
	p, err := parse(s)
	if err != nil {
		return nil, fmt.Errorf("rate %q: %w", s, err)
	}
	return p, nil
}

func parse(s string) (Pacer, error) {
	if s == "" || s == "max" {
		return Closed{}, nil
	}
	kind, rest, hasKind := strings.Cut(s, ":")
	if !hasKind {
		rate, err := parseRate(s)
		if err != nil {
			return nil, err
		}
		return made(NewConstant(rate))
	}
	body, tail, hasTail := strings.Cut(rest, "/")
	if kind == "poisson" {
		return parsePoisson(body, tail, hasTail)
	}
	if !hasTail {
		return nil, fmt.Errorf("want a duration after a slash, as in %s:.../10s", kind)
	}
	span, err := time.ParseDuration(tail)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "ramp":
		return parseRamp(body, span)
	case "step":
		return parseStep(body, span)
	case "burst":
		size, err := strconv.ParseUint(body, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("burst size: %w", err)
		}
		return made(NewBurst(size, span))
	}
	return nil, fmt.Errorf("schedule kind %q: want ramp, step, poisson or burst", kind)
}

func parseRamp(body string, over time.Duration) (Pacer, error) {
	low, high, ok := strings.Cut(body, "-")
	if !ok {
		return nil, fmt.Errorf("ramp %q: want two rates joined by a dash", body)
	}
	from, err := parseRate(low)
	if err != nil {
		return nil, err
	}
	to, err := parseRate(high)
	if err != nil {
		return nil, err
	}
	return made(NewRamp(from, to, over))
}

func parseStep(body string, hold time.Duration) (Pacer, error) {
	var rates []float64
	for word := range strings.SplitSeq(body, ",") {
		rate, err := parseRate(word)
		if err != nil {
			return nil, err
		}
		rates = append(rates, rate)
	}
	return made(NewStep(hold, rates...))
}

func parsePoisson(body, tail string, hasTail bool) (Pacer, error) {
	rate, err := parseRate(body)
	if err != nil {
		return nil, err
	}
	seed := uint64(1)
	if hasTail {
		digits, ok := strings.CutPrefix(tail, "seed=")
		if !ok {
			return nil, fmt.Errorf("after the slash: %q: want seed=NUMBER", tail)
		}
		if seed, err = strconv.ParseUint(digits, 10, 64); err != nil {
			return nil, fmt.Errorf("seed: %w", err)
		}
	}
	return made(NewPoisson(rate, seed))
}

// made turns a concrete schedule into a Pacer that is nil when there is an error.
func made[P Pacer](p P, err error) (Pacer, error) {
	if err != nil {
		return nil, err
	}
	return p, nil
}

// parseRate reads a number with an optional factor: k for thousands, M for
// millions.
func parseRate(s string) (float64, error) {
	digits, factor := s, 1.0
	if d, ok := strings.CutSuffix(s, "k"); ok {
		digits, factor = d, 1e3
	} else if d, ok := strings.CutSuffix(s, "M"); ok {
		digits, factor = d, 1e6
	}
	number, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a rate per second", s)
	}
	return number * factor, nil
}

// formatRate writes a rate so that parseRate reads the same value.
func formatRate(perSecond float64) string {
	return strconv.FormatFloat(perSecond, 'f', -1, 64)
}
