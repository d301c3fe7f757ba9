package study

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// designBlocks is the number of blocks of a whole design.
func designBlocks(n int) int {
	if n%2 == 1 && n > 1 {
		return 2 * n
	}
	return n
}

func TestOrderIsBalanced(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "treatments")
		designs := rapid.IntRange(1, 3).Draw(t, "designs")
		rows := order(seeded(rapid.Uint64().Draw(t, "seed")), n, designs*designBlocks(n))

		position := map[[2]int]int{}
		after := map[[2]int]int{}
		for _, row := range rows {
			for j, treatment := range row {
				position[[2]int{j, treatment}]++
				if j > 0 {
					after[[2]int{row[j-1], treatment}]++
				}
			}
		}
		for at, count := range position {
			if count != len(rows)/n {
				t.Fatalf("treatment %d is %d times in position %d, want %d", at[1], count, at[0], len(rows)/n)
			}
		}
		if len(after) != n*(n-1) {
			t.Fatalf("%d of %d ordered pairs are neighbours", len(after), n*(n-1))
		}
		for pair, count := range after {
			if count != len(rows)/n {
				t.Fatalf("%d runs right after %d in %d blocks, want %d", pair[1], pair[0], count, len(rows)/n)
			}
		}
	})
}

func TestOrderOfAnyNumberOfBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "treatments")
		blocks := rapid.IntRange(1, 30).Draw(t, "blocks")
		seed := rapid.Uint64().Draw(t, "seed")
		rows := order(seeded(seed), n, blocks)
		if len(rows) != blocks {
			t.Fatalf("%d blocks, want %d", len(rows), blocks)
		}
		for b, row := range rows {
			seen := make([]int, n)
			for _, treatment := range row {
				seen[treatment]++
			}
			for treatment, count := range seen {
				if count != 1 {
					t.Fatalf("block %d runs treatment %d %d times, want once", b, treatment, count)
				}
			}
		}
		if diff := cmp.Diff(rows, order(seeded(seed), n, blocks)); diff != "" {
			t.Fatalf("the same seed draws another order:\n%s", diff)
		}
	})
}

func TestOrderDependsOnSeed(t *testing.T) {
	first := order(seeded(1), 4, 8)
	for seed := uint64(2); seed < 10; seed++ {
		if !cmp.Equal(first, order(seeded(seed), 4, 8)) {
			return
		}
	}
	t.Error("nine seeds draw the same order")
}
