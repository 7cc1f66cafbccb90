package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/weft-transport/weft/emulator/netns"
)

const (
	// patience is how long a command may take to end after a signal, the taking down of networks apart. Runs end within
	// milliseconds; what cannot be stopped is the making of a very large network.
	patience = 10 * time.Second
	// sameSignal is how long a second interrupt counts as the first: timeout(1) sends a signal to its child and to its group,
	// and a terminal that closes hangs up twice.
	sameSignal = 500 * time.Millisecond
)

// untilSignal returns a context that ends when the process is told to end: by an interrupt, by SIGTERM, by a terminal that has
// gone, or since whoever read the output has gone. Commands then take down what they have put up. A second interrupt ends the
// process at once, whatever is left behind; so does patience.
func untilSignal() context.Context {
	ctx, end := context.WithCancel(context.Background())
	told := make(chan os.Signal, 1)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE)
	if !signal.Ignored(syscall.SIGHUP) { // by nohup
		signal.Notify(told, syscall.SIGHUP)
	}
	go func() {
		<-told
		end()
		time.AfterFunc(sameSignal, func() { signal.Reset(os.Interrupt) }) // others stay without effect: many are sent more than once
		time.AfterFunc(patience, func() {
			for netns.Stopping() {
				time.Sleep(100 * time.Millisecond)
			}
			fmt.Fprintf(os.Stderr, "weft: interrupted, and not ready to stop within %v; ended\n", patience)
			os.Exit(Failed)
		})
	}()
	return ctx
}
