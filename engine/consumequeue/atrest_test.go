package consumequeue

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"commitlab/engine/fsutil"
	"commitlab/engine/segment"
)

// cataloged returns options for queues of 5 units a file with a catalog, whatever the
// file system.
func cataloged(t *testing.T) (root string, o Options) {
	t.Helper()
	tell := stampsTell
	stampsTell = func(string) bool { return true }
	t.Cleanup(func() { stampsTell = tell })
	dir := t.TempDir()
	o = onDisk(5)
	o.Catalog = filepath.Join(dir, "catalog")
	return filepath.Join(dir, "consumequeue"), o
}

// restingTable makes queues of several kinds and closes them in order, with a catalog.
func restingTable(t *testing.T, root string, o Options) {
	t.Helper()
	table := openTable(t, root, o)
	put(t, create(t, table, "one file", 0), 0, 3)
	put(t, create(t, table, "full", 0), 0, 5)
	put(t, create(t, table, "files", 1), 0, 13)
	put(t, create(t, table, "files", 2), 8, 12) // fillers first
	q := create(t, table, "deleted", 0)
	put(t, q, 0, 17)
	if n, err := q.DeleteBefore(unit(11).PhysicalOffset, time.Now()); n != 2 || err != nil {
		t.Fatalf("deleted %d files: %v", n, err)
	}
	create(t, table, "empty", 0)
	endInOrder(t, table)
}

// endInOrder closes a table as a clean end does, once its last change is old enough.
func endInOrder(t *testing.T, table *Table) {
	t.Helper()
	if _, err := table.Sync(0); err != nil {
		t.Fatal(err)
	}
	time.Sleep(fsutil.StampSteps + 5*time.Millisecond)
	if err := table.SaveCatalog(); err != nil {
		t.Fatal(err)
	}
	table.Close()
}

// describe tells all there is to know of the queues below root.
func describe(root string, o Options) (text string, atRest []string) {
	table, err := LoadTable(root, o)
	if err != nil {
		return err.Error(), nil
	}
	defer table.Close()
	var b strings.Builder
	for _, e := range table.All() {
		if e.restedAtLoad() {
			atRest = append(atRest, fmt.Sprint(e.Topic, "/", e.ID))
		}
	}
	if err := table.Settle(); err != nil {
		return err.Error(), atRest
	}
	for _, e := range table.All() {
		at, last, ok := e.LastUnit()
		fmt.Fprintln(&b, e.Topic, e.ID, e.Min(), e.Max(), e.MaxPhysical(), e.Files(), at, last, ok, e.Below(unit(4).End()))
		for n := e.Min(); n < e.Max(); n++ {
			u, ok := e.Read(n)
			fmt.Fprintln(&b, n, u, ok)
		}
	}
	return b.String(), atRest
}

// Goal: with the catalog or without, each queue comes out the same, whatever happened
// to the files meanwhile; and what nobody touched is not read. Method: harm of many
// kinds, one at a time.
func TestCatalogChangesNothingButTheWork(t *testing.T) {
	all := []string{"deleted/0", "files/1", "files/2", "full/0", "one file/0"}
	file := func(root, queue string, base int64) string { return filepath.Join(root, queue, segment.FileName(base)) }
	write := func(path string, at int64, b ...byte) error {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteAt(b, at)
		return err
	}
	for name, c := range map[string]struct {
		harm    func(root string) error
		touched []string // queues that count as touched
	}{
		"nothing": {func(string) error { return nil }, nil},
		"last unit": {func(root string) error {
			return write(file(root, "one file/0", 0), 2*UnitBytes, make([]byte, UnitBytes)...)
		}, []string{"one file/0"}},
		"new unit": {func(root string) error {
			b := make([]byte, UnitBytes)
			EncodeUnit(b, unit(3))
			return write(file(root, "one file/0", 0), 3*UnitBytes, b...)
		}, []string{"one file/0"}},
		"same bytes once more": {func(root string) error {
			path := file(root, "files/1", 200)
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return write(path, 0, b...)
		}, []string{"files/1"}},
		"cut short":    {func(root string) error { return os.Truncate(file(root, "files/1", 200), 40) }, []string{"files/1"}},
		"first gone":   {func(root string) error { return os.Remove(file(root, "files/1", 0)) }, []string{"files/1"}},
		"middle gone":  {func(root string) error { return os.Remove(file(root, "files/1", 100)) }, []string{"files/1"}},
		"last gone":    {func(root string) error { return os.Remove(file(root, "files/2", 100)) }, []string{"files/2"}},
		"queue gone":   {func(root string) error { return os.RemoveAll(filepath.Join(root, "full", "0")) }, []string{"full/0"}},
		"topic gone":   {func(root string) error { return os.RemoveAll(filepath.Join(root, "files")) }, []string{"files/1", "files/2"}},
		"next file":    {func(root string) error { return os.WriteFile(file(root, "full/0", 100), make([]byte, 100), 0o644) }, []string{"full/0"}},
		"foreign file": {func(root string) error { return os.WriteFile(file(root, "files/2", 7), nil, 0o644) }, []string{"files/2"}},
		"another's": {func(root string) error {
			return os.Rename(file(root, "full/0", 0), file(root, "one file/0", 0))
		}, []string{"full/0", "one file/0"}},
		"exchanged": {func(root string) error {
			a, b := filepath.Join(root, "files", "1"), filepath.Join(root, "files", "2")
			for _, move := range [][2]string{{a, a + "x"}, {b, a}, {a + "x", b}} {
				if err := os.Rename(move[0], move[1]); err != nil {
					return err
				}
			}
			return nil
		}, []string{"files/1", "files/2"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, clean := range []bool{true, false} {
				root, o := cataloged(t)
				restingTable(t, root, o)
				if err := c.harm(root); err != nil {
					t.Fatal(err)
				}
				o.Clean, o.Durable = clean, unit(20).End()
				with := o
				o.Catalog = ""
				copied := filepath.Join(t.TempDir(), "consumequeue") // settling changes files
				if err := os.CopyFS(copied, os.DirFS(root)); err != nil {
					t.Fatal(err)
				}
				want, _ := describe(copied, o)
				got, rest := describe(root, with)
				if got = strings.ReplaceAll(got, root, copied); got != want {
					t.Errorf("clean %v: with the catalog\n%s\nwithout\n%s", clean, got, want)
				}
				if strings.Contains(want, "file") && rest == nil {
					continue // refused, either way
				}
				left := slices.DeleteFunc(slices.Clone(all), func(q string) bool { return slices.Contains(c.touched, q) })
				if !slices.Equal(rest, left) {
					t.Errorf("clean %v: at rest were %v, want %v", clean, rest, left)
				}
			}
		})
	}
}

// Goal: of a table that is closed, opened, written and closed again each queue is known
// as it is, and no file of one at rest is opened.
func TestCatalogFollowsTheQueues(t *testing.T) {
	root, o := cataloged(t)
	restingTable(t, root, o)
	for round := range int64(4) {
		table := openTable(t, root, o)
		if n := table.AtRest(); n != 5 {
			t.Fatalf("round %d: %d queues at rest, want 5", round, n)
		}
		for _, e := range table.All() {
			for _, f := range e.files.Files() {
				if f.Opened() {
					t.Errorf("%s is open", f.Path())
				}
			}
		}
		q := table.Get("one file", 0)
		put(t, q, 3+2*round, 5+2*round)
		if err := table.Delete("full", time.Now()); err != nil {
			t.Fatal(err)
		}
		put(t, create(t, table, "full", 0), 0, 1+round)
		endInOrder(t, table)
	}
	without := o
	without.Catalog = ""
	want, _ := describe(root, without)
	if got, rest := describe(root, o); got != want || len(rest) != 5 {
		t.Errorf("at rest %v\n%s\nwant\n%s", rest, got, want)
	}
}

// Goal: what could hide a change is not believed.
func TestCatalogIsNotBelieved(t *testing.T) {
	rewrite := func(t *testing.T, o Options, change func(boot string, fileBytes int64, c catalog) []byte) {
		t.Helper()
		b, err := os.ReadFile(o.Catalog)
		if err != nil {
			t.Fatal(err)
		}
		boot, fileBytes, c, err := decodeCatalog(b)
		if err == nil {
			err = os.WriteFile(o.Catalog, change(boot, fileBytes, c), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	otherBoot := func(_ string, fileBytes int64, c catalog) []byte {
		return c.encode("another run of the system", fileBytes)
	}
	for name, c := range map[string]struct {
		change func(string, int64, catalog) []byte
		clean  bool
		rest   int
		warned int
	}{
		"killed, as it is":     {func(boot string, n int64, c catalog) []byte { return c.encode(boot, n) }, false, 5, 0},
		"clean, other boot":    {otherBoot, true, 5, 0},
		"killed, other boot":   {otherBoot, false, 0, 0},
		"other size of a file": {func(boot string, _ int64, c catalog) []byte { return (&catalog{}).encode(boot, 10*UnitBytes) }, true, 0, 0},
		"damaged":              {func(boot string, n int64, c catalog) []byte { return c.encode(boot, n)[:200] }, true, 0, 1},
		"an entry makes no sense": {func(boot string, n int64, c catalog) []byte {
			c.ends[2].max = c.ends[2].last.offset
			return c.encode(boot, n)
		}, true, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			root, o := cataloged(t)
			restingTable(t, root, o)
			rewrite(t, o, c.change)
			book := &logBook{}
			o.logTo(book)
			o.Clean, o.Durable = c.clean, unit(20).End()
			if _, rest := describe(root, o); len(rest) != c.rest {
				t.Errorf("at rest: %v, want %d", rest, c.rest)
			}
			if n := book.count("catalog"); (n > 0) != (c.warned > 0) {
				t.Errorf("%d lines name the catalog, want %d", n, c.warned)
			}
		})
	}
	t.Run("changed just now", func(t *testing.T) {
		root, o := cataloged(t)
		restingTable(t, root, o)
		table := openTable(t, root, o)
		put(t, table.Get("one file", 0), 3, 4)
		if _, err := table.Sync(0); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		for i := range 2 { // the file, and with it the directory of its kind
			if err := os.Chtimes(filepath.Join(root, []string{"one file/0", "files/1"}[i], segment.FileName(int64(i)*200)), now, now); err != nil {
				t.Fatal(err)
			}
		}
		if err := table.SaveCatalog(); err != nil {
			t.Fatal(err)
		}
		table.Close()
		if _, rest := describe(root, o); !slices.Equal(rest, []string{"deleted/0", "files/2", "full/0"}) && time.Since(now) < fsutil.StampSteps {
			t.Errorf("at rest: %v", rest)
		}
	})
	t.Run("times of whole seconds", func(t *testing.T) {
		root, o := cataloged(t)
		restingTable(t, root, o)
		table := openTable(t, root, o)
		then := time.Now().Add(-time.Hour).Truncate(time.Second)
		if err := os.Chtimes(filepath.Join(root, "one file/0", segment.FileName(0)), then, then); err != nil {
			t.Fatal(err)
		}
		endInOrder(t, table)
		if _, rest := describe(root, o); !slices.Equal(rest, []string{"deleted/0", "files/1", "files/2", "full/0"}) {
			t.Errorf("at rest: %v", rest)
		}
	})
	t.Run("a file system that does not tell", func(t *testing.T) {
		root, o := cataloged(t)
		stampsTell = func(string) bool { return false }
		restingTable(t, root, o)
		if _, err := os.Stat(o.Catalog); !os.IsNotExist(err) {
			t.Errorf("there is a catalog: %v", err)
		}
	})
}
