package index

import (
	"bytes"
	"encoding/hex"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"commitlab/engine/message"
)

// The drawing in the package comment, the constants and the codec agree: the
// numbers along the two pictures are the places of the fields.
func TestDrawingAgreesWithTheConstants(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(doc), "\n")
	places := func(begin string, numbers int) (all []string) {
		for _, line := range lines {
			if rest, ok := strings.CutPrefix(line, "//\t"+begin); ok {
				if all = strings.Fields(rest); len(all) == numbers {
					return all
				}
			}
		}
		t.Fatalf("no line %q with %d numbers in doc.go", begin, numbers)
		return nil
	}
	header := []int{beginTimeAt, endTimeAt, beginPhysicalAt, endPhysicalAt, usedSlotsAt, countAt, HeaderBytes}
	for i, got := range places("", len(header)) {
		if want := strconv.Itoa(header[i]); got != want {
			t.Errorf("header is drawn with %s, constant is %s", got, want)
		}
	}
	item := []int{hashAt, physicalAt, secondsAt, previousAt, ItemBytes}
	for i, got := range places("item", len(item)) {
		if want := strconv.Itoa(item[i]); got != want {
			t.Errorf("item is drawn with %s, constant is %s", got, want)
		}
	}
}

func TestHeaderAndItemAreBigEndianInTheirPlaces(t *testing.T) {
	h := Header{BeginMs: 0x0102030405060708, EndMs: 0x1112131415161718, BeginPhysical: 0x2122232425262728, EndPhysical: 0x3132333435363738, UsedSlots: 0x41424344, Count: 0x51525354}
	b := make([]byte, HeaderBytes)
	encodeHeader(b, h)
	if want := "0102030405060708111213141516171821222324252627283132333435363738" + "4142434451525354"; hex.EncodeToString(b) != want {
		t.Errorf("header is %x, want %s", b, want)
	}
	if got := DecodeHeader(b); got != h {
		t.Errorf("decoded %+v, want %+v", got, h)
	}
	it := Item{Hash: 0x01020304, Physical: 0x1112131415161718, Seconds: 0x21222324, Previous: 0x31323334}
	b = make([]byte, ItemBytes)
	encodeItem(b, it)
	if want := "0102030411121314151617182122232431323334"; hex.EncodeToString(b) != want {
		t.Errorf("item is %x, want %s", b, want)
	}
	if got := decodeItem(b); got != it {
		t.Errorf("decoded %+v, want %+v", got, it)
	}
}

// Slots of known keys in a file of the original's size.
func TestDefaultLayoutIsTheOriginals(t *testing.T) {
	l := Layout{Slots: DefaultSlots, Items: DefaultItems}
	if err := l.Check(); err != nil {
		t.Fatal(err)
	}
	if got := l.FileBytes(); got != 420_000_040 {
		t.Errorf("file has %d bytes, want 420000040", got)
	}
	for _, c := range []struct {
		topic, key string
		at         int
	}{
		{"T", "k1", 10157820},
		{"TopicTest", "K1", 10980168},
		{"FooBar", "hello", 8229048},
		{"TopicA", "hiuckti", 40},
	} {
		if got := l.slotAt(l.SlotOf(message.KeyHash(c.topic, c.key))); got != c.at {
			t.Errorf("%s#%s: slot at %d, want %d", c.topic, c.key, got, c.at)
		}
	}
}

func TestLayoutRefusesWhatCannotBe(t *testing.T) {
	for _, l := range []Layout{{0, 10}, {-1, 10}, {10, 1}, {10, -5}, {math.MaxInt32, 2}, {1, 107_374_182}, {math.MaxInt, math.MaxInt}} {
		if l.Check() == nil {
			t.Errorf("%+v is accepted", l)
		}
	}
	if err := (Layout{Slots: 1, Items: 2}).Check(); err != nil {
		t.Error(err)
	}
}

func TestAuditFindsEachKindOfFault(t *testing.T) {
	l := Layout{Slots: 3, Items: 10}
	b := newBed(t)
	s := b.open(l)
	for i := range 8 {
		add(t, s, int64(i*100), 1000, "k"+strconv.Itoa(i))
	}
	sound := bytes.Clone(s.Files()[0].b)
	if err := l.Audit(sound); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		at   int
		want string
	}{
		{"count", countAt, "count"},
		{"used", usedSlotsAt + 2, "used slots"},
		{"begin", beginPhysicalAt + 7, "begin physical"},
		{"end", endPhysicalAt + 7, "end physical"},
		{"slot", l.slotAt(1) + 3, "slot 1"},
		{"previous", l.itemAt(5) + previousAt + 3, "previous"},
		{"hash", l.itemAt(5) + hashAt, "negative"},
		{"seconds", l.itemAt(5) + secondsAt, "negative"},
		{"physical", l.itemAt(5) + physicalAt + 5, "after"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := bytes.Clone(sound)
			bad[c.at] ^= 0x8F
			if err := l.Audit(bad); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("audit says %v, want something with %q", err, c.want)
			}
		})
	}
	if err := l.Audit(sound[1:]); err == nil {
		t.Error("a short file passes")
	}
}

// H36: after a clock that was set back a new index file came before older ones, and
// files were searched and deleted out of order. Names grow although the clock does
// not: two rolls in one millisecond, a clock that was set back, the hour that daylight
// saving time repeats.
func TestNamesOnlyGrow(t *testing.T) {
	zone := time.FixedZone("", 2*3600)
	at := func(s string) time.Time {
		v, err := time.ParseInLocation("2006-01-02 15:04:05.000", s, zone)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct {
		name, newest string
		now          time.Time
		want         string
	}{
		{"first", "", at("2026-11-29 22:52:16.638"), "20261129225216638"},
		{"later", "20261129225216638", at("2026-11-29 22:52:16.639"), "20261129225216639"},
		{"same millisecond", "20261129225216638", at("2026-11-29 22:52:16.638"), "20261129225216639"},
		{"clock set back", "20261231235959999", at("2026-11-29 22:52:16.638"), "20270101000000000"},
		{"end of February", "20240228235959999", at("2024-02-01 00:00:00.000"), "20240229000000000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := nextName(c.newest, c.now)
			if err != nil || got != c.want {
				t.Errorf("name %q (%v), want %q", got, err, c.want)
			}
			if !isFileName(got) {
				t.Errorf("%q is not taken for an index file", got)
			}
		})
	}
	for _, newest := range []string{"99991231235959999", "20269999999999999"} {
		if got, err := nextName(newest, at("2026-11-29 22:52:16.638")); err == nil {
			t.Errorf("after %s comes %s", newest, got)
		}
	}
}
