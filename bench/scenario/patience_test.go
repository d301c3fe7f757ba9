package scenario

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"commitlab/engine"
)

// busyFor is a store that refuses a number of puts and then answers with err.
type busyFor struct {
	refusals, tries int
	err             error
}

func (b *busyFor) put() (engine.PutResult, error) {
	if b.tries++; b.tries <= b.refusals {
		return engine.PutResult{}, fmt.Errorf("put: %w", engine.ErrPageCacheBusy)
	}
	return engine.PutResult{PhysicalOffset: 7}, b.err
}

// A disk that stood still for a moment while a store was being filled failed the
// whole run, and with it CI.
func TestSettingUpOutlastsABusyPageCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, refusals := range []int{0, 1, 100} {
			s := &busyFor{refusals: refusals}
			start := time.Now()
			r, err := settingUp.put(t.Context(), s.put)
			if err != nil || r.PhysicalOffset != 7 || s.tries != refusals+1 {
				t.Errorf("%d refusals: offset %d, error %v after %d attempts; want 7 after %d", refusals, r.PhysicalOffset, err, s.tries, refusals+1)
			}
			if waited, want := time.Since(start), time.Duration(refusals)*settingUp.pause; waited != want {
				t.Errorf("%d refusals: waited %v, want %v", refusals, waited, want)
			}
		}
	})
}

func TestSettingUpGivesUpAtItsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &busyFor{refusals: 1 << 30}
		start := time.Now()
		_, err := settingUp.put(t.Context(), s.put)
		if waited := time.Since(start); waited != settingUp.most {
			t.Errorf("gave up after %v, want %v", waited, settingUp.most)
		}
		if !errors.Is(err, engine.ErrPageCacheBusy) || !strings.Contains(err.Error(), "waited 30s") || !strings.Contains(err.Error(), fmt.Sprintf("in %d attempts", s.tries)) {
			t.Errorf("error is %v; want it to wrap the store's and to say how long and how often", err)
		}
	})
}

func TestSettingUpWaitsForNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("disk is full")
		s := &busyFor{refusals: 3, err: full}
		if _, err := settingUp.put(t.Context(), s.put); !errors.Is(err, full) || s.tries != 4 {
			t.Errorf("error is %v after %d attempts, want the other error at once", err, s.tries)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := settingUp.put(ctx, (&busyFor{refusals: 1 << 30}).put)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, engine.ErrPageCacheBusy) || !strings.Contains(err.Error(), "waited 1s") {
			t.Errorf("cancelled: error is %v; want the context's and the store's, and how long it was", err)
		}
	})
}
