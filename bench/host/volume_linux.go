package host

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// volume reads the file system of dir and the device below it.
func (s *source) volume(dir string) {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		s.unknown("volume", fmt.Errorf("stat %s: %w", dir, err))
		return
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		s.unknown("volume", fmt.Errorf("statfs %s: %w", dir, err))
	} else {
		s.Dir.TotalBytes = fs.Blocks * uint64(fs.Bsize)
		s.Dir.AvailableBytes = fs.Bavail * uint64(fs.Bsize)
	}
	s.Dir.ReadOnly = unix.Access(dir, unix.W_OK) != nil
	mounts, err := procfs.GetMounts()
	if err != nil {
		s.unknown("volume", err)
		return
	}
	number := fmt.Sprintf("%d:%d", unix.Major(uint64(st.Dev)), unix.Minor(uint64(st.Dev)))
	m := mountOf(mounts, number, dir)
	if m == nil {
		s.unknown("volume", fmt.Errorf("no mount holds %s", dir))
		return
	}
	s.Dir.FileSystem = m.FSType
	s.Dir.MountPoint = m.MountPoint
	s.Dir.Source = m.Source
	s.Dir.MountOptions = mountOptions(m)
	s.device(m.MajorMinorVer)
	s.Dir.Journal = s.journal()
}

// mountOf returns the mount that dir is in: the deepest of those with the
// device number, or, where the file system shows another number to stat
// (btrfs, overlay), the deepest of all. The last of equals hides the others.
func mountOf(mounts []*procfs.MountInfo, number, dir string) *procfs.MountInfo {
	var best *procfs.MountInfo
	for _, byNumber := range []bool{true, false} {
		for _, m := range mounts {
			if byNumber && m.MajorMinorVer != number || !below(dir, m.MountPoint) {
				continue
			}
			if best == nil || len(m.MountPoint) >= len(best.MountPoint) {
				best = m
			}
		}
		if best != nil {
			return best
		}
	}
	return nil
}

func below(path, dir string) bool {
	return dir == "/" || path == dir || strings.HasPrefix(path, dir+"/")
}

// mountOptions joins the options of the mount and of its file system.
func mountOptions(m *procfs.MountInfo) string {
	all := make(map[string]bool)
	for _, options := range []map[string]string{m.Options, m.SuperOptions} {
		for name, value := range options {
			if value != "" {
				name += "=" + value
			}
			all[name] = true
		}
	}
	var list []string
	for o := range all {
		list = append(list, o)
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}

// device reads the block device of a device number; a file system without one
// (tmpfs, overlay) leaves all fields empty.
func (s *source) device(number string) {
	link, err := filepath.EvalSymlinks(filepath.Join(s.sysRoot, "dev/block", number))
	if err != nil {
		return
	}
	if _, err := os.Stat(filepath.Join(link, "partition")); err == nil {
		link = filepath.Dir(link) // settings belong to the whole disk
	}
	name := filepath.Base(link)
	s.Dir.Device = name
	s.Dir.DeviceModel = s.sys("block", name, "device/model")
	switch s.sys("block", name, "queue/rotational") {
	case "0":
		s.Dir.Rotational = "no"
	case "1":
		s.Dir.Rotational = "yes"
	}
	s.Dir.Scheduler = selected(s.sys("block", name, "queue/scheduler"))
	s.Dir.WriteCache = s.sys("block", name, "queue/write_cache")
	s.Dir.ReadAheadKiB, _ = strconv.ParseUint(s.sys("block", name, "queue/read_ahead_kb"), 10, 64)
}

// journal says whether the file system survives a crash by a journal (or, as
// btrfs, by never writing in place). The kernel shows the journals of ext4 in
// /proc/fs/jbd2, by the name of the partition.
func (s *source) journal() string {
	switch s.Dir.FileSystem {
	case "xfs", "btrfs", "f2fs", "zfs", "bcachefs":
		return "yes"
	case "ext2", "tmpfs", "ramfs", "vfat", "exfat":
		return "no"
	case "ext3", "ext4":
		if !exists(filepath.Join(s.procRoot, "fs/ext4")) {
			return "" // the kernel's tables are hidden from us
		}
		source, err := filepath.EvalSymlinks(s.Dir.Source)
		if err != nil {
			source = s.Dir.Source
		}
		found, _ := filepath.Glob(filepath.Join(s.procRoot, "fs/jbd2", filepath.Base(source)+"-*"))
		if len(found) > 0 {
			return "yes"
		}
		if exists(filepath.Join(s.procRoot, "fs/ext4", filepath.Base(source))) {
			return "no"
		}
	}
	return ""
}
