package engine

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"commitlab/engine/segment"
)

func TestZeroOptionsResolveToTheDocumentedDefaults(t *testing.T) {
	o, err := Options{}.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"commitLogFileBytes": 1 << 30, "maxBodyBytes": 4 << 20, "appendCRC": "off", "appendLock": "mutex", "clock": "coarse",
		"pageCacheBusyMs": 1000, "allocate": "fallocate", "preallocate": "on", "populate": "window", "populateWindowBytes": 16 << 20,
		"warmUp": "none", "memoryLock": "none", "advise": "normal", "flush": "async", "syncPath": "msync",
		"flushIntervalMs": 500, "flushLeastPages": 4, "flushThoroughIntervalMs": 10_000, "syncFlushTimeoutMs": 5000,
		"transientBuffers": 4, "transientBufferBytes": 8 << 20, "commitIntervalMs": 200, "commitLeastPages": 4, "commitThoroughIntervalMs": 200,
	} {
		if n, ok := want.(int); ok {
			want = float64(n)
		}
		if got[name] != want {
			t.Errorf("%s: got %v, want %v", name, got[name], want)
		}
	}
}

// How records become durable decides the defaults of what a file is made of.
func TestSyncFlushHasDefaultsOfItsOwn(t *testing.T) {
	o, err := Options{Flush: FlushSync}.Resolve()
	if err != nil || o.SyncPath != segment.SyncPwrite || o.Allocate != segment.ZeroFill || o.Populate != segment.PopulateNone {
		t.Errorf("sync: %s, %s, %s, %v", o.SyncPath, o.Allocate, o.Populate, err)
	}
	o, err = Options{Flush: FlushSync, SyncPath: segment.SyncMsync}.Resolve()
	if err != nil || o.Allocate != segment.Fallocate || o.Populate != segment.PopulateWindow {
		t.Errorf("sync through the mapping: %s, %s, %v", o.Allocate, o.Populate, err)
	}
}

func TestResolvedOptionsResolveToThemselves(t *testing.T) {
	for name, o := range variants() {
		once, err := o.Resolve()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		twice, err := once.Resolve()
		if err != nil || !reflect.DeepEqual(once, twice) {
			t.Errorf("%s: resolved again: %+v, %v", name, twice, err)
		}
	}
}

func TestEveryBadOptionIsNamed(t *testing.T) {
	_, err := Options{
		CommitLogFileBytes: 100, MaxBodyBytes: -1, AppendCRC: "yes", AppendLock: "none", Clock: "slow", PageCacheBusyMs: -1,
		Allocate: "magic", Preallocate: "maybe", Populate: "all", PopulateWindowBytes: 1, WarmUp: "hot", MemoryLock: "some", Advise: "good",
		Flush: "never", SyncPath: "hope", FlushIntervalMs: -1, FlushLeastPages: -1, FlushThoroughIntervalMs: -1, SyncFlushTimeoutMs: -1,
		TransientBuffers: 1, TransientBufferBytes: -1, CommitIntervalMs: -1, CommitLeastPages: -1, CommitThoroughIntervalMs: -1,
	}.Resolve()
	if !errors.Is(err, ErrOption) {
		t.Fatalf("got %v, want ErrOption", err)
	}
	for _, name := range []string{
		"commitLogFileBytes: got 100", "maxBodyBytes", "appendCRC: got yes, expected off, on", "appendLock", "clock", "pageCacheBusyMs", "allocate",
		"preallocate", "populate:", "populateWindowBytes", "warmUp", "memoryLock", "advise", "flush:", "syncPath", "flushIntervalMs",
		"flushLeastPages", "flushThoroughIntervalMs", "syncFlushTimeoutMs", "transientBuffers", "transientBufferBytes", "commitIntervalMs",
		"commitLeastPages", "commitThoroughIntervalMs",
	} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%q is missing in:\n%v", name, err)
		}
	}
	if _, err := Open(t.TempDir(), Options{Flush: "never"}); !errors.Is(err, ErrOption) {
		t.Errorf("open: got %v, want ErrOption", err)
	}
}
