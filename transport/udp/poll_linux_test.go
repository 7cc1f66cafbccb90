package udp

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestPollerWakesForAllItsReasons(t *testing.T) {
	p, err := newPoller()
	require.NoError(t, err)
	defer p.close()

	p.wake()
	require.Empty(t, p.wait(-1), "woken before it slept")
	require.Empty(t, p.wait(time.Millisecond), "the time has come")

	var pair [2]int
	require.NoError(t, unix.Pipe2(pair[:], unix.O_NONBLOCK|unix.O_CLOEXEC))
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	require.NoError(t, p.add(pair[0], 7, false))
	_, err = unix.Write(pair[1], []byte{1})
	require.NoError(t, err)
	require.Empty(t, p.wait(time.Millisecond), "nobody watches")
	for range 3 { // readable until it is read, and told once a watch
		p.watch(pair[0], 7, true)
		ready := p.wait(-1)
		require.Len(t, ready, 1)
		require.EqualValues(t, 7, ready[0].Fd)
		require.Empty(t, p.wait(time.Millisecond))
	}

	done := make(chan struct{})
	var b [1]byte
	unix.Read(pair[0], b[:])
	go func() {
		defer close(done)
		p.wait(-1)
	}()
	p.wake()
	<-done
}
