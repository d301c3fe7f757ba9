// Loadgen measures the store under a known load and compares configurations.
//
//	loadgen                      the study "quick": three configurations in about 80 s
//	loadgen study FILE|NAME      a study file, or a built-in study
//	loadgen study RESULT         goes on with a study that was interrupted
//	loadgen run --rate 200000    one scenario under one configuration
//	loadgen list                 scenarios, configurations, options, studies
//	loadgen doctor               what on this machine spoils results, and how to mend it
//	loadgen store verify DIR     audits a store that nobody has open, changing nothing
//	loadgen store dump DIR       prints records, units, index headers, checkpoint
//	loadgen store plan|apply|answers|compare   hold a store against RocketMQ's
//	loadgen torture DIR          kills a store again and again and checks what is left
//
// Stdout is the result, stderr is progress: a bar on a terminal, else a line at
// least every ten seconds; none with --quiet.
//
// Exit codes: 0 measured; 1 an operation, a verification or the program failed,
// or a store is damaged or has lost something; 2 the command line or the study
// file is wrong; 4 what was measured is not what was asked for (the generator was
// too slow); 5 what a configuration needs is not on this machine (Java, Maven); 130
// interrupted, what was measured is kept.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

func main() {
	sparePs()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "loadgen:", err)
	}
	os.Exit(exitCode(err))
}

// sparePs gives the scheduler twice as many Ps as there are processors to use,
// unless the environment says otherwise. A system call that takes long (a sync, a
// populate) keeps its P until the runtime's monitor takes it away, up to 10 ms
// later; with two Ps that stops the generator, and the lab would measure it.
func sparePs() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(2 * runtime.GOMAXPROCS(0))
	}
}
