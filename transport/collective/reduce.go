package collective

import (
	"context"
	"fmt"
)

// An Op combines two values.
type Op uint8

// Operations.
const (
	Sum Op = iota
	Min
	Max
)

// combine takes from into into, element by element.
func (o Op) combine(into, from []float32) {
	from = from[:len(into)]
	switch o {
	case Sum:
		for i := range into {
			into[i] += from[i]
		}
	case Min:
		for i := range into {
			into[i] = min(into[i], from[i])
		}
	case Max:
		for i := range into {
			into[i] = max(into[i], from[i])
		}
	}
}

// shortReduce is up to how many bytes AllReduce takes the tree: few rounds matter more than bytes there.
const shortReduce = 16 << 10

// AllReduce combines the values of all members, element by element; every member gets the result. Long ones go round a
// ring, which moves 2(n-1)/n of the bytes from every member, short ones through a tree, which takes 2 log n rounds. The order
// in which values are combined depends on the size of the group and of v only: runs repeat to the bit.
func (g *Group) AllReduce(ctx context.Context, v []float32, o Op) error {
	if 4*len(v) <= shortReduce {
		return g.AllReduceTree(ctx, v, o)
	}
	return g.AllReduceRing(ctx, v, o)
}

// AllReduceRing is AllReduce by a ring: reduce-scatter, then all-gather.
func (g *Group) AllReduceRing(ctx context.Context, v []float32, o Op) error {
	if err := g.reduceScatter(ctx, v, o); err != nil {
		return err
	}
	return g.gatherRing(ctx, bytesOf(v), func(r int) (int, int) {
		from, to := share(len(v), g.Size(), r)
		return 4 * from, 4 * to
	})
}

// share returns which of n elements belong to rank r of size.
func share(n, size, r int) (from, to int) {
	return n * r / size, n * (r + 1) / size
}

// ReduceScatter combines the values of all members; each gets the result of its share of v, the r-th of Size about equal
// parts, in place. What becomes of the rest of v is left open. It returns the bounds of the share.
func (g *Group) ReduceScatter(ctx context.Context, v []float32, o Op) (from, to int, err error) {
	from, to = share(len(v), g.Size(), g.rank)
	return from, to, g.reduceScatter(ctx, v, o)
}

// reduceScatter goes round the ring: in step s a member sends the share that it has combined last to the next one, and gets
// from the one before what that has combined. The work room holds what is sent and what comes, apart, since a block may
// still be on its way when the next one arrives.
func (g *Group) reduceScatter(ctx context.Context, v []float32, o Op) error {
	n := g.Size()
	longest := 4 * (len(v)/n + 1)
	room, err := g.begin(2 * (n - 1) * longest)
	if err != nil || n == 1 {
		return err
	}
	next, before := (g.rank+1)%n, (g.rank+n-1)%n
	arrived := make([]bool, n-1)
	hear := func(step int) { arrived[step] = true }
	for s := range n - 1 {
		from, to := share(len(v), n, (g.rank+2*n-s-2)%n)
		g.receive(block{before, s, (n - 1 + s) * longest, 4 * (to - from)})
	}
	for s := range n - 1 {
		from, to := share(len(v), n, (g.rank+2*n-s-1)%n)
		copy(room[s*longest:], bytesOf(v[from:to]))
		g.send(block{next, s, s * longest, 4 * (to - from)})
		if err := g.flush(ctx, hear); err != nil {
			return err
		}
		for !arrived[s] {
			if err := g.wait(ctx, hear); err != nil {
				return err
			}
		}
		from, to = share(len(v), n, (g.rank+2*n-s-2)%n)
		o.combine(v[from:to], floatsOf(room[(n-1+s)*longest:][:4*(to-from)]))
	}
	return g.finish(ctx, hear)
}

// AllReduceTree is AllReduce by a binomial tree: up to rank 0, and down again.
func (g *Group) AllReduceTree(ctx context.Context, v []float32, o Op) error {
	n := g.Size()
	size := 4 * len(v)
	room, err := g.begin(2 * size)
	if err != nil {
		return err
	}
	bit := 1
	for ; bit < n && g.rank&bit == 0; bit <<= 1 {
		child := g.rank | bit
		if child >= n {
			continue
		}
		g.receive(block{child, bit, size, size})
		if err := g.finish(ctx, nil); err != nil {
			return err
		}
		o.combine(v, floatsOf(room[size:2*size]))
	}
	if g.rank != 0 {
		copy(room, bytesOf(v))
		g.send(block{g.rank &^ bit, bit, 0, size})
		if err := g.finish(ctx, nil); err != nil {
			return err
		}
	}
	return g.Broadcast(ctx, bytesOf(v), 0)
}

// Broadcast gives every member the bytes of root, by a binomial tree.
func (g *Group) Broadcast(ctx context.Context, b []byte, root int) error {
	n := g.Size()
	if root < 0 || root >= n {
		return fmt.Errorf("collective: root %d of %d: %w", root, n, ErrSize)
	}
	room, err := g.begin(len(b))
	if err != nil {
		return err
	}
	place := (g.rank - root + n) % n // in the tree, whose root is 0
	rankOf := func(place int) int { return (place + root) % n }
	bit := 1
	for bit < n && place&bit == 0 {
		bit <<= 1
	}
	if place == 0 {
		copy(room, b)
	} else {
		g.receive(block{rankOf(place &^ bit), 0, 0, len(b)})
		if err := g.finish(ctx, nil); err != nil {
			return err
		}
		copy(b, room)
	}
	for bit >>= 1; bit > 0; bit >>= 1 {
		if child := place | bit; child < n {
			g.send(block{rankOf(child), 0, 0, len(b)})
		}
	}
	return g.finish(ctx, nil)
}
