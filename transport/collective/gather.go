package collective

import (
	"context"
	"fmt"
)

// AllGather gives every member the bytes of all: mine of rank r are all[r*len(mine):], and all is Size times as long.
func (g *Group) AllGather(ctx context.Context, all, mine []byte) error {
	if len(all) != len(mine)*g.Size() {
		return fmt.Errorf("collective: all-gather of %d bytes from each of %d into %d: %w", len(mine), g.Size(), len(all), ErrSize)
	}
	copy(all[g.rank*len(mine):], mine)
	return g.gatherRing(ctx, all, func(r int) (int, int) { return r * len(mine), (r + 1) * len(mine) })
}

// gatherRing goes round the ring: in step s a member passes on the part that came in the step before.
func (g *Group) gatherRing(ctx context.Context, all []byte, part func(rank int) (from, to int)) error {
	n := g.Size()
	room, err := g.begin(len(all))
	if err != nil {
		return err
	}
	if n == 1 {
		return nil
	}
	next, before := (g.rank+1)%n, (g.rank+n-1)%n
	arrived := make([]bool, n-1)
	hear := func(step int) { arrived[step] = true }
	for s := range n - 1 {
		from, to := part((g.rank + 2*n - s - 1) % n)
		g.receive(block{before, s, from, to - from})
	}
	from, to := part(g.rank)
	copy(room[from:to], all[from:to])
	for s := range n - 1 {
		from, to := part((g.rank + 2*n - s) % n)
		g.send(block{next, s, from, to - from})
		if err := g.flush(ctx, hear); err != nil {
			return err
		}
		for !arrived[s] {
			if err := g.wait(ctx, hear); err != nil {
				return err
			}
		}
	}
	if err := g.finish(ctx, hear); err != nil {
		return err
	}
	copy(all, room)
	return nil
}

// AllToAll gives member r the r-th of Size equal parts of out; in gets the parts of all members, by rank.
func (g *Group) AllToAll(ctx context.Context, in, out []byte) error {
	n := g.Size()
	if len(in) != len(out) || len(in)%n != 0 {
		return fmt.Errorf("collective: all-to-all of %d bytes into %d among %d: %w", len(out), len(in), n, ErrSize)
	}
	size := len(out) / n
	room, err := g.begin(2 * len(out))
	if err != nil {
		return err
	}
	copy(room, out)
	for k := 1; k < n; k++ {
		from := (g.rank + n - k) % n
		g.receive(block{from, 0, len(out) + from*size, size})
	}
	for k := 1; k < n; k++ { // everybody begins with another one
		to := (g.rank + k) % n
		g.send(block{to, 0, to * size, size})
	}
	if err := g.finish(ctx, nil); err != nil {
		return err
	}
	copy(room[len(out)+g.rank*size:], out[g.rank*size:][:size])
	copy(in, room[len(out):2*len(out)])
	return nil
}

// Barrier returns when every member has called it, after log n rounds.
func (g *Group) Barrier(ctx context.Context) error {
	n := g.Size()
	if _, err := g.begin(0); err != nil {
		return err
	}
	for d := 1; d < n; d <<= 1 {
		g.receive(block{(g.rank + n - d) % n, d, 0, 0})
		g.send(block{(g.rank + d) % n, d, 0, 0})
		if err := g.finish(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}
