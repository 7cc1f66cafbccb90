package netns

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/weft-transport/weft/transport/instant"
)

// Who may not make namespaces hears which capability is missing, before anything is done.
func TestMissingCapabilitiesAreNamed(t *testing.T) {
	p, err := NewPlan(network(t, 4, 1e9, instant.Microsecond), Options{Name: "caps"})
	require.NoError(t, err)
	hosts, err := NewHosts(network(t, 4, 1e9, instant.Microsecond), "caps")
	require.NoError(t, err)

	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var before, without [2]unix.CapUserData
	require.NoError(t, unix.Capget(&header, &before[0]))
	without = before
	without[0].Effective &^= 1<<unix.CAP_NET_ADMIN | 1<<unix.CAP_SYS_ADMIN
	require.NoError(t, unix.Capset(&header, &without[0]))
	defer func() { require.NoError(t, unix.Capset(&header, &before[0])) }()
	for _, plan := range []*Plan{p, hosts} {
		require.ErrorContains(t, plan.Probe(t.Context()), "this process lacks CAP_NET_ADMIN and CAP_SYS_ADMIN (weft emulate relay takes none)")
	}
	require.ErrorContains(t, privileged("x"), "netns: x takes root")
}
