package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/kong"

	"github.com/weft-transport/weft/compare/capture"
	"github.com/weft-transport/weft/emulator/netns"
)

// An onHost is a program and where it runs: --on h0 'iperf3 -s'.
type onHost struct{ host, command string }

type onHosts []onHost

// Decode takes two words.
func (o *onHosts) Decode(ctx *kong.DecodeContext) error {
	var one onHost
	if err := ctx.Scan.PopValueInto("host", &one.host); err != nil {
		return err
	}
	if err := ctx.Scan.PopValueInto("command", &one.command); err != nil {
		return fmt.Errorf("nothing follows %q; expected a command, as in --on h0 'iperf3 -s'", one.host)
	}
	if strings.TrimSpace(one.command) == "" {
		return fmt.Errorf("an empty text follows %q; expected a command, as in --on h0 'iperf3 -s'", one.host)
	}
	*o = append(*o, one)
	return nil
}

type emulateRunCmd struct {
	networkFlags
	On      onHosts       `help:"Run a command, by the shell, on a host. Repeatable; they begin in this order, and the end of the one named last is the end of all." placeholder:"HOST COMMAND"`
	Stagger time.Duration `help:"Between the beginnings of two commands." default:"300ms"`
	Out     string        `help:"Directory for what the commands say, and the counters of links." default:"out" placeholder:"DIR"`
	Quiet   bool          `help:"No table of links on standard error while commands run."`

	Carrier  string  `help:"Who plays the network: netns, the kernel; live, a fabric in user space between TUN devices of the hosts, with faults on schedule and captures; auto: netns where it has all that the scenario needs, and else live, with the reason." enum:"auto,netns,live" default:"auto"`
	Dilation float64 `help:"Seconds of the wall that one of the network takes: 10 makes links ten times as slow and delays ten times as long. For the live carrier; programs' own timers do not know." default:"1"`
	MTU      int     `name:"mtu" help:"Packets of hosts at the live carrier, IP header included." default:"1500"`
	Pcap     string  `help:"Write the packets of every link into this file (pcapng), with comments on those that were dropped or marked: where and why. For the live carrier." placeholder:"FILE"`
	PcapSnap int     `name:"pcap-snap" help:"Keep this many bytes of every packet; 0: all." default:"0" placeholder:"BYTES"`
}

// check looks at the flags that are not the network's.
func (c *emulateRunCmd) check() error {
	if err := checkDilation(c.Dilation); err != nil {
		return err
	}
	switch {
	case c.MTU < 576 || c.MTU > 65_000:
		return errUsage{fmt.Errorf("--mtu %d: expected 576 to 65000 bytes", c.MTU)}
	case c.PcapSnap < 0 || c.PcapSnap > capture.MaxFrame || c.PcapSnap > 0 && c.Pcap == "":
		return errUsage{fmt.Errorf("--pcap-snap %d: expected 0 (whole packets) to %d bytes, with --pcap FILE", c.PcapSnap, capture.MaxFrame)}
	case c.Pcap != "":
		return creatable("--pcap", c.Pcap)
	}
	return nil
}

func (c *emulateRunCmd) Run(a *app) (err error) {
	if len(c.On) == 0 {
		return errUsage{errors.New("nothing to run; expected --on HOST COMMAND, as in --on h0 'iperf3 -s' --on h1 'iperf3 -c h0'")}
	}
	s, err := c.scenario()
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return err
	}
	hosts, err := netns.NewHosts(s.Fabric.Network, c.Name)
	if err != nil {
		return errUsage{err}
	}
	for _, o := range c.On {
		if _, err := hosts.Host(o.host); err != nil {
			return errUsage{err}
		}
	}
	if err := writable("--out", c.Out, ""); err != nil {
		return err
	}
	n, err := c.choose(a, s)
	if err != nil {
		return err
	}
	if err := c.raise(a, n.plan); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close(a.ctx)) }()
	if err := n.open(a, c); err != nil {
		return err
	}
	return c.play(a, n)
}

// play runs the commands until the last has ended, and shows what links do meanwhile.
func (c *emulateRunCmd) play(a *app, n *wallNetwork) error {
	err := n.begin(a.ctx, c.MTU)
	var table *linkTable
	if err == nil {
		table, err = newLinkTable(a.ctx, n.plan.Links, c.Dilation, n.counts)
	}
	if a.ctx.Err() != nil {
		return c.verdict(a, err)
	}
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(a.ctx)
	defer stop()
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	ended, failed := make(chan error, 1), make(chan string, len(c.On))
	for i := range c.On {
		last := i == len(c.On)-1
		program, err := c.begin(ctx, a, n.plan, i)
		if err != nil {
			return err
		}
		running.Go(func() {
			err := program.wait()
			if last {
				ended <- err
			} else if err != nil && ctx.Err() == nil { // on its own, before the last one
				failed <- fmt.Sprintf("weft: %s on %s: %v; what it said is in %s", c.On[i].command, c.On[i].host, err, program.file.Name())
			}
		})
		if !last {
			select {
			case <-time.After(c.Stagger):
			case <-ctx.Done():
			}
		}
	}
	begun := time.Now()
	for {
		select {
		case text := <-failed:
			fmt.Fprintln(a.stderr, text)
		case err := <-ended:
			for len(failed) > 0 {
				fmt.Fprintln(a.stderr, <-failed)
			}
			return errors.Join(c.finish(a, n, table, time.Since(begun)), c.verdict(a, err))
		case <-time.After(time.Second):
			if !c.Quiet {
				table.show(a, time.Since(begun))
			}
		}
	}
}

func (c *emulateRunCmd) verdict(a *app, err error) error {
	switch {
	case a.ctx.Err() != nil:
		return errInterrupted
	case err != nil:
		return fmt.Errorf("%s on %s: %w", c.On[len(c.On)-1].command, c.On[len(c.On)-1].host, err)
	}
	return nil
}

// A started is a program that runs on a host; what it says goes to a file.
type started struct {
	cmd  *exec.Cmd
	file *os.File
}

// begin starts one command; what the last one says goes to standard output too.
func (c *emulateRunCmd) begin(ctx context.Context, a *app, p *netns.Plan, i int) (started, error) {
	ns, err := p.Host(c.On[i].host)
	if err != nil {
		return started{}, err
	}
	host := strings.TrimPrefix(ns, p.Name+".")
	file, err := os.Create(filepath.Join(c.Out, fmt.Sprintf("%d-%s.log", i, host)))
	if err != nil {
		return started{}, err
	}
	var out io.Writer = file
	if i == len(c.On)-1 {
		out = io.MultiWriter(a.stdout, file)
	}
	cmd, err := netns.Shell(ctx, p.Name, host, c.On[i].command, out)
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		file.Close()
		return started{}, err
	}
	return started{cmd, file}, nil
}

// wait waits for the program. What it has left running in the background is taken down with the network, and is no error.
func (s started) wait() error {
	err := s.cmd.Wait()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	return errors.Join(err, s.file.Close())
}
