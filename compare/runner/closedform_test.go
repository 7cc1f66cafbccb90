package runner_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/transport/instant"
)

// The fabrics of the closed forms: 100 Gbit/s, 4096 bytes of payload, cables of 1 us, switches of 300 ns.
const (
	rate        = 100e9
	payload     = 4096
	cable       = 1 * instant.Microsecond
	switching   = 300 * instant.Nanosecond
	around      = 38 + 20 + 8 + 4 // Ethernet with preamble and gap; IP, UDP, CRC
	uetHeaders  = 12 + 44
	roceHeaders = 12
	acknowledge = 44 // transport headers of an acknowledgement, the larger of both
)

// wire returns how long a packet lasts on a link.
func wire(headers, bytes int) instant.Time {
	return instant.Time(float64(bytes+headers+around) * 8 / rate * float64(instant.Second))
}

// oneWay returns how long a packet takes over so many links that store and forward.
func oneWay(links int, each instant.Time) instant.Time {
	return instant.Time(links)*(each+cable) + instant.Time(links-1)*switching
}

// train returns how long packets take that leave one after another: the last one waits for those ahead of it.
func train(headers, packets, links int) instant.Time {
	full := wire(headers, payload)
	return instant.Time(packets-1)*full + oneWay(links, full) + oneWay(links, wire(acknowledge, 0))
}

// play runs one protocol on a fabric, with every checker on.
func play(t *testing.T, topology, workload, spec string) *runner.Result {
	t.Helper()
	text := fmt.Sprintf(`
name: closed
fabric: {%s, rate: 100Gbps, linkDelay: 1us, switchDelay: 300ns, payloadMTU: 4096}
workload: {%s}
protocols: [%q]
`, topology, workload, spec)
	all, err := scenario.Read("closed.yaml", []byte(text), scenario.Options{})
	require.NoError(t, err)
	set, err := runner.NewSetting(all[0])
	require.NoError(t, err)
	r, err := set.Run(context.Background(), &set.Scenario.Protocols[0], 1, runner.Options{Flows: true, Check: true})
	require.NoError(t, err)
	require.Equal(t, r.Run.Flows, r.Run.Finished)
	return r
}

// lastFCT returns the longest completion time at the sender.
func lastFCT(r *runner.Result) float64 { return *r.Run.FCT.Max }

// specs are the protocols that the closed forms hold for, with the headers of a full packet and the packets that
// one acknowledgement covers.
var specs = []struct {
	spec    string
	headers int
	covers  int
}{
	{"uet", uetHeaders, 4},
	{"uet,mode=rod", uetHeaders, 4},
	{"uet,spray=oblivious,congestion=fixed,congestion.window=1.5bdp", uetHeaders, 4},
	{"rocev2", roceHeaders, 64},
	{"rocev2,congestion=none", roceHeaders, 64},
	{"rocev2,mode=favourable", roceHeaders, 1},
	{"rocev2,mode=hardware,qps=4", roceHeaders, 16},
	{"rocev2,mode=adaptive", roceHeaders + 16, 1},
	{"rocev2,loss=selective,window=2bdp", roceHeaders + 16, 1}, // one BDP leaves no room for an ACK that waits
}

// TestOneFlow has the network for itself: its packets leave one after another, the last one is stored and
// forwarded at every hop, and its acknowledgement comes back.
func TestOneFlow(t *testing.T) {
	const packets = 1000
	for _, c := range specs {
		for topology, links := range map[string]int{"topology: single, hosts: 2": 2, "topology: leafspine, leaves: 2, hosts: 8": 4, "topology: fattree, hosts: 16": 6} {
			r := play(t, topology, fmt.Sprintf("kind: pair, size: %d", packets*payload), c.spec)
			require.InEpsilon(t, train(c.headers, packets, links).Nanoseconds(), lastFCT(r), 0.02, "%s over %d links", c.spec, links)
		}
	}
}

// TestSmallMessages take a packet and an acknowledgement, with or without bytes.
func TestSmallMessages(t *testing.T) {
	for _, bytes := range []int{0, 1, 1000, payload} {
		for _, c := range specs[:7] {
			r := play(t, "topology: leafspine, leaves: 2, hosts: 8", fmt.Sprintf("kind: pair, size: %d", bytes), c.spec)
			headers := c.headers
			if headers == roceHeaders {
				headers += 16 // the first packet says where
			}
			want := oneWay(4, wire(headers, bytes)) + oneWay(4, wire(acknowledge, 0))
			require.InEpsilon(t, want.Nanoseconds(), lastFCT(r), 0.02, "%s, %d bytes", c.spec, bytes)
		}
	}
}

// TestUncontendedPermutation has every host send to another through one switch: nobody meets anybody but the
// acknowledgements of what it receives.
func TestUncontendedPermutation(t *testing.T) {
	const packets = 500
	for _, c := range specs {
		r := play(t, "topology: single, hosts: 16", fmt.Sprintf("kind: permutation, size: %d", packets*payload), c.spec)
		want := train(c.headers, packets, 2) + wire(acknowledge/2, 0)*packets/instant.Time(c.covers)
		for _, f := range r.Flows {
			require.InEpsilon(t, want.Nanoseconds(), *f.FCT, 0.02, "%s, flow %d", c.spec, f.Flow)
		}
	}
}

// TestSprayedPermutation has every host send to one under another leaf, over four times as many ways up as
// there are hosts: packets hardly ever meet.
func TestSprayedPermutation(t *testing.T) {
	const packets = 1000
	r := play(t, "topology: leafspine, leaves: 4, spines: 16, hosts: 16", fmt.Sprintf("kind: tornado, size: %d", packets*payload), "uet,spray=roundrobin,spray.evs=64")
	require.InEpsilon(t, (train(uetHeaders, packets, 4) + wire(acknowledge, 0)*packets/4).Nanoseconds(), lastFCT(r), 0.02)
}

// TestIncast has n hosts send to one: the last of them ends when the last link has carried everything, what
// was trimmed included. Nobody is faster; window control and pauses lose next to nothing.
func TestIncast(t *testing.T) {
	const packets = 600
	for _, degree := range []int{2, 4, 8} {
		for _, c := range specs {
			r := play(t, "topology: leafspine, leaves: 4, hosts: 16", fmt.Sprintf("kind: incast, degree: %d, size: %d", degree, packets*payload), c.spec)
			want := train(c.headers, degree*packets, 4) + instant.Time(r.Run.Trimmed)*instant.Time(64*8*10)
			require.Greater(t, lastFCT(r), 0.98*want.Nanoseconds(), "%s, %d to 1: faster than the link", c.spec, degree)
			if c.spec == "uet" || strings.Contains(c.spec, "congestion=none") {
				require.InEpsilon(t, want.Nanoseconds(), lastFCT(r), 0.02, "%s, %d to 1", c.spec, degree)
			}
		}
	}
}

// TestVictimOfPauses sends to a host that nobody else sends to, over a link that an incast has paused.
func TestVictimOfPauses(t *testing.T) {
	const workload = "kind: incast, degree: 6, size: 2MiB, victim: true, victimSize: 1MiB"
	const topology = "topology: leafspine, leaves: 4, spines: 2, hosts: 16, buffer: {perSwitch: 64MB}"
	victim := func(spec string) (float64, *runner.Result) {
		r := play(t, topology, workload, spec)
		require.Zero(t, r.Run.Dropped.Queue)
		return *r.Run.Group("victim").FCT.Max, r
	}
	paused, over := victim("rocev2,congestion=none,class.xoff=60KB")
	deep, without := victim("rocev2,congestion=none,class.flowControl=none,class.alpha=16")
	require.Greater(t, over.Run.PauseFrames, uint64(10))
	require.Positive(t, over.Run.Pause)
	require.Zero(t, without.Run.PauseFrames)
	require.Greater(t, paused, 1.3*deep, "head-of-line blocking")
}
