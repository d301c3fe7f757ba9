package workload

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// DefaultBodyBytes is the body size of the zero Sizes.
const DefaultBodyBytes = 1024

// maxBodyBytes bounds what ParseSizes accepts. It is far above what the store
// takes by default (4 MiB), so that the store's own limit can be tested.
const maxBodyBytes = 64 << 20

// Sizes is a distribution of body sizes in bytes. The zero value is a fixed
// DefaultBodyBytes. It is written as text everywhere (flags, study files,
// manifests), see ParseSizes.
type Sizes struct {
	parts []sizeRange
	total uint64 // sum of the weights
	max   int
}

// sizeRange is a uniform range of sizes, both ends included.
type sizeRange struct {
	low, high int
	weight    uint64
}

// ParseSizes reads a size distribution:
//
//	1024                    every body 1,024 bytes
//	256-4KiB                uniform, both ends included
//	128x6,1KiBx3,16KiBx1    mixed: six of ten are 128 bytes, and so on
//	64-512x9,64KiB          ranges and single sizes mix; a weight left out is 1
func ParseSizes(text string) (Sizes, error) {
	var s Sizes
	for part := range strings.SplitSeq(text, ",") {
		r, err := parseRange(strings.TrimSpace(part))
		if err != nil {
			return Sizes{}, fmt.Errorf("sizes %q: %w", text, err)
		}
		s.parts = append(s.parts, r)
		s.total += r.weight
		s.max = max(s.max, r.high)
	}
	if s.total > math.MaxUint32 {
		return Sizes{}, fmt.Errorf("sizes %q: weights add up to %d, want at most %d", text, s.total, uint32(math.MaxUint32))
	}
	return s, nil
}

func parseRange(text string) (sizeRange, error) {
	r := sizeRange{weight: 1}
	span := text
	if before, weight, ok := strings.Cut(text, "x"); ok {
		w, err := strconv.ParseUint(weight, 10, 32)
		if err != nil || w == 0 {
			return r, fmt.Errorf("weight %q is not a whole number from 1 on", weight)
		}
		span, r.weight = before, w
	}
	low, high, isRange := strings.Cut(span, "-")
	if !isRange {
		high = low
	}
	var errs [2]error
	r.low, errs[0] = parseBodySize(low)
	r.high, errs[1] = parseBodySize(high)
	if err := errors.Join(errs[0], errs[1]); err != nil {
		return r, err
	}
	if r.low > r.high {
		return r, fmt.Errorf("range %q runs backwards", span)
	}
	return r, nil
}

func parseBodySize(text string) (int, error) {
	n, err := ParseBytes(text)
	if err != nil {
		return 0, err
	}
	if n < 1 || n > maxBodyBytes {
		return 0, fmt.Errorf("body of %d bytes is outside 1 to %d", n, maxBodyBytes)
	}
	return int(n), nil
}

// String is the text ParseSizes reads back, sizes in plain bytes.
func (s Sizes) String() string {
	if len(s.parts) == 0 {
		return strconv.Itoa(DefaultBodyBytes)
	}
	var b strings.Builder
	for i, r := range s.parts {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(r.low))
		if r.high != r.low {
			b.WriteString("-" + strconv.Itoa(r.high))
		}
		if r.weight != 1 {
			b.WriteString("x" + strconv.FormatUint(r.weight, 10))
		}
	}
	return b.String()
}

// MarshalText and UnmarshalText carry Sizes through JSON, YAML and flags.
func (s Sizes) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what ParseSizes reads.
func (s *Sizes) UnmarshalText(text []byte) error {
	parsed, err := ParseSizes(string(text))
	if err == nil {
		*s = parsed
	}
	return err
}

// Max is the largest size the distribution can give.
func (s Sizes) Max() int {
	if len(s.parts) == 0 {
		return DefaultBodyBytes
	}
	return s.max
}

// Mean is the expected size.
func (s Sizes) Mean() float64 {
	if len(s.parts) == 0 {
		return DefaultBodyBytes
	}
	sum := 0.0
	for _, r := range s.parts {
		sum += float64(r.weight) * (float64(r.low) + float64(r.high)) / 2
	}
	return sum / float64(s.total)
}

// fixed is the one size that the distribution gives, -1 if there are several.
func (s Sizes) fixed() int {
	switch {
	case len(s.parts) == 0:
		return DefaultBodyBytes
	case len(s.parts) == 1 && s.parts[0].low == s.parts[0].high:
		return s.parts[0].low
	}
	return -1
}

// at maps 64 random bits to a size.
func (s *Sizes) at(bits uint64) int {
	if len(s.parts) == 0 {
		return DefaultBodyBytes
	}
	r := &s.parts[0]
	if len(s.parts) > 1 {
		pick := below(bits>>32, s.total)
		i := 0
		for pick >= s.parts[i].weight {
			pick -= s.parts[i].weight
			i++
		}
		r = &s.parts[i]
	}
	if r.low == r.high {
		return r.low
	}
	return r.low + int(below(bits&math.MaxUint32, uint64(r.high-r.low+1)))
}

// below scales 32 random bits to [0, n), n at most 2^32.
func below(bits32, n uint64) uint64 { return bits32 * n >> 32 }

// byteUnits are tried in this order, so that a unit that ends in another one's
// letters comes first.
var byteUnits = []struct {
	suffix string
	bytes  int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

// ParseBytes reads a number of bytes: a whole number, alone or with a unit
// (B, KiB, MiB, GiB, TiB for powers of 1024; kB, MB, GB, TB for powers of
// 1000). Units are case-sensitive: a "mb" could be meant either way.
func ParseBytes(text string) (int64, error) {
	number, factor := text, int64(1)
	for _, u := range byteUnits {
		if before, ok := strings.CutSuffix(text, u.suffix); ok {
			number, factor = strings.TrimSpace(before), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a size such as 1024, 64KiB or 1GiB", text)
	}
	if n > math.MaxInt64/factor {
		return 0, fmt.Errorf("size %q does not fit 63 bits", text)
	}
	return n * factor, nil
}
