package rocev2

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/core"
)

// A fakeControl has the rate and window that a test gives it, and remembers what it was told.
type fakeControl struct {
	rate, window int64
	due          Time
	sent         int64
	flight       int64 // the largest
	delivered    int64
	samples      []Time
	signals      []congestion.Signal
	timeouts     int
	onCNP        func(*fakeControl)
	onTimeout    func(*fakeControl, Time)
}

func (f *fakeControl) OnSent(_ Time, bytes, inFlight int64) {
	f.sent += bytes
	f.flight = max(f.flight, inFlight)
}

func (f *fakeControl) OnAck(_ Time, a congestion.Ack) {
	f.delivered += a.Delivered
	if a.RTT != congestion.NoSample {
		f.samples = append(f.samples, a.RTT)
	}
}

func (f *fakeControl) OnSignal(_ Time, s congestion.Signal) {
	f.signals = append(f.signals, s)
	if s.Cause == congestion.CNP && f.onCNP != nil {
		f.onCNP(f)
	}
}

func (f *fakeControl) OnTimeout(now Time) {
	f.timeouts++
	f.due = never
	if f.onTimeout != nil {
		f.onTimeout(f, now)
	}
}

func (f *fakeControl) Deadline() Time { return f.due }
func (f *fakeControl) Window() int64  { return f.window }
func (f *fakeControl) Rate() int64    { return f.rate }

// controlled returns a config whose queue pairs use f.
func controlled(c Config, f *fakeControl) Config {
	if f.due == 0 {
		f.due = never
	}
	if f.window == 0 {
		f.window = 1 << 40
	}
	c.Make = func(congestion.Path) congestion.Controller { return f }
	return c
}

// markData marks every data packet.
func markData(_ *core.Packet, h *wire.Header) fate { return fate{mark: h.Opcode.IsRequest()} }

// CNPs answer marked packets, with at least the interval between them.
func TestCNPSpacing(t *testing.T) {
	for _, interval := range []Time{4 * us, 50 * us, never} {
		c := testConfig()
		c.CNPInterval = interval
		f := &fakeControl{}
		n := newNet(t, 2, controlled(c, f))
		n.fate = markData
		var at []Time
		n.seen = func(now Time, p *core.Packet, h *wire.Header) {
			if h.Opcode == wire.CongestionNotification {
				at = append(at, now)
				require.Equal(t, wire.CNP(n.hosts[1].qps[1].destQPN), *h)
				require.Equal(t, ctlCl, p.Class)
				require.Equal(t, core.NotECT, p.ECN)
				require.Zero(t, p.Payload.Length)
			}
		}
		n.write(2000 * testMTU) // 177 us
		n.finish(1)
		if interval == never {
			require.Empty(t, at)
			continue
		}
		for k := 1; k < len(at); k++ {
			require.GreaterOrEqual(t, at[k]-at[k-1], interval)
			require.Less(t, at[k]-at[k-1], interval+us)
		}
		require.InDelta(t, float64(177*us)/float64(interval+45*ns), len(at), 1.5)
		require.Equal(t, uint64(len(at)), n.hosts[1].Counters().CNPsSent)
		require.Equal(t, uint64(len(at)), n.hosts[0].Counters().CNPsReceived)
		require.Len(t, f.signals, len(at))
		require.Equal(t, congestion.CNP, f.signals[0].Cause)
		require.Positive(t, f.signals[0].InFlight)
	}
}

// Each queue pair has its own interval.
func TestCNPPerQueuePair(t *testing.T) {
	c := testConfig()
	c.QPs, c.CNPInterval = 4, 100*us
	n := newNet(t, 2, c)
	n.fate = markData
	n.write(100 * testMTU)
	n.finish(1)
	require.Equal(t, uint64(4), n.hosts[1].Counters().CNPsSent)
}

// Marks on packets that are thrown away, or came before, count too.
func TestCNPWhateverBecomesOfThePacket(t *testing.T) {
	c := testConfig()
	c.CNPInterval = 1
	n := newNet(t, 2, c)
	count := 0
	n.fate = func(_ *core.Packet, h *wire.Header) (f fate) {
		if h.Opcode.IsRequest() {
			count++
			f.drop = count == 1
			f.mark = count > 1 && count <= 5
		}
		return f
	}
	n.write(5 * testMTU)
	n.finish(1)
	require.Equal(t, uint64(4), n.hosts[1].Counters().CNPsSent)
	require.Equal(t, uint64(4), n.hosts[1].Counters().Discarded)
}

// The option of some NICs: every NAK makes a CNP, without any mark and whatever the interval.
func TestCNPWithNAK(t *testing.T) {
	for _, on := range []bool{true, false} {
		c := testConfig()
		c.CNPOnNAK, c.CNPInterval = on, 100*instantMs
		n := newNet(t, 2, c)
		n.fate = dropData(10, 300)
		n.write(500 * testMTU)
		n.finish(1)
		got := n.hosts[1].Counters()
		require.Equal(t, uint64(2), got.NacksSent)
		want := uint64(0)
		if on {
			want = 2
		}
		require.Equal(t, want, got.CNPsSent)
	}
}

// A rate below that of the line spaces packets evenly, and a new rate moves the packet that waits.
func TestPacing(t *testing.T) {
	f := &fakeControl{rate: 10e9}
	n := newNet(t, 2, controlled(testConfig(), f))
	var at []Time
	n.seen = func(now Time, _ *core.Packet, h *wire.Header) {
		if h.Opcode.IsRequest() {
			at = append(at, now)
		}
	}
	n.write(40 * testMTU)
	n.run(10 * us)
	gap := wireTime(testMTU+100, 10e9)
	for k := 1; k < len(at); k++ {
		require.Equal(t, gap, at[k]-at[k-1])
	}
	f.rate, f.due = 1e9, n.now+100*ns // the controller's timer wakes the queue pair, which finds the new rate
	n.hosts[0].reschedule(1)
	last := at[len(at)-1]
	k := len(at)
	n.run(30 * us)
	require.Equal(t, last+wireTime(testMTU+100, 1e9), at[k])
	f.rate, f.due = 0, n.now+ns
	n.hosts[0].reschedule(1)
	n.finish(1)
	require.Equal(t, 2, f.timeouts)
	require.Equal(t, f.sent, f.delivered)
	require.Equal(t, int64(40*(testMTU+100)), f.sent)
}

// Two queue pairs that share a port keep their rates although they get in each other's way.
func TestPacingSharesPort(t *testing.T) {
	f := &fakeControl{rate: 45e9}
	n := newNet(t, 3, controlled(testConfig(), f))
	n.send(0, 1, core.Message{Length: 400 * testMTU})
	n.send(0, 2, core.Message{Length: 400 * testMTU})
	n.run(forever)
	ideal := wireTime(400*(testMTU+100), 45e9)
	for host := 1; host <= 2; host++ {
		got := n.kind(host, core.Delivered)[0].At
		require.InEpsilon(t, float64(ideal+4*us), float64(got), 0.01)
	}
}

// The controller's window bounds the bytes in flight, and one packet is always allowed.
func TestControllerWindow(t *testing.T) {
	const full = testMTU + 100
	for _, window := range []int64{1, full, 3*full + 5, 20 * full} {
		f := &fakeControl{window: window}
		n := newNet(t, 2, controlled(testConfig(), f))
		n.write(200 * testMTU)
		n.finish(1)
		require.Equal(t, max(full, window/full*full), f.flight)
		require.Zero(t, n.hosts[0].Counters().Timeouts)
		require.NotEmpty(t, f.samples)
		for _, s := range f.samples {
			require.Greater(t, s, 8*us)
			require.Less(t, s, 12*us)
		}
	}
}

// What is lost leaves the flight before the controller hears of it.
func TestSignalsOfLoss(t *testing.T) {
	const full = testMTU + 100
	c := testConfig()
	c.Timeout = 50 * us
	f := &fakeControl{}
	n := newNet(t, 2, controlled(c, f))
	n.fate = dropData(3, 29)
	n.write(30*testMTU - 24)
	n.finish(1)
	n.fate = dropData(0)
	n.write(1000)
	n.finish(2)
	require.Equal(t, []congestion.Signal{
		{Cause: congestion.Inferred, Bytes: full},
		{Cause: congestion.TimedOut, Bytes: 1000 + 100},
	}, f.signals)
	require.Equal(t, int64(30*full-24+1100), f.delivered)
}

// An idle queue pair does not keep the host awake, whatever its controller would like to do; it catches up when
// there is something to send.
func TestIdleControllerSleeps(t *testing.T) {
	f := &fakeControl{due: 1 * us}
	f.onTimeout = func(f *fakeControl, now Time) { f.due = now + us }
	n := newNet(t, 2, controlled(testConfig(), f))
	n.write(10)
	n.finish(1)
	before := f.timeouts
	require.InDelta(t, 8, before, 2)
	n.run(1000 * us)
	require.Equal(t, before, f.timeouts)
	n.write(10)
	require.Equal(t, before+1, f.timeouts)
	n.finish(2)
}

// The real thing: marks make DCQCN slow down, in both of its forms.
func TestDCQCN(t *testing.T) {
	for _, form := range []string{"paper", "nic"} {
		made, _, err := congestion.Registry.Make("dcqcn", map[string]string{"form": form})
		require.NoError(t, err)
		c := testConfig()
		c.Make, c.CNPInterval = made, 4*us
		n := newNet(t, 2, c)
		n.fate = markData
		n.write(2000 * testMTU)
		n.finish(1)
		require.Greater(t, n.kind(0, core.Completed)[0].At, 300*us, "%s: at line rate it takes 177 us", form)
		require.Positive(t, n.hosts[0].Counters().CNPsReceived)
	}
}
