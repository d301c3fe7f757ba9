package scenario

// sampleSize is how many operations of each worker Verify looks at. Even, so
// that halving keeps the spacing.
const sampleSize = 256

// sample is an evenly spaced choice of a worker's operations: every stride-th.
// When it is full, every second one is dropped and the stride doubles, so that
// at any time the kept ones span the run from its first operation on. Adding
// costs a comparison for most operations and allocates nothing.
//
// Owned by one worker while it runs.
type sample[T any] struct {
	kept   []T
	seen   uint64
	stride uint64 // a power of two
}

func newSample[T any]() sample[T] {
	return sample[T]{kept: make([]T, 0, sampleSize), stride: 1}
}

// offer takes the next operation.
func (s *sample[T]) offer(item T) {
	n := s.seen
	s.seen++
	if n&(s.stride-1) != 0 {
		return
	}
	if len(s.kept) == cap(s.kept) {
		for i := range len(s.kept) / 2 {
			s.kept[i] = s.kept[2*i]
		}
		s.kept = s.kept[:len(s.kept)/2]
		s.stride *= 2
	}
	s.kept = append(s.kept, item)
}
