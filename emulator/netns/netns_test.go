package netns

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/emulator/netem"
	"github.com/weft-transport/weft/transport/instant"
)

var update = flag.Bool("update", false, "write the golden plan anew")

// TestMain is also the program that tests run on hosts.
func TestMain(m *testing.M) {
	switch os.Getenv("WEFT_NETNS_ROLE") {
	case "sink":
		c, err := net.ListenPacket("udp4", "0.0.0.0:5000")
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("ready")
		buf := make([]byte, 100)
		for range 64 {
			if _, _, err := c.ReadFrom(buf); err != nil {
				os.Exit(1)
			}
		}
		fmt.Println("heard 64")
		os.Exit(0)
	case "build": // until it is killed
		n, err := leafSpine(4, 1e9, 0)
		var p *Plan
		if err == nil {
			p, err = NewPlan(n, Options{Name: os.Args[1]})
		}
		if err == nil {
			err = p.Start(context.Background(), func(done, all int) {
				if done == all/2 {
					fmt.Println("half")
					time.Sleep(time.Hour)
				}
			})
		}
		fmt.Println(err)
		os.Exit(1)
	case "spray": // one datagram from each of 64 source ports
		for port := range 64 {
			var c *net.UDPConn
			to, err := net.ResolveUDPAddr("udp4", os.Args[1]+":5000")
			if err == nil {
				c, err = net.DialUDP("udp4", &net.UDPAddr{Port: 49152 + port}, to)
			}
			if err == nil {
				_, err = c.Write([]byte("x"))
			}
			if err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			c.Close()
			time.Sleep(time.Millisecond)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func leafSpine(hosts int, rate int64, delay instant.Time) (*emulator.Network, error) {
	make, _, err := emulator.Topologies.Make("leafspine", nil)
	if err != nil {
		return nil, err
	}
	return make(emulator.Spec{Hosts: hosts, RateBps: rate, LinkDelay: delay})
}

func network(t *testing.T, hosts int, rate int64, delay instant.Time) *emulator.Network {
	n, err := leafSpine(hosts, rate, delay)
	require.NoError(t, err)
	return n
}

func TestPlanIsGolden(t *testing.T) {
	n := network(t, 4, 1e9, 500*instant.Nanosecond)
	rule, err := netem.Parse("delay 2ms 100us order free loss 1%", nil)
	require.NoError(t, err)
	n.Links[0].Netem = &rule
	p, err := NewPlan(n, Options{Name: "golden", Shape: true, ECNMin: 30_000, ECNMax: 90_000, ECNP: 0.1})
	require.NoError(t, err)
	file := filepath.Join("testdata", "plan.txt")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(p.Text()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), p.Text())
}

func TestPlansRefuse(t *testing.T) {
	_, err := NewPlan(network(t, 4, 1e9, 0), Options{Name: "Bad Name"})
	require.ErrorContains(t, err, "small letters")
	_, err = NewPlan(network(t, 4, 400e9, 0), Options{Name: "fast", Shape: true})
	require.ErrorContains(t, err, "has 400 Gbit/s; expected at most 40")
	p, err := NewPlan(network(t, 4, 1e9, 0), Options{Name: "ok"})
	require.NoError(t, err)
	_, err = p.Host("h9")
	require.EqualError(t, err, `netns: no host "h9"; expected h0 to h3`)
}

// up builds a network in namespaces of its own, or skips.
func up(t *testing.T, hosts int, o Options) (*Plan, *emulator.Network) {
	n := network(t, hosts, 1e9, 500*instant.Nanosecond)
	o.Name = fmt.Sprintf("t%d", os.Getpid()%1_000_000)
	p, err := NewPlan(n, o)
	require.NoError(t, err)
	if err := p.Probe(context.Background()); err != nil {
		t.Skip(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	t.Cleanup(func() {
		require.NoError(t, Stop(context.Background(), p.Name))
		left, err := namespacesOf(p.Name)
		require.NoError(t, err)
		require.Empty(t, left)
	})
	require.NoError(t, p.Start(context.Background(), nil))
	return p, n
}

func TestPortsSpreadOverSpines(t *testing.T) {
	p, n := up(t, 16, Options{Shape: true})
	self, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	base, err := p.Baseline(ctx)
	require.NoError(t, err)
	sink, err := Program(ctx, p.Name, "h15", []string{"env", "WEFT_NETNS_ROLE=sink", self}, nil)
	require.NoError(t, err)
	says, err := sink.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, sink.Start())
	lines := bufio.NewScanner(says)
	require.True(t, lines.Scan())
	require.Equal(t, "ready", lines.Text())
	var out bytes.Buffer
	spray, err := Program(ctx, p.Name, "h0", []string{"env", "WEFT_NETNS_ROLE=spray", self, "h15"}, &out)
	require.NoError(t, err)
	require.NoError(t, spray.Run(), "%s", out.String())
	require.True(t, lines.Scan())
	require.Equal(t, "heard 64", lines.Text())
	require.NoError(t, sink.Wait())

	counts, err := p.Counters(ctx)
	require.NoError(t, err)
	used := 0
	for i, l := range n.Links {
		if strings.HasPrefix(l.Name, "leaf0-spine") {
			t.Logf("%s: %d packets", l.Name, counts[i].Packets)
			require.Less(t, counts[i].Packets, uint64(60), "no link has them all")
			if counts[i].Packets >= 3 {
				used++
			}
		}
	}
	require.GreaterOrEqual(t, used, 3, "64 source ports over the spines")

	v, err := p.Validity(ctx, base)
	require.NoError(t, err)
	require.Equal(t, "h0h15", v.From+v.To)
	require.Positive(t, v.RTT)
	require.Len(t, v.Links, len(n.Links))
	require.Positive(t, v.Processor)
	met := uint64(0)
	for _, l := range v.Links {
		require.EqualValues(t, 1e9, l.AskedRate)
		require.Zero(t, l.Loss)
		if strings.HasPrefix(l.Link, "leaf0-spine") {
			met += l.Packets
		}
	}
	require.GreaterOrEqual(t, met, uint64(64), "since the baseline, and what asks for addresses")
}

// What a run is worth is decided by what was seen of it.
func TestVerdicts(t *testing.T) {
	good := func() Validity {
		return Validity{From: "h0", To: "h3", AskedRTT: 8 * time.Millisecond, RTT: 8100 * time.Microsecond, Processor: 0.5, Links: []Played{
			{Link: "a", Packets: 10_000, AskedLoss: 0.01, Loss: 0.0105, AskedRate: 1e6, Rate: 0.9e6, spread: 0.001}}}
	}
	require.Empty(t, good().Problems())
	require.Contains(t, good().String(), "idle round trip from h0 to h3 8.1ms (asked 8ms)")
	for want, spoil := range map[string]func(v *Validity){
		"the round trip from h0 to h3 took 9ms":    func(v *Validity) { v.RTT = 9 * time.Millisecond },
		"96 % of the processors were used":         func(v *Validity) { v.Processor = 0.96 },
		"link a lost 2 % of 10000 packets":         func(v *Validity) { v.Links[0].Loss = 0.02 },
		"link a carried 1.1 Mbit/s; asked were at": func(v *Validity) { v.Links[0].Rate = 1.1e6 },
	} {
		v := good()
		spoil(&v)
		require.Len(t, v.Problems(), 1)
		require.Contains(t, v.Problems()[0], want)
		text, err := v.MarshalJSON()
		require.NoError(t, err)
		require.Contains(t, string(text), `"valid":false`)
	}
}

func TestRoundTripsAreAskedOverTheShortestWay(t *testing.T) {
	n := network(t, 4, 1e9, instant.Millisecond)
	p, err := NewPlan(n, Options{Name: "asked"})
	require.NoError(t, err)
	ruler, err := emulator.NewRuler(n)
	require.NoError(t, err)
	require.InDelta(t, ruler.RTT(0, 3, 0, 0).Seconds(), p.askedRTT.Seconds(), 1e-5)
}

func TestWhatIsUpComesDown(t *testing.T) {
	p, _ := up(t, 4, Options{})
	require.ErrorContains(t, p.Start(context.Background(), nil), "is up already")
	cmd, err := Program(context.Background(), p.Name, "h0", []string{"sleep", "1000"}, nil)
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = Program(context.Background(), p.Name, "h77", []string{"true"}, nil)
	require.ErrorContains(t, err, `has no host "h77"`)
	require.NoError(t, Stop(context.Background(), p.Name))
	require.Error(t, cmd.Wait(), "its programs are ended")
	_, err = Program(context.Background(), p.Name, "h0", []string{"true"}, nil)
	require.ErrorContains(t, err, "is not up")
	require.NoError(t, Stop(context.Background(), p.Name), "nothing is left to do")
}

func TestAnInterruptUndoes(t *testing.T) {
	p, _ := up(t, 4, Options{})
	require.NoError(t, Stop(context.Background(), p.Name))
	ctx, cancel := context.WithCancel(context.Background())
	err := p.Start(ctx, func(done, all int) {
		if done == all/2 {
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	left, err := namespacesOf(p.Name)
	require.NoError(t, err)
	require.Empty(t, left)
}

// What a killed process has half built, Stop takes away.
func TestWhatAKilledProcessLeavesComesDown(t *testing.T) {
	p, _ := up(t, 4, Options{})
	require.NoError(t, Stop(context.Background(), p.Name))
	self, err := os.Executable()
	require.NoError(t, err)
	builder := exec.Command(self, p.Name)
	builder.Env = append(os.Environ(), "WEFT_NETNS_ROLE=build")
	says, err := builder.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, builder.Start())
	lines := bufio.NewScanner(says)
	require.True(t, lines.Scan())
	require.Equal(t, "half", lines.Text())
	require.NoError(t, builder.Process.Kill())
	require.Error(t, builder.Wait())
	left, err := namespacesOf(p.Name)
	require.NoError(t, err)
	require.NotEmpty(t, left)
	require.NoError(t, Stop(context.Background(), p.Name))
	left, err = namespacesOf(p.Name)
	require.NoError(t, err)
	require.Empty(t, left)
	names, err := filepath.Glob(filepath.Join(namesDir, p.Name+".*"))
	require.NoError(t, err)
	require.Empty(t, names)
}

func TestMissingPartsAreNamed(t *testing.T) {
	if exec.Command("ip", "netns", "list").Run() != nil {
		t.Skip("no iproute2")
	}
	n := network(t, 4, 1e9, instant.Millisecond)
	p, err := NewPlan(n, Options{Name: "probe"})
	require.NoError(t, err)
	require.True(t, p.needs.netem)
	if err := p.Probe(context.Background()); err != nil {
		require.Regexp(t, "^(netns: this kernel has no netem \\(delays, losses\\)(\nnetns: .*)*|.*takes root.*|.*is missing.*)$", err.Error())
	}
}

func TestNetworksAreKnownByTheirHosts(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"one.h0", "one.h12", "one.leaf0", "two.probe77", "other", "docker.x", "Not.h0", "three.h"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	names, err := networksIn(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"one", "two"}, names)
	names, err = networksIn(filepath.Join(dir, "missing"))
	require.NoError(t, err)
	require.Empty(t, names)
}
