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

func TestRetentionOptions(t *testing.T) {
	o, err := Options{}.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	got := []any{
		o.FileReservedMs, o.DeleteWhen, o.MaxLogBytes, o.DiskMaxUsedPercent, o.DiskCleanForciblyPercent, o.DiskWarningPercent, o.CleanFileForcibly,
		o.CleanIntervalMs, o.DeleteFileBatch, o.DeleteFileIntervalMs, o.DestroyForceMs, o.RetryHangedMs, o.Compatible,
	}
	want := []any{
		int64(72 * 3600 * 1000), "04", int64(0), 75, 85, 90, On,
		int64(10_000), 10, int64(100), int64(120_000), int64(120_000), Loose,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	for way, rate := range map[segment.Destruction]int64{
		segment.DestroyInline: unlimited, segment.DestroyBackground: unlimited, segment.DestroyRecycle: unlimited,
		segment.DestroyStepwise: 256 << 20, segment.DestroyPunch: 256 << 20,
	} {
		o, err := Options{Destroy: way}.Resolve()
		if crc := o.AppendCRC == On; err != nil || o.DestroyBytesPerSecond != rate || crc != (way == segment.DestroyRecycle) {
			t.Errorf("%s: %d bytes per second, appendCRC %s, %v", way, o.DestroyBytesPerSecond, o.AppendCRC, err)
		}
	}
	for most, ok := range map[int64]bool{0: true, 1<<20 - 1: false, 1 << 20: true} {
		_, err := Options{CommitLogFileBytes: 1 << 20, MaxLogBytes: most}.Resolve()
		if complained := errors.Is(err, ErrOption) && strings.Contains(err.Error(), " maxLogBytes"); complained == ok || ok && err != nil {
			t.Errorf("maxLogBytes %d with files of 1 MiB: %v", most, err)
		}
	}
	_, err = Options{
		FileReservedMs: -1, DeleteWhen: "noon", MaxLogBytes: -1, DiskMaxUsedPercent: 101, DiskCleanForciblyPercent: -1, DiskWarningPercent: 1000,
		CleanFileForcibly: "yes", CleanIntervalMs: -1, DeleteFileBatch: -1, DeleteFileIntervalMs: -1, DestroyForceMs: -1, RetryHangedMs: -1,
		Destroy: "slowly", DestroyBytesPerSecond: 1, Compatible: "somewhat",
	}.Resolve()
	for _, name := range []string{
		"fileReservedMs", "deleteWhen", "maxLogBytes", "diskMaxUsedPercent", "diskCleanForciblyPercent", "diskWarningPercent", "cleanFileForcibly",
		"cleanIntervalMs", "deleteFileBatch", "deleteFileIntervalMs", "destroyForceMs", "retryHangedMs", "destroy:", "destroyBytesPerSecond", "compatible",
	} {
		if err == nil || !strings.Contains(err.Error(), " "+name) {
			t.Errorf("%s is missing in: %v", name, err)
		}
	}
}
