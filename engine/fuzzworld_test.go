package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"commitlab/engine/segment"
	"commitlab/engine/storedir"
)

// files are the contents of a directory by their paths within it.
type files map[string][]byte

// readFiles reads a store directory, but for its lock.
func readFiles(t testing.TB, dir string) files {
	t.Helper()
	all := make(files)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "lock" {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err == nil {
			all[rel], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// write makes a directory of the files.
func (f files) write(t testing.TB, dir string) {
	t.Helper()
	for name, content := range f {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// inLog returns n bytes of the commit log, nil unless they lie in one file of the
// right size.
func (f files) inLog(offset, n int64) []byte {
	b := f[filepath.Join("commitlog", segment.FileName(offset/fileBytes*fileBytes))]
	if at := offset % fileBytes; len(b) == fileBytes && at+n <= fileBytes {
		return b[at : at+n]
	}
	return nil
}

// A mutation does harm to the files of a store, as a sequence of fuzzed bytes says:
//
//	kind, file, a (2), b (2)
//
// It keeps account of what it did.
type mutation struct {
	files files
	// bytes and names tell which part of the store (the first element of a path)
	// has changed bytes, and which has files of other names or lengths.
	bytes, names map[string]bool
}

const (
	mutationBytes = 6
	mostMutations = 12
)

// mutate applies the mutations of a fuzz input to a copy of the files.
func mutate(original files, input []byte) mutation {
	m := mutation{files: make(files), bytes: make(map[string]bool), names: make(map[string]bool)}
	for name, content := range original {
		m.files[name] = bytes.Clone(content)
	}
	for range mostMutations {
		if len(input) < mutationBytes || len(m.files) == 0 {
			break
		}
		m.apply(input[0], int(input[1]), int(binary.BigEndian.Uint16(input[2:])), int(binary.BigEndian.Uint16(input[4:])))
		input = input[mutationBytes:]
	}
	return m
}

// words are numbers at which decoders go wrong.
var words = []uint64{
	0, 1, 1<<32 - 1, 1 << 31, 1<<31 - 1, 1<<64 - 1, 1 << 63, 1<<63 - 1, fileBytes, fileBytes + 1, fileBytes - 8, 0x7FFF, 0xFFFF,
	0xDAA320A7, 0xDAA320AB, 0xCBD43194,
}

// foreign are names that may turn up in any directory of a store.
var foreign = []string{
	"notes.txt", ".DS_Store", segment.FileName(0) + ".bak", segment.FileName(1 << 40), segment.FileName(fileBytes), "20991231235959999",
	"00000000000000000000000001", "-0000000000000000001", "abort", "0",
}

func (m *mutation) apply(kind byte, file, a, b int) {
	names := slices.Sorted(maps.Keys(m.files))
	name := names[file%len(names)]
	other := names[b%len(names)]
	content := m.files[name]
	part := func(path string) string { return strings.Split(path, string(filepath.Separator))[0] }
	changed := func(n int) (span []byte) { // n bytes from a on, or what there is
		m.bytes[part(name)] = true
		from := a % max(len(content), 1)
		return content[min(from, len(content)):min(from+n, len(content))]
	}
	move := func(paths ...string) {
		for _, path := range paths {
			m.names[part(path)] = true
		}
	}
	switch kind % 14 {
	case 0: // some bits of a byte
		for i := range changed(1) {
			content[a%len(content)+i] ^= byte(b) | 1
		}
	case 1: // cut short
		move(name)
		m.files[name] = content[:min(a, len(content))]
	case 2: // zeros
		clear(changed(b))
	case 3:
		move(name)
		delete(m.files, name)
	case 4: // exchanged
		if len(m.files[other]) != len(content) {
			move(name, other)
		}
		m.bytes[part(name)], m.bytes[part(other)] = true, true
		m.files[name], m.files[other] = m.files[other], content
	case 5: // one in the place of the other
		if len(m.files[other]) != len(content) {
			move(other)
		}
		m.bytes[part(other)] = true
		m.files[other] = bytes.Clone(content)
	case 6: // under another name
		to := filepath.Join(filepath.Dir(name), foreign[b%len(foreign)])
		move(name, to)
		delete(m.files, name)
		m.files[to] = content
	case 7: // once more under another name
		to := filepath.Join(filepath.Dir(name), foreign[b%len(foreign)])
		move(to)
		m.files[to] = bytes.Clone(content[:min(a, len(content))])
	case 8:
		if span := changed(4); len(span) == 4 {
			binary.BigEndian.PutUint32(span, uint32(words[b%len(words)]))
		}
	case 9:
		if span := changed(8); len(span) == 8 {
			binary.BigEndian.PutUint64(span, words[b%len(words)])
		}
	case 10: // bytes from elsewhere
		source := m.files[names[b>>8%len(names)]]
		copy(changed(64+b%1000), source[b%max(len(source), 1)%max(len(source), 1):])
	case 11: // longer
		move(name)
		m.files[name] = append(content, make([]byte, a%8192)...)
	case 12: // a whole directory
		for _, n := range names {
			if filepath.Dir(n) == filepath.Dir(name) && filepath.Dir(n) != "." {
				move(n)
				delete(m.files, n)
			}
		}
	case 13: // a record moved by some bytes
		span := changed(800)
		copy(span, span[min(b%40, len(span)):])
	}
}

// clean reports whether the store says that it was closed in order.
func (m *mutation) clean() bool {
	_, there := m.files["abort"]
	return !there
}

// durableMs is what the checkpoint says of the log.
func (m *mutation) durableMs() int64 {
	if b := m.files["checkpoint"]; len(b) >= 40 {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// touched reports whether anything changed in one of the parts.
func (m *mutation) touched(parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return m.bytes[p] || m.names[p] })
}

// fuzzStore is a small store in two states, with what was put to it.
type fuzzStore struct {
	opt            Options
	killed, closed files
	records        []stored
	times          []int64  // store times of the records
	raw            [][]byte // their bytes
}

// newFuzzStore writes a store of several log, queue and index files, with records
// of all kinds. All of it is durable, and the checkpoint says so.
func newFuzzStore(t testing.TB) *fuzzStore {
	t.Helper()
	w := &fuzzStore{opt: small(Options{
		Dispatch: On, CommitLogFileBytes: fileBytes, ConsumeQueueFileBytes: 5 * 20, IndexSlots: 4, IndexItems: 20,
		AppendCRC: On, Preallocate: Off, Populate: segment.PopulateNone, DelayLevels: "1h",
	})}
	s := openUnchecked(t, scratch(t), w.opt)
	putAllKinds(t, s, 36, 30, 200, 700)
	dispatched(t, s)
	if err := s.delivery.service.Save(1); err != nil {
		t.Fatal(err)
	}
	saveCheckpoint(t, s)
	eachRecord(t, s, func(v *View) {
		w.records = append(w.records, read(t, s, v.PhysicalOffset))
		w.times = append(w.times, v.StoreTimestamp)
		w.raw = append(w.raw, bytes.Clone(v.Bytes()))
	})
	w.killed = readFiles(t, string(s.dir))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	w.closed = readFiles(t, string(s.dir))
	if n := len(w.killed); n < 20 {
		t.Fatalf("the store has only %d files", n)
	}
	if _, err := storedir.Layout(s.dir).AbortMarker().Present(); err != nil {
		t.Fatal(err)
	}
	return w
}
