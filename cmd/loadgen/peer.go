package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"commitlab/bench/host"
	"commitlab/bench/peer"
)

// askPeer makes a peer ready before anything is measured: building it takes a
// minute, once. That it cannot run is said here, and again by each of its runs.
func askPeer(ctx context.Context, p *progress, o peer.Options) {
	p.at(0, "peer %s %s is made ready", o.Peer, o.Generation)
	if state, err := o.Check(ctx); err == nil && state != "built" {
		p.note("peer %s %s: %s", o.Peer, o.Generation, state)
	}
	facts, err := o.Ask(ctx)
	if err != nil {
		p.note("warning: %v", err)
		return
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(facts)) {
		words = append(words, name+" "+facts[name])
	}
	p.note("peer %s", strings.Join(words, ", "))
}

// peerFinding says whether the configurations that are another program can run.
func peerFinding(ctx context.Context) host.Finding {
	o := peer.Configs[0].Options
	f := host.Finding{
		Severity: host.Note,
		Why:      fmt.Sprintf("the configurations %s to %s are the real store in a process of its own", peer.Configs[0].Name, peer.Configs[len(peer.Configs)-1].Name),
	}
	state, err := o.Check(ctx)
	if err != nil {
		f.What = fmt.Sprintf("peer %s cannot run: %v", o.Peer, err)
		f.Mend = "install a JDK from 17 on and Maven, and run inside the repository; all other configurations need neither"
		return f
	}
	f.What = fmt.Sprintf("peer %s can run: %s", o.Peer, state)
	return f
}
