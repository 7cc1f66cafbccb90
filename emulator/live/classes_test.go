package live

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// standing is a fabric whose clock the test moves.
func standing(t *testing.T, c Config) (f *Fabric, move func(to Time)) {
	f, err := assemble(c)
	require.NoError(t, err)
	t.Cleanup(f.sleep.close)
	f.begin = time.Now().Add(time.Hour) // what is written enters at once: the wall's clock is behind
	return f, func(to Time) {
		for next := Time(0); next <= to; {
			var ok bool
			next, ok = f.turn(func() Time { return min(to, max(next, f.net.Now())) })
			require.True(t, ok, f.failed)
			if next == instant.Never {
				return
			}
		}
	}
}

// listen opens sockets: of each host asked for, on port 1.
func listen(t *testing.T, f *Fabric, hosts ...int) (all []*Conn) {
	for _, h := range hosts {
		c, err := f.ListenPacket(h, 1)
		require.NoError(t, err)
		all = append(all, c)
	}
	return all
}

// send writes datagrams of 1000 bytes, which begin with a mark.
func send(t *testing.T, from, to *Conn, dscp uint8, count int, mark byte) {
	require.NoError(t, from.SetDSCP(dscp))
	b := make([]byte, 1000)
	b[0] = mark
	for range count {
		_, err := from.WriteTo(b, to.LocalAddr())
		require.NoError(t, err)
	}
}

// got returns the marks of what was received.
func got(t *testing.T, c *Conn) (marks string) {
	for {
		p, err := c.pop()
		require.NoError(t, err)
		if p == nil {
			return marks
		}
		marks += string(p.bytes[:1])
	}
}

var slowest = emulator.Spec{Hosts: 3, RateBps: 10e6, LinkDelay: instant.Microsecond}

func twoClasses() []emulator.Class {
	return []emulator.Class{{Name: "data", QueueBytes: 1 << 20}, {Name: "urgent", QueueBytes: 1 << 20, Priority: 1}}
}

// What a code point says decides about class, and so about the order at host and switch.
func TestUrgentDatagramsOvertake(t *testing.T) {
	f, move := standing(t, Config{Network: network(t, "single", slowest), Fabric: emulator.Config{Classes: twoClasses()}})
	c := listen(t, f, 0, 1, 2)
	seen := map[uint8]int{}
	f.net.Tap(func(_ Time, s *emulator.Sighting) {
		if s.What == emulator.Sent {
			seen[uint8(s.Class)]++
		}
	})
	send(t, c[0], c[1], 0, 10, 'd')
	send(t, c[0], c[1], 10, 1, 'd') // no class of its own
	send(t, c[0], c[1], 46, 2, 'u')
	move(instant.Second)
	require.Equal(t, "duudddddddddd", got(t, c[1]), "at the host, behind the one that is being sent")
	require.Equal(t, map[uint8]int{0: 11, 1: 2}, seen)

	send(t, c[0], c[2], 0, 10, 'd')
	send(t, c[1], c[2], 0, 10, 'd')
	move(f.net.Now() + 8*instant.Millisecond) // a queue in front of the last link
	send(t, c[0], c[2], 46, 1, 'u')
	move(f.net.Now() + instant.Second)
	marks := got(t, c[2])
	require.Len(t, marks, 21)
	require.Less(t, indexOf(marks, 'u'), 19, "at the switch")
	last := f.cfg.Network.LinkNamed("switch0-h2")
	require.Greater(t, f.net.Class(last, 0).MaxQueue, int64(5000))
	require.Less(t, f.net.Class(last, 1).MaxQueue, int64(2*1066+1))
	require.NoError(t, f.net.Audit())
}

func indexOf(s string, mark rune) int {
	for i, m := range s {
		if m == mark {
			return i
		}
	}
	return len(s)
}

// A table sends every code point where it says, and equals share by weight.
func TestTablesAndWeights(t *testing.T) {
	classes := []emulator.Class{{QueueBytes: 1 << 20}, {QueueBytes: 1 << 20, Weight: 3}, {QueueBytes: 1 << 20, Priority: -1}}
	table := ClassTable{8: 1, 1: 2}
	f, move := standing(t, Config{Network: network(t, "single", slowest), Fabric: emulator.Config{Classes: classes}, ClassOf: &table})
	c := listen(t, f, 0, 1)
	send(t, c[0], c[1], 1, 5, 'z')
	send(t, c[0], c[1], 46, 40, 'a') // the first class: the table does not name it
	send(t, c[0], c[1], 8, 40, 'b')
	move(instant.Second)
	marks := got(t, c[1])
	require.Len(t, marks, 85)
	heavy := 0
	for _, m := range marks[1:41] {
		if m == 'b' {
			heavy++
		}
	}
	require.InDelta(t, 30, heavy, 2, marks)
	require.Equal(t, "z", marks[:1], "the link was idle")
	require.Equal(t, "zzzz", marks[81:])
}

// A paused class stops at the host, and no other with it; nothing is lost.
func TestPausesHoldTheirClassAlone(t *testing.T) {
	classes := twoClasses()
	classes[0] = emulator.Class{Name: "data", FlowControl: emulator.PFC, XOFF: 5000, XON: 2000}
	classes[1].Priority = 0
	f, move := standing(t, Config{Network: network(t, "single", slowest),
		Fabric: emulator.Config{Classes: classes, BufferBytes: 1 << 20, MaxWireBytes: 1500, Check: true}})
	c := listen(t, f, 0, 1, 2)
	send(t, c[0], c[2], 0, 60, 'd')
	send(t, c[1], c[2], 0, 60, 'd')
	move(40 * instant.Millisecond)
	up := f.cfg.Network.LinkNamed("h0-switch0")
	require.NotZero(t, f.net.Class(up, 0).Paused)
	send(t, c[0], c[1], 46, 5, 'u')
	move(f.net.Now() + 20*instant.Millisecond) // of which five take four and a half
	require.Equal(t, "uuuuu", got(t, c[1]))
	require.Less(t, len(got(t, c[2])), 100, "the others are not there yet")
	move(f.net.Now() + instant.Second)
	require.Zero(t, f.net.Class(up, 1).Paused)
	require.Zero(t, f.net.Totals().Dropped[emulator.DropQueue])
	require.EqualValues(t, 125, f.net.Totals().Delivered)
}

// The room of a class that is used up keeps the writers of others from nothing.
func TestWritersWaitForTheirClassAlone(t *testing.T) {
	f, move := standing(t, Config{Network: network(t, "single", slowest), SendBuffer: 2000, Fabric: emulator.Config{Classes: twoClasses()}})
	c := listen(t, f, 0, 1)
	send(t, c[0], c[1], 0, 2, 'd')
	require.NoError(t, c[0].SetWriteDeadline(time.Now().Add(-time.Second)))
	_, err := c[0].WriteTo([]byte("d"), c[1].LocalAddr())
	require.ErrorIs(t, err, errDeadline)
	require.NoError(t, c[0].SetWriteDeadline(time.Now().Add(20*time.Second)))
	send(t, c[0], c[1], 46, 2, 'u')
	move(instant.Second)
	require.Equal(t, "duud", got(t, c[1]))
	send(t, c[0], c[1], 0, 2, 'd')
}

// Queues drop by class.
func TestClassesDropWhatIsTheirs(t *testing.T) {
	classes := twoClasses()
	classes[0].QueueBytes = 5000
	f, move := standing(t, Config{Network: network(t, "single", slowest), Fabric: emulator.Config{Classes: classes}})
	c := listen(t, f, 0, 1, 2)
	for _, from := range c[:2] {
		send(t, from, c[2], 0, 30, 'd')
		send(t, from, c[2], 46, 30, 'u')
	}
	move(instant.Second)
	last := f.cfg.Network.LinkNamed("switch0-h2")
	require.NotZero(t, f.net.Class(last, 0).Dropped)
	require.Equal(t, f.net.Port(last).Dropped[emulator.DropQueue], f.net.Class(last, 0).Dropped)
	require.Zero(t, f.net.Class(last, 1).Dropped)
}

// IP packets of Conns carry the code point.
func TestIPPacketsCarryTheDSCP(t *testing.T) {
	f, move := standing(t, Config{Network: network(t, "single", slowest), Fabric: emulator.Config{Classes: twoClasses()}})
	c := listen(t, f, 0, 1)
	var tos byte
	f.net.Tap(func(_ Time, s *emulator.Sighting) {
		tos = f.AppendIP(nil, s.Packet)[1]
	})
	c[0].SetECN(core.ECT0)
	send(t, c[0], c[1], 46, 1, 'u')
	move(instant.Second)
	require.EqualValues(t, 46<<2|2, tos)
}

func TestBadClassesAreRefused(t *testing.T) {
	n := network(t, "single", slowest)
	for _, x := range []struct {
		c   Config
		why string
	}{
		{Config{ClassOf: &ClassTable{46: 1}}, "live: Config.ClassOf: DSCP 46 is in class 1; expected 0 to 0, an index of Config.Fabric.Classes"},
		{Config{Fabric: emulator.Config{Classes: twoClasses()}, ClassOf: &ClassTable{9: 7}}, "live: Config.ClassOf: DSCP 9 is in class 7; expected 0 to 1, an index of Config.Fabric.Classes"},
		{Config{Fabric: emulator.Config{Classes: make([]emulator.Class, 9)}}, "a fabric has 1 to 8 classes, not 9"},
	} {
		x.c.Network = n
		_, err := New(x.c)
		require.EqualError(t, err, x.why)
	}
	f, _ := standing(t, Config{Network: n})
	require.ErrorContains(t, listen(t, f, 0)[0].SetDSCP(64), "a DSCP of 64; expected 0 to 63")
}
