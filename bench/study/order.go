package study

import "math/rand/v2"

// order draws the order in which n treatments run in each of a number of
// blocks. Every n blocks (2n for an odd n) form a Williams design:
//
//	block 1   A B D C      every treatment once in each block,
//	block 2   B C A D      once in each position,
//	block 3   C D B A      and once right after every other one
//	block 4   D A C B      (twice in 2n blocks for an odd n)
//
// Which treatment is A and which row is first is drawn from rng. Blocks that
// do not fill a design take some of its rows, so positions differ by at most
// one count.
func order(rng *rand.Rand, n, blocks int) [][]int {
	rows := make([][]int, 0, blocks)
	for len(rows) < blocks {
		design := williams(n)
		names := rng.Perm(n)
		for _, at := range rng.Perm(len(design) / n) {
			square := design[at*n : (at+1)*n]
			for _, i := range rng.Perm(n) {
				row := make([]int, n)
				for j, treatment := range square[i] {
					row[j] = names[treatment]
				}
				rows = append(rows, row)
			}
		}
	}
	return rows[:blocks]
}

// williams returns a Latin square of n rows that is balanced for first-order
// carry-over; for an odd n a second one that mirrors it, without which there
// is no balance.
func williams(n int) [][]int {
	first := make([]int, n) // 0, 1, n-1, 2, n-2, …
	for i := range n {
		first[i] = (i + 1) / 2
		if i%2 == 0 {
			first[i] = (n - i/2) % n
		}
	}
	rows := make([][]int, 0, 2*n)
	for shift := range n {
		row := make([]int, n)
		for i, x := range first {
			row[i] = (x + shift) % n
		}
		rows = append(rows, row)
	}
	if n%2 == 0 || n == 1 {
		return rows
	}
	for shift := range n {
		row := make([]int, n)
		for i := range n {
			row[i] = rows[shift][n-1-i]
		}
		rows = append(rows, row)
	}
	return rows
}
