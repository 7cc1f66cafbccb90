package emulator

import "fmt"

// routes say for every switch which links lead towards a host by a shortest path. A destination is
// looked up by its leaf (the switch its cable ends at), so the table is small enough to stay in
// cache; the leaf itself knows its hosts' links.
type routes struct {
	leaves   int
	leafOf   []int32  // by host: number of its leaf, counted among leaves
	leafNode []Node   // by leaf: its node
	isLeaf   []int32  // by switch: its number among leaves, or -1
	down     []int32  // by host: the link from its leaf to it
	sets     []hopSet // by switch*leaves+leaf
	hops     []int32  // links, the sets lie in it
	whole    []hopSet // the sets before any local repair
	allHops  []int32  // the links of whole
}

// A hopSet is a run of links in routes.hops: start<<8 | count. Count 0: no way.
type hopSet uint32

func (h hopSet) start() uint32 { return uint32(h) >> 8 }
func (h hopSet) count() uint32 { return uint32(h) & 0xff }

// newRoutes computes the routes of a network over the links for which up is true.
func newRoutes(n *Network, up func(link int) bool) (*routes, error) {
	r := &routes{leafOf: make([]int32, n.Hosts), down: make([]int32, n.Hosts), isLeaf: make([]int32, n.Switches)}
	for i := range r.isLeaf {
		r.isLeaf[i] = -1
	}
	for i := range r.down {
		r.down[i] = -1
	}
	for i, l := range n.Links {
		if int(l.To) >= n.Hosts {
			continue
		}
		if r.down[l.To] >= 0 {
			return nil, fmt.Errorf("host %d has two cables; the fabric takes one a host", l.To)
		}
		sw := int(l.From) - n.Hosts
		if r.isLeaf[sw] < 0 {
			r.isLeaf[sw] = int32(r.leaves)
			r.leafNode = append(r.leafNode, l.From)
			r.leaves++
		}
		r.down[l.To], r.leafOf[l.To] = int32(i), r.isLeaf[sw]
	}
	return r, r.compute(n, up)
}

// compute fills the tables by a breadth-first search from every leaf.
func (r *routes) compute(n *Network, up func(link int) bool) error {
	first, out := adjacency(n)
	r.sets = make([]hopSet, n.Switches*r.leaves)
	r.hops = r.hops[:0]
	distance := make([]int32, n.Switches)
	queue := make([]int32, 0, n.Switches)
	known := make(map[string]hopSet) // sets with equal links are kept once; only looked up, never ranged over
	var key []byte
	for leaf, node := range r.leafNode {
		for i := range distance {
			distance[i] = -1
		}
		root := int32(int(node) - n.Hosts)
		distance[root] = 0
		queue = append(queue[:0], root)
		for len(queue) > 0 {
			at := queue[0]
			queue = queue[1:]
			for _, l := range out[first[at]:first[at+1]] {
				back := n.Links[l].Reverse // the way towards the leaf
				next := int32(int(n.Links[l].To) - n.Hosts)
				if next < 0 || !up(int(back)) {
					continue
				}
				if distance[next] < 0 {
					distance[next] = distance[at] + 1
					queue = append(queue, next)
				}
			}
		}
		for sw := range n.Switches {
			if distance[sw] <= 0 {
				continue
			}
			start := len(r.hops)
			key = key[:0]
			for _, l := range out[first[sw]:first[sw+1]] {
				next := int(n.Links[l].To) - n.Hosts
				if next >= 0 && distance[next] == distance[sw]-1 && up(int(l)) {
					r.hops = append(r.hops, l)
					key = append(key, byte(l), byte(l>>8), byte(l>>16), byte(l>>24))
				}
			}
			count := len(r.hops) - start
			if count > 255 || start >= 1<<24 {
				return fmt.Errorf("%s has %d equal ways to %s; the fabric takes 255", n.NodeNames[n.Hosts+sw], count, n.NodeNames[node])
			}
			set, seen := known[string(key)]
			if seen {
				r.hops = r.hops[:start]
			} else {
				set = hopSet(start<<8 | count)
				known[string(key)] = set
			}
			r.sets[sw*r.leaves+leaf] = set
		}
	}
	r.keepWhole()
	return nil
}

// keepWhole remembers the sets before local repairs.
func (r *routes) keepWhole() {
	if r.whole != nil {
		r.whole = append(r.whole[:0], r.sets...)
		r.allHops = append(r.allHops[:0], r.hops...)
	}
}

// adjacency lists the links out of every switch: out[first[s]:first[s+1]], in order of index.
func adjacency(n *Network) (first, out []int32) {
	first = make([]int32, n.Switches+1)
	for _, l := range n.Links {
		if s := int(l.From) - n.Hosts; s >= 0 {
			first[s+1]++
		}
	}
	for s := range n.Switches {
		first[s+1] += first[s]
	}
	out = make([]int32, first[n.Switches])
	fill := append([]int32(nil), first[:n.Switches]...)
	for i, l := range n.Links {
		if s := int(l.From) - n.Hosts; s >= 0 {
			out[fill[s]] = int32(i)
			fill[s]++
		}
	}
	return first, out
}

// repair takes the dead links out of one switch's sets (or puts them back): what a switch does by
// itself as soon as its port goes down, before anyone else knows.
func (r *routes) repair(sw int, dead func(link int) bool) {
	row := r.sets[sw*r.leaves : (sw+1)*r.leaves]
	whole := r.whole[sw*r.leaves : (sw+1)*r.leaves]
	made := make(map[hopSet]hopSet)
	for leaf, set := range whole {
		if done, ok := made[set]; ok {
			row[leaf] = done
			continue
		}
		start := uint32(len(r.hops))
		for _, l := range r.allHops[set.start() : set.start()+set.count()] {
			if !dead(int(l)) {
				r.hops = append(r.hops, l)
			}
		}
		live := hopSet(start<<8 | uint32(len(r.hops)) - start)
		if live.count() == set.count() {
			r.hops = r.hops[:start]
			live = set
		}
		made[set] = live
		row[leaf] = live
	}
}

// clone returns routes that can be changed; what never changes is shared.
func (r *routes) clone() *routes {
	own := *r
	own.sets = append([]hopSet(nil), r.sets...)
	own.hops = append([]int32(nil), r.hops...)
	own.whole = make([]hopSet, 0, len(r.sets))
	own.keepWhole()
	return &own
}
