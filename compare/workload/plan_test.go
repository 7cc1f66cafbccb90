package workload

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/instant"
)

// env is a fabric of 128 hosts, 16 under each leaf.
func env() Env {
	e := Env{Hosts: 128, LineRateBps: 400e9, BaseRTT: 8 * instant.Microsecond, BDP: 400_000, PayloadMTU: 4096, Matrix: 1, Jitter: 2}
	for h := range e.Hosts {
		e.Leaf = append(e.Leaf, int32(h/16))
	}
	return e
}

// plan makes and checks one.
func plan(t *testing.T, e Env, kind string, given map[string]string) *Plan {
	t.Helper()
	p, err := tryPlan(e, kind, given)
	require.NoError(t, err)
	return p
}

func tryPlan(e Env, kind string, given map[string]string) (*Plan, error) {
	generate, _, err := Registry.Make(kind, given)
	if err != nil {
		return nil, err
	}
	p, err := generate(e)
	if err != nil {
		return nil, err
	}
	return p, p.Check()
}

type params = map[string]string

func TestPermutation(t *testing.T) {
	p := plan(t, env(), "permutation", params{"size": "0.5bdp"})
	require.Len(t, p.Flows, 128)
	to := map[int32]bool{}
	for i, f := range p.Flows {
		require.Equal(t, int32(i), f.Src)
		require.NotEqual(t, f.Src, f.Dst)
		require.Equal(t, uint64(200_000), f.Bytes)
		to[f.Dst] = true
	}
	require.Len(t, to, 128, "everyone receives from one")
	require.Equal(t, p, plan(t, env(), "permutation", params{"size": "0.5bdp"}), "the same seed, the same plan")

	e := env()
	e.Matrix = 7
	require.NotEqual(t, p.Flows, plan(t, e, "permutation", params{"size": "0.5bdp"}).Flows)
	require.Len(t, plan(t, env(), "permutation", params{"flows": "5", "messages": "3"}).Flows, 15)
}

func TestStartJitterMovesOnlyStarts(t *testing.T) {
	still := plan(t, env(), "permutation", nil)
	moved := plan(t, env(), "permutation", params{"startJitter": "10us"})
	var latest instant.Time
	for i := range moved.Flows {
		latest = max(latest, moved.Flows[i].Start)
		require.Less(t, moved.Flows[i].Start, 10*instant.Microsecond)
		moved.Flows[i].Start = 0
	}
	require.Greater(t, latest, 9*instant.Microsecond)
	require.Equal(t, still, moved)
}

func TestIncast(t *testing.T) {
	p := plan(t, env(), "incast", params{"degree": "100", "receiver": "5", "size": "1KB"})
	require.Len(t, p.Flows, 100)
	seen := map[int32]bool{}
	for _, f := range p.Flows {
		require.EqualValues(t, 5, f.Dst)
		require.NotEqual(t, int32(0), f.Src/16, "there are enough senders under other leaves")
		require.False(t, seen[f.Src])
		seen[f.Src] = true
	}
	require.Len(t, plan(t, env(), "incast", params{"degree": "127"}).Flows, 127, "then those under the receiver's own")
	_, err := tryPlan(env(), "incast", params{"degree": "128"})
	require.EqualError(t, err, "degree: 128 senders and a receiver need 129 hosts, the fabric has 128")
}

func TestVictimSharesNoBottleneck(t *testing.T) {
	for seed := range uint64(50) {
		e := env()
		e.Matrix = seed
		p := plan(t, e, "incast", params{"degree": "8", "victim": "true", "victimMessages": "2"})
		require.Equal(t, []string{"incast", "victim"}, p.Groups)
		receiver := p.Flows[0].Dst
		sending := map[int32]bool{}
		hosts := map[int32]bool{receiver: true}
		for _, f := range p.Flows[:8] {
			sending[f.Src/16], hosts[f.Src] = true, true
		}
		require.Len(t, p.Flows, 10)
		for _, v := range p.Flows[8:] {
			require.EqualValues(t, victimGroup, v.Group)
			require.True(t, sending[v.Src/16], "under the leaf of a sender")
			require.False(t, hosts[v.Src] || hosts[v.Dst], "with hosts of its own")
			require.NotEqual(t, receiver/16, v.Dst/16)
			require.NotEqual(t, v.Src/16, v.Dst/16)
		}
	}
}

func TestVictimNeedsRoom(t *testing.T) {
	e := env()
	e.Leaf = nil
	_, err := tryPlan(e, "incast", params{"victim": "true"})
	require.EqualError(t, err, "victim: needs a free host under the leaf of a sender and one under another leaf; degree 8 on 128 hosts leaves none")
}
