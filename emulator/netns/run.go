package netns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/weft-transport/weft/emulator/live"
)

// runDir is where iproute2 keeps namespaces.
const runDir = "/run/netns"

// do carries out one command; the error has what it said.
func do(ctx context.Context, c Command) error {
	cmd := exec.CommandContext(ctx, c[0], c[1:]...)
	apart(cmd)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && !exit.Exited() { // by a signal that may have been meant for us, and of which we hear later
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	said := strings.TrimSuffix(strings.Join(strings.Fields(string(out)), " "), ".")
	return fmt.Errorf("netns: %s: %w: %s", c, err, said)
}

// ErrKernel is wrapped by what Probe says of parts of the kernel. The live carrier (package emulator/live) does without them.
var ErrKernel = errors.New("this kernel has no")

// Probe tells whether a plan can be carried out here, before anything is done: privileges, programs, and parts of the
// kernel. What is missing is in the error, all of it.
func (p *Plan) Probe(ctx context.Context) error {
	if runtime.GOOS != "linux" {
		return errNotLinux
	}
	if err := privileged("a network of namespaces"); err != nil {
		return err
	}
	probe := fmt.Sprintf("%s.probe%d", p.Name, os.Getpid()) // which Stop finds if we are killed
	if p.userSpace {
		return probeHosts(ctx, probe)
	}
	var missing []error
	for _, program := range []string{"ip", "tc", "ethtool", "sysctl"} {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, fmt.Errorf("netns: the program %s is missing (packages iproute2, ethtool, procps)", program))
		}
	}
	if len(missing) > 0 {
		return errors.Join(missing...)
	}
	if err := addProbe(ctx, probe); err != nil {
		return err
	}
	defer func() { _ = do(context.WithoutCancel(ctx), Command{"ip", "netns", "del", probe}) }()
	try := func(needed bool, what string, words ...string) {
		if !needed {
			return
		}
		_ = do(ctx, Command{"tc", "-n", probe, "qdisc", "del", "dev", "lo", "root"}) // of the one before
		if err := do(ctx, append(Command{"tc", "-n", probe, "qdisc", "add", "dev", "lo", "root"}, words...)); err != nil {
			why := fmt.Errorf("netns: %w %s", ErrKernel, what)
			if !strings.Contains(err.Error(), "qdisc kind is unknown") {
				why = fmt.Errorf("%w: %w", why, err)
			}
			missing = append(missing, why)
		}
	}
	try(p.needs.netem, "netem (delays, losses)", "netem", "delay", "1ms")
	try(p.needs.tbf, "tbf (rates)", "tbf", "rate", "10mbit", "burst", "32k", "limit", "100k")
	try(p.needs.red, "red (marks)", "red", "limit", "400000", "min", "30000", "max", "90000", "avpkt", "1000", "burst", "50", "bandwidth", "10mbit")
	return errors.Join(missing...)
}

// Start builds the network. When a command fails or ctx ends, what was built is taken away, and the error says why.
func (p *Plan) Start(ctx context.Context, progress func(done, all int)) error {
	if up, err := namespacesOf(p.Name); err != nil || len(up) > 0 {
		if err == nil {
			err = fmt.Errorf("netns: %s is up already, with %d namespaces; take it down first, or choose another name", p.Name, len(up))
		}
		return err
	}
	for i, c := range p.Up {
		if progress != nil {
			progress(i, len(p.Up))
		}
		err := ctx.Err()
		if err == nil {
			err = do(ctx, c)
		}
		if i == 0 && err != nil && ctx.Err() == nil {
			return err // nothing is ours yet: another may build a network of the same name
		}
		if err != nil {
			return errors.Join(err, Stop(context.WithoutCancel(ctx), p.Name))
		}
	}
	if err := p.writeNames(); err != nil {
		return errors.Join(err, Stop(context.WithoutCancel(ctx), p.Name))
	}
	if progress != nil {
		progress(len(p.Up), len(p.Up))
	}
	return nil
}

// namesDir is where "ip netns exec" looks for files that a namespace has instead of those of /etc.
const namesDir = "/etc/netns"

// writeNames lets programs on hosts know the others by name.
func (p *Plan) writeNames() error {
	var names strings.Builder
	names.WriteString("127.0.0.1 localhost\n")
	for i, ns := range p.Hosts {
		fmt.Fprintf(&names, "%s %s\n", live.AddrOf(i), strings.TrimPrefix(ns, p.Name+"."))
	}
	for _, ns := range p.Hosts {
		dir := filepath.Join(namesDir, ns)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("netns: names of hosts: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, "hosts"), []byte(names.String()), 0o644); err != nil {
			return fmt.Errorf("netns: names of hosts: %w", err)
		}
	}
	return nil
}

func namespacesOf(name string) (all []string, err error) {
	if !goodName.MatchString(name) {
		return nil, fmt.Errorf("netns: the name %q; expected small letters, digits and -, a letter first, at most 12", name)
	}
	entries, err := os.ReadDir(runDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), name+".") {
			all = append(all, e.Name())
		}
	}
	return all, err
}

var stopping atomic.Int32

// Stopping tells whether a network is being taken down, which takes seconds if it is large.
func Stopping() bool { return stopping.Load() > 0 }

// Left returns what there is of the network of a name: namespaces, and directories of names of hosts.
func Left(name string) ([]string, error) {
	all, err := namespacesOf(name)
	if err != nil {
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(namesDir, name+".*"))
	return append(all, names...), err
}

// Networks returns the names of all networks that are up, or of which something is left.
func Networks() ([]string, error) { return networksIn(runDir) }

var hostOrProbe = regexp.MustCompile(`^([a-z][a-z0-9-]*)\.(h[0-9]+|probe[0-9]+)$`)

func networksIn(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if m := hostOrProbe.FindStringSubmatch(e.Name()); m != nil && !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names, err
}

// Stop takes the network of a name away, whatever is left of it: its programs are asked to end, then killed, and its
// namespaces deleted. That nothing is there is no error.
func Stop(ctx context.Context, name string) error {
	stopping.Add(1)
	defer stopping.Add(-1)
	for _, pid := range outside(name) {
		signalOne(pid, syscall.SIGKILL)
	}
	all, err := namespacesOf(name)
	if err == nil && len(all) > 0 {
		err = privileged("taking a network down")
	}
	if err != nil {
		return err
	}
	var errs []error
	for round, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		left := 0
		for _, ns := range all {
			left += signalAll(ctx, ns, sig)
		}
		if left == 0 {
			break
		}
		for wait := 0; round == 0 && wait < 100 && anybody(ctx, all); wait++ {
			time.Sleep(20 * time.Millisecond)
		}
	}
	for _, ns := range all {
		if err := do(ctx, Command{"ip", "netns", "del", ns}); err != nil {
			errs = append(errs, err)
		}
	}
	names, err := filepath.Glob(filepath.Join(namesDir, name+".*"))
	for _, dir := range names {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	_ = os.Remove(namesDir) // if it is empty now
	return errors.Join(append(errs, err)...)
}

func pids(ctx context.Context, ns string) (all []int) {
	out, _ := exec.CommandContext(ctx, "ip", "netns", "pids", ns).Output() // a namespace half made has none
	for _, word := range strings.Fields(string(out)) {
		if pid, err := strconv.Atoi(word); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

func signalAll(ctx context.Context, ns string, sig syscall.Signal) int {
	all := pids(ctx, ns)
	for _, pid := range all {
		signalOne(pid, sig)
	}
	return len(all)
}

func signalOne(pid int, sig syscall.Signal) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Signal(sig) // it may have ended
	}
}

// outside returns the processes of a network that are in none of its namespaces: ip, which makes one, or which Program has
// started and which is not there yet.
func outside(name string) (all []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline")) // it may have ended
		for _, does := range []string{"add", "exec"} {
			if strings.HasPrefix(string(line), "ip\x00netns\x00"+does+"\x00"+name+".") {
				all = append(all, pid)
			}
		}
	}
	return all
}

func anybody(ctx context.Context, all []string) bool {
	for _, ns := range all {
		if len(pids(ctx, ns)) > 0 {
			return true
		}
	}
	return false
}

// Program returns a command that runs on a host of a network that is up.
func Program(ctx context.Context, name, host string, argv []string, out io.Writer) (*exec.Cmd, error) {
	ns := name + "." + host
	if _, err := os.Stat(filepath.Join(runDir, ns)); err != nil || !goodName.MatchString(name) || strings.ContainsAny(host, "/.") {
		all, err := namespacesOf(name)
		if err == nil && len(all) == 0 {
			err = fmt.Errorf("netns: %s is not up", name)
		}
		if err == nil {
			err = fmt.Errorf("netns: %s has no host %q; it has %s", name, host, strings.ReplaceAll(strings.Join(all, ", "), name+".", ""))
		}
		return nil, err
	}
	if err := privileged("running a program on a host"); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", ns}, argv...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, nil
}

// Shell returns a line of the shell that runs on a host of a network that is up. When ctx ends, so does all that it has started.
func Shell(ctx context.Context, name, host, line string, out io.Writer) (*exec.Cmd, error) {
	cmd, err := Program(ctx, name, host, []string{"sh", "-c", line}, out)
	if err == nil {
		together(cmd)
	}
	return cmd, err
}

// Counters are what the kernel counted at the sending end of a link.
type Counters struct{ Packets, Bytes, Dropped uint64 }

// Counters reads the counters of all links, by their index. What a device's queue dropped is counted as dropped.
func (p *Plan) Counters(ctx context.Context) (map[int]Counters, error) {
	all := make(map[int]Counters)
	for _, ns := range p.namespaces() {
		out, err := exec.CommandContext(ctx, "ip", "-n", ns, "-j", "-s", "link", "show").Output()
		if err != nil {
			return nil, fmt.Errorf("netns: counters of %s: %w", ns, err)
		}
		var devices []struct {
			Name  string `json:"ifname"`
			Stats struct {
				TX struct{ Packets, Bytes, Dropped uint64 } `json:"tx"`
			} `json:"stats64"`
		}
		if err := json.Unmarshal(out, &devices); err != nil {
			return nil, fmt.Errorf("netns: counters of %s: %w", ns, err)
		}
		drops, err := queueDrops(ctx, ns)
		if err != nil {
			return nil, err
		}
		for _, d := range devices {
			for _, mine := range p.devices {
				if mine.namespace == ns && mine.name == d.Name {
					c := Counters(d.Stats.TX)
					c.Dropped += drops[d.Name]
					all[mine.link] = c
				}
			}
		}
	}
	return all, nil
}

// queueDrops reads what the queues of a namespace's devices dropped: the root of each counts for those below it.
func queueDrops(ctx context.Context, ns string) (map[string]uint64, error) {
	out, err := exec.CommandContext(ctx, "tc", "-n", ns, "-s", "-j", "qdisc", "show").Output()
	if err != nil {
		return nil, fmt.Errorf("netns: queues of %s: %w", ns, err)
	}
	var queues []struct {
		Dev   string `json:"dev"`
		Root  bool   `json:"root"`
		Drops uint64 `json:"drops"`
	}
	if err := json.Unmarshal(out, &queues); err != nil {
		return nil, fmt.Errorf("netns: queues of %s: %w", ns, err)
	}
	drops := make(map[string]uint64)
	for _, q := range queues {
		if q.Root {
			drops[q.Dev] += q.Drops
		}
	}
	return drops, nil
}
