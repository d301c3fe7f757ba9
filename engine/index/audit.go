package index

import (
	"errors"
	"fmt"
)

// auditLimit is how many faults Audit names before it gives up.
const auditLimit = 20

// Audit checks a whole file b against the invariants of the format and returns
// what is wrong, joined, or nil. It reads every slot and item and takes four
// bytes of memory per slot. The used slots may be as in any release.
func (l Layout) Audit(b []byte) error {
	if int64(len(b)) != l.FileBytes() {
		return fmt.Errorf("file has %d bytes, expected %d", len(b), l.FileBytes())
	}
	var faults []error
	fault := func(format string, args ...any) bool {
		faults = append(faults, fmt.Errorf(format, args...))
		return len(faults) < auditLimit
	}
	h := DecodeHeader(b)
	if h.Count < 0 || int(h.Count) > l.Items {
		return fmt.Errorf("count %d is not in [0, %d]", h.Count, l.Items)
	}
	newest := make([]int32, l.Slots)
	used := int32(0)
	before := h.BeginPhysical
	for n := 1; n < int(h.Count); n++ {
		it := l.Item(b, n)
		if it.Hash < 0 || it.Seconds < 0 {
			if !fault("item %d: hash %d, seconds %d: negative", n, it.Hash, it.Seconds) {
				return errors.Join(faults...)
			}
			continue
		}
		if it.Physical < before && !fault("item %d: physical offset %d after %d", n, it.Physical, before) {
			break
		}
		before = it.Physical
		slot := l.SlotOf(it.Hash)
		if it.Previous != newest[slot] && !fault("item %d: previous is %d, expected %d", n, it.Previous, newest[slot]) {
			break
		}
		if newest[slot] == 0 {
			used++
		}
		newest[slot] = int32(n)
	}
	for slot, want := range newest {
		if got := l.Slot(b, slot); got != want && !fault("slot %d: leads to item %d, expected %d", slot, got, want) {
			break
		}
	}
	if h.Count > 1 {
		if first := l.Item(b, 1).Physical; first != h.BeginPhysical {
			fault("begin physical offset is %d, first item has %d", h.BeginPhysical, first)
		}
		if before != h.EndPhysical {
			fault("end physical offset is %d, last item has %d", h.EndPhysical, before)
		}
		if h.UsedSlots != used && h.UsedSlots != h.Count-1 {
			fault("used slots is %d, counted %d", h.UsedSlots, used)
		}
	}
	return errors.Join(faults...)
}
