package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-transport/weft/compare/perf"
	"github.com/weft-transport/weft/transport/param"
)

type perfAllreduceCmd struct {
	Algorithm string `help:"${enum}; auto: a tree for short ones, else a ring." enum:"auto,ring,tree" default:"auto"`
	collectiveFlags
}

type perfCollectiveCmd struct {
	Name string `arg:"" help:"${collectives}."`
	collectiveFlags
}

// collectiveFlags are those of all collective operations.
type collectiveFlags struct {
	Local int    `help:"This many ranks on this machine, each a process." placeholder:"N" xor:"where"`
	Hosts string `help:"Addresses of all ranks, by rank, separated by commas: HOST[:PORT],HOST,... The port is that of rank 0." placeholder:"HOSTS" xor:"where"`
	Rank  *int   `help:"Which of --hosts this is, from 0; as mpirun, srun or torchrun say by default." placeholder:"N"`
	Port  uint16 `short:"p" help:"TCP port of rank 0." default:"4793"`
	Wait  string `help:"How long ranks wait for each other. 30s by default." default:"30s" placeholder:"TIME"`

	Over       string `name:"protocol" help:"Parameters of the library, as uet,key=value,..." default:"uet" placeholder:"SPEC"`
	Size       string `short:"s" help:"Bytes of an operation, as nccl-tests count them; several separated by commas. 1MiB by default." placeholder:"BYTES"`
	All        bool   `short:"a" help:"All powers of two from 8 bytes to 8 MiB."`
	Redop      string `short:"o" help:"How values are combined: ${enum}." enum:"sum,min,max" default:"sum"`
	Iterations int64  `short:"n" help:"Operations to measure of each size. 20 by default." placeholder:"N"`
	Duration   string `short:"D" help:"How long to measure each size, instead; a number alone is seconds." placeholder:"TIME"`
	Warmup     int64  `short:"w" help:"Operations before that." default:"5"`
	Interval   string `short:"i" help:"Time between live lines; 0: none." default:"0" placeholder:"TIME"`
	Check      bool   `short:"c" help:"Compare the results of two further operations of each size with what they must be." default:"true" negatable:""`
	JSON       bool   `name:"json" short:"J" help:"Write JSON Lines to standard output, and nothing else there."`

	weatherFlags

	Join string `hidden:"" help:"Where rank 0 is, for processes that --local starts."`
	Of   int    `hidden:""`
}

const collectiveHelp = `
Ranks are processes of this machine (--local 4), or one on each of --hosts, each started with the same command and its --rank, as launchers do:

    weft perf allreduce --local 4 -a
    weft perf allreduce --hosts 10.0.0.1,10.0.0.2,10.0.0.3 --rank 0      # and 1 and 2 on the others
    mpirun -n 4 --host a,b,c,d weft perf allreduce --hosts a,b,c,d -a

Rank 0 prints, and what is measured is what it was told. Times are those of single operations at all ranks; bandwidths are of their average. algbw is
size over time; busbw what every link carries if all do the same, which does not depend on the number of ranks: 2(n-1)/n of algbw for allreduce, (n-1)/n for
allgather, reducescatter and alltoall. Size is that of the longer of a rank's two buffers, as in nccl-tests, rounded down to what the ranks can share.

A rank that does not come or is lost ends all, with one line. JSON Lines, kind first: collective_start, collective_interval, collective_result for each size, collective_end. Exit status 1 also
when results were wrong.`

// Help is the long help of the command.
func (perfAllreduceCmd) Help() string { return strings.TrimSpace(collectiveHelp) }

// Help is the long help of the command.
func (perfCollectiveCmd) Help() string { return strings.TrimSpace(collectiveHelp) }

func (c *perfAllreduceCmd) Run(a *app) error { return c.run(a, "allreduce", c.Algorithm) }

// Run takes the names of operations as others write them: all-reduce, all_reduce, AllReduce.
func (c *perfCollectiveCmd) Run(a *app) error {
	name := strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(c.Name))
	if !slices.Contains(perf.Collectives, name) {
		return errUsage{fmt.Errorf("there is no collective %q; expected one of %s", c.Name, strings.Join(perf.Collectives, ", "))}
	}
	return c.run(a, name, "")
}

func (c *collectiveFlags) run(a *app, name, algorithm string) error {
	wait, err := seconds("--wait", c.Wait)
	if err == nil && wait <= 0 {
		err = errors.New("--wait: expected more than 0")
	}
	if err != nil {
		return errUsage{err}
	}
	if c.Join != "" { // --local ends such processes through their connection
		return perf.JoinRanks(context.WithoutCancel(a.ctx), c.Join, *c.Rank, c.Of, netip.Addr{}, wait)
	}
	p, err := c.place(a.ctx)
	if err != nil {
		return errUsage{err}
	}
	job, err := c.job(name, algorithm, p.ranks)
	if err != nil {
		return errUsage{err}
	}
	if p.rank > 0 {
		return interrupted(perf.JoinRanks(a.ctx, p.root, p.rank, p.ranks, p.local, wait))
	}
	return c.lead(a, job, p, wait)
}

// lead is rank 0.
func (c *collectiveFlags) lead(a *app, job perf.Job, p place, wait time.Duration) error {
	r, err := perf.ListenRanks(a.ctx, p.root)
	if err != nil {
		return err
	}
	stop := func() {}
	if c.Local > 0 {
		if stop, err = spawn(r, c.Local, wait); err != nil {
			r.Close()
			return err
		}
	}
	defer stop()
	defer r.Close()
	if err := r.Gather(a.ctx, job, wait); err != nil {
		return interrupted(err)
	}
	watch := &wrongs{JobPrinter: perf.NewJobPrinter(a.stdout)}
	if c.JSON {
		watch.JobPrinter = perf.NewJobJSON(a.stdout)
	}
	if err := r.Run(a.ctx, watch); err != nil {
		return interrupted(err)
	}
	if watch.n > 0 {
		return fmt.Errorf("%d elements were wrong", watch.n)
	}
	return nil
}

// wrongs counts what was wrong.
type wrongs struct {
	perf.JobPrinter
	n int64
}

func (w *wrongs) Result(r *perf.CollectiveResult) {
	w.n += r.Wrong
	w.JobPrinter.Result(r)
}

func interrupted(err error) error {
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted")
	}
	return err
}

// spawn starts the other ranks of this machine. One that ends early ends all.
func spawn(r *perf.Ranks, n int, wait time.Duration) (stop func(), err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var ended []chan struct{}
	var all []*exec.Cmd
	stop = func() {
		late := time.AfterFunc(time.Second, func() {
			for _, c := range all {
				c.Process.Kill()
			}
		})
		defer late.Stop()
		for _, e := range ended {
			<-e
		}
	}
	for rank := 1; rank < n; rank++ {
		c := exec.Command(program, "perf", "allreduce", "--join", r.Address(), "--rank", strconv.Itoa(rank), "--of", strconv.Itoa(n), "--wait", wait.String())
		var says bytes.Buffer
		c.Stderr = &says
		if err := c.Start(); err != nil {
			r.Fail(err)
			stop()
			return nil, fmt.Errorf("rank %d: %w", rank, err)
		}
		over := make(chan struct{})
		all, ended = append(all, c), append(ended, over)
		go func() {
			defer close(over)
			if err := c.Wait(); err != nil {
				if text := strings.TrimPrefix(strings.TrimSpace(says.String()), "weft: "); text != "" {
					err = errors.New(text)
				}
				r.Fail(fmt.Errorf("rank %d: %w", rank, err))
			}
		}()
	}
	return stop, nil
}

// A place is where this process is among the ranks.
type place struct {
	rank, ranks int
	root        string     // address of rank 0
	local       netip.Addr // of this host; invalid: any
}

// launchers are the variables by which they say the rank of a process.
var launchers = []string{"WEFT_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "RANK"}

func (c *collectiveFlags) place(ctx context.Context) (p place, err error) {
	if c.Hosts == "" {
		switch {
		case c.Local == 0:
			return p, errors.New("expected --local N, or --hosts HOST,HOST,... with --rank N")
		case c.Local < 1 || c.Local > perf.MaxRanks:
			return p, fmt.Errorf("--local %d: expected 1 to %d", c.Local, perf.MaxRanks)
		case c.Rank != nil:
			return p, errors.New("--rank: expected --hosts beside it")
		}
		return place{ranks: c.Local, root: "127.0.0.1:0"}, nil
	}
	hosts := strings.Split(c.Hosts, ",")
	rank, said := 0, c.Rank != nil
	if said {
		rank = *c.Rank
	}
	for _, name := range launchers {
		if text := os.Getenv(name); !said && text != "" {
			if rank, err = strconv.Atoi(text); err != nil {
				return p, fmt.Errorf("%s is %q: expected the number of a rank; --rank says it as well", name, text)
			}
			said = true
		}
	}
	switch {
	case !said:
		return p, errors.New("--rank is missing: which of --hosts is this one, from 0?")
	case rank < 0 || rank >= len(hosts):
		return p, fmt.Errorf("--rank %d: expected 0 to %d, for --hosts has %d", rank, len(hosts)-1, len(hosts))
	}
	p = place{rank: rank, ranks: len(hosts)}
	var addresses [2]netip.Addr
	for i, which := range [...]int{0, rank} {
		host, port := strings.TrimSpace(hosts[which]), strconv.Itoa(int(c.Port))
		if h, o, err := net.SplitHostPort(host); err == nil {
			host, port = h, o
		}
		if addresses[i], err = lookupHost(ctx, strings.Trim(host, "[]")); err != nil {
			return p, fmt.Errorf("--hosts: rank %d: %w", which, err)
		}
		if i == 0 {
			p.root = net.JoinHostPort(addresses[0].String(), port)
		}
	}
	p.local = addresses[1]
	return p, nil
}

// lookupHost returns one address of a host.
func lookupHost(ctx context.Context, name string) (netip.Addr, error) {
	if a, err := netip.ParseAddr(name); err == nil {
		return a, nil
	}
	if name == "" {
		return netip.Addr{}, errors.New("an empty name; expected a host")
	}
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	if err != nil || len(all) == 0 {
		return netip.Addr{}, fmt.Errorf("no host %q: %w", name, err)
	}
	return all[0].Unmap(), nil
}

// job reads what is measured.
func (c *collectiveFlags) job(name, algorithm string, ranks int) (j perf.Job, err error) {
	j = perf.Job{Protocol: c.Over, Collective: name, Algorithm: algorithm, Reduction: c.Redop, Ranks: ranks, Iterations: c.Iterations, Warmup: c.Warmup, Unchecked: !c.Check}
	if j.Interval, err = seconds("--interval", c.Interval); err != nil {
		return j, err
	}
	switch {
	case c.Iterations != 0 && c.Duration != "":
		return j, errors.New("--duration: expected no --iterations beside it")
	case c.Duration != "":
		if j.Duration, err = seconds("--duration", c.Duration); err != nil {
			return j, err
		}
	case c.Iterations == 0:
		j.Iterations = 20
	}
	switch {
	case c.All && c.Size != "":
		return j, errors.New("--all: expected no --size beside it")
	case c.All:
		for size := 8; size <= 8<<20; size *= 2 {
			j.Sizes = append(j.Sizes, size)
		}
	case c.Size == "":
		j.Sizes = []int{1 << 20}
	default:
		if j.Sizes, err = readSizes(c.Size); err != nil {
			return j, err
		}
	}
	if j.Impairment, err = c.weather(); err != nil {
		return j, err
	}
	return j, j.Validate()
}

// readSizes reads --size.
func readSizes(list string) (sizes []int, err error) {
	for _, text := range strings.Split(list, ",") {
		s, err := param.ParseSize(text)
		if err == nil && s.BDP > 0 {
			err = errors.New("a BDP is not known here; expected bytes")
		}
		if err != nil {
			return nil, fmt.Errorf("--size: %w", err)
		}
		sizes = append(sizes, int(min(s.Bytes, 1<<40)))
	}
	return sizes, nil
}
