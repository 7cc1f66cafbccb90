package core

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A message that is given up ends once, at once if nothing of it is under way, and its target keeps nothing of it.
func TestCancel(t *testing.T) {
	for name, m := range map[string]Message{
		"write":      {Length: 400_000, RemoteKey: 1},
		"with data":  {Length: 400_000, RemoteKey: 1, Flags: WithData},
		"send":       {Op: OpSend, Length: 400_000},
		"ordered":    {Op: OpSend, Mode: ROD, Length: 400_000},
		"read":       {Op: OpRead, Length: 400_000, RemoteKey: 1},
		"rendezvous": {Op: OpSend, Length: 400_000, Flags: Rendezvous},
		"deferred":   {Op: OpTaggedSend, RemoteKey: 9, Length: 400_000, Flags: Deferrable},
		"idempotent": {Mode: RUDI, Op: OpRead, Length: 400_000, RemoteKey: IdempotentKey | 2},
	} {
		t.Run(name, func(t *testing.T) {
			everyWeather(t, func(t *testing.T, weather uint64) {
				p, _, b := roomy(t, patient(), 400_000, weather)
				_, _, err := p.B().RegisterRegion(Region{Bytes: b, Access: RemoteRead | Idempotent})
				require.NoError(t, err)
				require.NoError(t, p.B().PostReceive(0, Receive{Length: 400_000, Cookie: 1}))
				m.To, m.Cookie, m.Buffer = 2, 5, 1
				require.NoError(t, p.A().Send(0, m))
				m.Cookie = 6
				require.NoError(t, p.A().Send(0, m))
				require.False(t, p.A().Cancel(0, 4))
				p.runFor(Time(weather) * 4 * us)
				require.True(t, p.A().Cancel(p.now, 6), "nothing of the second one is sent, or it waits")
				p.runFor(2 * us)
				first := p.A().Cancel(p.now, 5)
				require.False(t, p.A().Cancel(p.now, 5), "twice")
				p.settleAll()
				over := map[uint64]Event{}
				for _, v := range p.events[0] {
					require.NotContains(t, over, v.Cookie)
					over[v.Cookie] = v
				}
				require.Len(t, over, 2)
				require.Equal(t, Cancelled, over[6].Err)
				if !first {
					require.Equal(t, Completed, over[5].Kind)
				}
				if m.Op == OpSend && over[5].Kind == Failed && len(p.kind(1, Received)) == 0 { // the receive waits again
					require.NoError(t, p.A().Send(p.now, Message{To: 2, Op: OpSend, Length: 10, Cookie: 7}))
					p.settleAll()
					require.Len(t, p.kind(1, Received), 1)
					require.EqualValues(t, 10, p.kind(1, Received)[0].Length)
				}
			})
		})
	}
}

// settleAll is settle where the target may know of messages that wait for a receive.
func (p *pair) settleAll() {
	p.t.Helper()
	p.run()
	for end, e := range p.ends {
		p.take(end)
		require.Zero(p.t, e.responsesUsed)
		require.Zero(p.t, e.byRead.used)
		require.Zero(p.t, e.byToken.used)
		require.Zero(p.t, e.loose.used)
		require.Zero(p.t, e.loosePending)
		for _, m := range e.messages[1:] {
			require.Zero(p.t, m.chunks, "a message that is over keeps its slot")
		}
		for _, m := range e.inbound[1:] {
			require.True(p.t, m.target == 0 || m.extra != 0 && e.receiving.arrivals[m.extra].state == arrivalDeferred, "%+v", m)
		}
		for i := range e.contexts {
			require.Zero(p.t, e.contexts[i].inFlight)
		}
		for i := range e.pdcs {
			require.Zero(p.t, e.pdcs[i].awaiting)
		}
	}
}

// TestAnswersThatNobodyWantsHaveATarget: a read is given up when its request was acknowledged and before the first of its answers
// came. The answers are taken and acknowledged all the same, and the context goes on.
func TestAnswersThatNobodyWantsHaveATarget(t *testing.T) {
	p, _, b := roomy(t, patient(), 10_000, 0)
	_, _, err := p.B().RegisterRegion(Region{Bytes: b, Access: RemoteRead | RemoteWrite})
	require.NoError(t, err)
	late := 0
	p.fates = func(from int, out *Packet) (f fate) {
		if from == 1 && isData(out) {
			f.late = 50 * us
			late++
		}
		return f
	}
	require.NoError(t, p.A().Send(0, Message{To: 2, Op: OpRead, Length: 10_000, RemoteKey: 1, Buffer: 1, Cookie: 5}))
	p.runFor(40 * us)
	require.NotZero(t, late)
	require.Zero(t, p.A().pdcs[1].twin, "an answer has come")
	p.A().Cancel(p.now, 5)
	require.Zero(t, p.A().pdcs[1].awaiting)
	p.runFor(20 * us) // the answers come
	require.Len(t, p.kind(0, Failed), 1)
	require.NoError(t, p.A().Send(p.now, Message{To: 2, Length: 5000, RemoteKey: 1, Buffer: 1, Cookie: 6}))
	p.settleAll()
	require.Len(t, p.kind(0, Completed), 1)
	for _, e := range p.ends {
		require.Zero(t, e.Counters().NacksSent)
	}
	require.EqualValues(t, 1, p.A().Counters().ContextsOpened)
}
