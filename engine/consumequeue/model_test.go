package consumequeue

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A model of a queue: a map of what stands where, and the bounds.
type model struct {
	perFile  int64
	units    map[int64]Unit // messages, also expired ones while their file is there
	first    int64          // offset at which the first file starts
	min, max int64
	physical int64 // end of the last unit put, in the file or not
	logEnd   int64 // where the next record goes
	serial   int64
}

// nextUnit is the unit of a new record at the end of the log, which other queues
// write to as well.
func (m *model) nextUnit(t *rapid.T) Unit {
	m.logEnd += rapid.Int64Range(0, 3).Draw(t, "others") * recordBytes
	m.serial++
	u := Unit{PhysicalOffset: m.logEnd, Size: recordBytes, TagsCode: m.serial}
	m.logEnd += recordBytes
	return u
}

// put appends a unit.
func (m *model) put(u Unit) {
	m.units[m.max] = u
	m.max++
	m.physical = u.End()
}

// look finds the physical end in what is left.
func (m *model) look() {
	m.physical = 0
	if n := m.last(m.max); n >= 0 {
		m.physical = m.units[n].End()
	}
}

// last is the offset of the last message below an offset, or -1.
func (m *model) last(below int64) int64 {
	last := int64(-1)
	for n := range m.units {
		if n < below {
			last = max(last, n)
		}
	}
	return last
}

// raise moves min to the first message from an offset on.
func (m *model) raise(to int64) {
	for to < m.max {
		if _, ok := m.units[to]; ok {
			break
		}
		to++
	}
	m.min = max(m.min, min(to, m.max))
}

// cut makes n the end.
func (m *model) cut(n int64) {
	for at := range m.units {
		if at >= n {
			delete(m.units, at)
		}
	}
	m.max = n
	m.raise(m.min)
	m.min = min(m.min, n)
	m.look()
}

// reset starts over at n.
func (m *model) reset(n int64) {
	clear(m.units)
	m.first, m.min, m.max, m.physical = n-n%m.perFile, n, n, 0
}

func (m *model) compare(t *rapid.T, q *Queue) {
	t.Helper()
	if q.Min() != m.min || q.Max() != m.max {
		t.Fatalf("queue is [%d, %d), model [%d, %d)", q.Min(), q.Max(), m.min, m.max)
	}
	for n := m.min - 2; n < m.max+2; n++ {
		want, ok := m.units[n]
		ok = ok && n >= m.min && n < m.max
		if got, found := q.Read(n); found != ok || found && got != want {
			t.Fatalf("offset %d: %+v %v, model %+v %v", n, got, found, want, ok)
		}
	}
	if q.MaxPhysical() != m.physical {
		t.Fatalf("MaxPhysical %d, model %d", q.MaxPhysical(), m.physical)
	}
}

// Goal: whatever the order of calls, restarts among them, queue and model agree.
func TestQueueAgreesWithAModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{perFile: rapid.Int64Range(1, 6).Draw(rt, "perFile"), units: map[int64]Unit{}}
		o, _ := onHeap(m.perFile)
		q, err := Open(t.TempDir(), o)
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { q.Close() }()
		must := func(err error) {
			rt.Helper()
			if err != nil {
				rt.Fatal(err)
			}
		}
		ahead := func() int64 { return rapid.Int64Range(0, 2*m.perFile+3).Draw(rt, "ahead") }
		inLog := func() int64 { return rapid.Int64Range(0, m.logEnd+recordBytes).Draw(rt, "physical") }
		rt.Repeat(map[string]func(*rapid.T){
			"put": func(rt *rapid.T) {
				for range rapid.IntRange(1, 5).Draw(rt, "times") {
					u := m.nextUnit(rt)
					must(q.Put(m.max, u))
					m.put(u)
				}
			},
			"put again": func(rt *rapid.T) {
				for _, n := range sortedKeys(m.units) {
					must(q.Put(n, m.units[n]))
				}
			},
			"put elsewhere": func(rt *rapid.T) {
				n := rapid.Int64Range(max(0, m.max-8), m.max+8).Draw(rt, "at")
				u := m.nextUnit(rt)
				err := q.Put(n, u)
				var conflict *ConflictError
				var gap *GapError
				switch {
				case n == m.max:
					must(err)
					m.put(u)
				case n < m.first:
					must(err)
				case n < m.max:
					if !errors.As(err, &conflict) || conflict.Want != u {
						rt.Fatalf("put over another unit at %d: %v", n, err)
					}
				case m.physical == 0:
					must(err)
					m.reset(n)
					m.put(u)
				default:
					if !errors.As(err, &gap) || gap.Max != m.max {
						rt.Fatalf("put at %d, Max is %d: %v", n, m.max, err)
					}
				}
			},
			"skip": func(rt *rapid.T) {
				n := m.max + ahead()
				err := q.Skip(n)
				if n-m.max > m.perFile {
					if !errors.Is(err, ErrUnit) {
						rt.Fatalf("skip %d: %v", n-m.max, err)
					}
					return
				}
				must(err)
				if m.min == m.max {
					m.min = n
				}
				m.max = n
			},
			"reset": func(rt *rapid.T) {
				n := m.max + ahead()
				must(q.Reset(n))
				m.reset(n)
			},
			"truncate": func(rt *rapid.T) {
				physical := inLog()
				must(q.TruncateTo(physical))
				if m.physical <= physical {
					return
				}
				keep, n := m.max, m.last(m.max)
				for ; n >= 0 && m.units[n].End() > physical; n = m.last(keep) {
					keep = n
				}
				if n >= 0 {
					keep = n + 1
				}
				m.cut(keep)
				m.logEnd = physical
			},
			"expire": func(rt *rapid.T) {
				physical := inLog()
				deleted, err := q.DeleteBefore(physical, noon)
				must(err)
				to := m.min
				for to < m.max {
					if u, ok := m.units[to]; ok && u.PhysicalOffset >= physical {
						break
					}
					to++
				}
				m.raise(to)
				m.first += int64(deleted) * m.perFile
				if m.first > m.min || m.first+m.perFile <= m.min && m.first+m.perFile < m.max {
					rt.Fatalf("%d files deleted: the first starts at %d, min is %d of %d", deleted, m.first, m.min, m.max)
				}
				for n := range m.units {
					if n < m.first {
						delete(m.units, n)
					}
				}
			},
			"sync": func(rt *rapid.T) {
				_, err := q.Sync(rapid.IntRange(0, 2).Draw(rt, "pages"))
				must(err)
			},
			"restart": func(rt *rapid.T) {
				o.Clean = rapid.Bool().Draw(rt, "clean")
				q.Close()
				q, err = Open(q.Dir(), o)
				must(err)
				// Where it starts is not kept: expired units count again.
				m.min = m.first
				m.raise(m.first)
				m.look()
			},
			"": func(rt *rapid.T) { m.compare(rt, q) },
		})
	})
}

func sortedKeys(units map[int64]Unit) []int64 {
	var keys []int64
	for n := range units {
		keys = append(keys, n)
	}
	slices.Sort(keys)
	return keys
}
