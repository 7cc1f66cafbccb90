package scenario

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/instant"
)

const full = `name: my-permutation
fabric:
  topology: fattree
  hosts: 128
  tiers: 3
  rate: 400Gbps
  linkDelay: 500ns
  switchDelay: 250ns
  oversubscription: 1
  payloadMTU: 4096
  linkOverhead: 38B
  buffer: {perSwitch: 16MiB, alpha: 2}
  reroute: {local: 50us, global: never}
  loss:
    random: 1/4096
    links:
      - {link: "tor0-agg*", burst: {meanGood: 1ms, meanBad: 10us, lossBad: 50%}}
classes:
  probe: {queue: 2bdp, ecnMin: 0.1bdp}
  pauser: {ecnMin: 100KB}
faults:
  - {at: 100us, for: 100us, link: "tor0-agg1", kind: down}
  - {at: 0, host: 3, kind: slowhost, factor: 0.25}
workload: {kind: permutation, size: 4MiB}
protocols:
  - probe,window=2bdp,class.queue=3bdp
  - {protocol: "pauser,qps=4", label: "paused", class: {ecnMax: 800KB}}
seeds: 1..5
`

func readOne(t *testing.T, text string, set ...string) *Scenario {
	t.Helper()
	all, err := Read("my.yaml", []byte(text), Options{Set: set})
	require.NoError(t, err)
	require.Len(t, all, 1)
	return all[0]
}

func TestResolve(t *testing.T) {
	s := readOne(t, full)
	require.Equal(t, "my-permutation", s.Name)
	require.Equal(t, 128, s.Fabric.Network.Hosts)
	require.Equal(t, int64(400e9), s.Fabric.LineRateBps())
	require.Equal(t, 250*instant.Nanosecond, s.Fabric.Spec.SwitchDelay)
	require.Equal(t, Buffer{PerSwitch: 16 << 20, Alpha: 2}, s.Fabric.Buffer)
	require.Equal(t, instant.Never, s.Fabric.Reroute.Global)
	require.Equal(t, 1.0/4096, s.Fabric.Loss.Random)

	require.Len(t, s.Fabric.LinkLoss[0].Links, 8, "4 uplinks, both directions")
	byLink := s.Fabric.LossByLink()
	up := s.Fabric.Network.LinkNamed("tor0-agg1")
	require.Equal(t, 10*instant.Microsecond, byLink[up].Burst.MeanBad)
	require.Zero(t, byLink[up].Random, "a link's own loss replaces the fabric's")

	require.Equal(t, []int{up, int(s.Fabric.Network.Links[up].Reverse)}, s.Faults[0].Links)
	require.Equal(t, 3, s.Faults[1].Host)
	require.Equal(t, instant.Never, s.Faults[1].For)

	p := s.Protocols[0]
	require.Equal(t, "probe,window=2bdp,class.queue=3bdp", p.Label)
	require.Equal(t, "probe,window=2bdp,mode=fast,spray=reps,class.queue=3bdp,class.ecnMin=0.1bdp", p.String())
	require.Equal(t, "3bdp", p.Class.Word("queue"), "the SPEC wins over the scenario's class")
	require.Equal(t, "0.1bdp", p.Class.Word("ecnMin"), "the scenario's class wins over the protocol's default")
	require.Equal(t, "0.8bdp", p.Class.Word("ecnMax"), "the protocol's default")
	p = s.Protocols[1]
	require.Equal(t, "paused", p.Label)
	require.Equal(t, "800KB", p.Class.Word("ecnMax"), "the entry's class")
	require.Equal(t, "pfc", p.Class.Word("flowControl"))
	require.Equal(t, []uint64{1, 2, 3, 4, 5}, s.Seeds.List)
}

func TestPlanIsThatOfTheWorkload(t *testing.T) {
	s := readOne(t, full)
	plan, err := s.Plan(s.Fixed.Derive(1), 10*instant.Microsecond, 500_000)
	require.NoError(t, err)
	require.Len(t, plan.Flows, 128)
	require.Equal(t, uint64(128*4<<20), plan.TotalBytes())
}

func TestSet(t *testing.T) {
	s := readOne(t, full, "fabric.rate=100Gbps", "workload.size=1MB", "classes.probe.ecnMin=0.3bdp",
		"protocols.0=probe", "faults=[]", "fabric.loss.links=", "seeds=7", "fabric.buffer.perSwitch=1MB")
	require.Equal(t, int64(100e9), s.Fabric.LineRateBps())
	require.Equal(t, "1MB", s.Workload.Params.Word("size"))
	require.Equal(t, "0.3bdp", s.Protocols[0].Class.Word("ecnMin"))
	require.Empty(t, s.Faults)
	require.Empty(t, s.Fabric.LinkLoss)
	require.Equal(t, []uint64{7}, s.Seeds.List)
	require.Equal(t, Buffer{PerSwitch: 1e6, Alpha: 2}, s.Fabric.Buffer)

	s = readOne(t, full, "workload={kind: incast, degree: 4}", `faults=[{at: 1us, kind: down, link: "h0-tor0"}]`, "protocols.2=probe")
	require.Equal(t, "incast", s.Workload.Kind)
	require.Equal(t, "h0-tor0", s.Faults[0].Link)
	require.Len(t, s.Protocols, 3)
}

func TestANetemBelongsToItsLinks(t *testing.T) {
	s := readOne(t, `
name: shaped
fabric: {topology: leafspine, hosts: 4, loss: {links: [{link: "leaf0-spine0", oneway: true, netem: "delay 2ms 100us drop 1%"}]}}
workload: {kind: permutation, size: 1KiB}
protocols: [uet]
`)
	const line = "delay 2ms 100us loss 1%"
	shaped := 0
	for _, l := range s.Fabric.Network.Links {
		if l.Netem != nil {
			shaped++
			require.Equal(t, line, l.Netem.String())
		}
	}
	require.Equal(t, 1, shaped)
	require.Contains(t, s.Show(), line)
}
