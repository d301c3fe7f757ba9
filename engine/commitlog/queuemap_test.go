package commitlog

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
)

// Goal: a QueueMap is a map, whatever queues share a place among the recent ones.
// Method: random calls, with topics in both forms, beside a map.
func TestQueueMapIsAMap(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var m QueueMap[int]
	want := make(map[QueueKey]int)
	for n := range 100_000 {
		key := QueueKey{fmt.Sprint("topic", random.IntN(30)), int32(random.IntN(100)) - 10}
		if random.IntN(50) == 0 {
			key.Topic = ""
		}
		if n%5000 == 4999 {
			m.DropTopic(key.Topic)
			maps.DeleteFunc(want, func(k QueueKey, _ int) bool { return k.Topic == key.Topic })
		}
		value := m.Of(key.Topic, key.ID)
		if random.IntN(2) == 0 {
			value = m.OfBytes([]byte(key.Topic), key.ID)
		}
		if *value != want[key] {
			t.Fatalf("call %d: %v has %d, want %d", n, key, *value, want[key])
		}
		*value, want[key] = n, n
	}
	if got := maps.Collect(m.All()); !maps.Equal(got, want) || m.Len() != len(want) {
		t.Errorf("holds %d queues, want %d", m.Len(), len(want))
	}
}

func TestQueueMapAllocatesOnlyForNewQueues(t *testing.T) {
	var m QueueMap[int64]
	topics := make([][]byte, 50)
	for i := range topics {
		topics[i] = fmt.Append(nil, "a topic with a name of some length ", i)
	}
	all := func() {
		for _, topic := range topics {
			for id := range int32(20) {
				*m.OfBytes(topic, id)++
			}
		}
	}
	if n := testing.AllocsPerRun(10, all); n != 0 || m.Len() != 1000 { // the first call does not count
		t.Errorf("%v allocations, %d queues", n, m.Len())
	}
}

func BenchmarkQueueMap(b *testing.B) {
	for _, queues := range []int{1, 8, 100, 5000} {
		b.Run(fmt.Sprint("queues=", queues), func(b *testing.B) {
			var m QueueMap[int64]
			topics := make([][]byte, 50)
			for i := range topics {
				topics[i] = fmt.Append(nil, "topic", i)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				n := i % queues
				*m.OfBytes(topics[n/100], int32(n%100))++
			}
		})
	}
}
