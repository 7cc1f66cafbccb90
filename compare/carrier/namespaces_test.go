package carrier_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/carrier"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/emulator/netns"
)

// needNamespaces skips where hosts may not have namespaces and TUN devices.
func needNamespaces(t *testing.T) {
	t.Helper()
	build, _, err := emulator.Topologies.Make("single", nil)
	require.NoError(t, err)
	network, err := build(emulator.Spec{Hosts: 2, RateBps: 1e8})
	require.NoError(t, err)
	plan, err := netns.NewHosts(network, "probe")
	require.NoError(t, err)
	if err := plan.Probe(t.Context()); err != nil {
		t.Skipf("no namespaces with TUN devices here: %v", err)
	}
}

// nothingLeft holds that no namespace of this process is there.
func nothingLeft(t *testing.T) {
	t.Helper()
	left, err := filepath.Glob(fmt.Sprintf("/run/netns/wc%d.*", os.Getpid()))
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestQUICInProcess: quic-go in process, which takes no privilege.
func TestQUICInProcess(t *testing.T) {
	set := setting(t, small, "quic")
	c := &carrier.Carrier{Kind: carrier.Live, Dilation: 1}
	r := play(t, c, set)[0]
	complete(t, r, 4, 4*100<<10)
	require.Positive(t, r.Run.RealTime.Validity.Datagrams)
	require.Positive(t, r.Run.PacketsSent)
}

// TestNamespaces: all protocols over the kernel's sockets, under losses and with a queue that overflows.
func TestNamespaces(t *testing.T) {
	needNamespaces(t)
	lossy := small + "---\nbase: small\nname: lossy\nfabric: {loss: {random: 1%}}\nworkload: {kind: incast, degree: 3, size: 50KiB}\n"
	for _, c := range []struct {
		kind, protocols string
	}{
		{carrier.Live, "tcp,congestion=cubic"},
		{carrier.Netns, "uet,retries=-1,rocev2,retries=-1,quic,tcp,congestion=reno,ecn=true"},
	} {
		set := settingOf(t, lossy, 1, c.protocols)
		for _, r := range play(t, &carrier.Carrier{Kind: c.kind, Dilation: 1}, set) {
			complete(t, r, 3, 3*50<<10)
			require.Equal(t, c.kind, r.Run.RealTime.Carrier)
			require.Contains(t, r.Run.RealTime.Path, "kernel")
			require.Positive(t, r.Run.PacketsSent)
			require.Positive(t, r.Run.DataPacketsSent)
			if c.kind == carrier.Netns {
				require.Contains(t, strings.Join(r.Run.RealTime.Notes, "\n"), "links in user space, because namespaces play no losses that are not netem's")
			}
		}
		nothingLeft(t)
	}
}

// TestInterruptedNamespaces: nothing is left of them.
func TestInterruptedNamespaces(t *testing.T) {
	needNamespaces(t)
	set := setting(t, small, "tcp")
	for _, after := range []time.Duration{0, 50 * time.Millisecond, 2 * time.Second} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(after, cancel)
		c := &carrier.Carrier{Kind: carrier.Live, Dilation: 1e4} // it would take hours
		_, err := c.Run(ctx, set, &set.Scenario.Protocols[0], 1, runner.Options{})
		require.Error(t, err)
		nothingLeft(t)
	}
}

// TestCongestionOfTheKernel: what it has not is refused with what it has.
func TestCongestionOfTheKernel(t *testing.T) {
	if _, err := os.Stat("/proc/sys/net/ipv4/tcp_available_congestion_control"); err != nil {
		t.Skip("this kernel does not say what it has")
	}
	set := setting(t, small, "tcp,congestion=hope")
	c := &carrier.Carrier{Kind: carrier.Live, Dilation: 1}
	require.ErrorContains(t, c.Fits(t.Context(), set), "congestion=hope: this kernel has ")
}

// TestKernelLinks: where no link has a delay, rates are all that tc is asked for, which most kernels have.
func TestKernelLinks(t *testing.T) {
	needNamespaces(t)
	kernel := small + "---\nbase: small\nname: kernel\nfabric: {linkDelay: 5us}\nworkload: {kind: permutation, size: 50KiB}\n"
	set := settingOf(t, kernel, 1, "tcp,class.queue=64KiB,uet,retries=-1,class.trim=false,class.ecnMin=0,class.ecnMax=0,class.queue=64KiB")
	plan, err := netns.NewPlan(set.Scenario.Fabric.Network, netns.Options{Name: "probe", Shape: true})
	require.NoError(t, err)
	if err := plan.Probe(t.Context()); err != nil {
		t.Skipf("this kernel does not play links: %v", err)
	}
	c := &carrier.Carrier{Kind: carrier.Netns, Dilation: 1}
	require.NoError(t, c.Fits(t.Context(), set))
	for _, r := range play(t, c, set) {
		require.Equal(t, 4, r.Run.Finished)
		require.EqualValues(t, 4*50<<10, r.Run.BytesDelivered)
		require.Equal(t, "veth and tc of this kernel", r.Run.RealTime.Path)
		require.Nil(t, r.Run.RealTime.Validity, "nobody knows")
		require.GreaterOrEqual(t, r.Run.LinkTransmissions, r.Run.DataPacketsSent)
	}
	nothingLeft(t)
}

// TestNoTelemetryOverSockets: what a protocol cannot have there is refused before anything is brought up.
func TestNoTelemetryOverSockets(t *testing.T) {
	set := setting(t, small, "uet,congestion=hpcc")
	require.NoError(t, (&carrier.Carrier{Kind: carrier.Live, Dilation: 1}).Fits(t.Context(), set))
	require.ErrorContains(t, (&carrier.Carrier{Kind: carrier.Netns, Dilation: 1}).Fits(t.Context(), set), "a host behind sockets: the congestion controller works from in-band telemetry")
}
