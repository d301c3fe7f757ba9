package peer

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"commitlab/bench/workload"
)

// Config is a named configuration of a peer.
type Config struct {
	Name    string
	Doc     string // one line
	Options Options
}

// Options decide what a peer is and how its store is set. As a run's options
// they stand in manifests and reports, where the key "peer" tells them from
// those of this module's engine.
type Options struct {
	// Peer names the program; see Locate.
	Peer string `json:"peer"`
	// Generation is the version line of the peer: v4 or v5.
	Generation string `json:"generation"`
	// JVM is the flags of the virtual machine, separated by spaces.
	JVM string `json:"jvm"`
	// Flush is async or sync, Dispatch is on or off; the scenario decides where
	// they are empty. With dispatch off the store's own dispatch thread is stopped.
	Flush    string `json:"flush"`
	Dispatch string `json:"dispatch"`
	// Store is the peer's own settings by their own names, as text. What is not
	// named is as the peer has it.
	Store map[string]string `json:"store,omitempty"`
}

// Has reports whether options, as they stand in a manifest or a study, are those
// of a peer.
func Has(options json.RawMessage) bool {
	var o struct {
		Peer string `json:"peer"`
	}
	return json.Unmarshal(options, &o) == nil && o.Peer != ""
}

// Values of options.
const (
	RocketMQ = "rocketmq" // Options.Peer

	generation4 = "v4"
	generation5 = "v5"
	async       = "async"
	sync        = "sync"
	on          = "on"
	off         = "off"
)

// jvm is a heap that never grows while it is measured and whose pages are there,
// as RocketMQ's own start script has it, at a quarter of its size: nothing here
// holds more than a few MiB of it. The rest is room for the transient pool.
const jvm = "-server -Xms2g -Xmx2g -XX:+UseG1GC -XX:+AlwaysPreTouch -XX:MaxDirectMemorySize=8g"

// Configs lists the named configurations in the order in which they are shown.
var Configs = []Config{
	{
		Name:    "rocketmq-java",
		Doc:     "Apache RocketMQ's own store on a Java virtual machine, with its defaults and the reentrant lock",
		Options: rocketMQ(nil),
	},
	{
		Name:    "rocketmq-java-warm",
		Doc:     "the same with warmMapedFileEnable: pages of a new file touched and locked",
		Options: rocketMQ(map[string]string{"warmMapedFileEnable": "true"}),
	},
	{
		Name:    "rocketmq-java-transient",
		Doc:     "the same with transientStorePoolEnable: appends go to 5 buffers of 1 GiB outside of the heap",
		Options: rocketMQ(map[string]string{"transientStorePoolEnable": "true"}),
	},
}

func rocketMQ(store map[string]string) Options {
	all := map[string]string{"useReentrantLockWhenPutMessage": "true"}
	for key, value := range store {
		all[key] = value
	}
	return Options{Peer: RocketMQ, Generation: generation4, JVM: jvm, Store: all}
}

// FindConfig returns the configuration of that name.
func FindConfig(name string) (Config, bool) {
	i := slices.IndexFunc(Configs, func(c Config) bool { return c.Name == name })
	if i < 0 {
		return Config{}, false
	}
	return Configs[i], true
}

// storeKey is how the peer's own settings are named.
var storeKey = regexp.MustCompile(`^[a-z][A-Za-z0-9]{2,63}$`)

// With returns the options with settings of the form key=value put over them.
// The keys are those of Options; any other is a setting of the peer's own, whose
// name only the peer can judge. A key that ends in Size takes 1GiB for its bytes.
// All problems are joined.
func (c Config) With(settings ...string) (Options, error) {
	o := c.Options
	o.Store = make(map[string]string, len(c.Options.Store)+len(settings))
	for key, value := range c.Options.Store {
		o.Store[key] = value
	}
	var errs []error
	for _, setting := range settings {
		key, value, ok := strings.Cut(setting, "=")
		if !ok {
			errs = append(errs, fmt.Errorf("setting %q: want key=value", setting))
			continue
		}
		errs = append(errs, o.set(strings.TrimSpace(key), strings.TrimSpace(value)))
	}
	return o, errors.Join(errs...)
}

func (o *Options) set(key, value string) error {
	choose := func(field *string, from ...string) error {
		if !slices.Contains(from, value) {
			return fmt.Errorf("option %s: got %q, want %s", key, value, strings.Join(from, " or "))
		}
		*field = value
		return nil
	}
	switch key {
	case "generation":
		return choose(&o.Generation, generation4, generation5)
	case "flush":
		return choose(&o.Flush, async, sync)
	case "dispatch":
		return choose(&o.Dispatch, on, off)
	case "jvm":
		o.JVM = value
		return nil
	}
	if !storeKey.MatchString(key) {
		return fmt.Errorf("option %q: want generation, jvm, flush, dispatch or a setting of the peer's own store", key)
	}
	if strings.HasPrefix(key, "mappedFileSize") {
		n, err := workload.ParseBytes(value)
		if err != nil {
			return fmt.Errorf("option %s: %w", key, err)
		}
		value = fmt.Sprint(n)
	}
	o.Store[key] = value
	return nil
}
