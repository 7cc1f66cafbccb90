package core

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/wire"
)

// onCredit is a configuration with receiver credits.
func onCredit(t testing.TB, name string, given map[string]string) Config {
	c := trimming()
	maker, _, err := congestion.Registry.Make(name, given)
	require.NoError(t, err)
	c.NewController = maker
	return c
}

// isControl tells whether a packet is a control packet of that type.
func isControl(p *Packet, kind wire.ControlType) bool {
	h, why := wire.ParseControl(p.Header[:p.HeaderLen])
	return why == wire.OK && h.Control == kind
}

func controlOf(p *Packet) wire.Control {
	h, _ := wire.ParseControl(p.Header[:p.HeaderLen])
	return h
}

// Requests carry ccc_id and a cumulative target, grants come back as CREDIT, and what leaves never exceeds them: after the
// speculative packets, one message of 400 kB is granted and sent to the byte.
func TestCreditOnTheWire(t *testing.T) {
	for _, name := range []string{"rccc", "nscc+rccc"} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, onCredit(t, name, map[string]string{"start": "4000B", "idleCredit": "0"}), nil)
			var targets []uint32
			granted, credits, sentBytes := uint32(0), 0, int64(0)
			p.fates = func(from int, out *Packet) fate {
				switch {
				case isData(out):
					r, _ := wire.ParseRequest(out.Header[:out.HeaderLen])
					require.Equal(t, wire.TypeRUDCC, r.Type)
					require.Equal(t, uint8(1), r.CCC)
					targets = append(targets, r.CreditTarget)
					sentBytes += 1280
				case typeOf(out) == wire.TypeAckCC:
					a, _ := wire.ParseAckCC(out.Header[:out.HeaderLen])
					require.Equal(t, name == "rccc", a.CCType == wire.CCCredit)
					if name == "rccc" {
						granted = max(granted, a.Credit)
					}
				case isControl(out, wire.ControlCredit):
					require.Equal(t, 1, from)
					granted = max(granted, controlOf(out).Payload)
					credits++
				}
				require.LessOrEqual(t, sentBytes, int64(4000+1280)+int64(granted)*256+1280)
				return fate{}
			}
			p.send(400 * 1024)
			p.run()
			p.wantOne()
			require.Len(t, targets, 400)
			require.Greater(t, credits, 400*1280/4096-10, "quanta of four payloads")
			require.InDelta(t, 400*5, granted, 5*5, "units of 256, less what left speculatively")
			require.Equal(t, granted, targets[399], "in the end nothing more is wanted")
		})
	}
}

// A destination grants 99 % of its rate, counted in nominal bytes, whose rounding the pacer takes into account.
func TestCreditPacesTheSource(t *testing.T) {
	p := newPair(t, onCredit(t, "rccc", nil), nil)
	p.send(4 << 20)
	p.run()
	v := p.wantOne()
	exact := float64(udpHeader+wire.RequestCCSize+wire.StandardSize+1024+40) * 4096 * 8 / 0.99 // ns at 100 Gbit/s are tenths
	require.InDelta(t, exact/100, v.At.Microseconds()*1000, 20_000, "and a start of 20 us")
}

// Whatever is lost, grants, requests, or what asks for them: all comes through.
func TestCreditSurvivesLoss(t *testing.T) {
	for _, name := range []string{"rccc", "nscc+rccc"} {
		for _, mode := range []Mode{RUD, ROD} {
			for seed := range random(6) {
				t.Run(fmt.Sprint(name, mode, seed), func(t *testing.T) {
					c := onCredit(t, name, map[string]string{"start": "8000B"})
					c.RTO = RTOConfig{Adaptive: true, MaxRetries: -1}
					c.PDCs = 1 + int(seed%3)
					p := newPair(t, c, nil)
					weather := seed + 1
					p.fates = func(from int, out *Packet) fate {
						return fate{drop: weather.chance(0.2), trim: weather.chance(0.1) && out.Flags&Trimmable != 0, late: Time(weather.next() % uint64(3*us))}
					}
					for k := range 6 {
						p.send(uint64(60_000*k), func(m *Message) { m.Mode = mode })
					}
					p.runDone(6)
					p.run()
					require.Len(t, p.events[1], 6)
					p.balanced()
				})
			}
		}
	}
}

// The trimmed packet's credit comes back unasked, ahead of others'.
func TestTrimsAreGrantedAgain(t *testing.T) {
	p := newPair(t, onCredit(t, "rccc", map[string]string{"start": "12000B", "idleCredit": "0"}), nil)
	trims := 0
	p.fates = func(from int, out *Packet) fate {
		require.False(t, isControl(out, wire.ControlCreditReq), "nobody has to ask")
		if isData(out) && trims < 10 {
			trims++
			return fate{trim: true}
		}
		return fate{}
	}
	p.send(10 * 1024)
	p.run()
	require.Equal(t, uint32(10), p.wantOne().Retransmits)
}

// A source whose grants stay away asks again, at growing intervals, and gives up where nothing answers.
func TestCreditRequests(t *testing.T) {
	c := onCredit(t, "rccc", map[string]string{"start": "2000B"})
	c.RTO = RTOConfig{Init: 100 * us, MaxRetries: 3}
	p := newPair(t, c, nil)
	var asked []Time
	silent, mute := true, false
	p.fates = func(from int, out *Packet) fate {
		if isControl(out, wire.ControlCreditReq) {
			asked = append(asked, p.now)
			require.Equal(t, uint32(1), controlOf(out).Payload>>24, "ccc_id")
			silent = len(asked) < 3
		}
		grant := isControl(out, wire.ControlCredit)
		if typeOf(out) == wire.TypeAckCC { // tells of credit too
			out.Header[24], out.Header[25], out.Header[26] = 0, 0, 0
		}
		return fate{drop: grant && silent || mute && from == 1}
	}
	p.send(20 * 1024)
	p.run()
	p.wantOne()
	require.Len(t, asked, 3)
	require.InDelta(t, float64(200*us), float64(asked[1]-asked[0]), float64(20*us))
	require.InDelta(t, float64(400*us), float64(asked[2]-asked[1]), float64(20*us))

	p.events = [2][]Event{}
	silent, mute = true, true
	p.A().credits[1].account.(interface{ OnSent(Time, int64, int64) }).OnSent(p.now, 1<<20, 0) // all spent
	p.A().refresh(1)
	p.send(20 * 1024)
	p.runDone(1)
	require.Equal(t, RetryExceeded, p.events[0][0].Err)
}

// What is given up is not granted any more.
func TestCreditIsReturned(t *testing.T) {
	p := newPair(t, onCredit(t, "rccc", map[string]string{"start": "2000B", "idleCredit": "0"}), nil)
	p.send(100 * 1024)
	p.runFor(15 * us)
	require.True(t, p.A().Cancel(p.now, 1))
	before := p.B().grants.granter.Granted(1)
	p.runFor(5*us + 500*Time(1000))
	p.run()
	require.Less(t, p.B().grants.granter.Granted(1), before+8*16, "at most a flight's worth")
	require.Equal(t, Never, p.B().grants.granter.Deadline())
}

// A new count begins when a context has no PDC left; the destination keeps the old one until no packet of it can come.
func TestCreditBeginsAnew(t *testing.T) {
	c := onCredit(t, "nscc+rccc", nil)
	c.IdleClose, c.SegmentLifetime = 100*us, 200*us
	p := newPair(t, c, nil)
	lives := map[uint8]bool{}
	p.fates = func(from int, out *Packet) fate {
		if isData(out) {
			r, _ := wire.ParseRequest(out.Header[:out.HeaderLen])
			lives[r.CCC] = true
		}
		return fate{}
	}
	for range 5 {
		p.send(300 * 1024)
		p.runFor(10 * ms)
	}
	require.Len(t, p.events[0], 5)
	require.Len(t, lives, 5)
	require.Len(t, p.B().grants.sources, 2, "one place, used again")
	require.Len(t, p.B().grants.free, 1)
	require.Zero(t, p.A().credits[1].pdcs)
}

// An endpoint whose own contexts need no credit grants it to those that do.
func TestCreditIsGrantedToWhoeverAsks(t *testing.T) {
	p := newPair(t, onCredit(t, "nscc+rccc", map[string]string{"start": "2000B"}), func(end int, c *Config) {
		if end == 1 {
			c.NewController = nil
		}
	})
	p.send(200 * 1024)
	p.run()
	p.wantOne()
	require.NoError(t, p.B().Send(p.now, Message{To: 1, Length: 50_000, Cookie: 3}))
	p.run()
	require.Len(t, p.events[1], 2)
}

// The answers to reads travel on the reader's credit.
func TestReadsOnCredit(t *testing.T) {
	p := newPair(t, onCredit(t, "rccc", map[string]string{"start": "5000B"}), nil)
	weather := random(3)
	p.fates = func(from int, out *Packet) fate { return fate{drop: weather.chance(0.05)} }
	p.send(500*1024, func(m *Message) { m.Op = OpRead })
	p.run()
	require.Len(t, p.events[0], 1)
	require.Equal(t, Completed, p.events[0][0].Kind)
	require.NotNil(t, p.A().grants)
}

func TestCreditDoesNotAllocate(t *testing.T) {
	for _, name := range []string{"rccc", "nscc+rccc"} {
		c := onCredit(t, name, nil)
		k := newBackToBackOf(t, c.NewController)
		for range 4000 {
			k.turn(8)
		}
		before := k.b.Counters().Delivered
		require.Zero(t, testing.AllocsPerRun(1000, func() { k.turn(8) }), name)
		require.Greater(t, k.b.Counters().Delivered, before+2000, "something is granted")
	}
}

// Credit messages from a peer that means no good do no harm.
func TestCreditFromStrangers(t *testing.T) {
	p := newPair(t, onCredit(t, "rccc", nil), nil)
	p.send(10 * 1024)
	p.run()
	pd := &p.A().pdcs[1]
	for _, payload := range []uint32{0, 1<<24 - 1, 1 << 23, 1<<32 - 1} {
		p.inject(0, &wire.Control{Control: wire.ControlCredit, SPDCID: pd.remote, DPDCID: pd.own, Payload: payload})
		p.inject(0, &wire.Control{Control: wire.ControlCredit, SPDCID: pd.remote + 1, DPDCID: pd.own, Payload: payload})
		p.inject(0, &wire.Control{Control: wire.ControlCredit, SPDCID: pd.remote, DPDCID: 999, Payload: payload})
		p.inject(1, &wire.Control{Control: wire.ControlCreditReq, SPDCID: pd.own, DPDCID: pd.remote, Payload: payload})
		p.inject(1, &wire.Control{Control: wire.ControlCreditReq, SPDCID: 7, DPDCID: 999, Payload: payload})
		p.run()
		p.send(10 * 1024)
		p.run()
	}
	require.Len(t, p.events[0], 5)
	for _, v := range p.events[0] {
		require.Equal(t, Completed, v.Kind)
	}
}

// A PDC that its peer does not know yet cannot ask for credit, nor can a finished one beside it: the context waits for the
// answer that opens it, and the clock goes on.
func TestNobodyAsksBeforeThePeerAnswers(t *testing.T) {
	c := onCredit(t, "rccc", map[string]string{"idleCredit": "0"})
	c.PDCs = 2
	p := newPair(t, c, nil)
	p.send(100)
	p.runFor(6 * us)
	p.send(100) // opens the second
	p.runFor(6 * us)
	require.Len(t, p.events[0], 1)
	require.LessOrEqual(t, p.A().contexts[1].credit, int64(0))
	p.send(100)
	require.Equal(t, uint32(1), p.A().pdcs[2].queued)
	p.run()
	require.Len(t, p.events[0], 3)
	p.balanced()
}
