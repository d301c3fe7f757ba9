package host

import "fmt"

func (j *judge) volume() {
	v := j.Dir
	if v.ReadOnly {
		j.add(Problem, v.Path+" cannot be written to", "nothing can be measured there", "choose another directory with --dir")
	}
	switch v.FileSystem {
	case "tmpfs", "ramfs":
		j.add(Problem, v.Path+" is on "+v.FileSystem,
			"there is no disk below it: no write-back, no sync, no eviction, and making a page costs more than on a disk's file system",
			"choose a directory on a disk with --dir")
	case "overlay", "aufs":
		j.add(Warning, v.Path+" is on "+v.FileSystem,
			"mapped files of a container layer take another path through the kernel than those of a volume",
			"mount a volume into the container and choose it with --dir")
	case "nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph", "glusterfs", "fuse", "fuseblk":
		j.add(Problem, v.Path+" is on "+v.FileSystem,
			"shared mappings and sync mean something else there, and the network is in every figure",
			"choose a directory on a local disk with --dir")
	}
	if v.Rotational == "yes" && j.Virtualisation == "" {
		j.add(Warning, "the disk "+v.Device+" rotates",
			"one sync takes a turn of the disk; figures say nothing about solid-state disks",
			"choose a directory on a solid-state disk with --dir")
	}
	if v.TotalBytes > 0 {
		share := float64(v.AvailableBytes) / float64(v.TotalBytes)
		switch {
		case v.AvailableBytes < 4*fileBytes:
			j.add(Problem, "only "+size(v.AvailableBytes)+" of disk space available",
				"a run allocates several files of 1 GiB and would end with the disk full",
				"free space, choose another directory with --dir, or smaller files: --set commitLogFileBytes=…")
		case share < 0.10:
			j.add(Warning, fmt.Sprintf("the disk is %.0f %% full", 100*(1-share)),
				"allocation searches longer and fragments; the store's own cleaning starts between 75 % and 90 %",
				"free space, or choose another directory with --dir")
		}
	}
	if v.ReadAheadKiB > mostReadAheadKiB {
		j.add(Warning, fmt.Sprintf("the disk %s reads %d KiB ahead", v.Device, v.ReadAheadKiB),
			"where a mapping is first touched, by the populated window too, the kernel makes so much at once, in a stretch of milliseconds in which nothing else runs on that CPU: hiccups of all configurations come from it",
			fmt.Sprintf("echo 128 > /sys/block/%s/queue/read_ahead_kb, or compare with --set advise=hugepage", v.Device))
	}
	if option(v.MountOptions, "discard") {
		j.add(Warning, "mounted with discard",
			"freeing blocks that were once written sends discards to the disk inside of the call: removing a file stalls durable appends beside it",
			"mount without discard and run fstrim from time to time; keep in mind that destroy figures hold for this mount only")
	}
	for _, o := range []string{"sync", "dirsync"} {
		if option(v.MountOptions, o) {
			j.add(Warning, "mounted with "+o, "every write waits for the disk, whatever the configuration", "mount without "+o)
		}
	}
	if option(v.MountOptions, "dax") {
		j.add(Note, "mounted with dax", "mapped pages are the medium itself: there is no page cache to warm or to write back", "")
	}
}

// mostReadAheadKiB takes well below a millisecond to fill with zeros.
const mostReadAheadKiB = 1024

// durability judges what a sync is worth on the volume.
func (j *judge) durability() {
	v := j.Dir
	if v.Journal == "no" && v.FileSystem != "tmpfs" && v.FileSystem != "ramfs" {
		j.add(Warning, v.FileSystem+" without a journal",
			"sync is cheaper than on most machines, and a crash may leave the file system in need of repair",
			"take durable figures on a file system with a journal")
	}
	for _, o := range []string{"nobarrier", "barrier=0"} {
		if option(v.MountOptions, o) {
			j.add(Warning, "mounted with "+o,
				"sync returns while data is still in the disk's volatile cache: durable figures are too good",
				"mount with barriers")
		}
	}
	if option(v.MountOptions, "data=journal") {
		j.add(Warning, "mounted with data=journal", "everything is written twice", "mount with data=ordered")
	}
}
