package segment

import "commitlab/engine/mmap"

// advice is what the system calls each Advice but the default.
var advice = map[Advice]mmap.Advice{
	AdviseSequential: mmap.Sequential, AdviseRandom: mmap.Random,
	AdviseWillNeed: mmap.WillNeed, AdviseHugePage: mmap.HugePage,
}

func (f *File) advise(a Advice, o *Options) {
	tell, ok := advice[a]
	if !ok {
		return
	}
	err := f.region.Advise(0, f.size, tell)
	if err == nil && a == AdviseHugePage {
		// Else the kernel reads ahead as far as the device is said to like, and one call
		// may keep a processor for many milliseconds.
		err = f.region.Advise(0, f.size, mmap.Random)
	}
	o.Optional.Record("madvise "+string(a), err, "the kernel's default is kept")
}

// adviseWriting tells the kernel that the file is written to from now on.
func (f *File) adviseWriting(o *Options) {
	if o.Writing == "" {
		f.advise(o.Advise, o)
		return
	}
	if !f.writing.Swap(true) {
		f.advise(o.Writing, o)
	}
}

// rest takes back what adviseWriting said.
func (f *File) rest() {
	if f.writing.Swap(false) {
		_ = f.region.Advise(0, f.size, mmap.SmallPage) // these are hints, and an early end
		_ = f.region.Advise(0, f.size, mmap.Normal)    // of the file is no harm
	}
}
