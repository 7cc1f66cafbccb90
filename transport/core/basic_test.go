package core

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOneMessage(t *testing.T) {
	p := newPair(t, base(), nil)
	p.narrate = true
	p.send(10_000, func(m *Message) { m.RemoteKey = 42; m.Cookie = 9 })
	p.runDone(1)
	if testing.Verbose() {
		t.Log("\n" + strings.Join(p.log, "\n"))
	}
	v := p.wantOne()
	require.EqualValues(t, 9, v.Cookie)
	require.EqualValues(t, 10_000, v.Length)
	require.Zero(t, v.Retransmits)
	got := p.events[1][0]
	require.EqualValues(t, 42, got.RemoteKey)
	require.EqualValues(t, 1, got.Peer)
	require.EqualValues(t, 10_000, got.Length)
	require.EqualValues(t, 10, p.A().Counters().SentData)
	require.EqualValues(t, 10_000, p.B().Counters().DeliveredBytes)
}
