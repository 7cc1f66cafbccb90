package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/weft-transport/weft/compare/perf"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

type perfCmd struct {
	Server     perfServerCmd     `cmd:"" help:"Wait for clients and do the other half of what they measure."`
	Client     perfClientCmd     `cmd:"" help:"Measure bandwidth, latency or message rate with a server."`
	Allreduce  perfAllreduceCmd  `cmd:"" help:"Measure all-reduce among several processes or hosts."`
	Collective perfCollectiveCmd `cmd:"" help:"Measure another collective operation: all-gather, reduce-scatter, all-to-all, broadcast, barrier."`
	Compare    perfCompareCmd    `cmd:"" help:"Measure several protocols in turns between two processes of this machine, and set the results beside each other."`
}

type perfServerCmd struct {
	Bind  string `help:"Address to listen on; all by default." placeholder:"ADDRESS"`
	Port  uint16 `short:"p" help:"TCP port of the control connection." default:"4793"`
	Once  bool   `short:"1" help:"End after one client."`
	Quiet bool   `help:"No lines about clients on standard error."`

	UntilEOF bool `name:"until-eof" hidden:"" help:"End when standard input does: when whoever started it has gone, even killed."`
}

func (c *perfServerCmd) Run(a *app) error {
	ctx := a.ctx
	if c.UntilEOF {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
	}
	s, err := perf.ListenServer(ctx, net.JoinHostPort(c.Bind, strconv.Itoa(int(c.Port))))
	if err != nil {
		return err
	}
	if s.Once = c.Once; !c.Quiet {
		s.Log = a.stderr
		fmt.Fprintf(a.stderr, "listening on %s\n", s.Address())
	}
	return s.Serve(ctx)
}

// testFlags say what is measured.
type testFlags struct {
	Protocol   string `kong:"-"`
	Test       string `help:"Operation: write, read, send, tagged, atomic or stream. What the protocol is best known for by default: write, or stream, or send (raw)." placeholder:"NAME"`
	Metric     string `short:"m" help:"bandwidth, latency or rate (messages a second); several, separated by commas, after each other. bandwidth by default." default:"bandwidth" placeholder:"NAME"`
	Size       string `short:"s" help:"Bytes of an operation; several separated by commas. 64KiB for bandwidth, 64 for latency and rate by default." placeholder:"BYTES"`
	All        bool   `short:"a" help:"All powers of two from 1 byte to 8 MiB."`
	Iterations int64  `short:"n" help:"Operations to measure, instead of a duration." placeholder:"N"`
	Duration   string `short:"D" help:"How long to measure; a number alone is seconds. 5 by default." default:"5" placeholder:"TIME"`
	Warmup     string `help:"How long to run before that. 200ms by default." default:"200ms" placeholder:"TIME"`
	Flows      int    `short:"q" aliases:"qp" help:"Contexts, queue pairs or connections at once." default:"1"`
	Depth      int    `aliases:"tx-depth" help:"Operations under way on each flow. 64 for bandwidth (fewer of more than 8 MiB), 128 for rate by default." placeholder:"N"`
	Reverse    bool   `short:"R" help:"The server begins the operations." xor:"direction"`
	Both       bool   `short:"b" aliases:"bidirectional,bidir" help:"Both ends begin operations." xor:"direction"`
	DataPort   uint16 `help:"UDP or TCP port of the server for data; 0: a free one." default:"0"`

	weatherFlags
}

// weatherFlags make the network worse.
type weatherFlags struct {
	Loss      string `help:"Share of packets that are lost at each end, for example 1%; of client and compare several separated by commas, after each other." placeholder:"SHARE"`
	Delay     string `help:"Time that each packet takes longer in each direction, for example 1ms." placeholder:"TIME"`
	Reorder   string `help:"Share of packets that come later than others by --reorder-by." placeholder:"SHARE"`
	ReorderBy string `help:"How much later those come. 1ms by default." default:"1ms" placeholder:"TIME"`
	Duplicate string `help:"Share of packets that come twice." placeholder:"SHARE"`
	Seed      uint64 `help:"Of what happens to packets." default:"1"`
}

type perfClientCmd struct {
	Host string `arg:"" help:"Server, as HOST or HOST:PORT."`
	Port uint16 `short:"p" help:"TCP port of the control connection." default:"4793"`
	Over string `name:"protocol" help:"What carries it, as name,key=value,...: ${perfProtocols}." default:"uet" placeholder:"SPEC"`
	testFlags
	Exact    string `hidden:"" help:"The test as JSON; other flags that say what is measured are not looked at."`
	Time     string `short:"t" hidden:"" help:"As in iperf3: --duration." placeholder:"TIME"`
	Parallel int    `short:"P" hidden:"" help:"As in iperf3: --flows." placeholder:"N"`
	Interval string `short:"i" help:"Time between live lines; 0: none." default:"0" placeholder:"TIME"`
	Style    string `help:"How results are printed: ${enum}." enum:"weft,perftest,fabtests,iperf3" default:"weft"`
	JSON     bool   `name:"json" short:"J" help:"Write JSON Lines to standard output, and nothing else there."`
}

// Help is the long help of the command.
func (perfClientCmd) Help() string {
	return `Start "weft perf server" on the other host first. Both ends open sockets of their own for every test. Firewalls must let through TCP to
--port, and data: TCP or UDP to ports that the server chooses, or to --data-port (raw: one port for each flow from there on). UET and RoCE v2 also send from, and answer
to, the aligned block of 64 ports around it. "weft list sockets" has the parameters of each protocol.

Latencies of write, send, tagged and stream are one way: half of a ping-pong. Those of read and atomic are whole operations. Bandwidth counts payload
bytes of operations that have ended. CPU s/GB is processor time of both processes for 10^9 bytes; with polling (spin), waiting is in it.

Loss and the like happen inside the program, to what arrives at either end: no root, no qdisc.

JSON Lines, kind first: perf_start (the test), perf_interval, perf_result. Times are nanoseconds, sizes bytes, rates bits per second.`
}

func (c *perfClientCmd) Run(a *app) error {
	tests, err := c.asked()
	if err != nil {
		return errUsage{err}
	}
	interval, err := seconds("--interval", c.Interval)
	if err != nil {
		return errUsage{err}
	}
	for i := range tests {
		tests[i].Interval = interval
		if err := tests[i].Validate(); err != nil {
			return errUsage{err}
		}
	}
	host := c.Host
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(strings.Trim(host, "[]"), strconv.Itoa(int(c.Port)))
	}
	client, err := perf.Dial(a.ctx, host)
	if err != nil {
		return err
	}
	defer client.Close()
	out := perf.NewPrinter(c.Style, a.stdout)
	if c.JSON {
		out = perf.NewJSON(a.stdout)
	}
	for _, t := range tests {
		if err := perfOnce(a.ctx, client, t, out); err != nil {
			return err
		}
	}
	return nil
}

// asked returns what the flags ask for.
func (c *perfClientCmd) asked() ([]perf.Test, error) {
	if c.Exact == "" {
		c.Protocol = c.Over
		if c.Time != "" {
			c.Duration = c.Time
		}
		if c.Parallel != 0 {
			c.Flows = c.Parallel
		}
		return c.tests()
	}
	var t perf.Test
	if err := json.Unmarshal([]byte(c.Exact), &t); err != nil {
		return nil, fmt.Errorf("--exact: %w", err)
	}
	return []perf.Test{t}, t.Validate()
}

// perfOnce runs one test and prints it, also if it was cut short.
func perfOnce(ctx context.Context, client *perf.Client, t perf.Test, out perf.Printer) error {
	out.Begin(&t)
	r, err := client.Run(ctx, t, func(v perf.Interval) { out.Interval(&t, v) })
	if total := r.Total(); err == nil || total.Operations > 0 {
		out.Result(&r)
	}
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted")
	}
	return err
}

// tests are all that the flags ask for: each loss with each metric and each size.
func (f *testFlags) tests() (tests []perf.Test, err error) {
	for _, loss := range strings.Split(f.Loss, ",") {
		g := *f
		g.Loss = loss
		under, err := g.testsUnder()
		if err != nil {
			return nil, err
		}
		tests = append(tests, under...)
	}
	return tests, nil
}

// mostBytesUnder is how much a flow has under way at most when nobody says a depth: what is under way at the end is waited for.
const mostBytesUnder = 512 << 20

// testsUnder are those of one loss.
func (f *testFlags) testsUnder() ([]perf.Test, error) {
	base, err := f.base()
	if err != nil {
		return nil, err
	}
	var tests []perf.Test
	for _, metric := range strings.Split(f.Metric, ",") {
		sizes, err := f.sizes(metric)
		if err != nil {
			return nil, err
		}
		for _, size := range sizes {
			t := base
			t.Metric, t.Size = metric, size
			if t.Depth == 0 {
				t.Depth = map[string]int{perf.Bandwidth: max(2, min(64, mostBytesUnder/max(size, 1))), perf.Latency: 1, perf.Rate: 128}[metric]
			}
			tests = append(tests, t)
		}
	}
	return tests, nil
}

func (f *testFlags) base() (t perf.Test, err error) {
	t = perf.Test{Protocol: f.Protocol, Operation: f.Test, Direction: perf.Forward, Iterations: f.Iterations, Flows: f.Flows, Depth: f.Depth, DataPort: f.DataPort}
	if t.Operation == "" {
		if t.Operation, err = perf.DefaultOperation(f.Protocol); err != nil {
			return t, err
		}
	}
	if f.Reverse {
		t.Direction = perf.Reverse
	}
	if f.Both {
		t.Direction = perf.Both
	}
	for _, d := range [...]struct {
		name, text string
		into       *time.Duration
	}{{"--duration", f.Duration, &t.Duration}, {"--warmup", f.Warmup, &t.Warmup}} {
		if *d.into, err = seconds(d.name, d.text); err != nil {
			return t, err
		}
	}
	t.Impairment, err = f.weather()
	return t, err
}

// weather reads what the network is made to do.
func (f *weatherFlags) weather() (m perf.Impairment, err error) {
	if m.Delay, err = seconds("--delay", f.Delay); err != nil {
		return m, err
	}
	for _, s := range [...]struct {
		name, text string
		into       *float64
	}{{"--loss", f.Loss, &m.Loss}, {"--reorder", f.Reorder, &m.Reorder}, {"--duplicate", f.Duplicate, &m.Duplicate}} {
		if s.text == "" {
			continue
		}
		if *s.into, err = param.ParseFraction(s.text); err != nil {
			return m, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if m.Reorder > 0 {
		if m.ReorderBy, err = seconds("--reorder-by", f.ReorderBy); err != nil {
			return m, err
		}
	}
	if m.On() {
		m.Seed = f.Seed
	}
	return m, nil
}

// sizes reads --size and --all.
func (f *testFlags) sizes(metric string) (sizes []int, err error) {
	switch {
	case f.Test == perf.Atomic:
		return []int{8}, nil
	case f.All && f.Size != "":
		return nil, errors.New("--all: expected no --size beside it")
	case f.All:
		for size := 1; size <= 8<<20; size *= 2 {
			sizes = append(sizes, size)
		}
		return sizes, nil
	case f.Size == "" && metric == perf.Bandwidth:
		return []int{64 << 10}, nil
	case f.Size == "":
		return []int{64}, nil
	}
	return readSizes(f.Size)
}

// seconds reads a time; a number alone is seconds, as in tools that people know.
func seconds(flag, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if v, err := strconv.ParseFloat(text, 64); err == nil && v >= 0 && v <= 1e9 {
		return time.Duration(v * float64(time.Second)), nil
	}
	t, err := param.ParseTime(text)
	if err != nil || t == instant.Never {
		return 0, fmt.Errorf("%s %q: expected a time such as 10 (seconds), 500ms or 2s", flag, text)
	}
	return time.Duration(t / instant.Nanosecond), nil
}
