package message

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"
)

// UniqueID is the id that a client gives a message before it sends it, as the
// property UNIQ_KEY. To the store it is just another key.
//
//	upper-case hex of: address (4 or 16), pid (2), class loader hash (4), ms (4), counter (2)
type UniqueID struct {
	Addr    netip.Addr
	PID     uint16 // low bits of the process id
	Loader  uint32 // hash of the Java class loader; any number that tells clients apart
	MonthMs uint32 // since the month began in the client's time zone
	Counter uint16
}

const uniqueTailBytes = 2 + 4 + 4 + 2

// String returns the 32 or 56 characters of the id.
func (u UniqueID) String() string { return string(u.Append(nil)) }

// Append adds the characters of the id to dst. It allocates only if dst is too
// short.
func (u UniqueID) Append(dst []byte) []byte {
	var raw [16 + uniqueTailBytes]byte
	b := raw[:0]
	if u.Addr.Is6() && !u.Addr.Is4In6() {
		ip := u.Addr.As16()
		b = append(b, ip[:]...)
	} else if u.Addr.IsValid() {
		ip := u.Addr.As4()
		b = append(b, ip[:]...)
	} else {
		b = append(b, 0, 0, 0, 0)
	}
	b = binary.BigEndian.AppendUint16(b, u.PID)
	b = binary.BigEndian.AppendUint32(b, u.Loader)
	b = binary.BigEndian.AppendUint32(b, u.MonthMs)
	b = binary.BigEndian.AppendUint16(b, u.Counter)
	const digits = "0123456789ABCDEF"
	for _, c := range b {
		dst = append(dst, digits[c>>4], digits[c&15])
	}
	return dst
}

// ParseUniqueID takes an id apart. Lower-case digits are accepted. The error
// wraps ErrBadID.
func ParseUniqueID(id string) (UniqueID, error) {
	raw, err := hex.DecodeString(id)
	if err != nil {
		return UniqueID{}, fmt.Errorf("%w: unique id %q: %w", ErrBadID, id, err)
	}
	if len(raw) != 4+uniqueTailBytes && len(raw) != 16+uniqueTailBytes {
		return UniqueID{}, fmt.Errorf("%w: unique id %q: got %d characters, want 32 or 56", ErrBadID, id, len(id))
	}
	ip, b := raw[:len(raw)-uniqueTailBytes], raw[len(raw)-uniqueTailBytes:]
	addr, _ := netip.AddrFromSlice(ip)
	return UniqueID{
		Addr:    addr,
		PID:     binary.BigEndian.Uint16(b),
		Loader:  binary.BigEndian.Uint32(b[2:]),
		MonthMs: binary.BigEndian.Uint32(b[6:]),
		Counter: binary.BigEndian.Uint16(b[10:]),
	}, nil
}

// UniqueIDs makes the ids of one client. It is safe for concurrent use.
type UniqueIDs struct {
	client  UniqueID // immutable
	counter atomic.Uint32
}

// NewUniqueIDs makes ids for a client at addr; pid and loader tell apart clients
// of one address.
func NewUniqueIDs(addr netip.Addr, pid int, loader uint32) *UniqueIDs {
	return &UniqueIDs{client: UniqueID{Addr: addr, PID: uint16(pid), Loader: loader}}
}

// Next returns the id of a message made at now, whose location decides when the
// month began. Ids repeat only if more than 65536 are made in one ms, or in the
// same ms of another month.
func (g *UniqueIDs) Next(now time.Time) UniqueID {
	u := g.client
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, now.Location())
	u.MonthMs = uint32(now.Sub(month).Milliseconds())
	u.Counter = uint16(g.counter.Add(1) - 1)
	return u
}
