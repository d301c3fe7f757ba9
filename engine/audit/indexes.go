package audit

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"commitlab/engine/index"
	"commitlab/engine/message"
)

// indexNameDigits is the length of the names of index files, which are times.
const indexNameDigits = 17

// An indexFile is an index file as it lies on disk.
type indexFile struct {
	name   string // relative to the store
	path   string
	size   int64
	header index.Header
}

func (f *indexFile) items() int { return max(int(f.header.Count)-1, 0) }

// listIndex returns the index files in the order of the log.
func listIndex(r *Report, root string) ([]indexFile, error) {
	entries, err := os.ReadDir(filepath.Join(root, "index"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("audit: list index: %w", err)
	}
	var files []indexFile
	for _, e := range entries {
		f := indexFile{name: filepath.Join("index", e.Name()), path: filepath.Join(root, "index", e.Name())}
		if len(e.Name()) != indexNameDigits || strings.Trim(e.Name(), "0123456789") != "" || !e.Type().IsRegular() {
			r.note("%s is none of the store's files", f.name)
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, fmt.Errorf("audit: stat %s: %w", f.name, err)
		}
		f.size = info.Size()
		if f.size < index.HeaderBytes {
			r.fault(Index, f.name, 0, "%d bytes, a header has %d", f.size, index.HeaderBytes)
			continue
		}
		w := window{}
		head, err := w.view(numbered{name: f.name, path: f.path, size: f.size}, 0, index.HeaderBytes)
		if err != nil {
			return nil, err
		}
		f.header = index.DecodeHeader(head)
		files = append(files, f)
	}
	// Names are local times, which may go back.
	slices.SortStableFunc(files, func(a, b indexFile) int { return cmp.Compare(a.header.BeginPhysical, b.header.BeginPhysical) })
	return files, nil
}

// ratio is items to a slot in the configuration that everybody uses.
const ratio = index.DefaultItems / index.DefaultSlots

// layoutOf finds out how many slots a file b has. Its size alone allows many
// answers; header, first and last item, found where they should be, decide. The
// usual ratio is tried first. A file without items has no answer.
func layoutOf(b []byte) (index.Layout, bool) {
	fits := func(slots int64) (index.Layout, bool) {
		rest := int64(len(b)) - index.HeaderBytes - slots*index.SlotBytes
		l := index.Layout{Slots: int(slots), Items: int(rest / index.ItemBytes)}
		return l, rest%index.ItemBytes == 0 && l.Check() == nil
	}
	all := int64(len(b)) - index.HeaderBytes
	usual, ok := fits(all / (index.SlotBytes + ratio*index.ItemBytes))
	ok = ok && all%(index.SlotBytes+ratio*index.ItemBytes) == 0
	if ok && agreement(usual, b) == agreeAll {
		return usual, true
	}
	for slots := int64(1); slots*index.SlotBytes < all; slots++ {
		if l, ok := fits(slots); ok && agreement(l, b) == agreeAll {
			return l, true
		}
	}
	// One of the four may be the damage.
	return usual, ok && agreement(usual, b) == agreeAll-1
}

// agreeAll is the most that agreement can return.
const agreeAll = 4

// agreement counts what of four things is true of a layout: the first item is where
// the header's begin says, and ends its chain; the last one is where its end says,
// and its slot leads to it.
func agreement(l index.Layout, b []byte) (n int) {
	h := index.DecodeHeader(b)
	if h.Count < 2 || int(h.Count) > l.Items {
		return 0
	}
	first, last := l.Item(b, 1), l.Item(b, int(h.Count)-1)
	for _, holds := range []bool{
		first.Physical == h.BeginPhysical,
		first.Previous == 0,
		last.Physical == h.EndPhysical,
		last.Hash >= 0 && l.Slot(b, l.SlotOf(last.Hash)) == h.Count-1,
	} {
		if holds {
			n++
		}
	}
	return n
}

// An indexWalk goes through the items of all index files beside a walk through
// the log.
type indexWalk struct {
	files  []indexFile
	layout index.Layout // given or of the last file; zero if unknown
	given  bool
	exists bool // there were files with items
	r      *Report
	l      *logWalk

	content []byte // of files[0], once it is loaded
	next    int    // number of its next item
	last    int64  // physical offset of the last item
	want    []int32
	tags    int32 // hash of the tags, which may have an item; -1 for none
}

func loadIndex(r *Report, root string, layout index.Layout, l *logWalk) (*indexWalk, error) {
	files, err := listIndex(r, root)
	if err != nil {
		return nil, err
	}
	r.Index.Files = len(files)
	files = slices.DeleteFunc(files, func(f indexFile) bool {
		empty := f.header.Count == 0 || f.header.Count == 1
		if empty {
			r.note("%s has no items", f.name)
		}
		return empty
	})
	return &indexWalk{files: files, layout: layout, given: layout != index.Layout{}, exists: len(files) > 0, r: r, l: l}, nil
}

// load reads and audits files[0]. A file that cannot be understood is a fault and
// left out.
func (w *indexWalk) load() error {
	f := &w.files[0]
	b, err := os.ReadFile(f.path)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	if !w.given {
		if l, ok := layoutOf(b); ok {
			w.layout = l
		}
	}
	if w.layout.FileBytes() != int64(len(b)) {
		w.r.fault(Index, f.name, 0, "%d bytes, and neither header nor items tell how many slots and items that is", len(b))
		w.files = w.files[1:]
		return nil
	}
	w.r.Index.FileSlots, w.r.Index.FileItems = w.layout.Slots, w.layout.Items
	w.content, w.next = b, 1
	for _, fault := range joined(w.layout.Audit(b)) {
		w.r.fault(Index, f.name, 0, "%v", fault)
	}
	if f.items() >= w.layout.Items {
		f.header.Count = 0 // a fault by itself
	}
	return nil
}

func joined(err error) []error {
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		return list.Unwrap()
	}
	if err != nil {
		return []error{err}
	}
	return nil
}

// peek returns the next item that follows the order of the log, and its number;
// false behind the last file.
func (w *indexWalk) peek() (it index.Item, number int, ok bool, err error) {
	for len(w.files) > 0 {
		if w.content == nil {
			if err := w.load(); err != nil {
				return it, 0, false, err
			}
			continue
		}
		f := &w.files[0]
		if w.next > f.items() {
			w.files, w.content = w.files[1:], nil
			continue
		}
		it = w.layout.Item(w.content, w.next)
		end := f.header.EndPhysical
		if w.next < f.items() {
			// One item that is out of order is told from its neighbours.
			if after := w.layout.Item(w.content, w.next+1).Physical; after >= w.last {
				end = after
			} else {
				end = noLimit
			}
		}
		if it.Physical >= w.last && it.Physical <= end {
			return it, w.next, true, nil
		}
		w.fault("physical offset %d is out of order", it.Physical)
		w.skip()
	}
	return it, 0, false, nil
}

// skip steps over the item at hand.
func (w *indexWalk) skip() {
	w.next++
	w.r.Index.Items++
}

// fault is one of the item at hand.
func (w *indexWalk) fault(format string, args ...any) {
	position := w.layout.FileBytes() - int64(w.layout.Items-w.next)*index.ItemBytes
	w.r.fault(Index, w.files[0].name, position, "item %d: %s", w.next, fmt.Sprintf(format, args...))
}

// record demands the items of a record and judges those before it.
func (w *indexWalk) record(rec *message.Record) error {
	if !message.TransactionOf(rec.SysFlag).Indexed() {
		return nil
	}
	w.want = w.want[:0]
	if key, ok := rec.Properties.Get(message.PropertyUniqueKey); ok {
		w.want = append(w.want, message.KeyHash(rec.Topic, key))
	}
	for key := range rec.Properties.Keys() {
		w.want = append(w.want, message.KeyHash(rec.Topic, key))
	}
	w.tags = -1
	if tags, ok := rec.Properties.Get(message.PropertyTags); ok {
		w.tags = message.TagsIndexHash(rec.Topic, tags)
	}
	if len(w.want) == 0 && w.tags < 0 {
		return nil
	}
	w.r.Index.Keys += int64(len(w.want))
	if err := w.before(rec.PhysicalOffset); err != nil {
		return err
	}
	return w.match(rec)
}

// match compares the items of a record with its keys. RocketMQ 5.4 and later
// enters the tags as well; who else wrote into the same directory does not, so
// none of these is missed.
func (w *indexWalk) match(rec *message.Record) error {
	wanted := w.want
	all := slices.Clone(wanted)
	for {
		it, number, ok, err := w.peek()
		if err != nil {
			return err
		}
		if !ok || it.Physical != rec.PhysicalOffset {
			break
		}
		if i := slices.Index(wanted, it.Hash); i >= 0 {
			wanted = slices.Delete(wanted, i, i+1)
			w.r.Index.Live++
		} else if slices.Contains(all, it.Hash) {
			w.r.note("%s, item %d: the key is entered once more than the record at offset %d has it", w.files[0].name, number, it.Physical)
		} else if it.Hash == w.tags {
			w.r.Index.Tags++
		} else {
			w.fault("hash %d is that of no key of the record at offset %d", it.Hash, it.Physical)
		}
		w.pass(it)
	}
	if len(wanted) > 0 && w.exists {
		w.r.fault(Index, "index", 0, "%d of %d keys of the record at offset %d are missing", len(wanted), len(all), rec.PhysicalOffset)
	}
	return nil
}

// pass takes an item that is in order.
func (w *indexWalk) pass(it index.Item) {
	w.last = it.Physical
	w.r.Index.PhysicalEnd = it.Physical
	w.skip()
}

// before judges the items that point before an offset, or behind the last record
// that was asked about.
func (w *indexWalk) before(offset int64) error {
	for {
		it, _, ok, err := w.peek()
		if err != nil || !ok || it.Physical >= offset {
			return err
		}
		switch {
		case it.Physical < w.r.CommitLog.Min:
			w.r.Index.Expired++
		case offset == noLimit && it.Physical >= w.r.CommitLog.End:
			w.fault("physical offset %d is behind the end of the log, %d", it.Physical, w.r.CommitLog.End)
		default:
			if _, ok := w.r.skipped(it.Physical); ok {
				w.pass(it)
				continue
			}
			what, err := w.l.describe(it.Physical)
			if err != nil {
				return err
			}
			w.fault("physical offset %d is that of no record with keys: %s", it.Physical, what)
		}
		w.pass(it)
	}
}

// rest judges the items behind the last record.
func (w *indexWalk) rest() error {
	if err := w.before(noLimit); err != nil {
		return err
	}
	if !w.exists && w.r.Index.Keys > 0 {
		w.r.note("there is no index; the records of the log have %d keys", w.r.Index.Keys)
	}
	return nil
}
