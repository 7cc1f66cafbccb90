package udp

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/core"
)

// TestErrorsThatNoOffloadCauses has everything refused for a while, as a firewall and a blackhole do.
func TestErrorsThatNoOffloadCauses(t *testing.T) {
	for _, err := range []syscall.Errno{syscall.EPERM, syscall.ENOSYS, syscall.EINVAL, syscall.EIO} {
		a, b := openRaw(t, families[0], nil), openRaw(t, families[0], nil)
		refuse := func(err syscall.Errno) {
			require.NoError(t, a.Do(func(core.Time) { a.sys.(*linux).faults.all = err }))
		}
		refuse(err)
		a.post(t, b, make([]core.Packet, 5))
		until(t, func() bool { return a.stats(t).Drops[SendError] == 5 })
		refuse(0)
		a.carry(t, b, make([]core.Packet, 5))
		s := a.stats(t)
		require.True(t, s.GSO, err.Error())
		require.True(t, s.Batch, err.Error())
	}
}
