package torture

import (
	"math"
	"math/rand/v2"
)

// A Death is how a life ends.
type Death string

// The deaths; see the package comment.
const (
	Kill     Death = "kill"
	Power    Death = "power"
	DiskFull Death = "full"
	SyncFail Death = "sync"
	Close    Death = "close"
)

// deaths take turns as the first of a round. Their number and that of the option
// sets have no common divisor, so that every set meets every death.
var deaths = []Death{Kill, Power, DiskFull, SyncFail, Close}

// A Life is one process that opens the store: what it is to do and how it ends.
type Life struct {
	Death   Death `json:"death"`
	Writers int   `json:"writers"`
	// PauseUs: a writer rests so many microseconds after each put.
	PauseUs int `json:"pauseUs,omitempty"`
	// Acks: the death is due when so many puts were acknowledged. With InOpen it
	// is due when the store begins to open, with InClose when it then closes.
	Acks    int  `json:"acks"`
	InOpen  bool `json:"inOpen,omitempty"`
	InClose bool `json:"inClose,omitempty"`
	// DelayUs: a kill comes so many microseconds after it was due.
	DelayUs int `json:"delayUs,omitempty"`
	// Calls: power goes off, or a sync fails, at this call to the disk after it
	// was due. The first is 1.
	Calls int `json:"calls,omitempty"`
	// Refused files find no room on a full disk. Then More puts have to succeed.
	Refused int `json:"refused,omitempty"`
	More    int `json:"more,omitempty"`
	// KeepCache: after a failed sync the process is killed; otherwise the power
	// goes off as well.
	KeepCache bool `json:"keepCache,omitempty"`
	// Tidy: the power cut leaves exactly what was synced. Otherwise Seed decides
	// what else is there.
	Tidy bool   `json:"tidy,omitempty"`
	Seed uint64 `json:"seed,omitempty"`
}

// keepsCache reports whether the page cache survives the end of the life.
func (l Life) keepsCache() bool {
	return l.Death != Power && (l.Death != SyncFail || l.KeepCache)
}

// A Round is what happens between two checks.
type Round struct {
	Number int    `json:"round"`
	Set    string `json:"set"`
	Lives  []Life `json:"lives"`
}

// planRound draws round number, from 1, of a seed. acks bounds the puts of a life
// before its death is due.
func planRound(seed uint64, number, acks int) Round {
	rng := rand.New(rand.NewPCG(seed, uint64(number)))
	r := Round{Number: number, Set: sets[number%len(sets)].name}
	lives := 1
	switch n := rng.IntN(8); {
	case n == 0:
		lives = 3
	case n <= 2:
		lives = 2
	}
	for i := range lives {
		death := deaths[number%len(deaths)]
		if i > 0 {
			death = deaths[rng.IntN(2)] // kill or power: recovery is interrupted
		}
		r.Lives = append(r.Lives, drawLife(rng, death, acks))
	}
	return r
}

func drawLife(rng *rand.Rand, death Death, acks int) Life {
	l := Life{
		Death: death, Writers: 1 + rng.IntN(maxWriters), Acks: scaled(rng, acks),
		Tidy: rng.IntN(4) == 0, Seed: rng.Uint64(), KeepCache: rng.IntN(2) == 0,
		Refused: 1 + rng.IntN(12), More: 100 + rng.IntN(300), Calls: scaled(rng, 40), DelayUs: scaled(rng, 3_000),
	}
	switch rng.IntN(6) {
	case 0, 1: // as fast as it goes
	case 2: // long enough for checkpoints
		l.PauseUs = min((1000+rng.IntN(1500))*1000*l.Writers/l.Acks, 50_000)
	default:
		l.PauseUs = scaled(rng, 400)
	}
	when := rng.IntN(8)
	l.InOpen = when == 0 && (death == Kill || death == Power)
	l.InClose = when == 1 && (death == Kill || death == Power)
	if l.InOpen {
		l.DelayUs = scaled(rng, 30_000)
	}
	return l
}

// scaled draws 1 to most such that each order of magnitude is as likely.
func scaled(rng *rand.Rand, most int) int {
	return int(math.Exp(rng.Float64() * math.Log(float64(most))))
}

// Numbers of workers: no two writers of any round make the same message.
const (
	maxWriters      = 4
	workersPerLife  = 8
	workersPerRound = 4 * workersPerLife
)

// workerOf numbers a writer. Lives and writers count from 0, rounds from 1.
func workerOf(round, life, writer int) uint32 {
	return uint32(round*workersPerRound + life*workersPerLife + writer)
}

// lifeOf is the inverse of workerOf, without the writer.
func lifeOf(worker uint32) (round, life int) {
	return int(worker / workersPerRound), int(worker % workersPerRound / workersPerLife)
}
