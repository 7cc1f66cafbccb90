package udp

import (
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/core"
)

// TestALoopThatWaitsForItsTurnYieldsNoMore has a goroutine compute where the loop lets others run.
func TestALoopThatWaitsForItsTurnYieldsNoMore(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	e := openRaw(t, "127.0.0.1", func(c *Config) { c.Inline = true }) // nobody drives while we hold the wheel
	e.wheel.Lock()
	defer e.wheel.Unlock()
	start := time.Now()
	for e.tick(); e.crowd.until == 0 && time.Since(start) < patience; e.yield() {
		go func() {
			for begun := time.Now(); time.Since(begun) < 2*soon; {
			}
		}()
	}
	until := e.crowd.until
	second := e.yield()
	e.crowd.until = 0
	third := e.yield()
	require.NotZero(t, until)
	require.False(t, second)
	require.True(t, third, "it tries again some day")
}

func TestACrowdIsLeftAloneForLongerEachTime(t *testing.T) {
	var w crowd
	for _, want := range []time.Duration{10, 20, 40, 80, 160, 320, 640, 1000, 1000} {
		w.waited(time.Second, soon+1)
		require.Equal(t, time.Second+want*time.Millisecond, w.until)
		for range calm - 1 {
			w.waited(2*time.Second, soon)
		}
	}
	for range calm {
		w.waited(2*time.Second, 0)
	}
	w.waited(3*time.Second, time.Minute)
	require.Equal(t, 3*time.Second+leastCrowded, w.until, "they were few for a while")
}

// A mute Stack has nothing to do.
type mute struct{}

func (mute) HandlePacket(core.Time, *core.Packet)             {}
func (mute) HandleTimeout(core.Time)                          {}
func (mute) Transmit(core.Time, core.Pull, *core.Packet) bool { return false }
func (mute) Deadline() core.Time                              { return core.Never }

// TestWhatIsAskedForAfterNewsIsToldOf: who is woken by notify may ask for something before the turn is over. If its event is there at
// once, notify is called again, though nothing else happens.
func TestWhatIsAskedForAfterNewsIsToldOf(t *testing.T) {
	c, err := Listen(Config{Local: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:0")}})
	require.NoError(t, err)
	require.NoError(t, c.mail.open()) // the test is the loop
	defer func() {
		close(c.done)
		require.NoError(t, c.Close())
	}()
	w := c.Waiter()
	var order []string
	ask := func(what string) {
		_, err := c.mail.post(func(core.Time) { order = append(order, what) }, func() {})
		require.NoError(t, err)
	}
	c.stack = mute{}
	c.notify = func(core.Time) {
		if order = append(order, "told"); len(order) == 2 {
			w.Wake()
			ask("second")
		}
	}
	ask("first")
	for range 3 {
		_, ok := c.take(false)
		require.True(t, ok)
	}
	require.Equal(t, []string{"first", "told", "second", "told"}, order)
}
