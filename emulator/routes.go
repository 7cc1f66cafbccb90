package emulator

import "fmt"

// routes say for every switch which links lead towards a host by a shortest path. A destination is
// looked up by its leaf (the switch its cable ends at), so the table is small enough to stay in
// cache; the leaf itself knows its hosts' links.
type routes struct {
	leaves   int
	leafOf   []int32           // by host: number of its leaf, counted among leaves
	leafNode []Node            // by leaf: its node
	isLeaf   []int32           // by switch: its number among leaves, or -1
	down     []int32           // by host: the link from its leaf to it
	sets     []hopSet          // by switch*leaves+leaf
	hops     []int32           // links, the sets lie in it
	whole    []hopSet          // the sets before any local repair
	allHops  []int32           // the links of whole
	repaired map[string]hopSet // what local repairs have left of a set, by its links: a link that flaps leaves the same again and again
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
	a := adjacent(n, up)
	r.sets = make([]hopSet, n.Switches*r.leaves)
	r.hops = r.hops[:0]
	r.repaired = nil
	distance := make([]int32, n.Switches)
	queue := make([]int32, 0, n.Switches)
	known := make(map[string]hopSet) // sets with equal links are kept once; only looked up, never ranged over
	for leaf, node := range r.leafNode {
		a.search(int32(int(node)-n.Hosts), distance, queue)
		for sw := range n.Switches {
			if distance[sw] <= 0 {
				continue
			}
			set, ok := r.collect(&a, sw, distance, known)
			if !ok {
				return fmt.Errorf("%s has too many equal ways to %s; the fabric takes 255", n.NodeNames[n.Hosts+sw], n.NodeNames[node])
			}
			r.sets[sw*r.leaves+leaf] = set
		}
	}
	r.keepWhole()
	return nil
}

// collect returns the set of links from a switch to neighbours that are one step nearer.
func (r *routes) collect(a *adjacency, sw int, distance []int32, known map[string]hopSet) (hopSet, bool) {
	start := len(r.hops)
	near := distance[sw] - 1
	for e := a.first[sw]; e < a.first[sw+1]; e++ {
		if a.upOut[e] && distance[a.peer[e]] == near && (near == 0 || a.peer[e] >= a.cards) {
			r.hops = append(r.hops, a.link[e])
		}
	}
	count := len(r.hops) - start
	if count > 255 || start >= 1<<24 {
		return 0, false
	}
	if count == 0 {
		return 0, true
	}
	links := r.hops[start:]
	if last := a.last[sw]; sameLinks(links, r.hops[last.start():last.start()+last.count()]) { // most leaves lie the same way
		r.hops = r.hops[:start]
		return last, true
	}
	key := linkKey(links)
	set, seen := known[key]
	if seen {
		r.hops = r.hops[:start]
	} else {
		set = hopSet(start<<8 | count)
		known[key] = set
	}
	a.last[sw] = set
	return set, true
}

func sameLinks(a, b []int32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func linkKey(links []int32) string {
	key := make([]byte, 0, 4*len(links))
	for _, l := range links {
		key = append(key, byte(l), byte(l>>8), byte(l>>16), byte(l>>24))
	}
	return string(key)
}

// An adjacency lists the links between switches, those out of switch s from first[s] to first[s+1], in
// order of index.
type adjacency struct {
	first  []int32
	link   []int32
	peer   []int32  // switch at the other end
	upOut  []bool   // the link works
	upBack []bool   // and so does its other direction
	cards  int32    // switches below are cards: ways end there
	last   []hopSet // by switch: the set that was found last
}

func adjacent(n *Network, up func(link int) bool) adjacency {
	a := adjacency{first: make([]int32, n.Switches+1), last: make([]hopSet, n.Switches), cards: int32(n.Cards)}
	between := func(l *LinkSpec) bool { return int(l.From) >= n.Hosts && int(l.To) >= n.Hosts }
	for i := range n.Links {
		if l := &n.Links[i]; between(l) {
			a.first[int(l.From)-n.Hosts+1]++
		}
	}
	for s := range n.Switches {
		a.first[s+1] += a.first[s]
	}
	total := a.first[n.Switches]
	a.link, a.peer = make([]int32, total), make([]int32, total)
	a.upOut, a.upBack = make([]bool, total), make([]bool, total)
	fill := append([]int32(nil), a.first[:n.Switches]...)
	for i := range n.Links {
		l := &n.Links[i]
		if !between(l) {
			continue
		}
		e := fill[int(l.From)-n.Hosts]
		fill[int(l.From)-n.Hosts]++
		a.link[e], a.peer[e] = int32(i), int32(int(l.To)-n.Hosts)
		a.upOut[e], a.upBack[e] = up(i), up(int(l.Reverse))
	}
	return a
}

// search fills in how many links each switch is from the root, -1 where there is no way.
func (a *adjacency) search(root int32, distance, queue []int32) {
	for i := range distance {
		distance[i] = -1
	}
	distance[root] = 0
	queue = append(queue[:0], root)
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if at < a.cards && at != root {
			continue
		}
		for e := a.first[at]; e < a.first[at+1]; e++ {
			if next := a.peer[e]; distance[next] < 0 && a.upBack[e] {
				distance[next] = distance[at] + 1
				queue = append(queue, next)
			}
		}
	}
}

// keepWhole remembers the sets before local repairs.
func (r *routes) keepWhole() {
	if r.whole != nil {
		r.whole = append(r.whole[:0], r.sets...)
		r.allHops = append(r.allHops[:0], r.hops...)
	}
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
		live := set
		if left := r.hops[start:]; len(left) < int(set.count()) {
			live = r.once(left)
		}
		if live.start() < start {
			r.hops = r.hops[:start]
		}
		made[set] = live
		row[leaf] = live
	}
}

// once returns the set of the links at the end of hops, or that of an earlier repair with the same links.
func (r *routes) once(links []int32) hopSet {
	if len(links) == 0 {
		return 0
	}
	key := linkKey(links)
	set, seen := r.repaired[key]
	if !seen {
		set = hopSet(uint32(len(r.hops)-len(links))<<8 | uint32(len(links)))
		if r.repaired == nil {
			r.repaired = make(map[string]hopSet)
		}
		r.repaired[key] = set
	}
	return set
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
