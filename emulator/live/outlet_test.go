package live

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// narrow takes so many datagrams at a time, and more from who waits until it is open.
type narrow struct {
	room    int
	refuses byte // datagrams that begin so
	begun   chan struct{}
	open    chan struct{}

	mu    sync.Mutex
	taken []byte
}

func (n *narrow) try(all []leaving) (done, refused int) { return n.put(all[:min(len(all), n.room)]) }

func (n *narrow) put(all []leaving) (done, refused int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range all {
		if b := l.parcel.bytes[0]; b == n.refuses {
			refused++
		} else {
			n.taken = append(n.taken, b)
		}
	}
	return len(all), refused
}

func (n *narrow) write(all []leaving) int {
	n.begun <- struct{}{}
	<-n.open
	_, refused := n.put(all)
	return refused
}

func TestAnOutletWaitsWhereTheLoopDoesNot(t *testing.T) {
	f, err := assemble(Config{Network: network(t, "single", slowLink), ReceiveBuffer: 5})
	require.NoError(t, err)
	defer f.sleep.close()
	var all sync.WaitGroup
	var lost atomic.Int64
	sink := &narrow{room: 2, refuses: 3, begun: make(chan struct{}, 9), open: make(chan struct{})}
	o := &outlet{fabric: f, sink: sink, refused: func(n int) { lost.Add(int64(n)) }, all: &all}
	c, err := f.listen(1, 0, o, nil)
	require.NoError(t, err)
	deliver := func(b byte) bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		p := f.newParcel(1)
		p.bytes[0] = b
		return c.receive(p)
	}
	flush := func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		require.Contains(t, f.full, o)
		f.full = f.full[:0]
		o.flush()
	}
	for b := range byte(4) {
		require.True(t, deliver(b))
	}
	flush()
	require.Equal(t, []byte{0, 1}, sink.taken)
	for b := byte(4); b < 7; b++ {
		require.True(t, deliver(b), "three places are free again")
	}
	require.False(t, deliver(7), "five wait")
	<-sink.begun
	f.full = []flusher{o}
	flush()
	require.Len(t, sink.taken, 2, "the loop does not write before those that wait")
	close(sink.open)
	all.Wait()
	require.Equal(t, []byte{0, 1, 2, 4, 5, 6}, sink.taken, "in their order, however they went")
	require.EqualValues(t, 1, lost.Load())
	require.True(t, deliver(8))
	flush()
	require.Equal(t, byte(8), sink.taken[6], "and the loop writes again")

	sink.open, sink.begun = make(chan struct{}), make(chan struct{}, 9)
	for b := range byte(3) {
		require.True(t, deliver(b))
	}
	flush()
	<-sink.begun
	require.True(t, deliver(9))
	o.close()
	close(sink.open)
	all.Wait()
	require.EqualValues(t, 2, lost.Load(), "what nobody had begun to write is lost, and counted")
	require.False(t, deliver(10))
	require.Zero(t, c.held.Load())
}
