package message

import (
	"errors"
	"net/netip"
	"testing"
	"time"
)

func TestOffsetID(t *testing.T) {
	for _, c := range []struct {
		host   string
		offset int64
		want   string
	}{
		{"10.0.0.9:10911", 1 << 30, "0A00000900002A9F0000000040000000"},
		{"[fd00::9]:10911", 1691, "FD00000000000000000000000000000900002A9F000000000000069B"},
		{"255.255.255.255:65535", -1, "FFFFFFFF0000FFFFFFFFFFFFFFFFFFFF"},
	} {
		host := netip.MustParseAddrPort(c.host)
		if got := OffsetID(host, c.offset); got != c.want {
			t.Errorf("OffsetID(%s, %d) = %s, want %s", c.host, c.offset, got, c.want)
		}
		gotHost, gotOffset, err := ParseOffsetID(c.want)
		if err != nil || gotHost != host || gotOffset != c.offset {
			t.Errorf("ParseOffsetID(%s) = %v, %d, %v", c.want, gotHost, gotOffset, err)
		}
	}
	for _, id := range []string{
		"", "0A", "0A00000900002A9F000000004000000", "0A00000900002A9F00000000400000000",
		"0A00000900002A9F000000004000000G", "0A00000900012A9F0000000040000000",
	} {
		if _, _, err := ParseOffsetID(id); !errors.Is(err, ErrBadID) {
			t.Errorf("ParseOffsetID(%q): %v, want ErrBadID", id, err)
		}
	}
}

func TestUniqueID(t *testing.T) {
	for addr, want := range map[string]string{
		"10.0.0.9":    "0A0000091234CAFEBABE0000000F0007",
		"2001:db8::1": "20010DB80000000000000000000000011234CAFEBABE0000000F0007",
	} {
		u := UniqueID{Addr: netip.MustParseAddr(addr), PID: 0x1234, Loader: 0xCAFEBABE, MonthMs: 15, Counter: 7}
		if got := u.String(); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
		if got, err := ParseUniqueID(want); err != nil || got != u {
			t.Errorf("ParseUniqueID(%s) = %+v, %v", want, got, err)
		}
	}
	for _, id := range []string{"", "x", "0A0000091234CAFEBABE0000000F00", "ZZ0000091234CAFEBABE0000000F0007"} {
		if _, err := ParseUniqueID(id); !errors.Is(err, ErrBadID) {
			t.Errorf("ParseUniqueID(%q): %v, want ErrBadID", id, err)
		}
	}
}

func TestUniqueIDsCountFromTheStartOfTheLocalMonth(t *testing.T) {
	zone := time.FixedZone("east", 8*3600)
	ids := NewUniqueIDs(netip.MustParseAddr("10.0.0.9"), 0x54321, 1)
	month := time.Date(2024, 2, 1, 0, 0, 0, 0, zone)
	for i, c := range []struct {
		now  time.Time
		want uint32
	}{
		{month, 0},
		{month.Add(1500 * time.Microsecond), 1},
		{month.Add(28 * 24 * time.Hour), 2_419_200_000},
		{month.Add(29 * 24 * time.Hour), 0},
	} {
		u := ids.Next(c.now)
		if u.MonthMs != c.want || u.Counter != uint16(i) || u.PID != 0x4321 {
			t.Errorf("at %v: %+v, want %d ms, counter %d", c.now, u, c.want, i)
		}
	}
	buffer := make([]byte, 0, 32)
	if n := testing.AllocsPerRun(100, func() { buffer = ids.Next(month).Append(buffer[:0]) }); n != 0 {
		t.Errorf("%v allocations per id", n)
	}
}
