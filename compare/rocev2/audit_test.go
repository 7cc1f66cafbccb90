package rocev2

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Each rule of Audit notices when it is broken.
func TestAudit(t *testing.T) {
	for want, spoil := range map[string]func(*Host){
		"payloads arrived at a place not theirs":    func(h *Host) { h.misfits = 1 },
		"1 sequence errors reported for 0 gaps":     func(h *Host) { h.naks = 1 },
		"PSNs out of order":                         func(h *Host) { h.qps[1].next = h.qps[1].high.Add(1) },
		"bytes booked as in flight":                 func(h *Host) { h.qps[1].inFlight++ },
		"no timer runs":                             func(h *Host) { h.qps[1].timer = never },
		"the end of a message was not acknowledged": func(h *Host) { h.qps[1].since = 1 },
	} {
		n := newNet(t, 2, testConfig())
		n.write(3 * testMTU)
		n.run(us)
		h := n.hosts[0]
		require.NoError(t, h.Audit())
		spoil(h)
		require.ErrorContains(t, h.Audit(), want)
	}
	n := newNet(t, 2, testConfig())
	n.write(1)
	n.finish(1)
	n.hosts[0].qps[1].timer = 0
	require.ErrorContains(t, n.hosts[0].Audit(), "queue pair 0 to host 2: a timer runs")
}
