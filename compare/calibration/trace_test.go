//go:build long

package calibration

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/param"
)

// An ack is one acknowledgement as congestion control heard of it, and what came of it.
type ack struct {
	flow             int
	micros           float64
	newly            int64
	marked           bool
	rtt              int64 // picoseconds
	window, inFlight int64
}

// The traced controller is NSCC as the reference simulator has it, and notes every acknowledgement. Tests run
// one after the other, so that one notebook is enough.
type traced struct {
	congestion.Controller
	flow int
}

var notebook struct {
	flows int
	acks  []ack
}

// OnSent numbers the flows as they begin to send. Controllers that never do are made as well, to see what they are.
func (c *traced) OnSent(now congestion.Time, bytes, inFlight int64) {
	if c.flow < 0 {
		c.flow = notebook.flows
		notebook.flows++
	}
	c.Controller.OnSent(now, bytes, inFlight)
}

func (c *traced) OnAck(now congestion.Time, a congestion.Ack) {
	c.Controller.OnAck(now, a)
	notebook.acks = append(notebook.acks, ack{flow: c.flow, micros: now.Microseconds(), newly: a.Delivered, marked: a.Marked,
		rtt: int64(a.RTT), window: c.Window(), inFlight: a.InFlight})
}

func init() {
	congestion.Registry.Register(param.Entry[congestion.Maker]{
		Name: "traced", Doc: "NSCC as the reference simulator has it, every acknowledgement noted", Source: "this test",
		New: func(param.Values) (congestion.Maker, error) {
			nscc, _, err := congestion.Registry.Make("nscc", map[string]string{"variant": "htsim"})
			return func(p congestion.Path) congestion.Controller {
				return &traced{nscc(p), -1}
			}, err
		},
	})
}

// play runs an incast into host 0 and returns every acknowledgement.
func play(t *testing.T, senders []int, class string, seed uint64) []ack {
	notebook.flows, notebook.acks = 0, nil
	matrix := fmt.Sprintf("Nodes 128\nConnections %d\n", len(senders))
	for i, s := range senders {
		matrix += fmt.Sprintf("%d->0 id %d start 0 size 2000000\n", s, i+1)
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/incast.cm", []byte(matrix), 0o600))
	text := fmt.Sprintf(`
name: incast
fabric: {topology: fattree, tiers: 3, hosts: 128, rate: 100Gbps, linkDelay: 1us, switchDelay: 0, payloadMTU: 4086, wireBytes: 4150}
classes:
  uet: {queue: 1660000, %s, trim: true, trimBytes: 64, trimShare: 100%%}
workload: {kind: htsim, file: incast.cm}
protocols: ["uet,congestion=traced,spray=ecmp,baseRTT=network,count=wire,ackTrigger=16344,fastLoss=false,tailProbe=false"]
`, class)
	all, err := scenario.Read(dir+"/incast.yaml", []byte(text), scenario.Options{})
	require.NoError(t, err)
	set, err := runner.NewSetting(all[0])
	require.NoError(t, err)
	_, err = set.Run(context.Background(), &all[0].Protocols[0], seed, runner.Options{})
	require.NoError(t, err)
	return notebook.acks
}

// recorded reads a trace.
func recorded(t *testing.T, file string) (acks []ack) {
	f, err := os.Open("testdata/" + file)
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		var a ack
		var marked int
		_, err := fmt.Sscan(lines.Text(), &a.flow, &a.micros, &a.newly, &marked, &a.rtt, &a.window, &a.inFlight)
		require.NoError(t, err, lines.Text())
		a.marked = marked != 0
		acks = append(acks, a)
	}
	require.NoError(t, lines.Err())
	return acks
}

// byFlow parts acknowledgements: those of different flows may be noted in either order at one instant.
func byFlow(acks []ack) map[int][]ack {
	flows := map[int][]ack{}
	for _, a := range acks {
		flows[a.flow] = append(flows[a.flow], a)
	}
	return flows
}

// sameAs tells whether two acknowledgements are the same event. The reference prints times with six digits. Its
// largest window differs by two bytes, and it counts the last packet of a flow to the byte, where we round to units
// of 256.
func (a ack) sameAs(b ack) bool {
	const digits, window, lastPacket = 0.0006, 3, 256
	return math.Abs(a.micros-b.micros) <= digits && a.marked == b.marked && a.rtt == b.rtt &&
		math.Abs(float64(a.newly-b.newly)) <= lastPacket && math.Abs(float64(a.window-b.window)) <= window &&
		math.Abs(float64(a.inFlight-b.inFlight)) <= lastPacket
}

// Four flows meet on their way to one host: two in a core, a third at an aggregation switch, the fourth at the last
// switch. Hashes decide who meets where, so a seed is looked for under which they meet as they did there. From then
// on nothing is left to chance, and every one of 500 acknowledgements is the same event: its nanosecond, what it
// acknowledges, its round trip, and the window after it.
func TestIncastOfFourEventByEvent(t *testing.T) {
	theirs := byFlow(recorded(t, "incast4.txt"))
	senders := []int{16, 32, 48, 64}
	meetsAlike := func(ours map[int][]ack) bool {
		for flow := range theirs {
			for i := range 2 {
				if !theirs[flow][i].sameAs(ours[flow][i]) {
					return false
				}
			}
		}
		return true
	}
	for seed := uint64(1); seed <= 4000; seed++ {
		ours := byFlow(play(t, senders, "ecnMin: 0, ecnMax: 0", seed))
		if !meetsAlike(ours) {
			continue
		}
		t.Logf("seed %d", seed)
		compared := 0
		for flow := range senders {
			require.Len(t, ours[flow], len(theirs[flow]))
			for i, a := range theirs[flow] {
				require.True(t, a.sameAs(ours[flow][i]), "flow %d, acknowledgement %d\ntheirs %+v\nours   %+v", flow, i, a, ours[flow][i])
				compared++
			}
		}
		require.Equal(t, 500, compared)
		return
	}
	t.Fatal("under no seed do the four flows meet as in the recorded run")
}

// Two flows and a queue that marks above 20 packets. The reference looks at the queue when a packet has left, we when
// it begins to leave: a packet more or less at the threshold. (With their rule in place of ours, all 898
// acknowledgements are the same events.) So the marks are nearly as many, the windows nearly as large, and the flows
// end at nearly the same time.
func TestIncastWithMarks(t *testing.T) {
	summarise := func(acks []ack) (marked int, smallest, mean, end float64) {
		smallest = math.Inf(1)
		for _, a := range acks {
			if a.marked {
				marked++
			}
			smallest = min(smallest, float64(a.window))
			mean += float64(a.window) / float64(len(acks))
			end = a.micros
		}
		return marked, smallest, mean, end
	}
	theirs := byFlow(recorded(t, "incast2_marks.txt"))
	ours := byFlow(play(t, []int{16, 32}, "ecnMin: 83000, ecnMax: 83000", 1))
	for flow := range 2 {
		marked, smallest, mean, end := summarise(theirs[flow])
		marked2, smallest2, mean2, end2 := summarise(ours[flow])
		t.Logf("flow %d: %d and %d marks, window at least %.0f and %.0f, mean %.0f and %.0f, end at %.1f and %.1f us", flow,
			marked, marked2, smallest, smallest2, mean, mean2, end, end2)
		require.InEpsilon(t, marked, marked2, 0.10)
		require.InEpsilon(t, mean, mean2, 0.10)
		require.InEpsilon(t, end, end2, 0.01)
	}
}
