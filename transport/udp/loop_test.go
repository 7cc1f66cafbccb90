package udp

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestALoopThatWaitsForItsTurnYieldsNoMore has a goroutine compute where the loop lets others run.
func TestALoopThatWaitsForItsTurnYieldsNoMore(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	e := openRaw(t, "127.0.0.1", func(c *Config) { c.Inline = true }) // nobody drives while we hold the wheel
	e.wheel.Lock()
	defer e.wheel.Unlock()
	start := time.Now()
	for e.tick(); e.hurries == 0 && time.Since(start) < patience; e.yield() {
		go func() {
			for begun := time.Now(); time.Since(begun) < 2*soon; {
			}
		}()
	}
	hurries := e.hurries
	second := e.yield()
	e.hurries = 0
	third := e.yield()
	require.NotZero(t, hurries)
	require.False(t, second)
	require.True(t, third, "it tries again some day")
}
