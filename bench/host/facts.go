package host

// Facts describes the machine, the process and the directory of a run, as far
// as they are known. Every field is optional: what could not be read is left
// at its zero value and named in Unknown.
type Facts struct {
	// Machine.
	Hostname       string  `json:"hostname,omitempty"`
	OS             string  `json:"os"`
	Arch           string  `json:"arch"`
	Kernel         string  `json:"kernel,omitempty"`
	CPUModel       string  `json:"cpu_model,omitempty"`
	CPUs           int     `json:"cpus"`                  // logical CPUs this process may run on
	CPUsOnline     int     `json:"cpus_online,omitempty"` // logical CPUs of the machine
	Governor       string  `json:"governor,omitempty"`    // CPU frequency governor of CPU 0
	MaxMHz         float64 `json:"max_mhz,omitempty"`
	Clocksource    string  `json:"clocksource,omitempty"`
	ClockReadNs    float64 `json:"clock_read_ns,omitempty"` // cost of one time.Now
	MemoryBytes    uint64  `json:"memory_bytes,omitempty"`
	AvailableBytes uint64  `json:"available_bytes,omitempty"`
	SwapBytes      uint64  `json:"swap_bytes,omitempty"`
	PageBytes      int     `json:"page_bytes"`
	// FreePageReporting: memory that is free goes back to the host after some seconds.
	FreePageReporting bool `json:"free_page_reporting,omitempty"`

	Virtualisation string  `json:"virtualisation,omitempty"` // hypervisor or container, "" if none was seen
	StealFraction  float64 `json:"steal_fraction,omitempty"` // of the CPU time since boot that was wanted
	Load1          float64 `json:"load_1min,omitempty"`

	// Kernel settings that decide how mapped files behave.
	THP                  string `json:"thp,omitempty"` // transparent_hugepage/enabled
	THPShmem             string `json:"thp_shmem,omitempty"`
	DirtyRatio           string `json:"dirty_ratio,omitempty"`
	DirtyBackgroundRatio string `json:"dirty_background_ratio,omitempty"`
	DirtyBytes           string `json:"dirty_bytes,omitempty"`
	DirtyBackgroundBytes string `json:"dirty_background_bytes,omitempty"`
	DirtyExpireCs        string `json:"dirty_expire_centisecs,omitempty"`
	DirtyWritebackCs     string `json:"dirty_writeback_centisecs,omitempty"`
	Swappiness           string `json:"swappiness,omitempty"`
	MaxMapCount          uint64 `json:"max_map_count,omitempty"`

	// Limits of the process. Unlimited is the largest uint64.
	MemlockBytes uint64       `json:"memlock_bytes"`
	OpenFiles    uint64       `json:"open_files"`
	Root         bool         `json:"root"`
	Cgroup       CgroupLimits `json:"cgroup"`

	// PSI at the time of reading; nil where the kernel has none.
	PSI *Pressure `json:"psi,omitempty"`

	// The directory that was measured.
	Dir Volume `json:"dir"`

	// The program.
	GoVersion  string `json:"go_version"`
	GOMAXPROCS int    `json:"gomaxprocs"`
	SliceNs    int64  `json:"slice_ns,omitempty"` // of a thread, if the system tells
	GOGC       string `json:"gogc,omitempty"`
	GOMEMLIMIT string `json:"gomemlimit,omitempty"`
	GODEBUG    string `json:"godebug,omitempty"`
	Revision   string `json:"revision,omitempty"` // git commit the program was built from
	Modified   bool   `json:"modified,omitempty"` // built from a tree with changes

	Unknown []string `json:"unknown,omitempty"` // what could not be read, and why
}

// Volume is the file system and the device below a directory.
type Volume struct {
	Path           string `json:"path,omitempty"`
	FileSystem     string `json:"file_system,omitempty"` // ext4, xfs, tmpfs, …
	MountPoint     string `json:"mount_point,omitempty"`
	MountOptions   string `json:"mount_options,omitempty"` // sorted, comma-separated; per mount and per file system
	ReadOnly       bool   `json:"read_only,omitempty"`     // to this process
	Source         string `json:"source,omitempty"`
	Device         string `json:"device,omitempty"` // kernel name: vda, nvme0n1
	DeviceModel    string `json:"device_model,omitempty"`
	Rotational     string `json:"rotational,omitempty"` // "yes" or "no", as the device says
	Scheduler      string `json:"scheduler,omitempty"`  // the one in use
	WriteCache     string `json:"write_cache,omitempty"`
	ReadAheadKiB   uint64 `json:"read_ahead_kib,omitempty"`
	Journal        string `json:"journal,omitempty"` // "yes", "no" or "" (not known)
	TotalBytes     uint64 `json:"total_bytes,omitempty"`
	AvailableBytes uint64 `json:"available_bytes,omitempty"`
}

// CgroupLimits is what the control group of the process allows. Zero means no
// limit.
type CgroupLimits struct {
	Version     int     `json:"version,omitempty"` // 1 or 2
	CPUs        float64 `json:"cpus,omitempty"`    // quota divided by period
	MemoryBytes uint64  `json:"memory_bytes,omitempty"`
}

// Pressure is the share of the last ten seconds, in percent, in which some or
// all tasks waited for a resource.
type Pressure struct {
	CPUSome    float64 `json:"cpu_some"`
	MemorySome float64 `json:"memory_some"`
	MemoryFull float64 `json:"memory_full"`
	IOSome     float64 `json:"io_some"`
	IOFull     float64 `json:"io_full"`
}
