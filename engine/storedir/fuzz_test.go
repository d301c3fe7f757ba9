package storedir

import (
	"encoding/binary"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// stray writes one file of a store directory.
func stray(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o644)); err != nil {
		t.Fatal(err)
	}
}

// Whatever stands in a checkpoint, it is refused and left alone, or read the same
// by both who read it, and saved again in the bytes that count.
func FuzzCheckpoint(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, checkpointBytes))
	f.Add(make([]byte, confirmAt+7))
	f.Add(binary.BigEndian.AppendUint64(make([]byte, confirmAt), 1<<63))
	f.Fuzz(func(t *testing.T, content []byte) {
		l := Layout(t.TempDir())
		stray(t, l.Checkpoint(), content)
		read, readErr := l.ReadCheckpoint()
		file, c, err := l.OpenCheckpoint()
		if (err == nil) != (readErr == nil) || c != read {
			t.Fatalf("opened %+v (%v), read %+v (%v)", c, err, read, readErr)
		}
		if err != nil {
			if after, err := os.ReadFile(l.Checkpoint()); err != nil || string(after) != string(content) {
				t.Fatalf("refused, but changed to %d bytes (%v)", len(after), err)
			}
			return
		}
		if err := errors.Join(file.Save(c), file.Close()); err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile(l.Checkpoint())
		if n := min(len(content), confirmAt+8); err != nil || len(after) < checkpointBytes || string(after[:n]) != string(content[:n]) {
			t.Fatalf("%d bytes were saved (%v), and not what was read", len(after), err)
		}
		if again, err := l.ReadCheckpoint(); err != nil || again != c {
			t.Fatalf("saved %+v, read %+v (%v)", c, again, err)
		}
	})
}

// Whatever stands in the two files of the progress, it is an error or a progress
// that survives being saved.
func FuzzDelayOffsets(f *testing.F) {
	f.Add([]byte(`{"offsetTable":{1:3,2:5}}`), []byte(nil))
	f.Add([]byte("{\n\t\"dataVersion\":{\"counter\":2},\n\t\"offsetTable\":{\"1\":3 , 18 : -5}\n}"), []byte(nil))
	f.Add([]byte(`{"offsetTable":{1:`), []byte(`{"offsetTable":{"1":4}}`))
	f.Add([]byte(`{"offsetTable":{"x,1:2":3}}`), []byte(`{"offsetTable":{1:99999999999999999999}}`))
	f.Add([]byte(`null`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, content, backup []byte) {
		l := Layout(t.TempDir())
		stray(t, l.DelayOffset(), content)
		stray(t, l.DelayOffset()+".bak", backup)
		offsets, err := l.LoadDelayOffsets()
		if err != nil {
			return
		}
		if err := l.SaveDelayOffsets(offsets, 1, 2); err != nil {
			t.Fatal(err)
		}
		if again, err := l.LoadDelayOffsets(); err != nil || !maps.Equal(again, offsets) {
			t.Fatalf("loaded %v, then %v (%v)", offsets, again, err)
		}
	})
}

// Whatever stands in the list of skipped ranges, it is an error or an ascending
// list that survives being saved.
func FuzzSkipped(f *testing.F) {
	f.Add([]byte(`{"ranges":[{"from":0,"to":5},{"from":5,"to":9}]}`))
	f.Add([]byte(`{"ranges":[{"from":5,"to":9},{"from":0,"to":5}]}`))
	f.Add([]byte(`{"ranges":[{"from":-1,"to":9223372036854775807}]}`))
	f.Add([]byte(`{"ranges":null}`))
	f.Add([]byte(`{"ranges":[{"from":1}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		l := Layout(t.TempDir())
		stray(t, l.Skipped(), content)
		ranges, err := l.LoadSkipped()
		if err != nil {
			return
		}
		end := int64(0)
		for _, r := range ranges {
			if r.From < end || r.To <= r.From {
				t.Fatalf("accepted %v", ranges)
			}
			end = r.To
		}
		if err := l.SaveSkipped(ranges); err != nil {
			t.Fatal(err)
		}
		if again, err := l.LoadSkipped(); err != nil || !slices.Equal(again, ranges) {
			t.Fatalf("loaded %v, then %v (%v)", ranges, again, err)
		}
	})
}

// Only the existence of the marker counts: no content keeps it from being seen,
// set and cleared.
func FuzzAbortMarker(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("4711"))
	f.Add([]byte{0xFF, 0, '\n'})
	f.Fuzz(func(t *testing.T, content []byte) {
		l := Layout(t.TempDir())
		stray(t, l.Abort(), content)
		marker := l.AbortMarker()
		for i, step := range []func() error{func() error { return nil }, marker.Set, marker.Clear} {
			if err := step(); err != nil {
				t.Fatal(err)
			}
			if there, err := marker.Present(); err != nil || there != (i < 2) {
				t.Fatalf("step %d: present %v (%v)", i, there, err)
			}
		}
	})
}

// Whatever stands in the list of deleted topics, it is an error or a list that survives
// being saved.
func FuzzDeletedTopics(f *testing.F) {
	f.Add([]byte(`{"topics":{"t":{"before":100,"next":{"0":5,"3":7}},"主题":{"before":0,"next":null}}}`))
	f.Add([]byte(`{"topics":{"":{"before":-1,"next":{"-1":-9223372036854775808}}}}`))
	f.Add([]byte(`{"topics":{"t":{"next":{"99999999999":1}}}}`))
	f.Add([]byte(`{"topics":null}`))
	f.Add([]byte(`{"topics":{"t":{}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		l := Layout(t.TempDir())
		stray(t, l.DeletedTopics(), content)
		topics, err := l.LoadDeletedTopics()
		if err != nil {
			return
		}
		if err := l.SaveDeletedTopics(topics); err != nil {
			t.Fatal(err)
		}
		again, err := l.LoadDeletedTopics()
		if err != nil || len(again) != len(topics) {
			t.Fatalf("loaded %v, then %v (%v)", topics, again, err)
		}
		for name, want := range topics {
			if got := again[name]; got.Before != want.Before || !maps.Equal(got.Next, want.Next) {
				t.Errorf("topic %q: %+v, then %+v", name, want, got)
			}
		}
	})
}
