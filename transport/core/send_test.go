package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/wire"
)

func TestWindowHoldsBack(t *testing.T) {
	p := newPair(t, base(), nil)
	p.send(100 * 1024)
	p.cc[0][0].window = 10*1280 + 100
	p.A().refresh(1)
	p.launchAll(0)
	require.Equal(t, 10, p.dataNo[0])
	require.EqualValues(t, 10*5, p.A().contexts[1].inFlight)
	p.runDone(1)
	p.wantOne()
}

// launchAll takes whatever one end will send now, as fast as it gives it.
func (p *pair) launchAll(end int) {
	var out Packet
	for p.ends[end].Transmit(p.now, Pull{Open: AllClasses}, &out) {
		p.check(end, &out)
		p.free[end] = p.now + us
		p.fly(end, out)
	}
}

func TestWindowBelowOnePacketStillMoves(t *testing.T) {
	p := newPair(t, base(), nil)
	p.send(10 * 1024)
	p.cc[0][0].window = 1
	p.A().refresh(1)
	p.runDone(1)
	p.wantOne()
}

// paced returns when the packets of a message leave at 10 Gbit/s.
func paced(t *testing.T, c Config) (at []Time) {
	p := newPair(t, c, nil)
	p.fates = func(from int, out *Packet) fate {
		if isData(out) {
			at = append(at, p.now)
		}
		return fate{}
	}
	p.send(20 * 1024)
	p.cc[0][0].rate = 10e9
	p.A().refresh(1)
	p.runDone(1)
	p.wantOne()
	require.Len(t, at, 20)
	return at
}

func TestPacing(t *testing.T) {
	const gap = Time(1280*8) * 100 // picoseconds a bit at 10 Gbit/s
	for k, at := range paced(t, base()) {
		require.Equal(t, Time(k)*gap, at)
	}
	c := base()
	c.PacingSlack = gap * 7 / 2
	for k, at := range paced(t, c) {
		burst := Time(k/4*4) * gap
		require.GreaterOrEqual(t, at, burst, "packet %d", k)
		require.Less(t, at, burst+gap/2, "packet %d leaves with its burst, at the rate of the link", k)
	}
	require.Equal(t, Time(80), serialisation(1, 100e9))
	require.Equal(t, Time(1), serialisation(1, 1<<60))
	require.Equal(t, Never/2, serialisation(1<<40, 1))
}

func TestClosedClassesHoldBack(t *testing.T) {
	p := newPair(t, base(), nil)
	p.send(3 * 1024)
	var out Packet
	require.False(t, p.A().Transmit(0, Pull{Open: 1 << 1}, &out), "data is class 0")
	require.True(t, p.A().Transmit(0, Pull{Open: 1 << 0}, &out))
	p.B().HandlePacket(us, &out)
	require.False(t, p.B().Transmit(us, Pull{Open: 1 << 0}, &out), "control is class 1")
	require.True(t, p.B().Transmit(us, Pull{Open: 1 << 1}, &out))
	require.Equal(t, wire.TypeAckCC, typeOf(&out))
}

func TestControlBeforeRetransmissionBeforeNewData(t *testing.T) {
	p := newPair(t, trimming(), nil)
	p.send(1024)
	p.run()
	p.send(50 * 1024)
	p.launchAll(0)
	p.send(20 * 1024)
	pd := &p.A().pdcs[1]
	for n := range uint32(2) {
		p.inject(0, &wire.Nack{Code: wire.NackTrimmed, PSN: pd.una + 5 - n, SPDCID: pd.remote, DPDCID: 1})
	}
	p.inject(0, &wire.Control{Control: wire.ControlClearReq, SPDCID: pd.remote, DPDCID: 1})
	p.cc[0][0].window = 1 << 30
	p.A().refresh(1)
	require.Equal(t, wire.TypeControl, typeOf(p.answer(0)))
	for _, want := range []struct {
		psn  uint32
		retx bool
	}{{pd.una + 4, true}, {pd.una + 5, true}, {pd.una + 50, false}} {
		r, _ := wire.ParseRequest(p.answer(0).Header[:])
		require.Equal(t, want.psn, r.PSN)
		require.Equal(t, want.retx, r.Flags&wire.RequestRetx != 0)
	}
}

func TestPeersTakeTurns(t *testing.T) {
	c := base()
	c.Self = 1
	c.NewController = func(congestion.Path) congestion.Controller { return &fixedWindow{window: 5 * 1280} }
	e, err := New(c)
	require.NoError(t, err)
	for to := Addr(2); to < 6; to++ {
		require.NoError(t, e.Send(0, Message{To: to, Length: 100 * 1024}))
	}
	var out Packet
	for n := range 20 {
		require.True(t, e.Transmit(0, Pull{Open: AllClasses}, &out))
		require.Equal(t, Addr(2+n%4), out.To)
	}
	require.False(t, e.Transmit(0, Pull{Open: AllClasses}, &out), "all four windows are full")
}

func TestRunsShareAnEntropyValue(t *testing.T) {
	p := newPair(t, base(), nil)
	p.send(1024)
	p.run()
	p.spray[0][0].run = 4
	type seen struct {
		ev    uint16
		flags uint8
	}
	var all []seen
	p.fates = func(from int, out *Packet) fate {
		if from == 0 && isData(out) {
			all = append(all, seen{out.EV, out.Flags & (InRun | EndOfRun)})
		}
		return fate{}
	}
	p.send(10 * 1024)
	p.runDone(2)
	for n, s := range all {
		want := [...]uint8{0, InRun, InRun, InRun | EndOfRun}[n%4]
		require.Equal(t, want, s.flags, "packet %d", n)
		if n%4 > 0 {
			require.Equal(t, all[n-1].ev, s.ev)
		} else if n > 0 {
			require.NotEqual(t, all[n-1].ev, s.ev)
		}
	}
}

// Sender and receiver book the same rounded nominal size, so that the window neither leaks nor
// grows: "UDP length + 40", rounded up to 256 bytes.
func TestNominalSizesAgree(t *testing.T) {
	for _, c := range []struct {
		mtu, overhead int
		nominal       int64
		size          uint64
		full, last    int64 // bytes of a full packet and of the last
	}{
		{4096, 0, 0, 4096*3 + 1, 4352, 256},
		{4086, 0, 4150, 4086 * 4, 4150, 4150},  // an htsim packet of 4150 bytes
		{4086, 0, 4150, 4086*4 + 1, 4150, 244}, // 1 of 17 units
		{1024, -1, 0, 1024 * 3, 1280, 1280},
		{1024, 200, 0, 1024 * 3, 1536, 1536},
	} {
		cfg := base()
		cfg.PayloadMTU, cfg.NominalOverhead, cfg.NominalMTU = c.mtu, c.overhead, c.nominal
		var mtu int64
		p := newPair(t, cfg, nil)
		inner := p.A().cfg.NewController
		p.A().cfg.NewController = func(path congestion.Path) congestion.Controller { mtu = path.MTU; return inner(path) }
		p.send(c.size)
		p.launchAll(0)
		require.Equal(t, c.full, mtu)
		n := int64(p.dataNo[0])
		require.InDelta(t, float64((n-1)*c.full+c.last), float64(p.A().bytes(p.A().contexts[1].inFlight)), 1)
		p.runDone(1)
		p.wantOne()
		require.Zero(t, p.A().drift)
		delivered := int64(0)
		for _, a := range p.cc[0][0].acks {
			delivered += a.Delivered
		}
		require.InDelta(t, float64((n-1)*c.full+c.last), float64(delivered), 3)
	}
}

func TestEmptyMessage(t *testing.T) {
	p := newPair(t, base(), nil)
	p.send(0)
	p.runDone(1)
	p.wantOne()
	require.Equal(t, 1, p.dataNo[0])
}

func TestSendRefusesMistakes(t *testing.T) {
	c := base()
	c.Hosts = 3
	p := newPair(t, c, nil)
	p.A().Register(make([]byte, 100))
	for _, m := range []struct {
		m    Message
		want error
	}{
		{Message{To: 1}, ErrSelf},
		{Message{To: 3}, ErrHost},
		{Message{To: 2, Length: 1<<32 - 1}, ErrTooLong},
		{Message{To: 2, Mode: 4}, ErrMode},
		{Message{To: 2, Buffer: 2, Length: 1}, ErrBuffer},
		{Message{To: 2, Buffer: 1, Length: 101}, ErrBuffer},
		{Message{To: 2, Buffer: 1, Offset: 1<<64 - 1, Length: 2}, ErrBuffer},
	} {
		require.ErrorIs(t, p.A().Send(0, m.m), m.want)
	}
	require.NoError(t, p.A().Send(0, Message{To: 2, Buffer: 1, Offset: 50, Length: 50}))
	require.Len(t, p.A().messages, 2)
}

func TestConfigErrorsNameTheField(t *testing.T) {
	for field, change := range map[string]func(*Config){
		"PayloadMTU":      func(c *Config) { c.PayloadMTU = 20000 },
		"MPR":             func(c *Config) { c.MPR = 256 },
		"RTO.Init":        func(c *Config) { c.RTO.Init = -1 },
		"Self":            func(c *Config) { c.Hosts, c.Self = 4, 4 },
		"FastLoss.Factor": func(c *Config) { c.FastLoss.Factor = -1 },
		"MaxTargets":      func(c *Config) { c.MaxTargets = 40000 },
		"LineRateBps":     func(c *Config) { c.LineRateBps = -1 },
	} {
		c := Config{}
		require.NoError(t, c.Validate())
		change(&c)
		_, err := New(c)
		require.ErrorContains(t, err, "core.Config."+field)
	}
}

func TestZeroConfigIsTheSpecification(t *testing.T) {
	c := Config{}.withDefaults()
	require.Equal(t, 4096, c.PayloadMTU)
	require.Equal(t, ACKConfig{Trigger: 16384, MinAdd: 1024}, c.ACK)
	require.Equal(t, instant.Millisecond, c.RTO.Init)
	require.Equal(t, 5, c.RTO.MaxRetries)
	require.Equal(t, 8, c.MPR)
	require.NotNil(t, c.NewController(congestion.Path{LineRateBps: 100e9, BaseRTT: 12 * us, MTU: 4352, MSS: 4096}))
}

// An endpoint that has nothing to do costs a few KB, also after it was busy.
func TestIdleEndpointIsSmall(t *testing.T) {
	p := newPair(t, base(), nil)
	p.send(8 << 20)
	p.cc[0][0].window = 1 << 30
	p.cc[0][0].keep, p.spray[0][0].keep = false, false
	p.A().refresh(1)
	p.runDone(1)
	for end, e := range p.ends {
		size := len(e.contexts)*160 + len(e.pdcs)*256 + len(e.messages)*112 + len(e.sent)*24 + (len(e.got)+len(e.lostMap)+len(e.arrived))*8 +
			len(e.targets)*144 + len(e.inbound)*32 + len(e.control.ring)*48 + len(e.events.ring)*80 + cap(e.timers)*16
		require.Less(t, size, 6000, "end %d", end)
		require.Zero(t, e.sendRoom.used)
	}
	require.Greater(t, p.A().Counters().SentData, uint64(8000))
}

// alarm is a controller that opens its window on its own timer.
type alarm struct {
	fixedWindow
	due   Time
	fired int
}

func (a *alarm) Deadline() Time { return a.due }
func (a *alarm) OnTimeout(now Time) {
	a.fired++
	a.window += 1280
	if a.due = now + 3*us; a.fired == 20 {
		a.due = Never
	}
}

func TestControllersHaveTimers(t *testing.T) {
	c := base()
	a := &alarm{due: 2 * us}
	c.NewController = func(congestion.Path) congestion.Controller { return a }
	p := newPair(t, c, nil)
	p.fates = func(from int, out *Packet) fate { return fate{drop: from == 1} } // no ACK opens the window
	p.send(15 * 1024)
	p.runFor(70 * us)
	require.Equal(t, 20, a.fired)
	require.Equal(t, 15, p.dataNo[0], "the timer's window lets them go")
}

func TestMessageIDsWrapAndAreNeverZero(t *testing.T) {
	p, pd, _ := opened(t, base())
	pd.messageID = 1<<16 - 2
	ids := map[uint16]bool{}
	p.fates = func(from int, out *Packet) fate {
		if isData(out) {
			_, _, id, _ := wire.PeekSES(out.Header[wire.RequestSize:])
			ids[id] = true
		}
		return fate{}
	}
	for range 3 {
		p.send(2000)
	}
	p.run()
	require.Equal(t, map[uint16]bool{1<<16 - 1: true, 1: true, 2: true}, ids)
}
