package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// commandLine is what kong parses.
type commandLine struct {
	Study        studyCommand        `cmd:"" help:"Compare configurations: run a study, or go on with one. Without arguments: quick."`
	Run          runCommand          `cmd:"" help:"Measure one scenario under one configuration."`
	List         listCommand         `cmd:"" help:"List scenarios, configurations, options and built-in studies."`
	Doctor       doctorCommand       `cmd:"" help:"Say what on this machine spoils results, and how to mend it."`
	Store        storeCommand        `cmd:"" help:"Look into the directory of a store: verify, dump; hold it against RocketMQ: plan, apply, answers, compare."`
	Torture      tortureCommand      `cmd:"" help:"Kill a store again and again, by signal, power cut, full disk and failed sync, and check every acknowledged message. Exit code 1: something was lost or wrong."`
	Cell         cellCommand         `cmd:"" hidden:"" help:"Run one slot of a study; used by study."`
	TortureChild tortureChildCommand `cmd:"" hidden:"" help:"Live one life of a store; used by torture."`
}

// console is what a command talks to.
type console struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	statusEvery    time.Duration // between status lines where there is no bar
}

// statusEvery keeps the promise of a line every ten seconds with a margin.
const statusEvery = 9 * time.Second

// errHelp ends a call that only asked for help.
var errHelp = errors.New("help was shown")

// run is the whole program. It returns what went wrong; exitCode makes a number
// of it.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	return console{stdin, stdout, stderr, statusEvery}.run(ctx, args)
}

func (c console) run(ctx context.Context, args []string) (err error) {
	if len(args) == 0 {
		args = []string{"study"}
	}
	// kong leaves through Exit after it has printed help.
	defer func() {
		if p := recover(); p == errHelp {
			err = nil
		} else if p != nil {
			panic(p)
		}
	}()
	var commands commandLine
	parser, err := kong.New(&commands,
		kong.Name("loadgen"),
		kong.Description("Measure a message store under a known load and compare configurations. Without arguments: the study quick, about 80 s."),
		kong.Writers(c.stdout, c.stderr),
		kong.Exit(func(int) { panic(errHelp) }),
	)
	if err != nil {
		return err
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return usage(err)
	}
	parsed.BindTo(ctx, (*context.Context)(nil))
	return parsed.Run(c)
}

// commandOf is the command that repeats a call.
func commandOf(words ...string) []string { return append([]string{"loadgen"}, words...) }

// quoteCommand writes a command so that a shell reads it back.
func quoteCommand(words []string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		if w != "" && strings.IndexFunc(w, needsQuotes) < 0 {
			b.WriteString(w)
			continue
		}
		b.WriteString("'" + strings.ReplaceAll(w, "'", `'\''`) + "'")
	}
	return b.String()
}

func needsQuotes(r rune) bool {
	return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%", r)
}
