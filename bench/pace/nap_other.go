//go:build !linux

package pace

import "time"

// nap falls back to the runtime's timers; the slip shows what that costs.
func nap(d time.Duration) { time.Sleep(d) }
