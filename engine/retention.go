package engine

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"commitlab/engine/segment"
)

// A retention is what decides which files of the commit log go.
type retention struct {
	reserved    time.Duration // how long records are kept
	hours       hours         // in which expired files go
	maxLogBytes int64         // 0: no limit
	maxUsed     int           // percent of a disk above which expired files go at any hour
	forcibly    int           // percent above which others go too
	byForce     bool          // forcibly holds
	batch       int           // files of one pass
}

// retention returns the part of resolved options that cleaning decides by.
func (o Options) retention() retention {
	hours, err := parseHours(o.DeleteWhen)
	if err != nil {
		panic("engine: resolved options with deleteWhen " + o.DeleteWhen)
	}
	return retention{
		reserved: ms(o.FileReservedMs), hours: hours, maxLogBytes: o.MaxLogBytes,
		maxUsed: o.DiskMaxUsedPercent, forcibly: o.DiskCleanForciblyPercent,
		byForce: o.CleanFileForcibly == On, batch: o.DeleteFileBatch,
	}
}

// prepareRetention makes what deletes files and takes them down. reused tells that
// the store was last open with files that are used again, and was not closed.
func (s *Store) prepareRetention() (reused bool, err error) {
	_, err = os.Stat(s.dir.Recycle())
	if reused = err == nil; !reused && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("look for spare files: %w", err)
	}
	if s.opt.Destroy == segment.DestroyRecycle {
		if err := segment.RemoveSpares(s.dir.Recycle(), s.opt.Disk, false); err != nil { // a killed process left them
			return false, err
		}
		s.spares = segment.NewSpares(s.dir.Recycle(), s.opt.Disk, s.opt.CommitLogFileBytes)
	}
	s.reaper = segment.NewReaper(segment.ReaperOptions{
		Destroy: s.opt.Destroy, BytesPerSecond: s.opt.DestroyBytesPerSecond, Observe: s.opt.OnDestroy,
		Spares: s.spares, Wake: s.services.wakeReaper, Optional: s.optional,
	})
	s.disk = newDiskWatch(s.opt, s.diskPaths()...)
	s.cleaner = newCleaner(s)
	return reused, nil
}

// sayRetention says once what holds from now on; asked is how files were to be
// taken down.
func (s *Store) sayRetention(asked segment.Destruction) {
	o := s.opt
	s.opt.Logger.Info("retention", "store", string(s.dir), "fileReservedMs", o.FileReservedMs, "deleteWhen", o.DeleteWhen, "maxLogBytes", o.MaxLogBytes,
		"diskMaxUsedPercent", o.DiskMaxUsedPercent, "diskCleanForciblyPercent", o.DiskCleanForciblyPercent,
		"diskWarningPercent", o.DiskWarningPercent, "cleanFileForcibly", o.CleanFileForcibly, "destroy", string(o.Destroy))
	if asked != "" && asked != o.Destroy {
		s.opt.Logger.Warn("deleted files are not recycled: with compatible strict a RocketMQ store must not come across their older bytes, which it would take for records",
			"asked", string(asked), "destroy", string(o.Destroy))
	}
}

// hours are hours of the day.
type hours [24]bool

// parseHours reads numbers from 0 to 23 separated by semicolons, such as "02;14".
// Spaces around a number and an empty part at the end do not matter.
func parseHours(text string) (h hours, err error) {
	parts := strings.Split(strings.TrimSuffix(strings.TrimSpace(text), ";"), ";")
	for _, part := range parts {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 0 || n > 23 {
			return hours{}, fmt.Errorf("hours from 0 to 23 separated by semicolons; %q is none", part)
		}
		h[n] = true
	}
	return h, nil
}

// include reports whether the local hour of t is one of them.
func (h hours) include(t time.Time) bool { return h[t.Local().Hour()] }

// resolveRetention resolves what deletes files, and how.
func (o *Options) resolveRetention(r *resolver) {
	r.size("fileReservedMs", &o.FileReservedMs, 72*60*60*1000, 1, 1<<50)
	if o.DeleteWhen == "" {
		o.DeleteWhen = "04"
	}
	if _, err := parseHours(o.DeleteWhen); err != nil {
		r.complain("deleteWhen", o.DeleteWhen, err.Error())
	}
	if o.MaxLogBytes != 0 && o.MaxLogBytes < o.CommitLogFileBytes { // the last file never goes
		r.complain("maxLogBytes", o.MaxLogBytes, fmt.Sprintf("0, or at least commitLogFileBytes (%d)", o.CommitLogFileBytes))
	}
	percent := func(name string, v *int, byDefault int) {
		r.count(name, v, byDefault, 1)
		if *v > 100 {
			r.complain(name, *v, "1 to 100")
		}
	}
	percent("diskMaxUsedPercent", &o.DiskMaxUsedPercent, 75)
	percent("diskCleanForciblyPercent", &o.DiskCleanForciblyPercent, 85)
	percent("diskWarningPercent", &o.DiskWarningPercent, 90)
	resolve(r, "cleanFileForcibly", &o.CleanFileForcibly, On, Off)
	r.size("cleanIntervalMs", &o.CleanIntervalMs, 10_000, 1, 1<<40)
	r.count("deleteFileBatch", &o.DeleteFileBatch, 10, 1)
	r.size("deleteFileIntervalMs", &o.DeleteFileIntervalMs, 100, 1, 1<<40)
	r.size("destroyForceMs", &o.DestroyForceMs, 120_000, 1, 1<<40)
	r.size("retryHangedMs", &o.RetryHangedMs, 120_000, 1, 1<<40)
	resolve(r, "compatible", &o.Compatible, Loose, Strict)
	resolve(r, "destroy", &o.Destroy, segment.DestroyBackground, segment.DestroyInline, segment.DestroyStepwise, segment.DestroyPunch, segment.DestroyRecycle)
	if o.Compatible == Strict && o.Destroy == segment.DestroyRecycle {
		o.Destroy = segment.DestroyBackground
	}
	if o.Destroy == segment.DestroyRecycle && o.AppendCRC == Off {
		r.complain("appendCRC", o.AppendCRC, "on, with destroy recycle: only a checksum over the whole record tells a torn record from older bytes of the file")
	}
	rate := int64(unlimited)
	if o.Destroy == segment.DestroyStepwise || o.Destroy == segment.DestroyPunch {
		rate = 256 << 20
	}
	r.size("destroyBytesPerSecond", &o.DestroyBytesPerSecond, rate, 1<<10, unlimited)
}

// unlimited is a rate in bytes per second that nothing reaches.
const unlimited = 1 << 50
