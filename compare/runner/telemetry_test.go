package runner_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/emulator"
)

// HPCC alone on its path settles where the fullest link is used to eta = 95 %. That is counted on the wire, telemetry
// included: the last of three switches sends three reports of 8 bytes in each packet. The additive step is 0.04 % of the
// line rate, and the queue never holds more than the window it starts with.
func TestHPCCAloneUsesEtaOfTheLink(t *testing.T) {
	const packets = 10_000
	r := play(t, "topology: leafspine, leaves: 2, hosts: 8", "kind: pair, size: 40960000",
		"uet,congestion=hpcc,spray=ecmp,ackPerPacket=true,class.flowControl=pfc,class.trim=false,class.queue=0,class.ecnMin=0,class.ecnMax=0")
	ideal := float64(packets) * float64(wire(uetHeaders+3*emulator.HopBytes, payload)) / 0.95 / 1000
	require.InEpsilon(t, ideal, *r.Run.FCT.Mean, 0.01)
	require.Less(t, r.Run.QueueBytes.Max, float64(10*4300), "next to nothing waits")
}

// One packet there and its acknowledgement back over four links: the packet is 0, 8, 16 and 24 bytes longer, the
// acknowledgement 24 on each, at 80 ps a byte.
func TestTelemetryIsPaidFor(t *testing.T) {
	fct := func(spec string) float64 {
		return *play(t, "topology: leafspine, leaves: 2, hosts: 8", "kind: pair, size: 4096", "uet,congestion=fixed,spray=ecmp,"+spec).Run.FCT.Mean
	}
	require.InDelta(t, float64(8+16+24+4*24)*0.08, fct("class.telemetry=true")-fct("class.telemetry=false"), 0.001)
}
