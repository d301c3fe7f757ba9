package consumequeue

import (
	"encoding/hex"
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// The drawings in the comments and the constants must agree.
func TestDrawingsAgreeWithTheConstants(t *testing.T) {
	type field struct{ offset, width int }
	for _, c := range []struct {
		file   string
		fields map[string]field
		total  int
	}{
		{"doc.go", map[string]field{
			"physical offset": {atPhysicalOffset, 8}, "size": {atSize, 4}, "tags code": {atTagsCode, 8},
		}, UnitBytes},
		{"extunit.go", map[string]field{
			"unit size": {atExtSize, 2}, "tags code": {atExtTagsCode, 8},
			"store timestamp": {atExtStoreTime, 8}, "filter length": {atExtFilterLength, 2},
		}, extHeadBytes},
	} {
		text, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		total, drawn := 0, 0
		line := regexp.MustCompile(`(?m)^//\t +(\d+) +(\d+)  ([a-z]+(?: [a-z]+)?)`)
		for _, m := range line.FindAllStringSubmatch(string(text), -1) {
			offset, _ := strconv.Atoi(m[1])
			width, _ := strconv.Atoi(m[2])
			if want, ok := c.fields[m[3]]; !ok || want != (field{offset, width}) {
				t.Errorf("%s: %s is drawn at %d, %d bytes; coded %+v (%v)", c.file, m[3], offset, width, want, ok)
			}
			total, drawn = total+width, drawn+1
		}
		if drawn != len(c.fields) || total != c.total {
			t.Errorf("%s: %d fields of %d bytes are drawn, coded %d of %d", c.file, drawn, total, len(c.fields), c.total)
		}
	}
}

func TestUnitBytes(t *testing.T) {
	for _, c := range []struct {
		unit     Unit
		hex      string
		valid    bool
		prefills bool
	}{
		{Unit{PhysicalOffset: 0x0102030405060708, Size: 0x090A0B0C, TagsCode: -2}, "01020304050607080" + "90a0b0cfffffffffffffffe", true, false},
		{prefill, "00000000000000007fffffff0000000000000000", true, true},
		{Unit{}, "0000000000000000000000000000000000000000", false, false},
		{Unit{PhysicalOffset: -1, Size: 1}, "ffffffffffffffff000000010000000000000000", false, false},
		{Unit{PhysicalOffset: math.MaxInt64, Size: 1}, "7fffffffffffffff000000010000000000000000", false, false},
	} {
		b := make([]byte, UnitBytes)
		EncodeUnit(b, c.unit)
		if got := hex.EncodeToString(b); got != c.hex {
			t.Errorf("%+v is %s, expected %s", c.unit, got, c.hex)
		}
		if got := DecodeUnit(b); got != c.unit {
			t.Errorf("%s is %+v, expected %+v", c.hex, got, c.unit)
		}
		if c.unit.Valid() != c.valid || c.unit.IsPrefill() != c.prefills {
			t.Errorf("%+v: valid %v, pre-fill %v", c.unit, c.unit.Valid(), c.unit.IsPrefill())
		}
	}
}

func TestEveryUnitSurvivesEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := Unit{rapid.Int64().Draw(t, "physical"), rapid.Int32().Draw(t, "size"), rapid.Int64().Draw(t, "tags")}
		b := make([]byte, UnitBytes)
		EncodeUnit(b, u)
		if got := DecodeUnit(b); got != u {
			t.Fatalf("got %+v, expected %+v", got, u)
		}
	})
}

// A hash of 32 bits and a time of delivery are never taken for an address.
func TestAddressesAreToldFromTagsCodes(t *testing.T) {
	for tags, want := range map[int64]bool{
		0: false, math.MaxInt32: false, math.MinInt32: false, 1795992738170: false, math.MaxInt64: false,
		math.MinInt32 - 1: true, math.MinInt64: true,
	} {
		if IsExtAddress(tags) != want {
			t.Errorf("%d is an address: %v", tags, !want)
		}
	}
	if maxExtOffset != 9223372034707292159 || extOffset(extAddress(maxExtOffset)) != maxExtOffset {
		t.Errorf("largest offset is %d", int64(maxExtOffset))
	}
}
