package carrier

import (
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/weft-transport/weft/compare/protocols"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/udp"
)

// TestClassesOfPrograms: control packets of our hosts over sockets are in the class that they are in in virtual time, and all else
// in that of data.
func TestClassesOfPrograms(t *testing.T) {
	all, err := scenario.Read("x.yaml", []byte("name: x\nfabric: {topology: single, hosts: 2, rate: 10Mbps, buffer: {perSwitch: 1MB}}\nworkload: {kind: permutation, size: 1KiB}\n"),
		scenario.Options{Protocols: "uet,rocev2,class.flowControl=pfc,tcp"})
	require.NoError(t, err)
	set, err := runner.NewSetting(all[0])
	require.NoError(t, err)
	for i, points := range []struct{ data, control uint8 }{{0, 46}, {26, 48}, {0, 64}} {
		e := &set.Scenario.Protocols[i]
		seeds := set.Scenario.Fixed.Derive(1)
		c, err := (&Carrier{Kind: Netns, Dilation: 1}).ipConfig(set, e, seeds)
		require.NoError(t, err)
		env := set.Env(e, seeds, nil)
		for dscp, class := range c.ClassOf {
			want := env.Data
			if dscp == int(points.control) {
				want = env.Control
			}
			require.Equal(t, want, class, "%s, DSCP %d", e.Label, dscp)
		}
		require.Equal(t, "control", c.Fabric.Classes[env.Control].Name)
		require.Greater(t, c.Fabric.Classes[env.Control].Priority, c.Fabric.Classes[env.Data].Priority)
		require.Equal(t, i == 1, c.Fabric.Classes[env.Data].FlowControl != 0)
		if i == 2 {
			continue // the kernel's own sockets
		}
		sent := udp.Config{DSCP: codePoints(e, env)}
		require.Equal(t, points.data, sent.DSCP[env.Data])
		require.Equal(t, points.control, sent.DSCP[env.Control])
		require.Equal(t, core.Class(2), c.ClassOf[sent.DSCP[env.Data]])
	}
}
