package collective_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/emulator/virtual"
	"github.com/weft-transport/weft/transport"
	"github.com/weft-transport/weft/transport/collective"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/udp"
)

// everything does all operations and checks what comes out.
func everything(ctx context.Context, g *collective.Group, length int) error {
	n, r := g.Size(), g.Rank()
	value := func(rank, i int) float32 { return float32((rank*31+i*7)%100 - 50) }
	vector := func() []float32 {
		v := make([]float32, length)
		for i := range v {
			v[i] = value(r, i)
		}
		return v
	}
	want := func(o collective.Op, i int) float32 {
		x := value(0, i)
		for k := 1; k < n; k++ {
			switch o {
			case collective.Sum:
				x += value(k, i)
			case collective.Min:
				x = min(x, value(k, i))
			default:
				x = max(x, value(k, i))
			}
		}
		return x
	}
	check := func(what string, v []float32, from int, o collective.Op) error {
		for i := range v {
			if v[i] != want(o, from+i) {
				return fmt.Errorf("%s of %d among %d: element %d at rank %d is %g; expected %g", what, length, n, from+i, r, v[i], want(o, from+i))
			}
		}
		return nil
	}
	for o := collective.Sum; o <= collective.Max; o++ {
		v := vector()
		if err := g.AllReduce(ctx, v, o); err != nil {
			return err
		}
		if err := check("all-reduce", v, 0, o); err != nil {
			return err
		}
	}
	for i, do := range []func(context.Context, []float32, collective.Op) error{g.AllReduceRing, g.AllReduceTree} {
		v := vector()
		if err := do(ctx, v, collective.Sum); err != nil {
			return err
		}
		if err := check(fmt.Sprint("all-reduce ", i), v, 0, collective.Sum); err != nil {
			return err
		}
	}
	v := vector()
	from, to, err := g.ReduceScatter(ctx, v, collective.Max)
	if err != nil {
		return err
	}
	if err := check("reduce-scatter", v[from:to], from, collective.Max); err != nil {
		return err
	}
	if err := g.Barrier(ctx); err != nil {
		return err
	}
	return bytesToo(ctx, g, length)
}

func bytesToo(ctx context.Context, g *collective.Group, length int) error {
	n, r := g.Size(), g.Rank()
	part := func(from, to int) byte { return byte(from*16 + to) }
	mine, all := make([]byte, length), make([]byte, n*length)
	out, in := make([]byte, n*length), make([]byte, n*length)
	for i := range mine {
		mine[i] = part(r, 15)
		for k := range n {
			out[k*length+i] = part(r, k)
		}
	}
	if err := g.AllGather(ctx, all, mine); err != nil {
		return err
	}
	if err := g.AllToAll(ctx, in, out); err != nil {
		return err
	}
	root := n - 1
	if err := g.Broadcast(ctx, mine, root); err != nil {
		return err
	}
	for k := range n {
		for i := range length {
			if all[k*length+i] != part(k, 15) || in[k*length+i] != part(k, r) || mine[i] != part(root, 15) {
				return fmt.Errorf("byte %d of rank %d at rank %d: all-gather %x, all-to-all %x, broadcast %x", i, k, r, all[k*length+i], in[k*length+i], mine[i])
			}
		}
	}
	return nil
}

// TestOnAFailingFabric runs all operations among groups of several sizes while a spine is dead for a while.
func TestOnAFailingFabric(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 8} {
		for _, length := range []int{0, 1, 1000, 50_000} {
			build, _, err := emulator.Topologies.Make("leafspine", map[string]string{"leaves": "4", "spines": "4"})
			require.NoError(t, err)
			network, err := build(emulator.Spec{Hosts: 8, RateBps: 100e9, LinkDelay: instant.Microsecond})
			require.NoError(t, err)
			w, err := virtual.New(virtual.Config{Network: network, Fabric: emulator.Config{
				Classes: []emulator.Class{{Name: "all", QueueBytes: 1 << 20}}, LinkOverhead: 64, MaxWireBytes: 4400,
				RerouteLocal: 200 * instant.Microsecond, RerouteAll: core.Never}})
			require.NoError(t, err)
			for l := range network.Links {
				if name := network.Links[l].Name; name[len(name)-6:] == "spine1" || name[:6] == "spine1" {
					require.NoError(t, w.Fabric().Schedule(emulator.Fault{Kind: emulator.LinkDown, Links: []int{l}, At: 20 * instant.Microsecond, For: instant.Millisecond}))
				}
			}
			names := make([]string, n)
			for r := range names {
				names[r] = fmt.Sprintf("h%d", (3*r)%8)
			}
			for r := range n {
				w.Go((3*r)%8, func(ctx context.Context, d core.Driver) error {
					e, err := transport.New(d, transport.Config{})
					if err != nil {
						return err
					}
					g, err := collective.Join(ctx, e, r, names)
					if err != nil {
						return err
					}
					return everything(ctx, g, length)
				})
			}
			require.NoError(t, w.Run(t.Context()), "%d members, %d elements", n, length)
		}
	}
}

func TestOverSockets(t *testing.T) {
	const n = 4
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ends, names := make([]*transport.Endpoint, n), make([]string, n)
	for r := range ends {
		e, err := transport.Listen(ctx, "127.0.0.1:0", transport.Config{UDP: udp.Config{Lanes: 4}})
		require.NoError(t, err)
		defer e.Close()
		ends[r], names[r] = e, e.Name()
	}
	errs := make([]error, n)
	var all sync.WaitGroup
	for r, e := range ends {
		all.Go(func() {
			g, err := collective.Join(ctx, e, r, names)
			if err == nil {
				err = everything(ctx, g, 30_000)
			}
			errs[r] = err
		})
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
}

func TestBadInput(t *testing.T) {
	e, err := transport.Listen(t.Context(), "127.0.0.1:0", transport.Config{UDP: udp.Config{Lanes: 4}})
	require.NoError(t, err)
	defer e.Close()
	_, err = collective.Join(t.Context(), e, 2, []string{"127.0.0.1:1088", "127.0.0.1:1188"})
	require.ErrorIs(t, err, collective.ErrSize)
	_, err = collective.Join(t.Context(), e, 0, []string{"", "nowhere"})
	require.ErrorIs(t, err, transport.ErrAddress)
	g, err := collective.Join(t.Context(), e, 0, []string{"", "127.0.0.1:1088"})
	require.NoError(t, err)
	require.ErrorIs(t, g.AllGather(t.Context(), make([]byte, 3), make([]byte, 2)), collective.ErrSize)
	require.ErrorIs(t, g.AllToAll(t.Context(), make([]byte, 3), make([]byte, 3)), collective.ErrSize)
	require.ErrorIs(t, g.Broadcast(t.Context(), nil, 2), collective.ErrSize)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, g.Barrier(ctx), context.DeadlineExceeded)
}

// TestMembersThatDiffer: a size that is not that of the others, and a member that does not come, are errors, which stay.
func TestMembersThatDiffer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	join := func() [2]*collective.Group {
		var ends [2]*transport.Endpoint
		var groups [2]*collective.Group
		names := make([]string, 2)
		for r := range ends {
			e, err := transport.Listen(ctx, "127.0.0.1:0", transport.Config{UDP: udp.Config{Lanes: 4}})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, e.Close()) })
			ends[r], names[r] = e, e.Name()
		}
		for r, e := range ends {
			g, err := collective.Join(ctx, e, r, names)
			require.NoError(t, err)
			groups[r] = g
		}
		return groups
	}
	for sizes, want := range map[[2]int]error{{60, 100}: collective.ErrSize, {100, 60}: transport.ErrTooLong} { // of the root, and of the other
		groups := join()
		var errs [2]error
		var both sync.WaitGroup
		for r, g := range groups {
			both.Go(func() { errs[r] = g.Broadcast(ctx, make([]byte, sizes[1-r]), 1) })
		}
		both.Wait()
		require.ErrorIs(t, errs[0], want, sizes)
		require.Equal(t, errs[0], groups[0].Barrier(ctx), "it stays")
	}
	g := join()[0]
	short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
	defer cancel()
	err := g.Barrier(short)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, err, g.AllReduce(ctx, make([]float32, 1000), collective.Sum))
}
