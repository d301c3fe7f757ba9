package engine

import (
	"os"
	"strings"

	"commitlab/engine/fsutil"
)

// A mappingNeed is how many mappings the files of a store take.
type mappingNeed struct {
	Log     int // files of the commit log
	Queues  int // files of consume queues
	Index   int // files of the index
	Ahead   int // files that may be made before one of these goes
	Program int // what is no file of the store
}

// programMappings is what a Go program has without a store, several times over.
const programMappings = 256

// Total is the sum.
func (n mappingNeed) Total() int { return n.Log + n.Queues + n.Index + n.Ahead + n.Program }

// mappingNeed counts the files that Open is about to map, and those of queues, which
// readers map one by one, and estimates what follows: the log grows to maxLogBytes, if
// that is set, and each queue, the index and the log begin a file more before an older
// one goes. Of log and index it only reads names. What cannot be read is not counted:
// that is for those to say who open it.
func (s *Store) mappingNeed() mappingNeed {
	n := mappingNeed{Program: programMappings}
	n.Log = countFiles(s.dir.CommitLog())
	if most := s.opt.MaxLogBytes; most > 0 {
		n.Log = max(n.Log, int((most+s.opt.CommitLogFileBytes-1)/s.opt.CommitLogFileBytes))
	}
	n.Ahead = 2 // the next file of the log, and one that is being retired
	if s.queues != nil {
		var queues int
		n.Queues, queues = s.queues.Files()
		n.Ahead += queues
		if s.opt.Index == On {
			n.Index = countFiles(s.dir.Index())
			n.Ahead++
		}
	}
	return n
}

// countFiles counts the files in dir.
func countFiles(dir string) (files int) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			files++
		}
	}
	return files
}

// nearPercent is how much of the limit may be needed without a warning.
const nearPercent = 80

// sayMappings warns if the files of the store come near the number of mappings that
// the system allows. Where it tells no limit nothing is said. It is called once the
// queues are loaded, which maps nothing, and before the first mapping is made.
func (s *Store) sayMappings() {
	ask := s.opt.MapCountLimit
	if ask == nil {
		ask = fsutil.MapCountLimit
	}
	limit, err := ask()
	if err != nil || limit <= 0 {
		return
	}
	n := s.mappingNeed()
	if int64(n.Total())*100 <= int64(limit)*nearPercent {
		return
	}
	s.opt.Logger.Warn("the files of the store come near the number of mappings that the system allows (vm.max_map_count); at the limit no file can be opened or made",
		"store", string(s.dir), "need", n.Total(), "limit", limit,
		"log", n.Log, "queues", n.Queues, "index", n.Index, "ahead", n.Ahead, "program", n.Program)
}
