package message

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// ErrBadID: a string is not an id of that kind.
var ErrBadID = errors.New("bad message id")

// OffsetID is the id under which the store knows a record, derived from where it
// lies: address (4 or 16 bytes), port (4) and physical offset (8) in upper-case
// hex. It has 32 or 56 characters.
func OffsetID(storeHost netip.AddrPort, physicalOffset int64) string {
	var raw [hostBytes6 + 8]byte
	n := putHost(raw[:], storeHost)
	binary.BigEndian.PutUint64(raw[n:], uint64(physicalOffset))
	return upperHex(raw[:n+8])
}

// ParseOffsetID takes an OffsetID apart. Lower-case digits are accepted. The
// error wraps ErrBadID.
func ParseOffsetID(id string) (storeHost netip.AddrPort, physicalOffset int64, err error) {
	raw, err := hex.DecodeString(id)
	if err != nil {
		return netip.AddrPort{}, 0, fmt.Errorf("%w: offset id %q: %w", ErrBadID, id, err)
	}
	if len(raw) != hostBytes4+8 && len(raw) != hostBytes6+8 {
		return netip.AddrPort{}, 0, fmt.Errorf("%w: offset id %q: got %d characters, want 32 or 56", ErrBadID, id, len(id))
	}
	storeHost, n := readHost(raw, 0, len(raw) == hostBytes6+8)
	if port := binary.BigEndian.Uint32(raw[n-4:]); port != uint32(storeHost.Port()) {
		return netip.AddrPort{}, 0, fmt.Errorf("%w: offset id %q: port %d", ErrBadID, id, port)
	}
	return storeHost, int64(binary.BigEndian.Uint64(raw[n:])), nil
}

func upperHex(raw []byte) string { return strings.ToUpper(hex.EncodeToString(raw)) }
